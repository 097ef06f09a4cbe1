package shmem

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// write is a write of one element to a place on which its owner may wait.
type write struct {
	by      *pe
	issued  regions.Point
	signal  *core.Signal
	own     parts  // its own accesses, and those that its call has before it; none where they were complete on return
	chain   *chain // what fences have put before it; nil: nothing
	chained int    // how much of that
	next    *write // the first that was issued behind it, and replaced what it left
	word    *core.WordOp
	effect
}

// effect is what a write did to the bytes of its place.
type effect struct {
	bytes    uint64
	old      int64 // what it replaced
	value    int64 // what it left
	oldKnown bool
	known    bool // what it left is known
}

// leaves is the effect of a write of a known value over whatever was there.
func leaves(value int64, bytes uint64) effect {
	return effect{value: lowest(value, bytes), bytes: bytes, known: true}
}

// replaces is the effect of an atomic operation that found a value.
func replaces(old, value int64, bytes uint64) effect {
	return effect{old: lowest(old, bytes), value: lowest(value, bytes), bytes: bytes, known: true, oldKnown: true}
}

// lowest returns the lowest bytes of a value as a number without a sign.
func lowest(v int64, bytes uint64) int64 {
	shift := 64 - 8*min(bytes, 8)
	return int64(uint64(v) << shift >> shift)
}

// waiter is a wait for a value; or for the write that another one replaced, which has
// taken effect before it.
type waiter struct {
	p       *pe
	test    condition
	signal  core.Signal
	already bool // the value was there when the call was made
	loose   bool // it may have been
	earlier bool // it is for a write that another one replaced
	chosen  *write
	back    *waiter       // for the write that the chosen one replaced
	over    regions.Point // when it was over
	call    *regions.CallInfo
	at      *location
	behind  bool // it is for what another write replaced, which may be gone for long
	// passed has the writes that were chosen for those behind which it is: where the same
	// values come again and again, going back from one to the one before would not end.
	passed map[*write]bool
}

// unsure says that what ended it is not known for certain.
func (x *waiter) unsure() {
	x.p.m.Report(core.Problem{
		Kind: core.NotUnderstood, Rank: x.p.Rank, Fn: x.call.Fn, Call: x.call, MayOrder: true,
		Text: "which update it saw cannot be told from the values",
	})
}

// location is what is known of a place in this region.
type location struct {
	writes  []*write
	last    []*write  // those behind which none was issued
	waiters []*waiter // that wait, and that have waited
	kept    int       // writes, when some were forgotten last
	waiting int       // waiters, likewise
	// followed has, by PE, the write that it saw last: it comes after those before that.
	followed map[*pe]*write
}

func (m *Model) location(at place) *location {
	l := m.locations[at]
	if l == nil {
		l = &location{followed: map[*pe]*write{}}
		m.locations[at] = l
	}
	return l
}

// condition is what a wait waits for.
type condition struct {
	cmp    int64
	value  int64
	bytes  uint64
	signed bool
}

// Comparisons, as traces have them.
const (
	equal = iota + 1
	notEqual
	greater
	greaterEqual
	less
	lessEqual
)

// extend returns the number that the lowest bytes of a value are.
func (t condition) extend(v int64) int64 {
	shift := 64 - 8*min(t.bytes, 8)
	if t.signed {
		return v << shift >> shift
	}
	return lowest(v, t.bytes)
}

// met reports whether a value meets the condition.
func (t condition) met(v int64) bool {
	a, b := t.extend(v), t.extend(t.value)
	below := a < b
	if !t.signed {
		below = uint64(a) < uint64(b)
	}
	switch t.cmp {
	case equal:
		return a == b
	case notEqual:
		return a != b
	case greater:
		return !below && a != b
	case greaterEqual:
		return !below
	case less:
		return below
	case lessEqual:
		return below || a == b
	}
	return false
}

// valid reports whether it is one that a call can have.
func (t condition) valid() bool {
	return t.cmp >= equal && t.cmp <= lessEqual && t.bytes > 0 && t.bytes <= 8
}

// wrote notes a write of one element. What the PE has done before the write was issued
// comes before what its owner does after a wait that saw it.
func (p *pe) wrote(c *call, t *transfer, at place, op *operation, e effect, update core.Update) *write {
	w := &write{by: p, issued: p.Now(), signal: &core.Signal{}, effect: e}
	if c := t.x.chains[t.owner]; c != nil {
		w.chain, w.chained = c, len(c.parts)
	}
	if op != nil {
		w.own = op.parts()
		w.own.keep()
	}
	w.word = p.Issue(at.word(e.bytes), c.Begin, update, op == nil)
	w.word.OnSeen(func(by *core.Strand) { w.seen(p.m.pes[by.Rank]) })
	if op != nil {
		op.word = w.word
	}
	p.Synchronize(c.Call, []*core.Signal{w.signal}, nil, nil)
	l := p.m.location(at)
	l.last = slices.DeleteFunc(l.last, func(before *write) bool {
		if p.Knows(before.issued) {
			before.next = w
		}
		return before.next != nil
	})
	l.last = append(l.last, w)
	l.writes = append(l.writes, w)
	for _, x := range l.waiters {
		switch {
		case !w.may(x.test):
		case x.chosen == nil && x.over == (regions.Point{}):
			x.chosen = w
			p.m.Announce(&x.signal)
		case x.chosen == nil && !x.earlier: // nothing else could go on before it was over, so that this comes after it
		case !w.follows(x):
			x.unsure()
		}
	}
	return w
}

// may reports whether a wait may have been ended by the write: whether it is the first
// to meet the condition. Those behind it come after it.
func (w *write) may(t condition) bool {
	if !w.known || w.bytes != t.bytes {
		return true
	}
	return t.met(w.value) && !(w.oldKnown && t.met(w.old))
}

// goneFor reports whether a PE knows that something has replaced what the write left,
// before the call that it is in.
func (w *write) goneFor(p *pe) bool {
	return w.next != nil && p.Knows(w.next.issued) && (w.next.by != p || w.next.issued.Pos != p.Pos())
}

// follows reports whether the write cannot change what a wait is ordered after: the PE
// that made it knows that the wait is over, or knows the write that was chosen.
func (w *write) follows(x *waiter) bool {
	if x.over != (regions.Point{}) && w.by.Knows(x.over) {
		return true
	}
	return x.chosen != nil && w.known && x.chosen.known && w.by.Knows(x.chosen.issued)
}

// await orders the PE after the writes that met the conditions of a call, each of which
// is of one place.
func (p *pe) await(c *call, list []awaited) {
	var waits []core.Wait
	var waiters []*waiter
	for _, w := range list {
		at, _, ok := p.at(w.addr, p.Rank)
		switch {
		case !ok:
			p.notSymmetric(c, argIvar, w.addr)
			return
		case !w.valid():
			c.SetBad()
			return
		}
		if w.already { // it saw what was there, or something later
			w.cmp, w.value = equal, w.before
		}
		x := &waiter{p: p, test: w.condition, already: w.already, loose: w.loose, call: p.Info(c.Call)}
		waiters = append(waiters, x)
		waits = append(waits, p.m.location(at).wait(x))
	}
	p.over(c, waiters, waits)
}

// over lets the PE go on when its waits are over.
func (p *pe) over(c *call, waiters []*waiter, waits []core.Wait) {
	p.Synchronize(c.Call, nil, waits, func() {
		for _, x := range waiters {
			if x.chosen != nil {
				x.at.followed[p] = x.chosen
			}
			for ; x != nil; x = x.back {
				x.end()
			}
		}
	})
}

// wait returns the waits of a waiter: for the write that it saw, and for those that took
// effect there before.
func (l *location) wait(x *waiter) core.Wait {
	x.at = l
	chosen := l.choose(x)
	l.waiters = append(l.waiters, x)
	saw := func() []core.Wait {
		if x.chosen == nil {
			return nil
		}
		return []core.Wait{{On: x.chosen.signal, Then: func() []core.Wait { return l.replaced(x) }}}
	}
	if chosen {
		return saw()[0]
	}
	return core.Wait{
		On: &x.signal, Soft: true, Then: saw, Early: x.earlier && x.test.value == 0,
		What: func() string { return fmt.Sprintf("for an update of %d bytes that it waits for", x.test.bytes) },
	}
}

// replaced returns the wait for the write that the chosen one replaced: also where the PE
// knows the chosen one, as it knows its own, which need not have told it of those before.
func (l *location) replaced(x *waiter) []core.Wait {
	w := x.chosen
	if !w.oldKnown || l.followed[x.p] == w {
		return nil
	}
	if w.old == 0 && !slices.ContainsFunc(l.writes, func(w *write) bool { return w.known && w.value == 0 }) {
		return nil // the first that was there
	}
	passed := x.passed
	if passed == nil {
		passed = map[*write]bool{}
	}
	passed[w] = true
	x.back = &waiter{
		p: x.p, earlier: true, behind: true, call: x.call, passed: passed,
		test: condition{cmp: equal, value: w.old, bytes: w.bytes},
	}
	return []core.Wait{l.wait(x.back)}
}

// end completes what the chosen write shows to be complete.
func (x *waiter) end() {
	x.over = x.p.Now()
	if x.chosen == nil {
		// What an operation found may be older than all that is remembered: that orders
		// nothing which is not ordered anyway.
		if !x.earlier && !x.already {
			x.unsure()
		}
		return
	}
	x.chosen.seen(x.p)
	if !x.chosen.known {
		x.unsure()
	}
}

// seen: the PE comes after the write now, and after what takes effect before it.
func (w *write) seen(p *pe) {
	w.own.seen(p.Now())
	if w.chain != nil {
		w.chain.see(p, w.chained, p.Now())
	}
}

// choose chooses the write that ended a wait among those that were issued; false: there
// is none yet. Where the PE knows one already that may have been it, that one is chosen,
// since it orders nothing.
func (l *location) choose(x *waiter) bool {
	l.forget(x.p)
	var known *write
	var candidates []*write
	for _, w := range l.writes {
		switch {
		case !w.may(x.test), x.passed[w], !x.behind && w.goneFor(x.p):
		case x.p.Knows(w.issued):
			known = w
		default:
			candidates = append(candidates, w)
		}
	}
	switch {
	case known != nil && (x.already || x.loose || x.earlier):
		x.chosen = known
		if len(candidates) > 0 {
			x.p.MayHaveOrdered(x.call.Fn)
		}
		return true
	case len(candidates) == 0:
		return false
	}
	x.chosen = candidates[0]
	for _, w := range candidates[1:] {
		if !w.known || w.by != x.chosen.by {
			x.unsure()
		}
	}
	return true
}

// many is of how many writes, and waits, a location keeps those that are not needed for
// certain.
const many = 32

// forget drops writes that its owner knows, but for the last, and waits that all PEs
// know to be over. To know one write more than is kept is to be undecided more often.
func (l *location) forget(owner *pe) {
	l.forgetWrites(func(w *write) bool { return owner.Knows(w.issued) })
	if len(l.waiters) >= 2*many && len(l.waiters) >= 2*l.waiting {
		l.waiters = slices.DeleteFunc(l.waiters, func(x *waiter) bool {
			return x.over != (regions.Point{}) && !slices.ContainsFunc(owner.m.pes, func(q *pe) bool { return !q.Knows(x.over) })
		})
		l.waiting = len(l.waiters)
	}
}

func (l *location) forgetWrites(known func(*write) bool) {
	if len(l.writes) < 2*many || len(l.writes) < 2*l.kept {
		return
	}
	behind := len(l.writes) - many
	writes := l.writes[:0]
	for i, w := range l.writes {
		if i >= behind || !known(w) {
			writes = append(writes, w)
		}
	}
	clear(l.writes[len(writes):])
	l.writes, l.kept = writes, len(writes)
}
