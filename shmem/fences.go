package shmem

import (
	"iter"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// How operations that are pending are completed by quiet, and put before others by fences.

// parts are the accesses of an operation, as they were when something was issued that
// takes effect after it.
type parts []*core.Pending

// parts returns the accesses of an operation that is pending.
func (op *operation) parts() parts {
	var list parts
	for _, a := range []*core.Pending{op.remote, op.local} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// shows returns those that are complete where the operation is seen to have taken effect.
func (op *operation) shows() parts {
	if op.result {
		return (&operation{remote: op.remote}).parts()
	}
	return op.parts()
}

// effects is shows of an operation that a fence has put before others, be it pending or complete.
func (op *operation) effects() parts {
	switch {
	case op.remote != nil, op.chained == nil:
		return op.shows()
	case op.result:
		return parts{op.chained}
	default:
		return op.done
	}
}

// keep says that they may be seen to be complete.
func (l parts) keep() {
	for _, a := range l {
		a.Keep()
	}
}

// seen: whoever comes after a moment comes after them.
func (l parts) seen(at regions.Point) {
	for _, a := range l {
		a.Seen(at)
	}
}

// past: all that is to come comes after them.
func (l parts) past() bool {
	return !slices.ContainsFunc(l, func(a *core.Pending) bool { return !a.Past() })
}

// quiet completes all that is pending on a context.
func (p *pe) quiet(c *call, x *context) {
	p.quietFor(c, x, func(*operation) bool { return true })
	if !p.Threaded() {
		x.chains = nil
	}
}

// quietFor completes some of what is pending on a context. Of a PE with threads it also
// shows that complete which another thread has completed beside it.
func (p *pe) quietFor(c *call, x *context, of func(*operation) bool) {
	clear(x.recent)
	x.ordered++
	for op := range x.completed.beside(p, (*operation).completedAt) {
		if of(op) {
			op.done.seen(p.Now())
			op.completeWords(p.Now())
		}
	}
	x.pending.deal(p, func(op *operation) (over bool) {
		if !of(op) {
			return false
		}
		if p.Threaded() {
			op.done, op.over = op.parts(), p.Moment()
			op.done.keep()
			switch {
			case op.fence == nil: // another thread may still put it before what comes, beside this call
				op.before = op.remote
			case op.before != nil:
				op.done = append(op.done, op.before)
				op.before.Seen(p.Now())
			}
			x.completed.add(op, op.over)
		}
		op.complete(p.Now(), p.Info(c.Call))
		return true
	})
	x.open.deal(p, func(op *operation) bool { return op.remote == nil && op.local == nil })
}

// fewHeld is how much is held of a context before it is worth to look for what may be forgotten.
const fewHeld = 4

// forget takes what nothing is held of any more, for somebody has seen that it is complete of whom
// all know, off what is pending, and off what fences have put before others. It looks where twice
// as much is held as was left the last time.
func (x *context) forget() {
	if x.held() < 2*x.left+fewHeld {
		return
	}
	x.pending.forget(func(op *operation) (over bool) {
		for _, a := range op.parts() {
			if !a.Gone() {
				return false
			}
		}
		op.complete(op.issued.At, nil)
		return true
	})
	x.open.forget(func(op *operation) bool { return op.remote == nil && op.local == nil })
	for _, all := range x.chains {
		for _, c := range all {
			c.forget()
		}
	}
	x.left = x.held()
}

// held counts what is pending, and what fences have put before others.
func (x *context) held() int {
	n := 0
	for _, by := range x.pending {
		n += len(by.ops)
	}
	for _, all := range x.chains {
		for _, c := range all {
			n += len(c.links)
		}
	}
	return n
}

// issued is operations, by the lines of the strands that have issued them, in their orders.
type issued []*issuedBy

type issuedBy struct {
	line int32
	ops  []*operation
}

func (l *issued) add(op *operation) {
	by := l.by(op)
	by.ops = append(by.ops, op)
}

// takeBack takes back the operation that was added last.
func (l *issued) takeBack(op *operation) {
	by := l.by(op)
	by.ops = by.ops[:len(by.ops)-1]
}

func (l *issued) by(op *operation) *issuedBy {
	line := op.issued.At.Line
	i := slices.IndexFunc(*l, func(by *issuedBy) bool { return by.line == line })
	if i < 0 {
		i = len(*l)
		*l = append(*l, &issuedBy{line: line})
	}
	return (*l)[i]
}

// forget removes operations.
func (l *issued) forget(which func(*operation) bool) {
	for _, by := range *l {
		by.ops = slices.DeleteFunc(by.ops, which)
	}
}

// deal visits the operations that the strand of a PE comes after the issue of, and removes those
// that are over then.
func (l *issued) deal(p *pe, with func(*operation) (over bool)) {
	for _, by := range *l {
		n := len(by.ops)
		if n > 0 && !p.ComesAfter(by.ops[n-1].issued) {
			n = sort.Search(n, func(i int) bool { return !p.ComesAfter(by.ops[i].issued) })
		}
		left := slices.DeleteFunc(by.ops[:n:n], with)
		by.ops = slices.Delete(by.ops, len(left), n)
	}
}

// completedAt is when an operation was completed.
func (op *operation) completedAt() core.Moment { return op.over }

// fencedAt is since when it takes effect before what is issued.
func (op *operation) fencedAt() core.Moment { return *op.fence }

// dealt is operations with which something was done after they were issued: they were completed,
// or put before what comes. A list is of those to one PE that one strand has issued and one
// has dealt with, in the order of both.
type dealt struct {
	lists   map[dealers][]*operation
	order   []dealers // in which the lists began
	visited map[visitor]int
}

// visitor is whom news of a list are for.
type visitor struct {
	dealers
	line int32
}

// dealers are who has issued operations and who has dealt with them.
type dealers struct {
	issuer, other int32 // lines
	region        int   // in which they were issued
	target        int32
}

// add adds an operation that was dealt with at a moment.
func (d *dealt) add(op *operation, at core.Moment) {
	by := dealers{op.issued.At.Line, at.At.Line, op.issued.Region, op.target}
	if d.lists == nil {
		d.lists = map[dealers][]*operation{}
	}
	if d.lists[by] == nil {
		d.order = append(d.order, by)
	}
	d.lists[by] = append(d.lists[by], op)
}

// beside visits the operations of which the strand of a PE comes after the issue, and with which
// another one has dealt beside it; when returns when that was.
func (d *dealt) beside(p *pe, when func(*operation) core.Moment) iter.Seq[*operation] {
	return d.visit(p, when, func(dealers, int) int { return 0 })
}

// news is beside without those that the strand has visited before.
func (d *dealt) news(p *pe, when func(*operation) core.Moment) iter.Seq[*operation] {
	if d.visited == nil {
		d.visited = map[visitor]int{}
	}
	return d.visit(p, when, func(by dealers, n int) int {
		v := visitor{by, p.Now().Line}
		first := d.visited[v]
		d.visited[v] = max(first, n)
		return first
	})
}

// visit is beside. from returns from which on those of a list, up to the n-th, are visited.
func (d *dealt) visit(p *pe, when func(*operation) core.Moment, from func(by dealers, n int) int) iter.Seq[*operation] {
	return func(yield func(*operation) bool) {
		for _, by := range d.order {
			ops := d.lists[by]
			n := sort.Search(len(ops), func(i int) bool { return !p.ComesAfter(ops[i].issued) })
			first := sort.Search(len(ops), func(i int) bool { return !p.ComesAfter(when(ops[i])) })
			for _, op := range ops[min(max(first, from(by, n)), n):n] {
				if !yield(op) {
					return
				}
			}
		}
	}
}

// complete completes an operation.
func (op *operation) complete(at regions.Point, by *regions.CallInfo) {
	for _, a := range []**core.Pending{&op.remote, &op.local} {
		if *a != nil {
			(*a).Complete(at, by)
			if op.done == nil {
				(*a).Drop()
			}
			*a = nil
		}
	}
	op.completeWords(at)
}

// completeWords says that what it does to words is complete.
func (op *operation) completeWords(at regions.Point) {
	op.word.Complete(at)
	for _, w := range op.covers {
		w.Complete(at)
	}
}

// quietTo completes what is pending to some PEs on a context.
func quietTo(p *pe, c *call) {
	x := p.context(c)
	if x == nil {
		return
	}
	p.quietFor(c, x, func(op *operation) bool {
		return slices.ContainsFunc(c.List(argTargets), func(number int64) bool { return x.team.member(number) == op.target })
	})
	for _, number := range c.List(argTargets) {
		if !p.Threaded() {
			delete(x.chains, x.team.member(number))
		}
	}
}

func quiet(p *pe, c *call) {
	if x := p.context(c); x != nil {
		p.quiet(c, x)
	}
}

// fence: what the context issued before takes effect at each target before what it
// issues later.
func fence(p *pe, c *call) {
	x := p.context(c)
	if x == nil {
		return
	}
	x.ordered++
	for op := range x.completed.beside(p, (*operation).completedAt) {
		if op.fence == nil && fenced[op.role] != nil {
			x.fenceOne(p, op)
		}
	}
	x.open.deal(p, func(op *operation) bool { return x.fenceOne(p, op) })
	for op := range x.fenced.news(p, (*operation).fencedAt) {
		if op.done == nil || !p.ComesAfter(op.over) {
			x.fenceAgain(p, op)
		}
	}
}

// fenceAgain puts an operation before what its context issues later that another thread has put
// before what comes, beside this fence.
func (x *context) fenceAgain(p *pe, op *operation) {
	if op.chained != nil {
		op.chained.PartAlso(p.Strand)
	}
	x.chain(p, op, op.effects(), p.Moment())
}

// fenceOne puts one operation before what its context issues later, if the fence comes after
// it: one that is pending, or that another thread has completed beside the fence. It reports
// whether it did.
func (x *context) fenceOne(p *pe, op *operation) bool {
	if !p.ComesAfter(op.issued) {
		return false
	}
	now := p.Moment()
	op.fence = &now
	part := op.remote
	switch {
	case part != nil:
		if p.Threaded() {
			op.before = part
			part.Keep()
		}
		part = part.Part(p.Strand, fenced[op.role])
		op.remote = part
	case op.before != nil:
		part = op.before.Part(p.Strand, fenced[op.role])
		op.done = append(op.done, part)
	}
	if part != nil && op.shown != nil {
		*op.shown = append(*op.shown, part)
	}
	op.chained = part
	shows := op.effects()
	shows.keep()
	x.chain(p, op, shows, now)
	if p.Threaded() {
		x.fenced.add(op, now)
	}
	return true
}

// chain is what a context's fences have put before what it issues later to one PE: those of
// one strand, in their order.
type chain struct {
	by    *core.Strand
	links []link
	gone  int            // links before these, which are not kept
	seen  map[viewer]int // how many a strand has seen to be complete
	over  int            // how many, the first, are past
}

// chained is the first links of a chain: what comes before something that was issued.
type chained struct {
	*chain
	n int
}

// link is an operation that a fence has put before others.
type link struct {
	parts
	op    *operation
	fence core.Moment
}

// viewer is a strand in a concurrent region.
type viewer struct {
	*core.Strand
	region int
}

// chain adds an operation to those that take effect before what comes next, as a fence of the
// PE says since a moment, which shows that some of its accesses are complete.
func (x *context) chain(p *pe, op *operation, shows parts, since core.Moment) {
	if x.chains == nil {
		x.chains = map[int32][]*chain{}
	}
	all := x.chains[op.target]
	i := slices.IndexFunc(all, func(c *chain) bool { return c.by == p.Strand })
	if i < 0 {
		i = len(all)
		all = append(all, &chain{by: p.Strand, seen: map[viewer]int{}})
		x.chains[op.target] = all
	}
	c := all[i]
	c.links = append(c.links, link{shows, op, since})
}

// settle forgets, where a region begins, what is known to all threads: what is complete.
func (x *context) settle(p *pe) {
	x.completed, x.fenced = dealt{}, dealt{}
	if !p.Threaded() {
		return
	}
	for target, all := range x.chains {
		var left []*chain // others than before, of which what was issued counts the links
		for _, c := range all {
			again := &chain{by: c.by, seen: map[viewer]int{}}
			for _, l := range c.links {
				if l.op.remote != nil || l.op.local != nil {
					again.links = append(again.links, l)
				}
			}
			if len(again.links) > 0 {
				left = append(left, again)
			}
		}
		x.chains[target] = left
	}
}

// before returns what comes before what the PE issues now to another one.
func (x *context) before(p *pe, target int32) (list []chained) {
	for _, c := range x.chains[target] {
		n := len(c.links)
		if p.Threaded() { // who comes after a fence of a strand comes after those before it
			n = sort.Search(n, func(i int) bool { return !p.ComesAfter(c.links[i].fence) })
		}
		if n > 0 {
			list = append(list, chained{c, c.gone + n})
		}
	}
	return list
}

// past reports whether the operations are complete for all that is to come.
func (c chained) past() bool {
	c.advance(c.n)
	return c.over >= c.n
}

// advance counts the first links that are past, of so many.
func (c *chain) advance(n int) {
	for c.over < n && c.links[c.over-c.gone].past() {
		c.over++
	}
}

// forget forgets the first links that are past.
func (c *chain) forget() {
	c.advance(c.gone + len(c.links))
	if n := c.over - c.gone; n > 0 {
		c.links, c.gone = slices.Clone(c.links[n:]), c.over
	}
}

// see: a strand has seen that the operations are complete, at a moment.
func (c chained) see(by *core.Strand, region int, at regions.Point) {
	v := viewer{by, region}
	c.past() // which moves over: what is past, nobody need see any more
	if first := max(c.seen[v], c.over); first < c.n {
		for _, l := range c.links[first-c.gone : c.n-c.gone] {
			l.seen(at)
		}
	}
	c.seen[v] = max(c.seen[v], c.n)
}
