package core_test

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// generator makes a random program: it lets one strand after the other make an
// event that can happen then, so that the program can be replayed to its end,
// though the Machine replays it in another order.
type generator struct {
	*rand.Rand
	*program
	fns      map[string]*trace.Fn
	tight    bool // all strands often meet, and little is pending then: regions come in many phases
	strands  []*writer
	channels map[channelName]*channelState
	counters map[[2]int][]int // nodes of the signals so far, by owner and counter
	locked   map[int]*lockState
	meetings []*meeting
	guards   []*guardState
	numbers  int // given out, to puts, meetings and aliases
}

// writer writes the trace of one strand.
type writer struct {
	*generator
	rank    int32
	last    int        // node of the end of the last event
	due     []*meeting // that the strand has to come to, in order
	stands  *meeting   // at which it stands
	joined  []*meeting // that it has joined, and not waited for
	puts    []*put     // that are pending
	locks   map[int]*lockState
	aliases []aliasState
	ending  []int // accesses that end before the next event
}

type channelName struct {
	from, to int32
	tag      int
}

// channelState is the signals of a channel so far.
type channelState struct {
	sent     []int   // node of each signal
	received []int   // node of each wait, before it waits
	carried  [][]int // accesses that are complete where the signal was waited for
	awaited  []bool  // signals whose receipt can still be waited for
}

// put is a put that is pending.
type put struct {
	number         int
	source, target int // accesses
	guard          *guardState
}

// lockState is the lock of the memory of one strand.
type lockState struct {
	holders map[int32]*lockHold
	past    []*lockHold // by ticket
}

type lockHold struct {
	exclusive, void bool
	released        int // node
}

func (h *lockHold) excludes(other *lockHold) bool {
	return !h.void && !other.void && (h.exclusive || other.exclusive)
}

type guardState struct {
	number int
	owner  int32
	passed int // node
}

type aliasState struct {
	lo, hi, shift uint64
	owner         int32
	object        int
}

// generate returns a program, and always the same one of a seed.
func generate(seed uint64) *program {
	rng := rand.New(rand.NewPCG(seed, 3))
	g := &generator{
		Rand: rng, tight: rng.IntN(2) == 0, program: &program{at: map[place]int{}, regions: 1}, fns: functions(),
		channels: map[channelName]*channelState{}, counters: map[[2]int][]int{}, locked: map[int]*lockState{},
	}
	n := 2 + min(g.IntN(4), g.IntN(4))
	for rank := range n {
		g.strands = append(g.strands, &writer{generator: g, rank: int32(rank), last: g.node(), locks: map[int]*lockState{}})
		g.traces = append(g.traces, nil)
		g.aliased = append(g.aliased, false)
		g.locked[rank] = &lockState{holders: map[int32]*lockHold{}}
	}
	steps := 20 + g.IntN(60)
	if g.tight {
		steps *= 3
	}
	for i := range steps {
		if g.tight && i%12 == 11 {
			g.together()
		}
		g.step(g.strands[g.IntN(n)])
	}
	g.finish()
	g.draw()
	return g.program
}

// step lets a strand make an event, unless it has to wait.
func (g *generator) step(w *writer) {
	switch {
	case w.stands != nil:
		if !w.stands.over(w.rank) {
			return
		}
		w.stands = nil
	case len(w.due) > 0 && g.IntN(3) == 0:
		w.come()
		return
	}
	steps := [...]func(*writer){ // more often what stands there more often
		(*writer).local, (*writer).local, (*writer).local, (*writer).instants, (*writer).put, (*writer).put, (*writer).putLoop,
		(*writer).complete, (*writer).complete, (*writer).signal, (*writer).signal, (*writer).signal, (*writer).wait,
		(*writer).wait, (*writer).wait, (*writer).wait, (*writer).sent, (*writer).peek, (*writer).undo, (*writer).count, (*writer).await,
		(*writer).lock, (*writer).lock, (*writer).unlock, (*writer).unlock, (*writer).meeting, (*writer).waitJoined,
		(*writer).putBehind, (*writer).pass, (*writer).alias, (*writer).giveUp,
	}
	steps[g.IntN(len(steps))](w)
}

// gather lets all strands go on until nobody has to be anywhere.
func (g *generator) gather() {
	for more := true; more; {
		more = false
		for _, w := range g.strands {
			if w.stands != nil && w.stands.over(w.rank) {
				w.stands = nil
			}
			if w.stands == nil && len(w.due) > 0 {
				w.come()
			}
			more = more || w.stands != nil || len(w.due) > 0
		}
	}
}

// finish ends the program.
func (g *generator) finish() {
	g.gather()
	for _, x := range g.guards {
		if x.passed == never && g.IntN(4) > 0 {
			g.strands[x.owner].passGuard(x)
		}
	}
	for _, w := range g.strands {
		for g.IntN(3) > 0 && len(w.puts) > 0 {
			w.complete()
		}
		for _, i := range w.ending {
			g.accesses[i].end = w.last
		}
		if g.IntN(8) == 0 {
			w.cutLast()
		}
	}
}

// cutLast has the strand never return from its last event, where that signals and
// does nothing afterwards.
func (w *writer) cutLast() {
	all := w.traces[w.rank]
	if n := len(all); n > 0 && all[n-1].Kind == trace.KindCall {
		switch c := all[n-1].Call; c.Fn.Name {
		case "toy_signal", "other_send", "other_meet", "other_count":
			c.Returned, w.cut = false, true
		}
	}
}

// draw draws what is known at the end only: who waited for whom at meetings, and
// the accesses by their places.
func (g *generator) draw() {
	for _, m := range g.meetings {
		m.draw(g.program)
	}
	for i := range g.accesses {
		g.at[g.accesses[i].place] = i
	}
}

// event adds an event, and returns its nodes.
func (w *writer) event(ev trace.Event) (before, after int) {
	w.traces[w.rank] = append(w.traces[w.rank], ev)
	before = w.node(w.last)
	after = w.node(before)
	w.last = after
	for _, i := range w.ending {
		w.accesses[i].end = before
	}
	w.ending = nil
	return before, after
}

func (w *writer) pos() uint64 { return uint64(len(w.traces[w.rank])) }

func (w *writer) call(name string, args ...any) (before, after int) {
	w.calls++
	return w.event(callOf(w.fns[name], args...))
}

// expect adds an access of the last event.
func (w *writer) expect(role *regions.Role, owner int32, base uint64, start, end int, runs ...span) int {
	w.accesses = append(w.accesses, access{
		place: place{w.rank, w.pos(), role, owner, base}, start: start, end: end, runs: runs,
	})
	i := len(w.accesses) - 1
	w.accesses[i].locks = w.held(owner)
	return i
}

// held names the lock that the strand holds on memory of a process.
func (w *writer) held(owner int32) []string {
	if l := w.locks[int(owner)]; l != nil {
		return []string{lockName(owner, l.holders[w.rank].exclusive, l.holders[w.rank].void)}
	}
	return nil
}

const (
	block     = 1 << 16
	memory    = 1 << 20 // address of each strand's memory
	sharedMem = 1 << 30 // address at which they see that of others
	shiftUnit = 1 << 32 // by which it lies above
	aliasSize = 64
)

// address returns an address in one of six blocks, sometimes at the end of one,
// and sometimes among the memory of others.
func (w *writer) address() uint64 {
	switch w.IntN(6) {
	case 0:
		return memory + block*uint64(1+w.IntN(5)) - 4
	case 1:
		if len(w.aliases) > 0 { // around where one begins or ends
			return sharedMem + aliasSize*uint64(w.IntN(3)) - 4*uint64(w.IntN(4)) + 4
		}
	}
	return memory + block*uint64(w.IntN(6)) + 4*uint64(w.IntN(8))
}

// local adds runs of loads or stores.
func (w *writer) local() {
	a := trace.Access{Addr: w.address(), Size: 4, Count: 1, Stack: 9, Store: w.IntN(2) == 0}
	if w.IntN(3) == 0 {
		a.Count, a.Stride = 2+uint64(w.IntN(4)), 8
	}
	for range 1 + w.IntN(3) {
		w.localRun(a)
		a.Addr += 16
	}
}

func (w *writer) localRun(a trace.Access) {
	n, role := &w.loads, regions.Load
	if a.Store {
		n, role = &w.stores, regions.Store
	}
	*n += a.Count
	at, _ := w.event(trace.Event{Kind: trace.KindAccess, Access: a})
	own, shared := []span(nil), map[int][]span{}
	for k := range a.Count {
		for b := a.Addr + k*uint64(a.Stride); b < a.Addr+k*uint64(a.Stride)+uint64(a.Size); b++ {
			if i := w.aliasOf(b); i >= 0 {
				shift := w.aliases[i].shift
				shared[i] = append(shared[i], span{b + shift, b + 1 + shift})
			} else {
				own = append(own, span{b, b + 1})
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(shared)) {
		x := &w.aliases[i]
		n := w.expect(role, x.owner, a.Addr+x.shift, at, at, shared[i]...)
		w.protectShared(n, x)
	}
	if own != nil {
		w.expect(role, w.rank, a.Addr, at, at, own...)
	}
}

// aliasOf returns the alias that a byte lies in, or -1.
func (w *writer) aliasOf(b uint64) int {
	return slices.IndexFunc(w.aliases, func(x aliasState) bool { return x.lo <= b && b < x.hi })
}

// protectShared: only locks of the object that shares the memory protect it.
func (w *writer) protectShared(i int, x *aliasState) {
	if x.object != toyObject {
		w.accesses[i].locks = nil
	}
}

// buffer adds the access of a call to memory that its strand names.
func (w *writer) buffer(role *regions.Role, addr, size uint64, start, end int) int {
	i := w.aliasOf(addr)
	if i < 0 {
		return w.expect(role, w.rank, addr, start, end, span{addr, addr + size})
	}
	x := &w.aliases[i]
	n := w.expect(role, x.owner, addr+x.shift, start, end, span{addr + x.shift, addr + x.shift + size})
	w.protectShared(n, x)
	return n
}

// instants adds calls that access memory at once, often several alike.
func (w *writer) instants() {
	name, role := "toy_load", loadCall
	if w.IntN(2) == 0 {
		name, role = "toy_store", storeCall
	}
	addr := w.address()
	for range 1 + w.IntN(4) {
		at, _ := w.call(name, int(addr), 8)
		w.buffer(role, addr, 8, at, at)
	}
}

func (w *writer) number() int {
	w.numbers++
	return w.numbers
}

func (w *writer) put() {
	if w.IntN(3) == 0 && len(w.puts) > 0 && w.puts[len(w.puts)-1].guard == nil {
		w.putFor(w.puts[len(w.puts)-1].number, w.address(), w.address())
		return
	}
	w.putFor(w.number(), w.address(), w.address())
}

func (w *writer) putFor(number int, addr, source uint64) {
	target := w.IntN(len(w.strands))
	if addr >= sharedMem {
		addr = memory
	}
	at, _ := w.call("toy_put", target, int(addr), 8, int(source), number)
	w.puts = append(w.puts, &put{
		number: number,
		source: w.buffer(putSource, source, 8, at, never),
		target: w.expect(putTarget, int32(target), addr, at, never, span{addr, addr + 8}),
	})
}

// putLoop adds a loop of puts, each of which is complete at once.
func (w *writer) putLoop() {
	addr, source := w.address(), w.address()
	for range 1 + w.IntN(4) {
		n := w.number()
		w.putFor(n, addr, source)
		w.completeAll(n)
	}
}

// complete completes some puts.
func (w *writer) complete() {
	if len(w.puts) == 0 {
		return
	}
	switch p := w.puts[w.IntN(len(w.puts))]; {
	case p.guard == nil:
		w.completeAll(p.number)
	case p.guard.passed != never:
		at, _ := w.call("other_finish", p.number)
		w.accesses[p.target].end = at
		w.puts = slices.DeleteFunc(w.puts, func(q *put) bool { return q == p })
	}
}

func (w *writer) completeAll(number int) {
	at, _ := w.call("toy_complete", number)
	for _, p := range w.take(number) {
		w.accesses[p.target].end = at
		w.freed(p, at)
	}
}

// take returns the pending puts with a number, which are none of the strand's any
// more.
func (w *writer) take(number int) (all []*put) {
	w.puts = slices.DeleteFunc(w.puts, func(p *put) bool {
		if p.guard == nil && p.number == number {
			all = append(all, p)
			return true
		}
		return false
	})
	return all
}

// freed says when the source of a put is complete.
func (w *writer) freed(p *put, at int) {
	if a := &w.accesses[p.source]; a.end == never {
		a.end = at
	}
}

// giveUp gives up memory, with the sources of pending puts in it.
func (w *writer) giveUp() {
	const size = 48
	lo := memory + block*uint64(w.IntN(6)) - 16
	hi := lo + size
	at, _ := w.call("other_give_up", int(lo), int(hi))
	w.buffer(givenUp, lo, size, at, at)
	for _, p := range w.puts {
		if p.guard != nil {
			continue
		}
		a := &w.accesses[p.source]
		if a.owner == w.rank && a.end == never && !slices.Contains(w.ending, p.source) && a.runs[0].lo >= lo && a.runs[0].hi <= hi {
			w.ending = append(w.ending, p.source)
			a.either = a.locks != nil
		}
	}
}

// alias has memory of another strand lie among this one's, or takes it away.
func (w *writer) alias() {
	if len(w.aliases) > 0 && w.IntN(4) == 0 {
		object := w.aliases[0].object
		w.call("other_unalias", object)
		w.aliases = slices.DeleteFunc(w.aliases, func(x aliasState) bool { return x.object == object })
		return
	}
	lo := sharedMem + aliasSize*uint64(w.IntN(2))
	if w.aliasOf(lo) >= 0 || w.IntN(2) == 0 {
		return
	}
	owner := (int(w.rank) + 1 + w.IntN(len(w.strands)-1)) % len(w.strands)
	x := aliasState{lo, lo + aliasSize, shiftUnit * uint64(1+w.number()), int32(owner), 1 + w.IntN(2)}
	w.aliases = append(w.aliases, x)
	w.aliased[w.rank] = true
	w.call("other_alias", owner, int(x.lo), int(x.hi), int(x.shift), x.object)
}

// lock takes a lock that nobody holds whom it excludes.
func (w *writer) lock() {
	target := w.IntN(len(w.strands))
	l := w.locked[target]
	h := &lockHold{released: never}
	kind := w.IntN(5) % 3
	h.exclusive, h.void = kind == exclusiveLock, kind == voidLock
	if l.holders[w.rank] != nil {
		return
	}
	for _, other := range l.holders {
		if h.excludes(other) {
			return
		}
	}
	_, after := w.call("toy_lock", target, kind, len(l.past))
	for _, other := range l.past {
		if h.excludes(other) {
			w.program.locks = append(w.program.locks, edge{other.released, after})
		}
	}
	l.past = append(l.past, h)
	l.holders[w.rank] = h
	w.locks[target] = l
}

// unlock gives up a lock: it does not protect any more what is pending.
func (w *writer) unlock() {
	held := slices.Sorted(maps.Keys(w.locks))
	if len(held) == 0 {
		return
	}
	target := held[w.IntN(len(held))]
	l := w.locks[target]
	h := l.holders[w.rank]
	h.released, _ = w.call("toy_unlock", target)
	delete(w.locks, target)
	delete(l.holders, w.rank)
	for _, p := range w.puts {
		if p.guard != nil {
			continue
		}
		if a := &w.accesses[p.source]; a.owner == int32(target) && !a.either {
			a.locks = nil
		}
	}
}
