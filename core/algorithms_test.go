package core_test

import (
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// algorithm is what each strand of a program does that orders its accesses by values of
// words alone.
type algorithm func(*actor)

// actor is a strand of a simulated run. Its methods wait until the operation is over.
type actor struct {
	rank, ranks int
	yield       func(wordOp) bool
	found       int64
	events      events
	now         *int
}

func (a *actor) do(op int64, word int, value, equal int64, fetches bool) int64 {
	a.yield(wordOp{rank: a.rank, word: word, op: op, value: value, equal: equal, fetches: fetches})
	return a.found
}

func (a *actor) fetch(word int) int64          { return a.do(wordRead, word, 0, 0, true) }
func (a *actor) add(word int, v int64) int64   { return a.do(wordAdd, word, v, 0, true) }
func (a *actor) swap(word int, v int64) int64  { return a.do(wordWrite, word, v, 0, true) }
func (a *actor) cas(word int, e, v int64) bool { return a.do(wordSwap, word, v, e, true) == e }
func (a *actor) set(word int, v int64)         { a.do(wordWrite, word, v, 0, false) }
func (a *actor) more(word int, v int64)        { a.do(wordAdd, word, v, 0, false) }

func (a *actor) await(word int, v int64) {
	for a.fetch(word) != v {
	}
}

// load and store access a variable of all strands, plainly.
func (a *actor) load(variable int)  { a.access("toy_load", variable) }
func (a *actor) store(variable int) { a.access("toy_store", variable) }

func (a *actor) access(name string, variable int) {
	*a.now++
	a.events = append(a.events, wordCall(name, *a.now, "addr", 16*variable, "size", 8))
}

const turns = 5 // how often each strand does it

var algorithms = map[string]algorithm{
	"test and set": func(a *actor) {
		for range turns {
			for !a.cas(0, 0, 1) {
			}
			a.store(0)
			a.set(0, 0)
		}
	},
	"test and set, released by a swap": func(a *actor) {
		for range turns {
			for a.swap(0, 1) != 0 {
			}
			a.store(0)
			a.swap(0, 0)
		}
	},
	"ticket": func(a *actor) {
		for range turns {
			a.await(1, a.add(0, 1))
			a.store(0)
			a.more(1, 1)
		}
	},
	"slots": func(a *actor) {
		if a.rank == 0 {
			a.set(1, 1)
		}
		for range turns {
			slot := 1 + int(a.add(0, 1))%a.ranks
			a.await(slot, 1)
			a.set(slot, 0)
			a.store(0)
			a.set(1+slot%a.ranks, 1)
		}
	},
	"queue": func(a *actor) { // each waits at its own word for who comes before it
		const tail = 0
		locked, next := 1+2*a.rank, 2+2*a.rank
		for range turns {
			a.set(next, 0)
			a.set(locked, 1)
			if before := int(a.swap(tail, int64(a.rank+1))); before != 0 {
				a.set(2*before, int64(a.rank+1))
				a.await(locked, 0)
			}
			a.store(0)
			if a.fetch(next) == 0 {
				if a.cas(tail, int64(a.rank+1), 0) {
					continue
				}
				for a.fetch(next) == 0 {
				}
			}
			a.set(int(2*a.fetch(next))-1, 0)
		}
	},
	"two who take turns": func(a *actor) {
		const turn = 2
		for range turns {
			if a.rank > 1 {
				return
			}
			a.set(a.rank, 1)
			a.set(turn, int64(1-a.rank))
			for a.fetch(1-a.rank) != 0 && a.fetch(turn) == int64(1-a.rank) {
			}
			a.store(0)
			a.set(a.rank, 0)
		}
	},
	"readers and a writer": func(a *actor) {
		const writer = 1000
		for i := range turns {
			if (i+a.rank)%2 == 1 {
				for a.add(0, 1) >= writer {
					a.more(0, -1)
				}
				a.load(0)
				a.more(0, -1)
				continue
			}
			for a.add(0, writer) != 0 {
				a.more(0, -writer)
			}
			a.store(0)
			a.more(0, -writer)
		}
	},
	"try": func(a *actor) {
		for i := 0; i < turns; {
			if a.fetch(0) != 0 || !a.cas(0, 0, 1) {
				a.more(1+a.rank, 1)
				continue
			}
			a.store(0)
			a.cas(0, 1, 0)
			i++
		}
	},
	"barrier that reverses its sense": func(a *actor) {
		for i := range turns {
			a.store(1 + a.rank)
			if a.add(0, 1) == int64(a.ranks-1) {
				a.set(0, 0)
				a.set(1, int64(1-i%2))
			} else {
				a.await(1, int64(1-i%2))
			}
			a.load(1 + (a.rank+1)%a.ranks)
			if a.add(2, 1) == int64(a.ranks-1) {
				a.set(2, 0)
				a.set(3, int64(1-i%2))
			} else {
				a.await(3, int64(1-i%2))
			}
		}
	},
	"dissemination": func(a *actor) {
		for i := range turns {
			a.store(a.rank)
			for round, d := 0, 1; d < a.ranks; round, d = round+1, 2*d {
				a.more(8*round+(a.rank+d)%a.ranks, 1)
				for a.fetch(8*round+a.rank) < int64(2*i+1) {
				}
			}
			a.load((a.rank + 1) % a.ranks)
			for round, d := 0, 1; d < a.ranks; round, d = round+1, 2*d {
				a.more(8*round+(a.rank+d)%a.ranks, 1)
				for a.fetch(8*round+a.rank) < int64(2*i+2) {
				}
			}
		}
	},
	"a semaphore of one": func(a *actor) {
		if a.rank == 0 {
			a.store(0)
			a.more(0, 1)
		}
		for range turns {
			for a.add(0, -1) < 1 {
				a.more(0, 1)
			}
			a.store(0)
			a.more(0, 1)
		}
	},
	"ring": func(a *actor) {
		for i := range turns {
			if i+a.rank > 0 {
				before := (a.rank + a.ranks - 1) % a.ranks
				want := int64(i + 1)
				if a.rank == 0 {
					want = int64(i)
				}
				a.await(before, want)
			}
			a.store(0)
			a.set(a.rank, int64(i+1))
		}
	},
}

// simulate runs an algorithm with operations that take effect at any time between their
// issue and their completion, and returns the traces.
func simulate(rng *rand.Rand, ranks int, do algorithm) []core.Stream {
	const (
		idle = iota
		issued
		effective
		ended
	)
	now := 0
	memory := map[int]int64{}
	actors := make([]*actor, ranks)
	ops := make([]wordOp, ranks)
	states := make([]int, ranks)
	next := make([]func() (wordOp, bool), ranks)
	slow := make([]int, ranks) // one of so many chances
	for rank := range actors {
		a := &actor{rank: rank, ranks: ranks, now: &now}
		var stop func()
		next[rank], stop = iter.Pull(func(yield func(wordOp) bool) {
			a.yield = yield
			do(a)
		})
		defer stop()
		actors[rank], slow[rank] = a, 1+rng.IntN(4)
	}
	number := 0
	for slices.ContainsFunc(states, func(s int) bool { return s != ended }) {
		rank := rng.IntN(ranks)
		if rng.IntN(100) == 0 {
			slow[rank] = 1 + rng.IntN(8)
		}
		if states[rank] == ended || rng.IntN(slow[rank]) > 0 {
			continue
		}
		now++
		a, o := actors[rank], &ops[rank]
		switch states[rank] {
		case idle:
			op, more := next[rank]()
			if !more {
				states[rank] = ended
				continue
			}
			now++
			number++
			op.issue = number
			*o, states[rank] = op, issued
			fetches := 0
			if op.fetches {
				fetches = 1
			}
			a.events = append(a.events, wordCall("word_issue", now, "number", number, "addr", 1<<20+8*op.word,
				"op", int(op.op), "value", int(op.value), "equal", int(op.equal), "fetches", fetches))
		case issued:
			v, _ := applyWord(o, memory[o.word])
			o.found, memory[o.word] = memory[o.word], v
			states[rank] = effective
		case effective:
			a.events = append(a.events, wordCall("word_done", now, "number", o.issue))
			if o.fetches {
				a.events = append(a.events, wordCall("word_fetched", now, "number", o.issue, "value", int(o.found)))
			}
			a.found, states[rank] = o.found, idle
		}
	}
	var all []core.Stream
	for _, a := range actors {
		all = append(all, &a.events)
	}
	return all
}

// unordered replays traces, and returns how many pairs of accesses to variables nothing
// orders, of two strands of which one stores.
func unordered(t *testing.T, streams []core.Stream, opts core.Options) int {
	m, err := core.NewMachine(streams, opts, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	n := 0
	replay(t, m, func(r *regions.Region) {
		all := accesses(t, r)
		for i, a := range all {
			for _, b := range all[:i] {
				if a.Base == b.Base && a.Rank != b.Rank && (a.Kind == regions.Write || b.Kind == regions.Write) && !r.Precedes(a, b) && !r.Precedes(b, a) {
					n++
				}
			}
		}
	})
	require.Empty(t, m.Problems())
	return n
}

// TestAlgorithms: nothing that an algorithm orders by values is a race, however it is
// interleaved; what it does not order is.
func TestAlgorithms(t *testing.T) {
	for name, do := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := 0
			for seed := range uint64(asked(t, 30)) {
				rng := rand.New(rand.NewPCG(seed, 11))
				opts := core.Options{Clock: evc.Names()[seed%uint64(len(evc.Names()))], Turn: 1 + rng.IntN(20)}
				if n := unordered(t, simulate(rng, 2+rng.IntN(4), do), opts); n > 0 {
					wrong++
					if wrong < 5 {
						t.Logf("seed %d: %d", seed, n)
					}
				}
			}
			require.Zero(t, wrong, "of programs")
		})
	}
	t.Run("nothing", func(t *testing.T) {
		streams := simulate(rand.New(rand.NewPCG(1, 11)), 3, func(a *actor) {
			a.store(0)
			a.add(0, 1)
		})
		require.Equal(t, 3, unordered(t, streams, core.Options{Clock: evc.Auto}))
	})
}

// asked returns the number of random programs that MCCHK_PROGRAMS asks for, or else a
// few.
func asked(t *testing.T, few int) int {
	s := os.Getenv("MCCHK_PROGRAMS")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// TestReadBesideUpdates: a read fetches what two updates may have left, one before it and one
// beside it, and only what is fetched after it tells which.
func TestReadBesideUpdates(t *testing.T) {
	r := newWordRun(2)
	read := func(number int) {
		r.call(0, "word_issue", "number", number, "addr", 1<<20, "op", wordRead, "value", 0, "equal", 0, "fetches", 1)
	}
	swap := func(number, from, to int) {
		r.call(1, "word_issue", "number", number, "addr", 1<<20, "op", wordSwap, "value", to, "equal", from, "fetches", 1)
	}
	fetched := func(rank, number, value int) {
		r.call(rank, "word_done", "number", number)
		r.call(rank, "word_fetched", "number", number, "value", value)
	}
	swap(8, 0, 1)
	fetched(1, 8, 0)
	swap(9, 1, 0)
	fetched(1, 9, 1)
	read(0)
	fetched(0, 0, 0)
	swap(10, 0, 1)
	read(1)
	fetched(1, 10, 0)
	r.call(1, "toy_store", "addr", 0, "size", 8)
	swap(11, 1, 0)
	fetched(0, 1, 0) // what was there before number 10
	r.call(0, "toy_store", "addr", 0, "size", 8)
	read(2)
	fetched(0, 2, 1)
	fetched(1, 11, 1)
	read(3)
	fetched(0, 3, 0)
	var all []core.Stream
	for i := range r.traces {
		all = append(all, &r.traces[i])
	}
	require.Equal(t, 1, unordered(t, all, core.Options{Clock: evc.Auto}))
}
