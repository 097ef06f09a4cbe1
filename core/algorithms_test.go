package core_test

import (
	"cmp"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// algorithm is what each strand of a program does that orders its accesses by values of
// words alone.
type algorithm func(*actor)

// algorithms are all of them, by name.
var algorithms = func() map[string]algorithm {
	all := maps.Clone(locks)
	maps.Copy(all, orders)
	return all
}()

// actor is a strand of a simulated run. Its methods wait until the operation is over.
type actor struct {
	rank, ranks int
	turns       int // how often each strand does it
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

// there is a word that holds 1 at first, which the traces do not tell.
const there = 900

// simulate runs an algorithm with operations that take effect at any time between their
// issue and their completion, and returns the traces.
func simulate(rng *rand.Rand, ranks, turns int, do algorithm) []core.Stream {
	const (
		idle = iota
		issued
		effective
		ended
	)
	now := 0
	memory := map[int]int64{there: 1}
	actors := make([]*actor, ranks)
	ops := make([]wordOp, ranks)
	states := make([]int, ranks)
	next := make([]func() (wordOp, bool), ranks)
	slow := make([]int, ranks) // one of so many chances
	for rank := range actors {
		a := &actor{rank: rank, ranks: ranks, turns: turns, now: &now}
		var stop func()
		next[rank], stop = iter.Pull(func(yield func(wordOp) bool) {
			a.yield = yield
			do(a)
		})
		defer stop()
		actors[rank], slow[rank] = a, 1+rng.IntN(4)
	}
	number := 0
	fns := map[string]*trace.Fn{}
	at := func(o *wordOp, ev trace.Event) trace.Event { // each operation has a place in the program
		if fns[ev.Call.Fn.Name] == nil {
			fns[ev.Call.Fn.Name] = ev.Call.Fn
		}
		ev.Call.Fn, ev.Call.Stack = fns[ev.Call.Fn.Name], uint32(4*o.word)+uint32(o.op)
		return ev
	}
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
			if number++; number > 1<<18 {
				panic("an algorithm that does not end")
			}
			op.issue = number
			*o, states[rank] = op, issued
			fetches := 0
			if op.fetches {
				fetches = 1
			}
			a.events = append(a.events, at(o, wordCall("word_issue", now, "number", number, "addr", 1<<20+8*op.word,
				"op", int(op.op), "value", int(op.value), "equal", int(op.equal), "fetches", fetches)))
		case issued:
			v, _ := applyWord(o, memory[o.word])
			o.found, memory[o.word] = memory[o.word], v
			states[rank] = effective
		case effective:
			a.events = append(a.events, at(o, wordCall("word_done", now, "number", o.issue)))
			if o.fetches {
				a.events = append(a.events, at(o, wordCall("word_fetched", now, "number", o.issue, "value", int(o.found))))
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
				if a.Base == b.Base && a.Start.Line != b.Start.Line && (a.Kind == regions.Write || b.Kind == regions.Write) && !r.Precedes(a, b) && !r.Precedes(b, a) {
					n++
				}
			}
		}
	})
	require.Empty(t, m.Problems())
	return n
}

// TestRoundsArePassedOver: of polls that find the same only the first and the last are replayed,
// whatever the strand polls for, and all are counted. That is as good as all of them.
func TestRoundsArePassedOver(t *testing.T) {
	const polls = 100
	for name, poll := range map[string]func(*actor){
		"a read":          func(a *actor) { a.fetch(0) },
		"a swap":          func(a *actor) { a.cas(0, 1, 2) },
		"two words":       func(a *actor) { a.fetch(0); a.fetch(1) },
		"a swap and both": func(a *actor) { a.fetch(0); a.cas(0, 1, 2); a.fetch(1) },
	} {
		m := replayed(t, 2, func(a *actor) {
			if a.rank > 0 {
				return
			}
			for range polls {
				poll(a)
			}
		})
		each := m.Stats().Calls / polls / 3
		require.Equal(t, each*(polls-2), m.Stats().Operations, name)
	}
	for name, poll := range map[string]func(*actor, int){
		"an addition":           func(a *actor, _ int) { a.add(0, 1) },
		"a write":               func(a *actor, _ int) { a.swap(0, 0) },
		"a swap that succeeds":  func(a *actor, _ int) { a.cas(0, 0, 0) },
		"an update beside":      func(a *actor, _ int) { a.fetch(0); a.more(1, 1) },
		"an access between":     func(a *actor, _ int) { a.fetch(0); a.load(3) },
		"a longer round":        func(a *actor, i int) { a.fetch(0); a.fetch(1 + i%4) },
		"values of its updates": func(a *actor, i int) { a.set(0, int64(i)); a.fetch(0) },
	} {
		m := replayed(t, 1, func(a *actor) {
			a.set(1, 7)
			for i := range polls {
				poll(a, i)
			}
		})
		require.Zero(t, m.Stats().Operations, name)
	}
}

func replayed(t *testing.T, ranks int, do algorithm) *core.Machine {
	streams := simulate(rand.New(rand.NewPCG(1, 17)), ranks, 1, do)
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Auto}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	replay(t, m, func(*regions.Region) {})
	require.Empty(t, m.Problems())
	return m
}

// TestAlgorithms: nothing that an algorithm orders by values is a race, however it is
// interleaved; what it does not order is.
func TestAlgorithms(t *testing.T) {
	for name, do := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inOrder(t, asked(t, 30), 5, do)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		streams := simulate(rand.New(rand.NewPCG(1, 11)), 3, 1, func(a *actor) {
			a.store(0)
			a.add(0, 1)
		})
		require.Equal(t, 3, unordered(t, streams, core.Options{Clock: evc.Auto}))
	})
}

// TestLongAlgorithms: the same of runs in which many choices have to be right.
func TestLongAlgorithms(t *testing.T) {
	for name, do := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inOrder(t, asked(t, 3), 80, do)
		})
	}
}

// TestAlgorithmsOfThreads: the same where several threads of each process do it.
func TestAlgorithmsOfThreads(t *testing.T) {
	for name, do := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inOrder(t, asked(t, 6), 40, do, teams)
		})
	}
}

// teams divides strands among two processes, of which they are threads that the first one
// joins.
func teams(rng *rand.Rand, strands []core.Stream) []core.Stream {
	const processes = 2
	x := &threads{fns: map[string]*trace.Fn{}}
	all := make([]events, processes)
	of := make([]int, len(strands))
	add := func(p, thread int, ev trace.Event) {
		ev.Strand = uint32(thread)
		all[p] = append(all[p], ev)
	}
	for i := range strands {
		of[i] = rng.IntN(processes)
		add(of[i], 0, x.note("mcchk_Fork", "object", int64(100+i)))
		add(of[i], 1+i, x.note("mcchk_Strand", "strand", int64(1+i)))
		add(of[i], 1+i, x.note("mcchk_Acquire", "object", int64(100+i)))
		add(of[i], 1+i, x.note("mcchk_Object_end", "object", int64(100+i)))
		add(of[i], 1+i, x.note("mcchk_Will_release", "object", int64(200+i)))
	}
	joins := func(i int) {
		add(of[i], 0, x.call("mcchk_Strand_waits", []string{"object", "strands", "releases"}, int64(200+i), 0, 0))
	}
	for p := range processes {
		if i := slices.Index(of, p); i >= 0 {
			joins(i)
		}
	}
	var both []trace.Event
	thread := map[*trace.Call]int{}
	for i, s := range strands {
		for _, ev := range *s.(*events) {
			thread[ev.Call] = i
			both = append(both, ev)
		}
	}
	slices.SortStableFunc(both, func(a, b trace.Event) int { return cmp.Compare(a.Call.Begin, b.Call.Begin) })
	for _, ev := range both {
		i := thread[ev.Call]
		add(of[i], 1+i, ev)
	}
	for i := range strands {
		add(of[i], 1+i, x.note("mcchk_Release", "object", int64(200+i)))
		add(of[i], 1+i, x.note("mcchk_Strand_end", "strand", int64(1+i)))
		if slices.Index(of, of[i]) < i {
			joins(i)
		}
		add(of[i], 0, x.note("mcchk_Acquire", "object", int64(200+i)))
	}
	var out []core.Stream
	for i := range all {
		out = append(out, &all[i])
	}
	return out
}

// counted is a stream that tells how much was read.
type counted struct {
	core.Stream
	read *int
}

func (c counted) ReadEvent(ev *trace.Event) error {
	*c.read++
	return c.Stream.ReadEvent(ev)
}

// TestThreadsAreNotReadFarAhead: while it is not decided what threads have fetched, and others
// are to be joined, not much more is read than it takes to foresee what comes.
func TestThreadsAreNotReadFarAhead(t *testing.T) {
	most := func(turns int) int {
		rng := rand.New(rand.NewPCG(3, 11))
		read, most := 0, 0
		var streams []core.Stream
		for _, s := range teams(rng, simulate(rng, 4, turns, locks["test and set, released by a swap"])) {
			streams = append(streams, counted{s, &read})
		}
		var m *core.Machine
		tick := func() { most = max(most, read-int(m.Stats().Calls)) }
		m, err := core.NewMachine(streams, core.Options{Clock: evc.Auto, Tick: tick}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
		require.NoError(t, err)
		replay(t, m, func(*regions.Region) {})
		require.Empty(t, m.Problems())
		t.Logf("%d turns: at most %d of %d events ahead", turns, most, read)
		return most
	}
	require.Less(t, most(1600), 2*most(400))
}

// inOrder replays runs of an algorithm whose strands do it so many turns, changed.
func inOrder(t *testing.T, programs, turns int, do algorithm, change ...func(*rand.Rand, []core.Stream) []core.Stream) {
	wrong := 0
	for seed := range uint64(programs) {
		rng := rand.New(rand.NewPCG(seed, 11))
		opts := core.Options{Clock: evc.Names()[seed%uint64(len(evc.Names()))], Turn: 1 + rng.IntN(20)}
		if seed%3 == 2 {
			opts.Phase = 1 + int(seed)%40
		}
		streams := simulate(rng, 2+rng.IntN(4), turns, do)
		for _, f := range change {
			streams = f(rng, streams)
		}
		if n := unordered(t, streams, opts); n > 0 {
			wrong++
			if wrong < 5 {
				t.Logf("seed %d: %d", seed, n)
			}
		}
	}
	require.Zero(t, wrong, "of programs")
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
		r.begin(0, number, wordRead, 0, 0, 1)
	}
	swap := func(number, from, to int) {
		r.begin(1, number, wordSwap, to, from, 1)
	}
	swap(8, 0, 1)
	r.end(1, 8, 0)
	swap(9, 1, 0)
	r.end(1, 9, 1)
	read(0)
	r.end(0, 0, 0)
	swap(10, 0, 1)
	read(1)
	r.end(1, 10, 0)
	r.call(1, "toy_store", "addr", 0, "size", 8)
	swap(11, 1, 0)
	r.end(0, 1, 0) // what was there before number 10
	r.call(0, "toy_store", "addr", 0, "size", 8)
	read(2)
	r.end(0, 2, 1)
	r.end(1, 11, 1)
	read(3)
	r.end(0, 3, 0)
	require.Equal(t, 1, unordered(t, r.streams(), core.Options{Clock: evc.Auto}))
}

// TestPendingUpdateBeforeOthers: an update of which nobody knows when it was over came first,
// since its own strand fetches what another left after it.
func TestPendingUpdateBeforeOthers(t *testing.T) {
	r := newWordRun(2)
	r.begin(0, 0, wordWrite, 102, 0, 0)
	r.begin(1, 1, wordWrite, 101, 0, 0)
	r.begin(0, 2, wordRead, 0, 0, 1)
	r.begin(1, 3, wordSwap, 104, 101, 1)
	r.end(1, 3, 101)
	r.end(0, 2, 104)
	require.Zero(t, unordered(t, r.streams(), core.Options{Clock: evc.Auto})) // and no problem
}

// TestUpdateBeforeOneThatWasOver: an update of which nobody knows when it was over was so before
// its strand's next one, and that before another strand began: what this has found was not
// there at first.
func TestUpdateBeforeOneThatWasOver(t *testing.T) {
	r := newWordRun(2)
	r.begin(0, 0, wordWrite, 101, 0, 0)
	r.begin(0, 1, wordSwap, 102, 101, 1)
	r.end(0, 1, 101)
	r.call(0, "toy_store", "addr", 0, "size", 8)
	r.begin(0, 2, wordWrite, 103, 0, 0)
	r.begin(1, 3, wordSwap, 104, 103, 1)
	r.end(1, 3, 103)
	r.call(1, "toy_store", "addr", 0, "size", 8)
	require.Zero(t, unordered(t, r.streams(), core.Options{Clock: evc.Auto}))
}

// TestUpdateBehindWait: an update that was over later than a wait which another one ended comes
// behind that, since the next wait is ended by it.
func TestUpdateBehindWait(t *testing.T) {
	r := newWordRun(3)
	look := func(number, found int) {
		r.begin(2, number, wordRead, 0, 0, 1)
		r.call(2, "word_fetched", "number", number, "value", found)
	}
	wait := func(number, value, equal int) {
		r.call(2, "word_wait", "number", number, "addr", 1<<20, "value", value, "equal", equal)
	}
	r.begin(0, 0, wordWrite, 101, 0, 0)
	r.begin(1, 1, wordWrite, 102, 0, 0)
	look(2, 0)
	wait(2, 102, 1)
	look(3, 102)
	r.call(0, "word_done", "number", 0)
	wait(3, 102, 0)
	require.Zero(t, unordered(t, r.streams(), core.Options{Clock: evc.Auto})) // and no problem
}

// TestHeldAtFirst: what a word held at first, which nobody tells, agrees with all that is fetched, not
// only with what was fetched first.
func TestHeldAtFirst(t *testing.T) {
	r := newWordRun(3)
	more := func(rank, number int) {
		r.begin(rank, number, wordAdd, 1, 0, 0)
		r.call(rank, "word_done", "number", number)
	}
	r.begin(0, 0, wordAdd, -1, 0, 1)
	r.begin(1, 1, wordAdd, -1, 0, 1)
	r.end(1, 1, 0) // it comes behind the other one, which found 1
	r.end(0, 0, 1)
	r.call(0, "toy_store", "addr", 0, "size", 8)
	more(1, 2)
	more(0, 3)
	r.begin(1, 4, wordAdd, -1, 0, 1)
	r.end(1, 4, 1)
	r.call(1, "toy_store", "addr", 0, "size", 8)
	more(1, 5)
	r.begin(2, 6, wordAdd, -1, 0, 1)
	r.end(2, 6, 1)
	r.call(2, "toy_store", "addr", 0, "size", 8)
	require.Zero(t, unordered(t, r.streams(), core.Options{Clock: evc.Auto})) // and no problem
}

// TestUpdateLongUnderWay: an update took effect before another one though it was over long behind that,
// as only its own strand's next read tells, behind many polls of the other strand.
func TestUpdateLongUnderWay(t *testing.T) {
	r := newWordRun(2)
	r.begin(0, 0, wordWrite, 1, 0, 0)
	r.begin(1, 1, wordWrite, 2, 0, 0)
	r.call(1, "word_done", "number", 1)
	for i := range 300 {
		r.begin(1, 2+i, wordRead, 0, 0, 1)
		r.end(1, 2+i, 2)
	}
	r.call(0, "word_done", "number", 0)
	r.call(0, "word_issue", "number", 999, "addr", 1<<20+8, "op", wordRead, "value", 0, "equal", 0, "fetches", 1)
	r.end(0, 999, 0)
	r.begin(0, 1000, wordRead, 0, 0, 1)
	r.end(0, 1000, 2)
	require.Zero(t, unordered(t, r.streams(), core.Options{Clock: evc.Auto})) // and no problem
}
