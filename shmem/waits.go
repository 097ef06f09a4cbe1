package shmem

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// knowledge says whether the value that a write leaves is known.
type knowledge bool

const (
	known   knowledge = true
	unknown knowledge = false
)

// write is a write of one element to a place on which its owner may wait.
type write struct {
	by      *pe
	issued  regions.Point
	signal  *core.Signal
	own     parts // its own accesses; none where they were complete on return
	value   int64
	sure    knowledge
	bytes   uint64
	chained []parts // of operations that take effect before it
	seen    bool    // its owner has waited for it
}

// waiter is a wait for a value.
type waiter struct {
	p       *pe
	test    condition
	signal  core.Signal
	already bool   // the value was there when the call was made
	before  *write // that the PE has waited for before, and that may have ended this wait too
	chosen  *write
	over    regions.Point // when it was over
	reports func()        // says that what ended it is not known
}

// location is what is known of a place in this region.
type location struct {
	writes  []*write
	waiters []*waiter // that wait, and that have waited
}

func (m *Model) location(at place) *location {
	l := m.locations[at]
	if l == nil {
		l = &location{}
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
	return int64(uint64(v) << shift >> shift)
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

// wrote notes a write of one element. What the PE has done before the write was issued
// comes before what its owner does after a wait that saw it.
func (p *pe) wrote(c *call, t *transfer, at place, bytes uint64, op *operation, value int64, sure knowledge) *write {
	w := &write{by: p, issued: p.Now(), signal: &core.Signal{}, value: value, sure: sure, bytes: bytes}
	for _, before := range t.x.pending {
		if before.fenced && before.target == t.owner {
			w.chained = append(w.chained, before.parts())
		}
	}
	if op != nil {
		w.own = op.parts()
		w.own.keep()
	}
	p.Synchronize(c.Call, []*core.Signal{w.signal}, nil, nil)
	l := p.m.location(at)
	l.writes = append(l.writes, w)
	for _, x := range l.waiters {
		switch {
		case !w.may(x.test):
		case x.chosen == nil && x.over == (regions.Point{}):
			x.chosen = w
			p.m.Announce(&x.signal)
			if x.before != nil {
				x.reports()
			}
		case x.chosen == nil: // nothing else could go on before it was over, so that this comes after it
		case !w.follows(x):
			x.reports()
		}
	}
	return w
}

// may reports whether a wait may have been ended by the write.
func (w *write) may(t condition) bool { return !bool(w.sure) || w.bytes != t.bytes || t.met(w.value) }

// follows reports whether the write cannot change what a wait is ordered after: the PE
// that made it knows that the wait is over, or knows the write that was chosen.
func (w *write) follows(x *waiter) bool {
	if x.over != (regions.Point{}) && w.by.Knows(x.over) {
		return true
	}
	return w.sure == known && x.chosen.sure == known && w.by.Knows(x.chosen.issued)
}

// waitUntil replays a wait for one value.
func waitUntil(p *pe, c *call) {
	arg := argIvar
	if c.Has(argSigAddr) {
		arg = argSigAddr
	}
	t := condition{cmp: notEqual, value: c.Int(argCmpValue), bytes: uint64(c.Int(argSize)), signed: c.signed}
	if c.Has(argCmp) {
		t.cmp = c.Int(argCmp)
	}
	if t.cmp < equal || t.cmp > lessEqual || t.bytes == 0 || t.bytes > 8 {
		c.SetBad()
		return
	}
	rising := t.cmp != equal && t.cmp != notEqual
	already := t.met(c.Int(argBefore))
	if already {
		// It saw what was there, or something later.
		t.cmp, t.value = equal, c.Int(argBefore)
	}
	p.await(c, c.Addr(arg), t, already, rising)
}

// test replays a test for one value: a wait, where it is true.
func test(p *pe, c *call) {
	if c.Int(argResult) == 0 {
		return
	}
	t := condition{cmp: c.Int(argCmp), value: c.Int(argCmpValue), bytes: uint64(c.Int(argSize)), signed: c.signed}
	if t.cmp < equal || t.cmp > lessEqual || t.bytes == 0 || t.bytes > 8 {
		c.SetBad()
		return
	}
	p.await(c, c.Addr(argIvar), t, false, true)
}

// await orders the PE after the write that met the condition. already: it was met when
// the call was made; rising: values are not used again, as those of counters are.
func (p *pe) await(c *call, addr uint64, t condition, already, rising bool) {
	at, _, ok := p.at(addr, p.Rank)
	if !ok {
		p.notSymmetric(c, argIvar, addr)
		return
	}
	l, kept := p.m.location(at), *c.Call
	kept.Call = c.Copy()
	x := &waiter{p: p, test: t, already: already, reports: func() {
		p.NotUnderstood(&kept, "which update it waited for cannot be told from the values")
	}}
	if p.choose(l, x, rising) {
		l.waiters = append(l.waiters, x)
		p.over(c, x, core.Wait{On: x.chosen.signal})
		return
	}
	l.waiters = append(l.waiters, x)
	what := func() string { return fmt.Sprintf("for an update of %d bytes that it waits for", t.bytes) }
	p.over(c, x, core.Wait{On: &x.signal, Soft: true, What: what, Then: func() []core.Wait {
		if x.chosen == nil {
			return nil
		}
		return []core.Wait{{On: x.chosen.signal}}
	}})
}

// over waits, and completes what the chosen write shows to be complete.
func (p *pe) over(c *call, x *waiter, w core.Wait) {
	p.Synchronize(c.Call, nil, []core.Wait{w}, func() {
		x.over = p.Now()
		if x.chosen == nil {
			if !x.already {
				x.reports()
			}
			return
		}
		x.chosen.seen = true
		for _, before := range append(x.chosen.chained, x.chosen.own) {
			before.seen(p.Now())
		}
		if !bool(x.chosen.sure) {
			x.reports()
		}
	})
}

// choose chooses the write that ended a wait among those that were issued; false: there
// is none yet. One that the PE knows already is chosen where its value is not used
// again.
func (p *pe) choose(l *location, x *waiter, rising bool) bool {
	var candidates []*write
	for _, w := range l.writes {
		switch {
		case !w.may(x.test):
		case w.seen || p.Knows(w.issued):
			x.before = w
		default:
			candidates = append(candidates, w)
		}
	}
	if len(candidates) == 0 {
		if rising && x.before != nil {
			x.chosen = x.before
		}
		return x.chosen != nil
	}
	x.chosen = candidates[0]
	if x.before != nil && !rising {
		x.reports()
	}
	for _, w := range candidates[1:] {
		if !bool(w.sure) || w.by != x.chosen.by {
			x.reports()
		}
	}
	return true
}

// waitMany replays the waits and tests for several values: of all of them, where it is
// known which.
func waitMany(p *pe, c *call) {
	t := condition{cmp: c.Int(argCmp), value: c.Int(argCmpValue), bytes: uint64(c.Int(argSize)), signed: c.signed}
	n, excluded := c.Int(argNelems), c.List(argStatus)
	base := c.Addr(argIvars)
	var waits []int64
	for i := range n {
		if int(i) >= len(excluded) || excluded[i] == 0 {
			waits = append(waits, i)
		}
	}
	if len(waits) == 1 && !c.Has(argResult) {
		p.await(c, base+uint64(waits[0])*t.bytes, t, false, true)
		return
	}
	if len(waits) > 0 {
		p.NotUnderstood(c.Call, "waits for several values are not followed yet")
	}
}

// waitAny replays those that tell which value was there.
func waitAny(p *pe, c *call) {
	n, i := c.Int(argNelems), c.Int(argResult)
	if i < 0 || i >= n {
		return
	}
	t := condition{cmp: c.Int(argCmp), value: c.Int(argCmpValue), bytes: uint64(c.Int(argSize)), signed: c.signed}
	p.await(c, c.Addr(argIvars)+uint64(i)*t.bytes, t, false, true)
}

// waitUnknown replays those of which the values are not recorded.
func waitUnknown(p *pe, c *call) {
	if c.Has(argResult) && c.Int(argResult) == 0 {
		return
	}
	p.NotUnderstood(c.Call, "waits for several values are not followed yet")
}
