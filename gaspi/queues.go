package gaspi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
)

// queue is a communication queue of a process.
type queue struct {
	reads  []*operation // that no gaspi_wait has completed
	writes []*operation // the same; their targets are lanes' business
	lanes  map[int32]*lane
}

// lane is the writes of a queue to one rank, in their order, that are not known to
// have arrived.
type lane struct {
	first  int // the number of the first
	writes []*operation
	kept   int  // the number of the first that was not asked to be kept
	keeps  bool // sources of some are kept
}

func (p *process) queue(id int64) *queue {
	q := p.queues[id]
	if q == nil {
		q = &queue{lanes: map[int32]*lane{}}
		p.queues[id] = q
	}
	return q
}

func (q *queue) lane(rank int32) *lane {
	l := q.lanes[rank]
	if l == nil {
		l = &lane{}
		q.lanes[rank] = l
	}
	return l
}

// write adds writes to a rank.
func (q *queue) write(rank int32, ops []*operation) {
	q.writes = append(q.writes, ops...)
	l := q.lane(rank)
	for i, op := range ops {
		op.number = l.next() + i
	}
	l.writes = append(l.writes, ops...)
}

// next is the number of the write that comes next.
func (l *lane) next() int { return l.first + len(l.writes) }

// known returns the writes that the strand knows of, and which it does not know to have
// arrived.
func (l *lane) known(p *process) []*operation {
	var ops []*operation
	for _, op := range l.writes {
		if x := p.share(op); p.knowsOf(op) && (x.gone == nil || !p.ComesAfter(*x.gone)) {
			ops = append(ops, op)
		}
	}
	return ops
}

// settle forgets, where a region begins, what is complete for all strands.
func (q *queue) settle(region int) (left bool) {
	over := func(op *operation) bool { return op.over(region) }
	q.reads, q.writes = slices.DeleteFunc(q.reads, over), slices.DeleteFunc(q.writes, over)
	for _, l := range q.lanes {
		l.writes = slices.DeleteFunc(l.writes, func(op *operation) bool {
			return op.shared != nil && op.shared.gone != nil && op.shared.gone.Region < region
		})
		left = left || len(l.writes) > 0
	}
	return left || len(q.reads)+len(q.writes) > 0
}

// keep keeps the sources of all writes so far, and reports whether there are any.
func (l *lane) keep() bool {
	for _, op := range l.writes[max(0, l.kept-l.first):] {
		l.keeps = op.keep() || l.keeps
	}
	l.kept = l.next()
	return l.keeps
}

// before returns the writes before a number, of a notification from before there were threads.
func (l *lane) before(number int) []*operation {
	var ops []*operation
	for _, op := range l.writes {
		if op.number < number {
			ops = append(ops, op)
		}
	}
	return ops
}

// until takes the writes before a number.
func (l *lane) until(number int) []*operation {
	n := max(0, number-l.first)
	ops := l.writes[:n]
	l.writes, l.first = l.writes[n:], l.first+n
	l.keeps = l.keeps && len(l.writes) > 0
	return ops
}

// wait completes what is on the queue at the caller.
func wait(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	q.reads, q.writes = p.waited(c, q.reads, true), p.waited(c, q.writes, false)
}

// waited completes operations, and returns those of which another strand may still learn.
func (p *process) waited(c *core.Call, ops []*operation, read bool) []*operation {
	now, by := p.Moment(), p.Info(c)
	kept := ops[:0]
	for _, op := range ops {
		if !p.m.Threaded() {
			op.waited(read, now, by)
			continue
		}
		if x := p.share(op); p.knowsOf(op) && (x.free == nil || !p.ComesAfter(*x.free)) {
			op.waited(read, now, by)
		}
		kept = append(kept, op)
	}
	clear(ops[len(kept):])
	return kept
}

// purge: what was on the queue is in an undefined state.
func purge(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	pending := func(op *operation) bool { return op.shared == nil || op.shared.free == nil }
	if slices.ContainsFunc(q.reads, pending) || slices.ContainsFunc(q.writes, pending) {
		p.NotUnderstood(c, "what becomes of the operations on the queue is not defined")
	}
}
