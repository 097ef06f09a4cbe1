package gaspi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// queue is a communication queue of a process.
type queue struct {
	reads  []*operation // that no gaspi_wait has completed
	writes []*operation // the same; their targets are lanes' business
	lanes  map[int32]*lane
	beside *journals // once processes have threads: the reads and writes
}

// journals are the operations of a queue that strands complete beside each other.
type journals struct{ reads, writes journal }

// lane is the writes of a queue to one rank, in their order, that are not known to
// have arrived.
type lane struct {
	first  int // the number of the first
	writes []*operation
	kept   int      // the number of the first that was not asked to be kept
	beside *journal // once processes have threads: the writes
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

// threads returns the operations of the queue, where processes have threads.
func (q *queue) threads(p *process) *journals {
	if q.beside == nil {
		q.beside = &journals{}
		p.move(&q.beside.reads, q.reads)
		p.move(&q.beside.writes, q.writes)
		q.reads, q.writes = nil, nil
	}
	return q.beside
}

// threads returns the writes of the lane, where processes have threads.
func (l *lane) threads(p *process) *journal {
	if l.beside == nil {
		l.beside = &journal{next: l.first}
		p.move(l.beside, l.writes)
		l.writes = nil
	}
	return l.beside
}

// move puts operations from before there were threads into a journal.
func (p *process) move(j *journal, ops []*operation) {
	for _, op := range ops {
		p.share(op)
		j.add(before, op)
	}
}

// write adds writes to a rank.
func (q *queue) write(p *process, rank int32, ops []*operation) {
	l := q.lane(rank)
	if p.m.Threaded() {
		all, lane, line := q.threads(p), l.threads(p), p.Now().Line
		for _, op := range ops {
			all.writes.add(line, op)
			lane.add(line, op)
		}
		return
	}
	q.writes = append(q.writes, ops...)
	l.forget()
	l.writes = append(l.writes, ops...)
}

// forget forgets the first writes that have arrived, by notifications of their own.
func (l *lane) forget() {
	n := 0
	for n < len(l.writes) && l.writes[n].remote == nil && l.writes[n].local == nil {
		l.writes[n] = nil
		n++
	}
	l.writes, l.first = l.writes[n:], l.first+n
}

// read adds reads.
func (q *queue) read(p *process, ops []*operation) {
	if p.m.Threaded() {
		for _, op := range ops {
			q.threads(p).reads.add(p.Now().Line, op)
		}
		return
	}
	q.reads = append(q.reads, ops...)
}

// next is the number of the write that comes next.
func (l *lane) next() int { return l.first + len(l.writes) }

// over gives a journal's way of forgetting operations the journals of the queue, with which operations
// are complete for all that is to come.
func (q *queue) over(p *process, forget func(*journal, func(*operation) bool)) {
	past := func(done func(*shared) *core.Moment) func(*operation) bool {
		return func(op *operation) bool {
			at := done(op.shared)
			return at != nil && p.m.IsPast(*at)
		}
	}
	free := past(func(x *shared) *core.Moment { return x.free })
	all := q.threads(p)
	forget(&all.reads, free)
	forget(&all.writes, free)
	for _, l := range q.lanes {
		forget(l.threads(p), past(func(x *shared) *core.Moment { return x.gone }))
	}
}

// keep keeps the sources of all writes so far.
func (l *lane) keep() {
	for _, op := range l.writes[max(0, l.kept-l.first):] {
		op.keep()
	}
	l.kept = l.next()
}

// until takes the writes before a number.
func (l *lane) until(number int) []*operation {
	n := max(0, number-l.first)
	ops := l.writes[:n]
	l.writes, l.first = l.writes[n:], l.first+n
	return ops
}

// wait completes what is on the queue at the caller.
func wait(p *process, c *core.Call) {
	q, now, by := p.queue(c.Int(argQueue)), p.Moment(), p.Info(c)
	if p.m.Threaded() {
		all := q.threads(p)
		all.reads.wait(p, true, now, by)
		all.writes.wait(p, false, now, by)
		return
	}
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

// wait completes what the strand knows of. Another one may still do so beside it.
func (j *journal) wait(p *process, read bool, now core.Moment, by *regions.CallInfo) {
	j.deal(now.At.Line, j.known(p), func(op *operation) {
		if x := op.shared; x.free == nil || !p.ComesAfter(*x.free) {
			op.waited(read, now, by)
		}
	})
}

// purge: what was on the queue is in an undefined state.
func purge(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	left := len(q.reads)+len(q.writes) > 0
	if q.beside != nil {
		left = left || q.beside.reads.pending() || q.beside.writes.pending()
	}
	if left {
		p.NotUnderstood(c, "what becomes of the operations on the queue is not defined")
	}
}
