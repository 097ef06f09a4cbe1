package core_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Random programs of operations on words, with all the orders that their values allow.

// wordOp is an operation of a random program.
type wordOp struct {
	rank, word          int
	op                  int64
	value, equal, found int64
	fetches             bool
	issue, done         int // numbers of events
}

// wordProgram is a random program of which the operations on words have values. Its
// events lie in the order in which they happened; each is also a store, to tell what
// is ordered.
type wordProgram struct {
	ranks  int
	events []wordEvent
	ops    []wordOp
}

type wordEvent struct {
	rank int
	name string // "store", "issue", "done", "signal" or "wait"
	op   int    // of issue and done
	peer int    // event: of wait
}

// drawWords draws a program, and executes it. atOnce: a strand completes each operation
// before it goes on.
func drawWords(rng *rand.Rand, atOnce bool) *wordProgram {
	p := &wordProgram{ranks: 2 + rng.IntN(2)}
	words, most := 1+rng.IntN(2), 3+rng.IntN(5)
	memory := make([]int64, words)
	open := make([][]int, p.ranks)    // operations that are not done, by rank
	waiting := make([][]int, p.ranks) // signals to come
	effect := func(i int) {
		o := &p.ops[i]
		v, _ := applyWord(o, memory[o.word])
		o.found, memory[o.word] = memory[o.word], v
	}
	var inFlight []int
	for len(p.ops) < most || slices.ContainsFunc(open, func(o []int) bool { return len(o) > 0 }) {
		rank, k := rng.IntN(p.ranks), rng.IntN(8)
		if atOnce && len(open[rank]) > 0 {
			k = 3
		}
		switch {
		case k < 3 && len(p.ops) < most:
			o := wordOp{rank: rank, word: rng.IntN(words), op: rng.Int64N(wordOps), value: 1 + rng.Int64N(2), equal: rng.Int64N(3), issue: len(p.events)}
			if o.op != wordAdd && rng.IntN(3) == 0 {
				o.value = 0
			}
			o.fetches = o.op == wordRead || o.op == wordSwap || rng.IntN(2) == 0
			p.events = append(p.events, wordEvent{rank: rank, name: "issue", op: len(p.ops)})
			open[rank], inFlight = append(open[rank], len(p.ops)), append(inFlight, len(p.ops))
			p.ops = append(p.ops, o)
		case k < 6 && len(open[rank]) > 0:
			i := open[rank][0]
			open[rank] = open[rank][1:]
			for len(inFlight) > 0 && slices.Contains(inFlight, i) { // those of one strand in order
				first := slices.IndexFunc(inFlight, func(j int) bool { return p.ops[j].rank == rank })
				effect(inFlight[first])
				inFlight = slices.Delete(inFlight, first, first+1)
			}
			p.ops[i].done = len(p.events)
			p.events = append(p.events, wordEvent{rank: rank, name: "done", op: i})
		case k == 6:
			to := rng.IntN(p.ranks)
			if to != rank && rng.IntN(3) == 0 {
				waiting[to] = append(waiting[to], len(p.events))
				p.events = append(p.events, wordEvent{rank: rank, name: "signal", peer: to})
			} else {
				p.events = append(p.events, wordEvent{rank: rank, name: "store"})
			}
		case k == 7 && len(waiting[rank]) > 0:
			p.events = append(p.events, wordEvent{rank: rank, name: "wait", peer: waiting[rank][0]})
			waiting[rank] = waiting[rank][1:]
		}
		if len(inFlight) > 0 && rng.IntN(3) == 0 { // takes effect before it is done
			r := p.ops[inFlight[rng.IntN(len(inFlight))]].rank
			first := slices.IndexFunc(inFlight, func(j int) bool { return p.ops[j].rank == r })
			effect(inFlight[first])
			inFlight = slices.Delete(inFlight, first, first+1)
		}
	}
	for rank, all := range waiting {
		for _, e := range all {
			p.events = append(p.events, wordEvent{rank: rank, name: "wait", peer: e})
		}
	}
	return p
}

// applyWord returns what an operation leaves, and whether it writes.
func applyWord(o *wordOp, v int64) (int64, bool) {
	switch {
	case o.op == wordWrite:
		return o.value, true
	case o.op == wordAdd:
		return v + o.value, true
	case o.op == wordSwap && v == o.equal:
		return o.value, true
	}
	return v, false
}

func wordCall(name string, at int, args ...any) trace.Event {
	c := &trace.Call{Fn: &trace.Fn{Name: name}, Returned: true, Begin: int64(at), End: int64(at), Stack: uint32(at)}
	for i := 0; i < len(args); i += 2 {
		c.Fn.Args = append(c.Fn.Args, trace.Arg{Name: args[i].(string), Kind: trace.ArgNumber})
		c.Args = append(c.Args, trace.Value{Int: int64(args[i+1].(int))})
	}
	return trace.Event{Kind: trace.KindCall, Call: c}
}

// streams are the traces. In front of each event, and behind it, stands a store: with
// number 2n and 2n+1, at that address.
func (p *wordProgram) streams(timed bool) (all []core.Stream) {
	traces := make([]events, p.ranks)
	for n, e := range p.events {
		add := func(ev trace.Event) {
			if !timed {
				ev.Call.Begin = 0
			}
			traces[e.rank] = append(traces[e.rank], ev)
		}
		store := func(k int) { add(wordCall("toy_store", n, "addr", 16*k, "size", 8)) }
		store(2 * n)
		switch e.name {
		case "issue":
			o := &p.ops[e.op]
			add(wordCall("word_issue", n, "number", e.op, "addr", 1<<20+8*o.word, "op", int(o.op), "value", int(o.value), "equal", int(o.equal), "fetches", map[bool]int{true: 1}[o.fetches]))
		case "done":
			add(wordCall("word_done", n, "number", e.op))
			if o := &p.ops[e.op]; o.fetches {
				add(wordCall("word_fetched", n, "number", e.op, "value", int(o.found)))
			}
		case "signal":
			add(wordCall("toy_signal", n, "to", e.peer, "tag", n, "number", 0))
		case "wait":
			add(wordCall("toy_wait", n, "from", p.events[e.peer].rank, "tag", e.peer))
		}
		store(2*n + 1)
	}
	for _, t := range traces {
		all = append(all, &t)
	}
	return all
}

// replayed returns which stores come before which, as the engine has it, which words it takes for
// serial, what was chosen, and whether it says that it is unsure.
func (p *wordProgram) replayed(t *testing.T, opts core.Options, timed bool) (order string, serial []regions.Word, taken core.Choices, unsure bool) {
	m, err := core.NewMachine(p.streams(timed), opts, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	before := newRelation(2 * len(p.events))
	told := map[regions.Word]bool{}
	replay(t, m, func(r *regions.Region) {
		for w, is := range r.Serial {
			before, there := told[w]
			told[w] = is && (before || !there)
		}
		all := accesses(t, r)
		for _, a := range all {
			for _, b := range all {
				if a != b && r.Precedes(a, b) {
					before.add(int(a.Base/16), int(b.Base/16))
				}
			}
		}
	})
	for _, x := range m.Problems() {
		require.Equal(t, core.Values, x.Kind, "%s", p)
		unsure = true
	}
	maps.DeleteFunc(told, func(_ regions.Word, is bool) bool { return !is })
	return p.text(before), slices.Collect(maps.Keys(told)), m.Choices(), unsure
}

// key is that of a word.
func key(word int) core.WordKey { return core.WordKey{Addr: 1<<20 + 8*uint64(word), Bytes: 8} }

// relation is which of some numbers come before which.
type relation [][4]uint64

func newRelation(n int) relation {
	if n > 256 {
		panic("a program is too long")
	}
	return make(relation, n)
}

func (r relation) add(i, j int)      { r[i][j/64] |= 1 << (j % 64) }
func (r relation) has(i, j int) bool { return r[i][j/64]>>(j%64)&1 != 0 }

// close adds what follows.
func (r relation) close() {
	for k := range r {
		for i := range r {
			if r.has(i, k) {
				for w := range r[i] {
					r[i][w] |= r[k][w]
				}
			}
		}
	}
}

// text is the pairs of different strands that are ordered.
func (p *wordProgram) text(r relation) string {
	var out strings.Builder
	for i := range r {
		for j := range r {
			if r.has(i, j) && p.events[i/2].rank != p.events[j/2].rank {
				fmt.Fprintf(&out, "%d<%d ", i, j)
			}
		}
	}
	return out.String()
}

// String is the program, an event a line.
func (p *wordProgram) String() string {
	var out strings.Builder
	for n, e := range p.events {
		fmt.Fprintf(&out, "%2d: rank %d %s", n, e.rank, e.name)
		switch e.name {
		case "issue", "done":
			fmt.Fprintf(&out, " %d %+v", e.op, p.ops[e.op])
		case "wait":
			fmt.Fprintf(&out, " %d", e.peer)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// possible calls visit, until it returns true, for each order in which the operations on the words can have
// taken effect, with the order of the stores that follows from it, and the words that are serial.
func (p *wordProgram) possible(visit func(string, []regions.Word) bool) bool {
	var order []int
	used := make([]bool, len(p.ops))
	var extend func() bool
	extend = func() bool {
		if len(order) == len(p.ops) {
			before, ok := p.follows(order)
			if !ok {
				return false
			}
			var serial []regions.Word
			for word := range 2 {
				if p.serial(word, order, before) {
					serial = append(serial, regions.Word(key(word)))
				}
			}
			return visit(p.text(before), serial)
		}
		for i := range p.ops {
			if used[i] || !p.next(order, used, i) {
				continue
			}
			used[i] = true
			order = append(order, i)
			if extend() {
				return true
			}
			order, used[i] = order[:len(order)-1], false
		}
		return false
	}
	return extend()
}

// next reports whether an operation may be the next of its word. All orders of
// operations on different words are one: that in which the words come one by one.
func (p *wordProgram) next(order []int, used []bool, i int) bool {
	o := &p.ops[i]
	for j := range p.ops {
		if x := &p.ops[j]; !used[j] && (x.word < o.word || x.word == o.word && x.rank == o.rank && x.issue < o.issue) {
			return false
		}
	}
	value, known := int64(0), false
	for _, j := range append(slices.Clone(order), i) {
		x := &p.ops[j]
		if x.word != o.word {
			continue
		}
		if x.fetches {
			if known && value != x.found {
				return false
			}
			value, known = x.found, true
		}
		if !known && x.op != wordWrite {
			continue // what was there at first is not known
		}
		value, _ = applyWord(x, value)
		known = true
	}
	return true
}

// follows returns the order of the stores, unless what follows from the order of the
// operations is a circle.
func (p *wordProgram) follows(order []int) (relation, bool) {
	n := 2 * len(p.events)
	hard := newRelation(n + len(p.ops)) // with the moments at which operations take effect
	soft := newRelation(n)
	last := make([]int, p.ranks)
	for i := range last {
		last[i] = -1
	}
	both := func(i, j int) {
		hard.add(i, j)
		soft.add(i, j)
	}
	for k, e := range p.events {
		both(2*k, 2*k+1)
		if last[e.rank] >= 0 {
			both(last[e.rank], 2*k)
		}
		last[e.rank] = 2*k + 1
		if e.name == "wait" {
			both(2*e.peer, 2*k+1)
		}
	}
	for i, o := range p.ops {
		hard.add(2*o.issue, n+i)
		hard.add(n+i, 2*o.done+1)
	}
	for k, i := range order {
		for _, j := range order[:k] {
			a, b := &p.ops[j], &p.ops[i]
			if a.word != b.word {
				continue
			}
			hard.add(n+j, n+i)
			writes := a.op != wordRead
			if a.op == wordSwap {
				writes = a.found == a.equal
			}
			if b.fetches && writes {
				soft.add(2*a.issue, 2*b.done+1)
			}
		}
	}
	hard.close()
	for i := range hard {
		if hard.has(i, i) {
			return nil, false
		}
	}
	soft.close()
	return soft, true
}

// serial says that of a word, with an order of the operations and what follows from it.
func (p *wordProgram) serial(word int, order []int, before relation) bool {
	several := false
	for k, i := range order {
		for n, j := range order[:k] { // took effect earlier
			a, b := &p.ops[j], &p.ops[i]
			if a.word != word || b.word != word || a.rank == b.rank || a.op == b.op || a.op == wordRead || b.op == wordRead {
				continue
			}
			several = true
			shown := slices.ContainsFunc(order[n:k], func(r int) bool {
				x := &p.ops[r]
				return x.word == word && before.has(2*x.done, 2*b.issue+1)
			})
			if !shown {
				return false
			}
		}
	}
	return several
}
