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
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// wordModel has operations on words, beside the calls of the toy.
type wordModel struct {
	*toy
	ops map[[2]int64]*core.WordOp
}

var (
	argOp      = core.NewArgName("op")
	argValue   = core.NewArgName("value")
	argEqual   = core.NewArgName("equal")
	argFetches = core.NewArgName("fetches")
)

// Bind is that of core.Model.
func (m *wordModel) Bind(fn *trace.Fn) *core.Meaning {
	do := map[string]func(*core.Strand, *core.Call){"word_issue": m.issue, "word_done": m.done, "word_fetched": m.fetched, "word_wait": m.wait}[fn.Name]
	if do == nil {
		return m.toy.Bind(fn)
	}
	var polls func(*core.Strand, []*trace.Call) uint64
	if fn.Name == "word_issue" {
		polls = polled
	}
	return &core.Meaning{Replay: do, Polls: polls, Foresee: map[string]func(*core.Strand, *core.Call, *core.Foresight){
		"word_issue": m.foresee, "word_done": m.foreseeDone, "word_fetched": m.foreseeFetched,
	}[fn.Name]}
}

// polled counts reads, and swaps that find something else, which are over when they are done.
func polled(_ *core.Strand, round []*trace.Call) (n uint64) {
	for i, c := range round {
		arg := func(name string) int64 { v, _ := c.Arg(name); return v.Int }
		if c.Fn.Name != "word_issue" {
			continue
		}
		op := arg("op")
		if i+2 >= len(round) || round[i+2].Fn.Name != "word_fetched" || op != wordRead && op != wordSwap {
			return 0
		}
		if found, _ := round[i+2].Arg("value"); op == wordSwap && found.Int == arg("equal") {
			return 0
		}
		n++
	}
	return n
}

func (m *wordModel) foresee(s *core.Strand, c *core.Call, f *core.Foresight) {
	number := c.Int(argNumber) + 1
	if c.Int(argFetches) == 0 {
		number = 0
	}
	f.Issue(wordKey(c), c.Call, wordUpdate(c.Int(argOp), c.Int(argValue), c.Int(argEqual)), number, c.Int(argNumber))
}

func (m *wordModel) foreseeDone(_ *core.Strand, c *core.Call, f *core.Foresight) {
	f.Complete(c.Call, func(of any) bool { return of == c.Int(argNumber) })
}

func (m *wordModel) foreseeFetched(_ *core.Strand, c *core.Call, f *core.Foresight) {
	f.Fetched(c.Int(argNumber)+1, c.Int(argValue), c.Begin)
}

func wordKey(c *core.Call) core.WordKey { return core.WordKey{Addr: c.Addr(argAddr), Bytes: 8} }

func (m *wordModel) issue(s *core.Strand, c *core.Call) {
	op := s.Issue(wordKey(c), c.Begin, wordUpdate(c.Int(argOp), c.Int(argValue), c.Int(argEqual)), c.Int(argFetches) != 0)
	if c.Int(argOp) != wordRead {
		op.Does(wordNames[c.Int(argOp)])
	}
	m.ops[[2]int64{int64(s.Rank), c.Int(argNumber)}] = op
}

// wait waits until a word has a value, or another one; it begins with a read of that number.
func (m *wordModel) wait(s *core.Strand, c *core.Call) {
	there := m.ops[[2]int64{int64(s.Rank), c.Int(argNumber)}]
	meets := func(v int64) bool { return (v == c.Int(argValue)) == (c.Int(argEqual) != 0) }
	op := s.Expect(wordKey(c), c.Begin, meets, there, func() { s.NotUnderstood(c, "which it saw") })
	s.Fetch(c, []core.Fetched{{Op: op}}, c.Begin)
}

func (m *wordModel) done(s *core.Strand, c *core.Call) {
	m.ops[[2]int64{int64(s.Rank), c.Int(argNumber)}].Complete(s.Now())
}

func (m *wordModel) fetched(s *core.Strand, c *core.Call) {
	op := m.ops[[2]int64{int64(s.Rank), c.Int(argNumber)}]
	s.Fetch(c, []core.Fetched{{Op: op, Bits: c.Int(argValue)}}, c.Begin)
}

// Operations on words.
const (
	wordRead = iota
	wordWrite
	wordAdd
	wordSwap // if it is equal
	wordOps
)

var wordNames = [wordOps]string{"read", "write", "add", "swap"}

func wordUpdate(op, value, equal int64) core.Update {
	switch op {
	case wordWrite:
		return func(core.Value) (core.Value, bool) { return core.Value{Bits: value, Known: true}, true }
	case wordAdd:
		return func(v core.Value) (core.Value, bool) { return core.Value{Bits: v.Bits + value, Known: v.Known}, true }
	case wordSwap:
		return func(v core.Value) (core.Value, bool) {
			if v.Known && v.Bits != equal {
				return v, false
			}
			return core.Value{Bits: value, Known: v.Known}, true
		}
	}
	return nil
}

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

// TestWords: the order that follows from values of random programs is that of one of
// the orders in which the operations can have taken effect. Where strands have several
// operations pending at a time, it may be missed what only later values tell: of a third
// of these the replay says that it is unsure.
func TestWords(t *testing.T) {
	const programs = 1000
	for _, atOnce := range []bool{true, false} {
		wrong, unsures, serials, told := 0, 0, 0, 0
		for seed := range uint64(programs) {
			rng := rand.New(rand.NewPCG(seed, 7))
			p := drawWords(rng, atOnce)
			opts := core.Options{Clock: evc.Names()[seed%uint64(len(evc.Names()))], Turn: 1 + rng.IntN(20)}
			got, serial, _, unsure := p.replayed(t, opts, true)
			opts.Phase = 1
			_, inPhases, _, _ := p.replayed(t, opts, true)
			var all []string
			if p.possible(func(order string, in []regions.Word) bool {
				all = append(all, fmt.Sprint(order, in))
				if order != got || slices.ContainsFunc(slices.Concat(serial, inPhases), func(w regions.Word) bool { return !slices.Contains(in, w) }) {
					return false
				}
				told, serials = told+len(serial), serials+len(in)
				return true
			}) {
				continue
			}
			require.NotEmpty(t, all, "program %d:\n%s", seed, p)
			if unsure {
				unsures++
				continue
			}
			if wrong++; wrong < 4 {
				t.Logf("program %d: %s\ninstead of one of\n%s\n%s", seed, got, strings.Join(all[:min(3, len(all))], "\n"), p)
			}
		}
		t.Logf("%d wrong, of %d it says that it is unsure; %d words are serial, of %d it says so", wrong, unsures, serials, told)
		most := programs * 2 / 100
		if atOnce {
			most = 0
		}
		require.LessOrEqual(t, wrong, most)
		require.LessOrEqual(t, wrong+unsures, programs*3/100)
		require.Greater(t, told, serials/2)
	}
}

// TestSerialForgotten: an update is not complete, though a word is forgotten since all know that it
// was issued. Rank 2, which writes to the word, does not know that it has taken effect.
func TestSerialForgotten(t *testing.T) {
	p := &wordProgram{ranks: 3, ops: []wordOp{
		{rank: 0, op: wordAdd, value: 1, found: 0, fetches: true},
		{rank: 1, op: wordRead, found: 1, fetches: true},
		{rank: 2, op: wordWrite, value: 5, found: 1, fetches: true},
		{rank: 1, op: wordAdd, value: 1, found: 5, fetches: true},
	}}
	add := func(rank int, name string, op, peer int) int {
		p.events = append(p.events, wordEvent{rank: rank, name: name, op: op, peer: peer})
		return len(p.events) - 1
	}
	tell := func(from, to int) { add(to, "wait", 0, add(from, "signal", 0, to)) }
	add(0, "issue", 0, 0)
	tell(0, 1)
	tell(0, 2)
	add(1, "issue", 1, 0)
	add(1, "done", 1, 0)
	for range 4 { // the replay comes to the write later than the word is forgotten
		p.ops = append(p.ops, wordOp{rank: 2, word: 1, op: wordRead, fetches: true})
		add(2, "issue", len(p.ops)-1, 0)
		add(2, "done", len(p.ops)-1, 0)
		tell(2, 0)
		tell(0, 1)
		tell(0, 2)
	}
	add(2, "issue", 2, 0)
	add(2, "done", 2, 0)
	tell(2, 1)
	add(1, "issue", 3, 0)
	add(1, "done", 3, 0)
	_, serial, _, _ := p.replayed(t, core.Options{Clock: evc.Auto, Phase: 1}, true)
	require.Empty(t, serial)
}

// TestOtherOrders: where values leave several orders open, a replay with Options.OtherOrder
// that explains as much as the usual one has one of them too, and it shows a good part of
// what the usual one has by choice. Where strands have several operations pending at a
// time, it may be missed what only later values tell.
func TestOtherOrders(t *testing.T) {
	const programs = 1000
	chosen, shown, impossible := 0, 0, 0
	for seed := range uint64(programs) {
		rng := rand.New(rand.NewPCG(seed, 7))
		atOnce := seed%2 == 0
		p := drawWords(rng, atOnce)
		opts := core.Options{Clock: evc.Auto, Turn: 1 + rng.IntN(20)}
		usual, _, taken, _ := p.replayed(t, opts, true)
		opts.OtherOrder = true
		other, _, choices, _ := p.replayed(t, opts, true)
		possible := map[string]bool{}
		p.possible(func(order string, _ []regions.Word) bool { possible[order] = true; return false })
		switch {
		case taken.Open == 0:
			require.Equal(t, usual, other, "program %d:\n%s", seed, p)
		case !possible[usual]: // see TestWords
			continue
		case !choices.AsGood(taken):
			other = usual
		case !possible[other]:
			impossible++
			require.False(t, atOnce, "program %d: %s\n%s", seed, other, p)
		}
		for _, x := range strings.Fields(usual) {
			in := func(order string) bool { return strings.Contains(" "+order, " "+x+" ") }
			for order := range possible {
				if !in(order) {
					if chosen++; !in(other) {
						shown++
					}
					break
				}
			}
		}
	}
	t.Logf("%d pairs are ordered by choice, of which another order shows %d; %d programs have an impossible one", chosen, shown, impossible)
	require.Greater(t, shown, chosen/3)
	require.LessOrEqual(t, impossible, programs*3/100)
}

// TestWordsOfNobody: what was fetched is a sum that no addition under way can have made,
// in any of very many orders. The search ends, and is a problem.
func TestWordsOfNobody(t *testing.T) {
	const ranks, each = 8, 8
	traces := make([]events, ranks+1)
	at := 0
	add := func(rank int, name string, args ...any) {
		at++
		traces[rank] = append(traces[rank], wordCall(name, at, args...))
	}
	for i := range ranks * each {
		add(i%ranks, "word_issue", "number", i, "addr", 1<<20, "op", wordAdd, "value", 2, "equal", 0, "fetches", 0)
	}
	for i, found := range []int{0, 2*each + 1} {
		number := ranks*each + i
		add(ranks, "word_issue", "number", number, "addr", 1<<20, "op", wordRead, "value", 0, "equal", 0, "fetches", 1)
		add(ranks, "word_done", "number", number)
		add(ranks, "word_fetched", "number", number, "value", found)
	}
	var all []core.Stream
	for i := range traces {
		all = append(all, &traces[i])
	}
	m, err := core.NewMachine(all, core.Options{Clock: evc.Auto}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	replay(t, m, func(*regions.Region) {})
	require.Len(t, m.Problems(), 1)
	require.Equal(t, core.Values, m.Problems()[0].Kind)
}
