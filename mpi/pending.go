package mpi

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// pendingOps are the operations of one process on one window that are pending, so
// kept that a call which completes some of them looks at no others: by target,
// those whose buffers are in use apart from those of which only the access to the
// target is left.
type pendingOps struct {
	issued uint64 // so far
	fresh  opsByTarget
	sent   opsByTarget
	some   []*operation // room for those that a call completes
}

// opsByTarget are lists of operations, by rank in the window.
type opsByTarget struct {
	lists map[int32]*opList
	first *opList // of those that are not empty
}

// opList is operations in the order in which they came to the list.
type opList struct {
	first, last   *operation
	of            *opsByTarget
	before, after *opList // of those that are not empty
}

func (x *opsByTarget) add(op *operation) {
	l := x.lists[op.target]
	if l == nil {
		l = &opList{of: x}
		x.lists[op.target] = l
	}
	op.list, op.before, op.after = l, l.last, nil
	if l.last == nil {
		l.first = op
		if l.after = x.first; l.after != nil {
			l.after.before = l
		}
		x.first = l
	} else {
		l.last.after = op
	}
	l.last = op
}

// remove takes an operation off its list.
func (op *operation) remove() {
	l := op.list
	if op.before == nil {
		l.first = op.after
	} else {
		op.before.after = op.after
	}
	if op.after == nil {
		l.last = op.before
	} else {
		op.after.before = op.before
	}
	op.list, op.before, op.after = nil, nil, nil
	if l.first == nil {
		l.remove()
	}
}

// remove takes a list that has become empty off those that are not.
func (l *opList) remove() {
	if l.before == nil {
		l.of.first = l.after
	} else {
		l.before.after = l.after
	}
	if l.after != nil {
		l.after.before = l.before
	}
	l.before, l.after = nil, nil
}

// add takes an operation that was issued.
func (x *pendingOps) add(op *operation) {
	if x.fresh.lists == nil {
		x.fresh.lists, x.sent.lists = map[int32]*opList{}, map[int32]*opList{}
	}
	x.issued++
	op.number = x.issued
	if len(op.local) > 0 {
		x.fresh.add(op)
	} else {
		x.sent.add(op)
	}
}

// addPending adds an operation that was issued, or makes it one of those of another.
func (m *Model) addPending(e *epochs, op *operation) {
	e.ops.add(op)
	m.merge(op)
}

// fewBefore is how many operations merge looks at.
const fewBefore = 4

// merge makes an operation, the last of its list, one with an earlier one there from
// which it differs in time and address only, where that is among the last.
func (m *Model) merge(op *operation) {
	if op.held || m.apart {
		return
	}
	before := op.before
	for range fewBefore {
		if before == nil {
			return
		}
		if before.mayTake(op, m.Threaded()) {
			op.remove()
			before.take(op)
			m.spare = append(m.spare, op)
			return
		}
		before = before.before
	}
}

// mayTake reports whether an operation, which was issued later, may become one with op;
// threaded: a call may complete the one and not the other, where only that comes before it.
func (op *operation) mayTake(later *operation, threaded bool) bool {
	if op.held || op.shared != nil || later.shared != nil || threaded && op.issued.at.Seg != later.issued.at.Seg || op.number > later.number || op.epoch != later.epoch || op.reads != later.reads ||
		op.call.CallSite != later.call.CallSite || len(op.local) != len(later.local) || (op.remote == nil) != (later.remote == nil) ||
		len(op.apart)+len(later.apart) > 0 {
		return false
	}
	for i, p := range op.local {
		if !p.MayTake(later.local[i]) {
			return false
		}
	}
	return op.remote == nil || op.remote.MayTake(later.remote)
}

func (op *operation) take(later *operation) {
	op.n, op.issued = op.n+later.n, later.issued
	op.words, later.words = append(op.words, later.words...), nil
	op.fetches, later.fetches = append(op.fetches, later.fetches...), nil
	for i, p := range op.local {
		p.Take(later.local[i])
	}
	if op.remote != nil {
		op.remote.Take(later.remote)
	}
}

// anyTarget selects the operations to all targets.
const anyTarget int32 = math.MinInt32

// to returns the operations to a target, or to all, of which some of the parts
// are pending, in the order in which they were issued. It is valid until the next
// use.
func (x *pendingOps) to(target int32, parts sides) []*operation {
	some := x.some[:0]
	take := func(l *opList) {
		for op := l.first; op != nil; op = op.after {
			some = append(some, op)
		}
	}
	for _, of := range [...]*opsByTarget{&x.fresh, &x.sent} {
		switch {
		case of == &x.sent && parts&targets == 0: // their buffers are free already
		case target == anyTarget:
			for l := of.first; l != nil; l = l.after {
				take(l)
			}
		default:
			if l := of.lists[target]; l != nil {
				take(l)
			}
		}
	}
	x.some = some
	if !slices.IsSortedFunc(some, inOrderOfIssue) {
		slices.SortFunc(some, inOrderOfIssue)
	}
	return some
}

func inOrderOfIssue(a, b *operation) int { return cmp.Compare(a.number, b.number) }

// all returns all operations that are pending.
func (x *pendingOps) all() []*operation { return x.to(anyTarget, buffers|targets) }

// sides says which accesses of an operation a call completes.
type sides uint8

const (
	buffers sides = 1 << iota // at the origin
	targets                   // at the target
)

// finish completes some of the operations on a window: their buffers, their accesses to the
// target, or both. Where other threads have completed some of them beside the call, the
// strand comes after what these have done. It returns what operations have fetched of which
// only another strand was told so.
func (m *Model) finish(p *process, e *epochs, by *regions.CallInfo, parts sides, which coverage) []core.Fetched {
	at := p.Now()
	if p.Threaded() {
		e.completes(m, p, completer{by: by, parts: parts, which: which})
	}
	var told []core.Fetched
	for _, op := range e.ops.to(which.target, parts) {
		// What other strands of the process issue beside the call it need not complete.
		switch {
		case !which.has(op):
		case m.isPast(op.issued, p):
			told = fetchedBy(told, op.fetches)
			m.finishOperation(p, e, op, at, by, parts)
		default:
			op.notBy(by, parts)
		}
	}
	return e.beside.show(p, which.target, parts, told)
}

// finishOperation completes one of the operations on a window.
func (m *Model) finishOperation(p *process, e *epochs, op *operation, at regions.Point, by *regions.CallInfo, parts sides) {
	fresh := len(op.local) > 0
	x := m.sharedBy(p, e, op)
	if parts&buffers != 0 {
		if op.reads { // its data is here, so its read is done
			parts |= targets
		}
		x.keep(buffers, op.local...)
		finishAll(op.local, at, by, x == nil)
		if parts&targets == 0 && op.remote != nil && op.call.Local == nil {
			op.call.Local = by
			op.remote.FreedBy(by)
			for _, a := range op.apart {
				a.FreedBy(by)
			}
		}
		op.local = op.local[:0]
	}
	if parts&targets != 0 && op.remote != nil {
		for _, w := range op.words {
			w.Complete(at)
		}
		op.words = nil
		all := append(op.apart, op.remote)
		x.keep(targets, all...)
		finishAll(all, at, by, x == nil)
		op.remote, op.apart = nil, op.apart[:0]
	}
	switch {
	case op.list == nil:
	case !op.pending():
		op.remove()
		if !op.held {
			m.spare = append(m.spare, op)
		}
	case fresh && len(op.local) == 0:
		op.remove()
		e.ops.sent.add(op)
		m.merge(op)
	}
}

// completer is a call of a strand that completes operations, and some parts of which.
type completer struct {
	by    *regions.CallInfo
	at    moment
	parts sides
	which coverage
}

// mostCompleters bounds of how many strands they are remembered: explanations name one.
const mostCompleters = 16

// completes notes the last one of a strand, the latest last.
func (e *epochs) completes(m *Model, p *process, c completer) {
	c.at = m.now(p)
	e.completers = slices.DeleteFunc(e.completers, func(x completer) bool { return x.at.at.Line == c.at.at.Line })
	if len(e.completers) == mostCompleters {
		e.completers = slices.Delete(e.completers, 0, 1)
	}
	e.completers = append(e.completers, c)
}

// notCompleted looks for a call of another strand that was made behind an operation, by the trace,
// and was replayed before it, since nothing puts the one before the other.
func (e *epochs) notCompleted(m *Model, p *process, op *operation) {
	for _, c := range e.completers {
		if c.which.has(op) && c.by.Pos > op.call.Pos && !m.isPast(c.at, p) {
			op.notBy(c.by, c.parts)
		}
	}
}

// notBy says which call of another strand completes none of some parts, for nothing puts the operation
// before that.
func (op *operation) notBy(call *regions.CallInfo, parts sides) {
	if parts&buffers != 0 {
		for _, a := range op.local {
			a.NotBy(call)
		}
	}
	if parts&targets != 0 && op.remote != nil {
		op.remote.NotBy(call)
		for _, a := range op.apart {
			a.NotBy(call)
		}
	}
}

func finishAll(pending []*core.Pending, at regions.Point, by *regions.CallInfo, drop bool) {
	for _, p := range pending {
		p.Complete(at, by)
		if drop {
			p.Drop()
		}
	}
}
