package shmem

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// Locks are of type long (OpenSHMEM 1.5, 9.12.1).
const (
	lockType = "lock"
	lockSize = 8
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

// lock is the lock at a place, for its name.
func (at place) lock() *regions.Object {
	b := at.block
	o := b.locks[at.offset]
	if o == nil {
		if b.locks == nil {
			b.locks = map[uint64]*regions.Object{}
		}
		o = &regions.Object{ID: lockID(at), Number: b.Number, Kind: fmt.Sprintf("lock at offset %d of %s", at.offset, b.Kind), Created: b.Created}
		b.locks[at.offset] = o
	}
	return o
}

// touchLock: a call that takes a lock updates it, in the memory of PE 0 and in the PE's
// own, from its beginning. Only such calls may meet there; those that free the lock come
// behind them.
func (p *pe) touchLock(c *call) {
	owners := []int32{0}
	if p.Rank != 0 {
		owners = append(owners, p.Rank)
	}
	for _, owner := range owners {
		_, base, ok := p.at(c.Addr(argLock), owner)
		if !ok {
			continue
		}
		a := p.m.NewAccess()
		*a = regions.Access{
			Rank: p.Rank, Owner: owner, Kind: regions.AtomicWrite, Role: LockTarget, Base: base, Layout: p.m.alike.Strided(1, lockSize, lockSize),
			Elem: p.m.alike.Element(regions.Element{Type: lockType, Size: lockSize, Op: lockType, Promises: worldDomain}),
			Call: p.InfoOn(c.Call, core.Exposer{Object: symmetricMemory}, ""), Unit: lockSize,
		}
		pending := p.Open(a)
		pending.Complete(p.Now(), a.Call)
		pending.Drop()
	}
}

func setLock(p *pe, c *call) {
	at, ok := p.lockAt(c)
	if !ok {
		return
	}
	p.touchLock(c)
	ticket := c.Int(argTicket)
	if ticket < 0 {
		p.NotUnderstood(c.Call, "the order in which the lock was granted is not known")
		return
	}
	order := p.m.LockOrder(core.LockKey{Object: lockID(at)})
	l := &heldLock{hold: p.Hold(regions.Lock{Object: lockID(at), Target: regions.AnyTarget, Exclusive: true, Of: at.lock()})}
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
