package mpi

import (
	"fmt"
	"maps"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// groupOf returns the world ranks in a recorded group that are processes.
func (m *Model) groupOf(c *core.Call) []int32 {
	ranks := []int32{}
	for _, r := range c.List(argGroup) {
		if r < 0 || r >= int64(len(m.procs)) {
			c.SetBad()
			continue
		}
		ranks = append(ranks, int32(r))
	}
	return ranks
}

// doPost: signals each process that may access (post → start).
func doPost(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.copies.publish(p)
	e.posted = m.groupOf(c)
	e.postCall = p.Info(c)
	m.epoch(p, e, ExposureEpoch, -1, true)
	e.last = e.postCall
	var signals []*core.Signal
	for _, origin := range e.posted {
		s := m.Channel(core.ChannelKey{Kind: 'p', On: e.win.ID, From: p.Rank, To: origin}).Send()
		signals = append(signals, &s.Forth)
	}
	p.Synchronize(c, signals, nil, nil)
}

// doStart: waits for the post of each target. Softly: a start may return
// before the post, and delay the operations instead (12.5.2). With
// MPI_MODE_NOCHECK it does not wait: what put the posts before it, as the
// program vouches, is another synchronization (12.5.5).
func doStart(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	m.closeFence(p, e)
	e.started = m.groupOf(c)
	e.startCall = p.Info(c)
	m.epoch(p, e, StartEpoch, -1, true)
	e.last = e.startCall
	var waits []core.Wait
	check := c.Int(argAssert)&trace.AssertNoCheck == 0
	for _, target := range e.started {
		s := m.Channel(core.ChannelKey{Kind: 'p', On: e.win.ID, From: target, To: p.Rank}).Receive()
		what := func() string { return fmt.Sprintf("for rank %d to call MPI_Win_post", target) }
		if check {
			waits = append(waits, core.Wait{On: &s.Forth, Soft: true, What: what})
		}
	}
	p.Synchronize(c, nil, waits, nil)
}

// doComplete: completes the buffers at the origin, and what only reads; the targets' memory
// completes at their MPI_Win_wait.
func doComplete(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	info := p.Info(c)
	e.last = info
	m.epoch(p, e, StartEpoch, -1, false)
	at := p.Now()
	open := map[int32][]*core.Pending{}
	which := covered(c)
	for _, op := range e.ops.all() {
		if !which.has(op) {
			continue
		}
		m.finishOperation(e, op, at, info, buffers)
		if op.list == nil {
			continue // all of it is complete
		}
		target := e.win.members[op.target]
		open[target] = append(open[target], op.remote)
		op.remove()
	}
	var signals []*core.Signal
	for _, target := range e.started {
		s := m.Channel(core.ChannelKey{Kind: 'c', On: e.win.ID, From: p.Rank, To: target}).Send()
		s.Carry(open[target]...)
		signals = append(signals, &s.Forth)
	}
	e.started = nil
	p.Synchronize(c, signals, nil, nil)
}

// doExposureEnd: MPI_Win_wait, and MPI_Win_test that succeeds, wait for the
// complete of each origin and complete its operations here.
func doExposureEnd(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil || c.Has(argFlag) && c.Int(argFlag) == 0 {
		return
	}
	var waits []core.Wait
	var slots []*core.Match
	for _, origin := range e.posted {
		s := m.Channel(core.ChannelKey{Kind: 'c', On: e.win.ID, From: origin, To: p.Rank}).Receive()
		slots = append(slots, s)
		what := func() string { return fmt.Sprintf("for rank %d to call MPI_Win_complete", origin) }
		waits = append(waits, core.Wait{On: &s.Forth, What: what})
	}
	e.posted = nil
	m.epoch(p, e, ExposureEpoch, -1, false)
	info := p.Info(c)
	e.last = info
	p.Synchronize(c, nil, waits, func() {
		for _, s := range slots {
			s.Finish(p.Strand, info)
		}
		e.copies.refresh(p)
	})
}

// doLock: begins a lock epoch. It waits for the unlock of every lock that was
// granted before it and that it excludes, as the tickets tell.
func doLock(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	rank := c.Int(argRank)
	if e == nil || rank == trace.ProcNull {
		return
	}
	target := e.win.target(rank)
	if target < 0 {
		p.NotUnderstood(c, fmt.Sprintf("rank %d is not in the window's group", rank))
		return
	}
	l := &lockEpoch{
		exclusive: c.Int(argLockType) == trace.LockExclusive, noCheck: c.Int(argAssert)&trace.AssertNoCheck != 0, call: p.Info(c),
	}
	e.locks[target] = l
	e.last = l.call
	m.closeFence(p, e)
	m.epoch(p, e, l.kind(), target, true)
	l.hold = p.Hold(regions.Lock{Object: e.win.ID, Target: e.win.members[target], Exclusive: l.exclusive}, l.noCheck)
	m.granted(p, c, e, l, target, func() { e.copies.refresh(p) })
}

// doLockTicket: the tracer's note that the process, in a lock_all epoch, drew
// a ticket before its first operation to a target.
func doLockTicket(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil || e.lockAll == nil {
		return
	}
	if target := e.win.target(c.Int(argRank)); target >= 0 {
		m.granted(p, c, e, e.lockAll, target, nil)
	}
}

// granted orders a lock after those that it excludes, and then goes on with
// after. With MPI_MODE_NOCHECK the user vouches that nobody else locks: nothing
// is locked, and nothing waits for it.
func (m *Model) granted(p *process, c *core.Call, e *epochs, l *lockEpoch, target int32, after func()) {
	n := c.Int(argTicket)
	if n >= 0 {
		o := m.LockOrder(core.LockKey{Object: e.win.ID, Target: e.win.members[target]})
		if !l.noCheck {
			l.grants = append(l.grants, p.Grant(c, o, n, l.exclusive, l.call, after))
			return
		}
		m.Skip(o, n)
	}
	if after != nil {
		after()
	}
}

// doUnlock: MPI_Win_unlock and MPI_Win_unlock_all complete everything at their
// targets, then signal the next lock that they excluded.
func doUnlock(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.copies.publish(p)
	l := e.lockAll
	info := p.Info(c)
	e.last = info
	if c.Has(argRank) {
		target := int32(c.Int(argRank))
		if l = e.locks[target]; l != nil {
			m.epoch(p, e, l.kind(), target, false)
		}
		delete(e.locks, target)
	} else {
		if l != nil {
			m.epoch(p, e, LockAllEpoch, -1, false)
		}
		e.lockAll = nil
	}
	m.finish(p, e, info, buffers|targets, covered(c))
	if l == nil {
		return
	}
	p.Release(l.hold)
	var signals []*core.Signal
	for _, g := range l.grants {
		if s := p.Released(g); s != nil {
			signals = append(signals, s)
		}
	}
	if len(signals) > 0 {
		p.Synchronize(c, signals, nil, nil)
	}
}

func doLockAll(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.lockAll = &lockEpoch{noCheck: c.Int(argAssert)&trace.AssertNoCheck != 0, call: p.Info(c)}
	e.last = e.lockAll.call
	m.closeFence(p, e)
	m.epoch(p, e, LockAllEpoch, -1, true)
	e.copies.refresh(p)
	e.lockAll.hold = p.Hold(regions.Lock{Object: e.win.ID, Target: regions.AnyTarget}, e.lockAll.noCheck)
}

// closeFence ends the fence epoch of a process, if there is one.
func (m *Model) closeFence(p *process, e *epochs) {
	if e.fence {
		m.epoch(p, e, FenceEpoch, -1, false)
	}
	e.fence = false
}

// doFence: completes what the process issued since the last fence, then orders
// all processes of the window; unless it says that no operation precedes, when
// it does not necessarily act as a barrier (12.5.1).
func doFence(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	assert := c.Int(argAssert)
	m.closeFence(p, e)
	e.fence = assert&trace.AssertNoSucceed == 0
	if e.fence {
		m.epoch(p, e, FenceEpoch, -1, true)
	}
	e.fenced(p.Info(c), assert)
	e.fences++
	e.copies.publish(p)
	if e.loose = assert&trace.AssertNoPrecede != 0; e.loose {
		m.inOrder(p, c, p.take(core.MeetKey{On: e.win.ID, Of: onWindow}), e.win.group)
		p.Pass(e.win.guard(e.rank, e.fences))
		p.Landmark(c, true)
		e.copies.refresh(p)
		return
	}
	m.finish(p, e, p.Info(c), buffers|targets, covered(c))
	if e.afterFence == nil {
		e.afterFence = func() {
			maps.DeleteFunc(e.win.guards, func(k fenceKey, _ *core.Guard) bool { return k.n < e.fences })
			e.copies.refresh(p)
		}
	}
	m.collect(p, c, core.MeetKey{On: e.win.ID, Of: onWindow}, e.win.group, core.AllToAll, core.NoRoot, e.afterFence)
}

func doFlush(m *Model, p *process, c *core.Call, r *entry) {
	e := m.epochsOf(p, c)
	if e != nil {
		m.finish(p, e, p.Info(c), r.part, covered(c))
	}
}
