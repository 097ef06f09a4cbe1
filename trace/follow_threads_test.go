package trace

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// threadsFile makes a file of several threads, and says in which order its process did what.
type threadsFile struct {
	t      *testing.T
	rnd    *rand.Rand
	seq    uint64
	fn     *Fn
	all    []*threadsChunk // as their room was taken
	steps  []func(*process)
	places map[string]uint64 // of events
}

// threadsChunk is a chunk and what is written into it.
type threadsChunk struct {
	Chunk
	accesses bool
	fill     []func(*Writer) error
	asked    int       // of them, to be written
	next     int       // the record that is written next
	made     []written // the records in the file
}

// threadOf is a thread as it records: calls and accesses have chunks of their own.
type threadOf struct {
	id     uint32
	open   [2]*threadsChunk
	floor  uint64 // accesses follow this call, or a later one
	within uint64 // a call that has not returned
	waits  bool
}

func (f *threadsFile) step(do func(*process)) { f.steps = append(f.steps, do) }

func (f *threadsFile) tell(thread uint32, place uint64) {
	f.step(func(p *process) { p.put64(liveOffset+liveSize+8*int(thread), place) })
}

// record adds records to a chunk of the thread; none: it makes room for some.
func (f *threadsFile) record(t *threadOf, kind int, add ...func(*Writer) error) {
	c := t.open[kind]
	if c == nil || len(c.fill) > 8 && len(add) == 0 {
		c = &threadsChunk{Chunk: Chunk{Strand: t.id, Seq: f.seq, Sealed: true}, accesses: kind == 1}
		f.all = append(f.all, c)
		t.open[kind] = c
		f.step(func(p *process) { require.NoError(f.t, p.out.Truncate(c.Offset+int64(c.Size)+movedBy)) })
	}
	c.fill = append(c.fill, add...)
}

// written has all records of a chunk written.
func (f *threadsFile) written(c *threadsChunk) {
	n := len(c.fill) - c.asked
	c.asked += n
	f.step(func(p *process) {
		p.begin(&c.Chunk)
		for range n {
			p.write(&c.made[c.next])
			c.next++
		}
	})
}

// act has a thread do something.
func (f *threadsFile) act(t *threadOf) {
	switch what := f.rnd.IntN(10); {
	case t.within > 0 && what < 5:
		return // the call goes on
	case t.within > 0:
		f.written(t.open[0])
		f.tell(t.id, 2*t.within+1)
		t.floor, t.within = t.within, 0
	case what < 2 && !t.waits:
		f.tell(t.id, 0)
		t.waits = true
	case what < 6:
		f.goOn(t)
		f.record(t, 1)
		least := max(t.floor, t.open[1].Seq)
		at := least + f.rnd.Uint64N(f.seq-least+1) // it has been about to write it for long
		t.floor = at
		a := &Access{Addr: 8 * uint64(len(f.places)+1), Size: 8, Stride: 8, Count: 1}
		f.places[describe([]Event{{Kind: KindAccess, Strand: t.id, Access: *a}})[0]] = 2*at + 1
		f.record(t, 1, func(w *Writer) error { return w.Mark(at) }, func(w *Writer) error { return w.Access(a) })
		f.written(t.open[1])
	default:
		f.goOn(t)
		seq := f.seq + 1
		f.record(t, 0)
		f.record(t, 0, func(w *Writer) error {
			return w.Call(&Call{Fn: f.fn, Seq: seq, Begin: int64(seq), End: int64(seq) + 1, Returned: true, Args: []Value{{Int: 1}}})
		})
		c := t.open[0]
		f.step(func(p *process) { p.begin(&c.Chunk) })
		f.seq, t.within = seq, seq
		f.step(func(p *process) { p.put64(liveOffset+8, seq) })
		f.tell(t.id, 2*seq)
		f.places[describe([]Event{{Kind: KindCall, Strand: t.id, Call: &Call{Seq: seq}}})[0]] = 2 * seq
	}
}

// goOn: the thread is about to record something.
func (f *threadsFile) goOn(t *threadOf) {
	if t.waits {
		f.tell(t.id, 2*f.seq+1)
		t.floor, t.waits = f.seq, false
	}
}

// bytes returns the file, once all has been done.
func (f *threadsFile) bytes() []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Ranks: 1, Host: "elsewhere"})
	require.NoError(f.t, err)
	w.plain = true
	for _, c := range f.all {
		require.NoError(f.t, w.BeginChunk(c.Chunk))
		for _, add := range c.fill {
			require.NoError(f.t, add(w))
		}
	}
	require.NoError(f.t, w.Close())
	file := b.Bytes()
	records := recordsOf(f.t, file)
	slices.SortStableFunc(records, func(a, b written) int { return cmp.Compare(a.from, b.from) })
	for _, c := range f.all {
		n := len(c.fill)
		c.Chunk, c.made, records = *records[0].chunk, records[:n], records[n:]
		if c.accesses {
			le.PutUint32(file[c.Offset+36:], chunkAccesses)
		}
		for i := range c.made {
			c.made[i].chunk = &c.Chunk
		}
	}
	require.Empty(f.t, records)
	return file
}

// TestThreadsFollowed: what several threads record is read as soon as none of them may still
// write something that comes before it, in the order in which it is read afterwards; also
// where a thread waits, is within a call, or is about to write what comes early.
func TestThreadsFollowed(t *testing.T) {
	for seed := range uint64(60) {
		f := &threadsFile{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), places: map[string]uint64{}}
		threads := make([]threadOf, 1+f.rnd.IntN(4))
		for i := range threads {
			threads[i].id = uint32(i)
			f.tell(uint32(i), 1)
		}
		f.record(&threads[0], 0, func(w *Writer) (err error) {
			f.fn, err = w.Define("f", []Arg{{Name: "x", Kind: ArgNumber}})
			return err
		})
		f.written(threads[0].open[0])
		for range 400 {
			f.act(&threads[f.rnd.IntN(len(threads))])
		}
		file := f.bytes()
		var records []written
		for _, c := range f.all {
			records = append(records, c.made...)
		}
		p := begun(t, file, records)
		over := false
		r, read := p.follow(&over)
		var got []string
		for _, do := range f.steps {
			do(p)
			if f.rnd.IntN(3) > 0 {
				continue
			}
			got = append(got, read()...)
			bound, known := r.chunks.follow.bound, 0
			for _, place := range f.places {
				if place < bound {
					known++
				}
			}
			require.Len(t, got, known, "seed %d: what comes before %d", seed, bound)
		}
		over = true
		got = append(got, read()...)
		want, cut := p.whole()
		require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"), "seed %d", seed)
		require.Equal(t, cut, r.Cut(), "seed %d", seed)
		require.NoError(t, r.Close())
	}
}
