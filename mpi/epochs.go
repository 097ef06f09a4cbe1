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
	e.noPut = nil
	if c.Int(argAssert)&trace.AssertNoPut != 0 && p.knows(e) {
		e.noPut = m.voucher(p, e, e.postCall)
	}
	m.epoch(p, e, ExposureEpoch, -1, true)
	ready := m.vouch(p, e, c, e.postCall)
	e.synchronized(e.postCall, m.now(p))
	var signals []*core.Signal
	for _, origin := range e.posted {
		s := m.Channel(core.ChannelKey{Kind: 'p', On: e.win.ID, From: p.Rank, To: origin}).Send()
		m.checkReady(p, e, s, ready)
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
	ready := m.vouch(p, e, c, e.startCall)
	e.synchronized(e.startCall, m.now(p))
	var waits []core.Wait
	check := c.Int(argAssert)&trace.AssertNoCheck == 0
	for _, target := range e.started {
		s := m.Channel(core.ChannelKey{Kind: 'p', On: e.win.ID, From: target, To: p.Rank}).Receive()
		m.checkReady(p, e, s, ready)
		what := func() string { return fmt.Sprintf("for rank %d to call MPI_Win_post", target) }
		if check {
			waits = append(waits, core.Wait{On: &s.Forth, Soft: true, What: what})
		}
	}
	p.Synchronize(c, nil, waits, nil)
}

// sentUpdates are the updates of a target that an epoch of MPI_Win_start made.
type sentUpdates struct {
	pending []*core.Pending
	first   *regions.CallInfo // the call of the first; nil: there is none
}

// doComplete: completes the buffers at the origin, and what only reads; the targets' memory
// completes at their MPI_Win_wait.
func doComplete(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	info := p.Info(c)
	e.synchronized(info, m.now(p))
	m.epoch(p, e, StartEpoch, -1, false)
	at := p.Now()
	open := map[int32]sentUpdates{}
	which := covered(c)
	for _, op := range e.ops.all() {
		if !which.has(op) {
			continue
		}
		m.finishOperation(p, e, op, at, info, buffers)
		if op.list == nil {
			continue // all of it is complete
		}
		target := e.win.members[op.target]
		u := open[target]
		u.pending = append(append(u.pending, op.remote), op.apart...)
		if u.first == nil {
			u.first = op.call
		}
		open[target] = u
		op.remove()
	}
	var signals []*core.Signal
	for _, target := range e.started {
		s := m.Channel(core.ChannelKey{Kind: 'c', On: e.win.ID, From: p.Rank, To: target}).Send()
		u := open[target]
		s.Carry(u.pending...)
		if u.first != nil && p.knows(e) {
			s.With = u.first
		}
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
		waits = append(waits, core.Wait{On: &s.Forth, Coming: true, What: what})
	}
	e.posted = nil
	m.epoch(p, e, ExposureEpoch, -1, false)
	info := p.Info(c)
	e.synchronized(info, m.now(p))
	p.Synchronize(c, nil, waits, func() {
		for _, s := range slots {
			s.Finish(p.Strand, info)
			m.checkExposed(e, s)
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
	l := m.beginLock(p, e, c, target, c.Int(argLockType))
	m.closeFence(p, e)
	m.epoch(p, e, l.kind(), target, true)
	if !l.transfer {
		l.hold = p.Hold(regions.Lock{Object: e.win.ID, Of: &e.win.Object, Target: e.win.members[target], Exclusive: l.exclusive, Void: l.noCheck})
	}
	m.granted(p, c, e, l, target, func() { e.copies.refresh(p) })
}

// doLockTicket: the tracer's note that the process, in a lock_all epoch, drew
// a ticket before its first operation to a target.
func doLockTicket(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	if l, target := e.locks.all(), e.win.target(c.Int(argRank)); l != nil && target >= 0 {
		m.granted(p, c, e, l, target, nil)
	}
}

// granted orders a lock after those that it excludes, and then goes on with
// after. With MPI_MODE_NOCHECK the user vouches that nobody else locks: nothing
// is locked, and nothing waits for it; nor does what a coarray library locks for a transfer.
func (m *Model) granted(p *process, c *core.Call, e *epochs, l *lockEpoch, target int32, after func()) {
	n := c.Int(argTicket)
	if n >= 0 {
		o := m.lockOrder(e, target)
		if !l.noCheck && !l.transfer {
			l.grants = append(l.grants, p.Grant(c, o, n, l.exclusive, l.call, after))
			return
		}
		m.Skip(o, n)
	}
	if after != nil {
		after()
	}
}

// lockOrder returns the order of the locks of a member's part of a window.
func (m *Model) lockOrder(e *epochs, target int32) *core.LockOrder {
	return m.LockOrder(core.LockKey{Object: e.win.ID, Target: e.win.members[target]})
}

// doUnlock: MPI_Win_unlock and MPI_Win_unlock_all complete everything at their
// targets, then signal the next lock that they excluded.
func doUnlock(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.copies.publish(p)
	l := e.locks.all()
	info := p.Info(c)
	e.synchronized(info, m.now(p))
	if c.Has(argRank) {
		target := int32(c.Int(argRank))
		if l = e.locks.on(target); l != nil {
			m.epoch(p, e, l.kind(), target, false)
		}
	} else if l != nil {
		m.epoch(p, e, LockAllEpoch, -1, false)
	}
	m.finish(p, e, info, buffers|targets, covered(c))
	if l == nil {
		return
	}
	e.locks.end(l, e.since)
	if l.hold != nil {
		p.Release(l.hold)
	}
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

// beginLock opens a lock epoch of a target, or of all; kind is trace.LockShared and so on.
func (m *Model) beginLock(p *process, e *epochs, c *core.Call, target int32, kind int64) *lockEpoch {
	now := m.now(p)
	l := e.locks.begin(lockEpoch{
		of: e, target: target, call: p.Info(c), before: e.last,
		exclusive: kind == trace.LockExclusive, transfer: kind == trace.LockTransfer,
		noCheck: c.Int(argAssert)&trace.AssertNoCheck != 0,
	}, now)
	e.synchronized(l.call, now)
	m.checkLocked(p, l)
	return l
}

func doLockAll(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	l := m.beginLock(p, e, c, anyTarget, trace.LockShared)
	m.closeFence(p, e)
	m.epoch(p, e, LockAllEpoch, -1, true)
	e.copies.refresh(p)
	l.hold = p.Hold(regions.Lock{Object: e.win.ID, Of: &e.win.Object, Target: regions.AnyTarget, Void: l.noCheck})
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
	e.since = m.now(p)
	e.fences++
	e.copies.publish(p)
	if e.loose = assert&trace.AssertNoPrecede != 0; e.loose {
		m.inOrder(p, c, p.take(core.MeetKey{On: e.win.ID, Of: onWindow}), e.win.group)
		f := e.win.fence(e.rank, e.fences)
		p.Pass(&f.Guard)
		f.early = nil
		p.Landmark(c, true)
		e.copies.refresh(p)
		return
	}
	m.finish(p, e, p.Info(c), buffers|targets, covered(c))
	if e.afterFence == nil {
		e.afterFence = func() {
			maps.DeleteFunc(e.win.fences, func(k fenceKey, _ *fenceCall) bool { return k.n < e.fences })
			e.copies.refresh(p)
		}
	}
	m.collect(p, c, core.MeetKey{On: e.win.ID, Of: onWindow}, e.win.group, core.AllToAll, core.NoRoot, e.afterFence)
}

func doFlush(m *Model, p *process, c *core.Call, r *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	if told := m.finish(p, e, p.Info(c), r.part, covered(c)); len(told) > 0 {
		p.Fetch(c, told, c.End)
	}
}
