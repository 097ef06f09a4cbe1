package regions

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/trace"
)

// groupOf returns the world ranks in a recorded group that are processes.
func (m *Machine) groupOf(c *call) []int32 {
	ranks := []int32{}
	for _, r := range c.list("group") {
		if r < 0 || r >= int64(len(m.procs)) {
			c.bad = true
			continue
		}
		ranks = append(ranks, int32(r))
	}
	return ranks
}

// doPost: signals each process that may access (post → start).
func doPost(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.copies.publish(p)
	e.posted = m.groupOf(c)
	e.postCall = p.info(c)
	m.exposure(p, e, true)
	e.last = e.postCall
	var signals []*signal
	for _, origin := range e.posted {
		s := m.channel(chanKey{kind: 'p', on: e.win.ID, from: p.rank, to: origin}).nextSent()
		signals = append(signals, &s.forth)
	}
	m.synchronize(p, c, signals, nil, nil)
}

// doStart: waits for the post of each target. Softly: a start may return
// before the post, and delay the operations instead (12.5.2). With
// MPI_MODE_NOCHECK it does not wait: what put the posts before it, as the
// program vouches, is another synchronization (12.5.5).
func doStart(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	m.closeFence(p, e)
	e.started = m.groupOf(c)
	e.startCall = p.info(c)
	m.epoch(p, e, StartEpoch, -1, true)
	e.last = e.startCall
	var waits []wait
	check := c.num("assert")&trace.AssertNoCheck == 0
	for _, target := range e.started {
		s := m.channel(chanKey{kind: 'p', on: e.win.ID, from: target, to: p.rank}).nextReceived()
		what := func() string { return fmt.Sprintf("for rank %d to call MPI_Win_post", target) }
		if check {
			waits = append(waits, wait{on: &s.forth, soft: true, what: what})
		}
	}
	m.synchronize(p, c, nil, waits, nil)
}

// doComplete: completes the buffers at the origin, and what only reads; the targets' memory
// completes at their MPI_Win_wait.
func doComplete(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	info := p.info(c)
	e.last = info
	m.epoch(p, e, StartEpoch, -1, false)
	inEpoch := func(op *operation) bool { return op.epoch == StartEpoch }
	m.finish(p, e, info, buffers, inEpoch)
	open, out := map[int32][]*span{}, map[int32]int{}
	for _, op := range e.ops {
		if !inEpoch(op) {
			continue
		}
		target := e.win.members[op.target]
		if op.remote != nil {
			open[target] = append(open[target], op.remote)
		}
		if op.remoteOut {
			out[target]++
		}
	}
	e.ops = slices.DeleteFunc(e.ops, inEpoch)
	var signals []*signal
	for _, target := range e.started {
		s := m.channel(chanKey{kind: 'c', on: e.win.ID, from: p.rank, to: target}).nextSent()
		s.open, s.openOut = open[target], out[target]
		signals = append(signals, &s.forth)
	}
	e.started = nil
	m.synchronize(p, c, signals, nil, nil)
}

// doExposureEnd: MPI_Win_wait, and MPI_Win_test that succeeds, wait for the
// complete of each origin and complete its operations here.
func doExposureEnd(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil || c.has("flag") && c.num("flag") == 0 {
		return
	}
	var waits []wait
	var slots []*slot
	for _, origin := range e.posted {
		s := m.channel(chanKey{kind: 'c', on: e.win.ID, from: origin, to: p.rank}).nextReceived()
		slots = append(slots, s)
		what := func() string { return fmt.Sprintf("for rank %d to call MPI_Win_complete", origin) }
		waits = append(waits, wait{on: &s.forth, what: what})
	}
	e.posted = nil
	m.exposure(p, e, false)
	info := p.info(c)
	e.last = info
	m.synchronize(p, c, nil, waits, func() {
		for _, s := range slots {
			for _, sp := range s.open {
				sp.close(p.here(), info)
			}
			m.endLeftOut(p, s.openOut)
			s.open, s.openOut = nil, 0
		}
		e.copies.refresh(p)
	})
}

// doLock: begins a lock epoch. It waits for the unlock of every lock that was
// granted before it and that it excludes, as the tickets tell.
func doLock(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	rank := c.num("rank")
	if e == nil || rank == trace.ProcNull {
		return
	}
	target := e.win.target(rank)
	if target < 0 {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("rank %d is not in the window's group", rank))
		return
	}
	m.epochs++
	l := &lockEpoch{id: m.epochs, exclusive: c.num("lock_type") == trace.LockExclusive, call: p.info(c)}
	e.locks[target] = l
	e.last = l.call
	m.closeFence(p, e)
	m.epoch(p, e, l.kind(), target, true)
	if c.num("assert")&trace.AssertNoCheck != 0 {
		// The user vouches that nobody else locks: no lock is taken, and
		// nothing waits for it.
		if n := c.num("ticket"); n >= 0 && !m.anyLockOrder {
			m.give(&m.seen(e.win.locker(target), n, false).released, evc.Time{})
		}
		e.copies.refresh(p)
		return
	}
	held := heldLock{win: e.win.ID, target: e.win.members[target], exclusive: l.exclusive, epoch: l.id}
	l.set = l.set.with(held)
	if held.target == p.rank {
		p.setOwn(m, p.own.with(held))
	}
	m.granted(p, c, e, l, target, func() { e.copies.refresh(p) })
}

// doLockTicket: the tracer's note that the process, in a lock_all epoch, drew
// a ticket before its first operation to a target.
func doLockTicket(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil || e.lockAll == nil {
		return
	}
	target := e.win.target(c.num("rank"))
	switch n := c.num("ticket"); {
	case target < 0:
	case e.lockAll.set != nil:
		m.granted(p, c, e, e.lockAll, target, func() {})
	case n >= 0 && !m.anyLockOrder: // MPI_MODE_NOCHECK: nothing is locked
		m.give(&m.seen(e.win.locker(target), n, false).released, evc.Time{})
	}
}

// granted orders a lock after those that it excludes, and then goes on with
// after.
func (m *Machine) granted(p *proc, c *call, e *epochs, l *lockEpoch, target int32, after func()) {
	n := c.num("ticket")
	if n < 0 {
		after()
		return
	}
	if m.anyLockOrder {
		m.openLock(p, e.win, l, target, n)
		after()
		return
	}
	o := e.win.locker(target)
	l.tickets = append(l.tickets, m.seen(o, n, l.exclusive))
	waits := o.before(n, l.exclusive, e.win.members[target])
	if len(waits) == 0 && !o.pastExclusive && !(l.exclusive && o.pastShared) {
		after()
		return
	}
	m.synchronize(p, c, nil, waits, after)
}

// before returns what a lock with ticket n waits for: that the locks before it
// are seen, and the release of those that it excludes.
func (o *lockOrder) before(n int64, exclusive bool, target int32) []wait {
	var waits []wait
	what := func() string { return fmt.Sprintf("for an earlier lock of rank %d to be released", target) }
	for k := o.next; k < n; k++ {
		// Not seen yet: whether it excludes is known when it is.
		t := o.ticket(k)
		waits = append(waits, wait{on: &t.seen, soft: true, what: what, then: func() []wait {
			if exclusive || t.exclusive {
				return []wait{{on: &t.released, soft: true, what: what}}
			}
			return nil
		}})
	}
	for i := len(o.order) - 1; i >= 0; i-- {
		k := o.order[i]
		if k >= n {
			continue
		}
		t := o.tickets[k]
		if exclusive || t.exclusive {
			waits = append(waits, wait{on: &t.released, soft: true, what: what})
		}
		if t.exclusive {
			break
		}
	}
	return waits
}

// doUnlock: MPI_Win_unlock and MPI_Win_unlock_all complete everything at their
// targets, then signal the next lock that they excluded.
func doUnlock(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.copies.publish(p)
	l := e.lockAll
	info := p.info(c)
	e.last = info
	if c.has("rank") {
		target := int32(c.num("rank"))
		if l = e.locks[target]; l != nil {
			m.epoch(p, e, l.kind(), target, false)
		}
		delete(e.locks, target)
		m.finish(p, e, info, buffers|targets, toTarget(target))
	} else {
		if l != nil {
			m.epoch(p, e, LockAllEpoch, -1, false)
		}
		e.lockAll = nil
		m.finish(p, e, info, buffers|targets, nil)
	}
	if l == nil {
		return
	}
	p.setOwn(m, p.own.without(l.id))
	p.unlocked(l.id)
	l.close(p)
	var signals []*signal
	for _, t := range l.tickets {
		signals = append(signals, &t.released)
	}
	if len(signals) > 0 {
		m.synchronize(p, c, signals, nil, nil)
	}
}

func doLockAll(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	m.epochs++
	e.lockAll = &lockEpoch{id: m.epochs, call: p.info(c)}
	e.last = e.lockAll.call
	m.closeFence(p, e)
	m.epoch(p, e, LockAllEpoch, -1, true)
	e.copies.refresh(p)
	if c.num("assert")&trace.AssertNoCheck == 0 {
		held := heldLock{win: e.win.ID, target: anyTarget, epoch: m.epochs}
		e.lockAll.set = e.lockAll.set.with(held)
		p.setOwn(m, p.own.with(held))
	}
}
