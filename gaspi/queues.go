package gaspi

import "github.com/mcchk/mcchk/core"

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
	l.writes = append(l.writes, ops...)
}

// next is the number of the write that comes next.
func (l *lane) next() int { return l.first + len(l.writes) }

// keep keeps the sources of all writes so far, and reports whether there are any.
func (l *lane) keep() bool {
	for _, op := range l.writes[max(0, l.kept-l.first):] {
		l.keeps = op.keep() || l.keeps
	}
	l.kept = l.next()
	return l.keeps
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
	q, now, by := p.queue(c.Int(argQueue)), p.Now(), p.Info(c)
	for _, op := range q.reads {
		op.waited(true, now, by)
	}
	for _, op := range q.writes {
		op.waited(false, now, by)
	}
	clear(q.reads)
	clear(q.writes)
	q.reads, q.writes = q.reads[:0], q.writes[:0]
}

// purge: what was on the queue is in an undefined state.
func purge(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	if len(q.reads)+len(q.writes) > 0 {
		p.NotUnderstood(c, "what becomes of the operations on the queue is not defined")
	}
}
