package trace

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func describe(evs []Event) []string {
	var out []string
	for _, ev := range evs {
		switch ev.Kind {
		case KindCall:
			out = append(out, fmt.Sprintf("call %d by %d", ev.Call.Seq, ev.Strand))
		case KindAccess:
			out = append(out, fmt.Sprintf("access %#x by %d", ev.Access.Addr, ev.Strand))
		case KindEnd:
			out = append(out, "end")
		case KindLost:
			out = append(out, fmt.Sprintf("lost by %d", ev.Strand))
		}
	}
	return out
}

func TestStrandsAreMerged(t *testing.T) {
	got, r := events(t, twoStrands(t))
	require.Nil(t, r.Cut())
	require.Equal(t, []string{
		"call 1 by 0", "access 0x1 by 0", "access 0x101 by 1",
		"call 2 by 0", "access 0x2 by 0", "access 0x102 by 1", "access 0x3 by 0",
		"call 3 by 1", "call 4 by 0", "end",
	}, describe(got))
}

// model is a process with strands that records as a tracer does: every strand
// has a chunk of its own, which stands in the file where it was begun.
type model struct {
	chunks []*modelChunk
	open   map[uint32]*modelChunk
	seq    uint64
	marked map[uint32]uint64 // the last call that the strand knows of
	limit  int
}

type modelChunk struct {
	head    Chunk
	records []func(*Writer)
}

func (m *model) add(strand uint32, record func(*Writer)) {
	c := m.open[strand]
	if c == nil || len(c.records) >= m.limit {
		c = &modelChunk{head: Chunk{Strand: strand, Seq: m.seq, Sealed: true}}
		m.open[strand] = c
		m.chunks = append(m.chunks, c)
		m.marked[strand] = max(m.marked[strand], m.seq)
	}
	c.records = append(c.records, record)
}

func (m *model) access(strand uint32, addr uint64) {
	if m.marked[strand] != m.seq {
		seq := m.seq
		m.add(strand, func(w *Writer) { w.Mark(seq) })
		m.marked[strand] = m.seq
	}
	m.add(strand, func(w *Writer) { w.Access(&Access{Addr: addr, Size: 1, Count: 1}) })
}

// call begins the chunk, when one must be begun, before or after the call is
// counted: both happen.
func (m *model) call(strand uint32, counted bool) {
	seq := m.seq + 1
	if counted {
		m.seq = seq
	}
	m.add(strand, func(w *Writer) { w.Call(&Call{Fn: w.fns[1], Seq: seq}) })
	m.seq, m.marked[strand] = seq, seq
}

func (m *model) write(w *Writer) {
	w.Fn(&Fn{ID: 1, Name: "f"})
	for _, c := range m.chunks {
		w.BeginChunk(c.head)
		for _, record := range c.records {
			record(w)
		}
	}
}

func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{open: map[uint32]*modelChunk{}, marked: map[uint32]uint64{}, limit: rapid.IntRange(1, 6).Draw(rt, "records a chunk")}
		strands := rapid.Uint32Range(1, 5).Draw(rt, "strands")
		spans := map[uint64]uint64{} // address → the call before it
		n := rapid.IntRange(0, 80).Draw(rt, "events")
		for i := range n {
			s := rapid.Uint32Range(0, strands-1).Draw(rt, "strand")
			if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
				m.call(s, rapid.Bool().Draw(rt, "counted"))
				continue
			}
			addr := uint64(s)<<32 | uint64(i)
			spans[addr] = m.seq
			m.access(s, addr)
		}
		m.add(0, func(w *Writer) { w.End(End{}) })
		got, r := events(t, file(t, m.write))
		require.Nil(rt, r.Cut())
		checkOrder(rt, got, m.seq, spans)
	})
}

// checkOrder requires all calls in order, every access after the call it
// follows and before the next, those of a strand in program order, and the end
// last.
func checkOrder(t require.TestingT, got []Event, calls uint64, spans map[uint64]uint64) {
	seq, last, seen := uint64(0), map[uint32]uint64{}, 0
	for i, ev := range got {
		switch ev.Kind {
		case KindCall:
			require.Equal(t, seq+1, ev.Call.Seq)
			seq++
		case KindAccess:
			require.Equal(t, spans[ev.Access.Addr], seq, "access %#x", ev.Access.Addr)
			if before, ok := last[ev.Strand]; ok {
				require.Greater(t, ev.Access.Addr, before)
			}
			last[ev.Strand] = ev.Access.Addr
			seen++
		case KindEnd:
			require.Equal(t, len(got)-1, i)
		}
	}
	require.Equal(t, calls, seq)
	require.Equal(t, len(spans), seen)
}

func TestDefinitionsOfAnotherStrand(t *testing.T) {
	got, r := events(t, file(t, func(w *Writer) {
		w.BeginChunk(Chunk{Strand: 0, Sealed: true})
		w.Fn(&Fn{ID: 1, Name: "f"})
		w.Call(&Call{Fn: w.fns[1], Seq: 1})
		w.Fn(&Fn{ID: 2, Name: "g"})
		w.Call(&Call{Fn: w.fns[1], Seq: 3})
		w.BeginChunk(Chunk{Strand: 1, Seq: 1, Sealed: true})
		w.Call(&Call{Fn: w.fns[2], Seq: 2})
	}))
	require.ErrorContains(t, r.Cut(), "no end record")
	require.Equal(t, []string{"call 1 by 0", "call 2 by 1", "call 3 by 0"}, describe(got))
}

// A call that was lost must not make the reader take the whole file into
// memory while it waits for it.
func TestLostCallDoesNotHoldTheFile(t *testing.T) {
	data := file(t, func(w *Writer) {
		for i := range 200 {
			w.BeginChunk(Chunk{Strand: uint32(i % 2), Seq: 9, Sealed: true})
			w.Access(&Access{Addr: uint64(i), Size: 1, Count: 1})
		}
		w.End(End{})
	})
	r, err := NewReader(bytes.NewReader(data), "f")
	require.NoError(t, err)
	n := 0
	for {
		var ev Event
		if err := r.ReadEvent(&ev); err == io.EOF {
			break
		}
		require.LessOrEqual(t, r.merge.waiting, maxWaiting)
		n++
	}
	require.Equal(t, 201, n)
}

func TestNormaliseKeepsTheBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Access{
			Addr:   rapid.Uint64Range(0, 400).Draw(t, "addr"),
			Stride: rapid.Int64Range(-20, 20).Draw(t, "stride"),
			Count:  rapid.Uint64Range(1, 20).Draw(t, "count"),
			Size:   rapid.Uint32Range(1, 9).Draw(t, "size"),
		}
		want, below := bytesOf(a)
		b := a
		if below {
			_, state := b.normalise()
			require.Equal(t, accessBad, state)
			return
		}
		hi, state := b.normalise()
		require.Equal(t, accessOK, state)
		require.Equal(t, b.End(), hi)
		require.True(t, b.Stride > 0 || b.Stride == 0 && b.Count == 1)
		got, _ := bytesOf(b)
		require.Equal(t, want, got)
	})
}

func bytesOf(a Access) (set map[int64]bool, below bool) {
	set = map[int64]bool{}
	for k := range int64(a.Count) {
		for i := range int64(a.Size) {
			at := int64(a.Addr) + k*a.Stride + i
			set[at] = true
			below = below || at < 0
		}
	}
	return set, below
}
