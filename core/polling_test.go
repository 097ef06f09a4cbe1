package core_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// wordRun is a run that is written operation by operation.
type wordRun struct {
	traces []events
	number []int // of the next operation of a strand
	at, n  int
}

func newWordRun(ranks int) *wordRun {
	return &wordRun{traces: make([]events, ranks), number: make([]int, ranks)}
}

func (r *wordRun) call(rank int, name string, args ...any) {
	r.at++
	r.traces[rank] = append(r.traces[rank], wordCall(name, r.at, args...))
}

func (r *wordRun) issue(rank, word, op, value, fetches int) {
	r.n++
	r.call(rank, "word_issue", "number", r.number[rank], "addr", (1+word)<<20, "op", op, "value", value, "equal", 0, "fetches", fetches)
}

// begin issues the operation of a number on the first word; end tells what it found.
func (r *wordRun) begin(rank, number, op, value, equal, fetches int) {
	r.call(rank, "word_issue", "number", number, "addr", 1<<20, "op", op, "value", value, "equal", equal, "fetches", fetches)
}

func (r *wordRun) end(rank, number, found int) {
	r.call(rank, "word_done", "number", number)
	r.call(rank, "word_fetched", "number", number, "value", found)
}

func (r *wordRun) done(rank int) { r.call(rank, "word_done", "number", r.number[rank]) }

func (r *wordRun) fetched(rank, value int) {
	r.call(rank, "word_fetched", "number", r.number[rank], "value", value)
}

func (r *wordRun) streams() (all []core.Stream) {
	for i := range r.traces {
		all = append(all, &r.traces[i])
	}
	return all
}

// allocated replays the run, and returns how many bytes that takes for each operation,
// what is given up again included.
func (r *wordRun) allocated(t *testing.T) uint64 {
	t.Helper()
	m, err := core.NewMachine(r.streams(), core.Options{Clock: evc.Auto}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	replay(t, m, func(*regions.Region) {})
	runtime.ReadMemStats(&after)
	require.Empty(t, m.Problems())
	return (after.TotalAlloc - before.TotalAlloc) / uint64(r.n)
}

// polling has strands that each read a word again and again, until another has written it.
func polling(ranks, polls int) *wordRun {
	r := newWordRun(ranks)
	read := func(rank, found int) {
		r.issue(rank, rank, wordRead, 0, 1)
		r.done(rank)
		r.fetched(rank, found)
		r.number[rank]++
	}
	for range polls {
		for rank := 1; rank < ranks; rank++ {
			read(rank, 0)
		}
	}
	for rank := 1; rank < ranks; rank++ {
		r.issue(0, rank, wordWrite, 1, 0)
		r.done(0)
		r.number[0]++
		read(rank, 1)
	}
	return r
}

// counting has strands that add to one word, and fetch what was there, each when it likes.
func counting(ranks, each int) *wordRun {
	r := newWordRun(ranks)
	rng := rand.New(rand.NewPCG(1, 2))
	counter, stage := 0, make([]int, ranks)
	for left := ranks * each; left > 0; {
		rank := rng.IntN(ranks)
		switch {
		case r.number[rank] == each:
		case stage[rank] == 0:
			r.issue(rank, 0, wordAdd, 1, 1)
			stage[rank] = 1
		case rng.IntN(2) == 0: // it takes effect, and what it fetched is known
			r.done(rank)
			r.fetched(rank, counter)
			counter++
			r.number[rank]++
			stage[rank] = 0
			left--
		}
	}
	return r
}

// TestPolling: a read of a word takes as much in a long run as in a short one.
func TestPolling(t *testing.T) {
	short, long := polling(3, 500).allocated(t), polling(3, 4000).allocated(t)
	require.Less(t, long, short*5/4)
}

// TestCounting: an addition to a counter takes about as much, however many strands add.
func TestCounting(t *testing.T) {
	few, many := counting(2, 400).allocated(t), counting(32, 25).allocated(t)
	require.Less(t, many, 4*few)
}

// TestOneAloneInPhases: while an operation of one strand is under way, which comes after what
// another has done meanwhile, or reads it, the other is replayed phase by phase.
func TestOneAloneInPhases(t *testing.T) {
	const turns = 2000
	for _, op := range []int{wordRead, wordWrite} {
		r := newWordRun(2)
		r.issue(1, 0, op, 7, 1)
		for range turns {
			for _, v := range []int{1, 0} {
				r.issue(0, 0, wordWrite, v, 1)
				r.done(0)
				r.fetched(0, 1-v)
				r.number[0]++
			}
		}
		r.done(1)
		r.fetched(1, 0)
		m, err := core.NewMachine([]core.Stream{&r.traces[0], &r.traces[1]}, core.Options{Clock: evc.Auto, Phase: 100}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
		require.NoError(t, err)
		most := 0
		replay(t, m, func(of *regions.Region) { most = max(most, len(of.Segments[0])) })
		require.Empty(t, m.Problems())
		require.Less(t, most, turns/4)
	}
}

// TestReadBetweenTwo: what a read found was there before an update, and is there again behind the
// next one, which both may have taken effect while it was under way. What the strand reads next shows
// that the second had not yet, though another operation waits that was over much later.
func TestReadBetweenTwo(t *testing.T) {
	r := newWordRun(3)
	update, read := 0, 0
	begin := func(value int) {
		update++
		r.begin(2, update, wordAdd, value, 0, 1)
	}
	look := func() {
		read++
		r.begin(1, read, wordRead, 0, 0, 1)
	}
	begin(1)
	r.end(2, update, 0)
	for range 60 {
		begin(1)
		look()
		r.end(2, update, 1)
		begin(-1)
		r.end(1, read, 1)
		look()
		r.end(1, read, 2)
		r.end(2, update, 2)
	}
	r.begin(0, 1, wordAdd, 5, 0, 1)
	r.end(0, 1, 1)
	streams := r.streams()
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Auto}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	replay(t, m, func(*regions.Region) {})
	require.Empty(t, m.Problems())
	require.True(t, m.Choices().AsGood(core.Choices{}), "not by the times of the calls")
}
