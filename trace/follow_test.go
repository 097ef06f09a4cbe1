package trace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// written is a record of a file, or the beginning or end of a chunk, as its process writes it.
type written struct {
	place uint64 // in the order of the process
	chunk *Chunk
	from  int // in the file, …
	to    int // … and its end
	call  uint64
}

// recordsOf lists the records of a file in the order in which one thread writes them.
func recordsOf(t *testing.T, file []byte) (all []written) {
	c, err := newChunkReader(bytes.NewReader(file), "x")
	require.NoError(t, err)
	for h := c.peek(); h != nil; h = c.peek() {
		head := *h
		buf, ok := c.read()
		require.True(t, ok)
		place := 2*head.Seq + 1
		for at := 0; at < len(buf); {
			n, err := recordLength(buf[at:])
			require.NoError(t, err)
			w := written{chunk: &head, from: int(head.Offset) + chunkHeaderSize + at}
			switch w.to = w.from + n; RecordKind(buf[at]) {
			case RecordCall:
				w.call = u64(buf, at+8)
				place = 2 * w.call
			case RecordMark:
				place = max(place, 2*u64(buf, at+8)+1)
			}
			w.place = place
			if RecordKind(buf[at]) == RecordEnd {
				w.place = 1 << 62
			}
			all = append(all, w)
			at += n
		}
	}
	slices.SortStableFunc(all, func(a, b written) int { return cmp.Compare(a.place, b.place) })
	return all
}

// process writes a file step by step as a tracer does that is read along.
type process struct {
	t      *testing.T
	file   []byte // as it is in the end
	out    *os.File
	left   map[int64]int // records of each chunk that are not written
	begun  map[int64]bool
	chunks []*Chunk
}

const movedBy = 4096 - headerSize // the header is longer than that of the file that was made

func (p *process) put(at int, b []byte) {
	_, err := p.out.WriteAt(b, int64(at))
	require.NoError(p.t, err)
}

func (p *process) size() int64 {
	info, err := p.out.Stat()
	require.NoError(p.t, err)
	return info.Size()
}

func (p *process) put32(at int, v uint32) { p.put(at, le.AppendUint32(nil, v)) }
func (p *process) put64(at int, v uint64) { p.put(at, le.AppendUint64(nil, v)) }

// begin begins a chunk.
func (p *process) begin(c *Chunk) {
	if p.begun[c.Offset] {
		return
	}
	p.begun[c.Offset] = true
	head := bytes.Clone(p.file[c.Offset : c.Offset+chunkHeaderSize])
	le.PutUint32(head[12:], 0)
	le.PutUint32(head[16:], chunkOpen)
	le.PutUint32(head[20:], 0)
	if kind := le.Uint32(head[36:]); kind > chunkAccesses {
		le.PutUint32(head[36:], chunkAccesses)
	}
	p.put(int(c.Offset)+movedBy, head)
}

// write writes a record, the next of its chunk.
func (p *process) write(w *written) {
	p.put(w.from+movedBy, p.file[w.from:w.to])
	p.put32(int(w.chunk.Offset)+movedBy+20, uint32(w.to-int(w.chunk.Offset)-chunkHeaderSize))
	if p.left[w.chunk.Offset]--; p.left[w.chunk.Offset] == 0 {
		p.put(int(w.chunk.Offset)+movedBy, p.file[w.chunk.Offset:w.chunk.Offset+chunkHeaderSize])
	}
}

// step writes a record, and what stands before it in the file.
func (p *process) step(w *written) {
	for _, c := range p.chunks {
		if c.Offset <= w.chunk.Offset {
			require.NoError(p.t, p.out.Truncate(max(p.size(), c.Offset+int64(c.Size)+movedBy)))
			p.begin(c)
		}
	}
	p.write(w)
	if w.call > 0 {
		p.put64(liveOffset+8, w.call)
		p.put64(liveOffset+liveSize, 2*w.call+1)
	}
}

// begun is a process that has written nothing but the header of its file, which is to have
// these records.
func begun(t *testing.T, file []byte, records []written) *process {
	out, err := os.Create(filepath.Join(t.TempDir(), "rank-0.mcct"))
	require.NoError(t, err)
	t.Cleanup(func() { out.Close() })
	p := &process{t: t, file: file, out: out, left: map[int64]int{}, begun: map[int64]bool{}}
	for i := range records {
		c := records[i].chunk
		if p.left[c.Offset]++; p.left[c.Offset] == 1 {
			p.chunks = append(p.chunks, c)
		}
	}
	slices.SortFunc(p.chunks, func(a, b *Chunk) int { return cmp.Compare(a.Offset, b.Offset) })
	head := bytes.Clone(file[:headerSize])
	le.PutUint32(head[12:], 4096)
	le.PutUint32(head[headerCRC:], checksum(head[:headerCRC]))
	p.put(0, append(head, make([]byte, movedBy)...))
	p.put(liveOffset, []byte(liveMagic))
	return p
}

// follow reads along: each time it is called, the function returns what there is to read.
func (p *process) follow(over *bool) (*Reader, func() []string) {
	d, err := FollowDir(context.Background(), filepath.Dir(p.out.Name()), Following{Over: func() bool { return *over }})
	require.NoError(p.t, err)
	r, err := d.Open(0)
	require.NoError(p.t, err)
	return r, func() (got []string) {
		r.chunks.follow.read = time.Time{} // open chunks may be read again
		r.chunks.follow.mu.Lock()
		defer r.chunks.follow.mu.Unlock()
		var ev Event
		for {
			err := r.ReadEvent(&ev)
			if errors.Is(err, ErrNotYet) || errors.Is(err, io.EOF) {
				return got
			}
			require.NoError(p.t, err)
			got = append(got, describe([]Event{ev})[0])
		}
	}
}

// whole returns the events of the file as it is.
func (p *process) whole() (all []string, cut *Cut) {
	r, err := Open(p.out.Name())
	require.NoError(p.t, err)
	defer r.Close()
	var ev Event
	for r.ReadEvent(&ev) == nil {
		all = append(all, describe([]Event{ev})[0])
	}
	return all, r.Cut()
}

// TestFollowed: a file that is read while it is written gives the events that it gives
// afterwards, wherever it is looked at, and never one too early.
func TestFollowed(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		file, dies := liveFile(t, rnd), seed%3 == 0
		records := recordsOf(t, file)
		steps := len(records)
		if dies {
			steps = rnd.IntN(steps)
		}
		p := begun(t, file, records)
		over := false
		r, read := p.follow(&over)
		var got []string
		last := uint64(0)
		for i := range steps {
			p.step(&records[i])
			last = max(last, records[i].call)
			if rnd.IntN(4) == 0 {
				got = append(got, read()...)
			}
			if rnd.IntN(40) == 0 { // nothing is missing that came before the last call
				got = append(got, read()...)
				require.Contains(t, append(got, "call 0 by 0"), fmt.Sprintf("call %d by 0", last), "seed %d", seed)
			}
		}
		over = true
		got = append(got, read()...)
		want, cut := p.whole()
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, cut, r.Cut(), "seed %d", seed)
		require.True(t, dies || len(want) > 200)
		require.NoError(t, r.Close())
	}
}

// TestFollowedUntilTheEnd: a file of a process that does not tell how far it is may shrink
// when it is finished, so it is read then.
func TestFollowedUntilTheEnd(t *testing.T) {
	file := liveFile(t, rand.New(rand.NewPCG(1, 1)))
	first := recordsOf(t, file)[0].chunk
	begun := bytes.Clone(file[:headerSize+chunkHeaderSize+int(first.Used)])
	at := begun[headerSize:]
	le.PutUint32(at[16:], chunkOpen)
	le.PutUint32(at[4:], 4*first.Size) // room that is given back when it is finished
	le.PutUint32(at[12:], 0)
	dir := t.TempDir()
	path := filepath.Join(dir, "rank-0.mcct")
	require.NoError(t, os.WriteFile(path, begun, 0o600))
	over := false
	d, err := FollowDir(context.Background(), dir, Following{Over: func() bool { return over }})
	require.NoError(t, err)
	r, err := d.Open(0)
	require.NoError(t, err)
	r.chunks.follow.mu.Lock()
	var ev Event
	require.ErrorIs(t, r.ReadEvent(&ev), ErrNotYet)
	r.chunks.follow.mu.Unlock()

	require.NoError(t, os.WriteFile(path, file, 0o600))
	over = true
	n := 0
	for r.ReadEvent(&ev) == nil {
		n++
	}
	require.Nil(t, r.Cut())
	require.Greater(t, n, 199)
	require.NoError(t, r.Close())
}

// liveFile makes a file of one thread with small chunks.
func liveFile(t *testing.T, rnd *rand.Rand) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Ranks: 1, Host: "elsewhere"})
	require.NoError(t, err)
	w.plain, w.length = true, 300+rnd.IntN(900)
	fn, err := w.Define("f", []Arg{{Name: "x", Kind: ArgNumber}})
	require.NoError(t, err)
	for seq := uint64(1); seq < 200; seq++ {
		for range rnd.IntN(4) {
			require.NoError(t, w.Access(&Access{Addr: 8 * rnd.Uint64N(1<<20), Size: 8, Stride: 8, Count: rnd.Uint64N(4)}))
		}
		if rnd.IntN(3) == 0 {
			require.NoError(t, w.Grid(&Grid{
				Access: Access{Addr: 8 * rnd.Uint64N(1<<20), Size: 8, Stride: 8, Count: rnd.Uint64N(3)},
				Rows:   1 + uint16(rnd.UintN(3)), RowStep: 64, Planes: 1 + uint16(rnd.UintN(3)), PlaneStep: 4096,
			}))
		}
		require.NoError(t, w.Call(&Call{Fn: fn, Seq: seq, Begin: int64(seq), End: int64(seq) + 1, Returned: true, Args: []Value{{Int: 1}}}))
	}
	require.NoError(t, w.End(End{Units: 1}))
	require.NoError(t, w.Close())
	return b.Bytes()
}

// TestFollowDirOfTheDead: a run of which processes have ended and others never begun is over;
// and where nobody begins, the wait has an end that may be set.
func TestFollowDirOfTheDead(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(rank uint32, pid int) {
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{Rank: int(rank), Ranks: 3, Host: host, PID: pid})
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", rank)), b.Bytes(), 0o600))
	}
	_, err = FollowDir(t.Context(), dir, Following{Patience: time.Millisecond})
	require.ErrorIs(t, err, ErrNoTraces)

	const nobody = 1<<22 + 1 // more than there are numbers of processes
	write(0, nobody)
	write(2, nobody)
	d, err := FollowDir(t.Context(), dir, Following{})
	require.NoError(t, err)
	require.Equal(t, []int{1}, d.Missing)
	require.Nil(t, d.follow)
}
