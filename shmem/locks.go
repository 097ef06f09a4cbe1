package shmem

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// heldLock is a lock that a PE has taken.
type heldLock struct {
	hold  *core.Hold
	grant *core.Grant
}

// lockAt returns the place of the lock that a call names. Every PE's copy of it stands
// for the same lock, so that the place has PE 0 for its owner.
func (p *pe) lockAt(c *call) (place, bool) {
	addr := c.Addr(argLock)
	x := p.find(addr)
	if x == nil {
		p.notSymmetric(c, argLock, addr)
		return place{}, false
	}
	return place{block: x.block, offset: addr - x.lo}, true
}

// lockID names a lock among the objects of all models.
func lockID(at place) int64 { return at.block.ID<<1 ^ int64(at.offset)<<20 }

func setLock(p *pe, c *call) {
	at, ok := p.lockAt(c)
	if !ok {
		return
	}
	ticket := c.Int(argTicket)
	if ticket < 0 {
		p.NotUnderstood(c.Call, "the order in which the lock was granted is not known")
		return
	}
	order := p.m.LockOrder(core.LockKey{Object: lockID(at)})
	l := &heldLock{hold: p.Hold(regions.Lock{Object: lockID(at), Target: regions.AnyTarget, Exclusive: true}, false)}
	l.grant = p.Grant(c.Call, order, ticket, true, p.Info(c.Call), nil)
	p.locks[at] = l
}

func testLock(p *pe, c *call) {
	if c.Int(argResult) == 0 {
		setLock(p, c)
	}
}

func clearLock(p *pe, c *call) {
	p.quiet(c, p.contexts[defaultContext])
	at, ok := p.lockAt(c)
	if !ok {
		return
	}
	l := p.locks[at]
	if l == nil {
		p.NotUnderstood(c.Call, "the PE has not taken the lock")
		return
	}
	delete(p.locks, at)
	p.Release(l.hold)
	if released := p.Released(l.grant); released != nil {
		p.Synchronize(c.Call, []*core.Signal{released}, nil, nil)
	}
}

// heldLocks are the locks that the PE holds, for what it does in the memory of others.
func (p *pe) heldLocks() *regions.LockSet {
	var set *regions.LockSet
	for _, l := range p.locks {
		set = set.With(l.hold.Locks(p.Strand))
	}
	return set
}
