package core

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// LockKey names what a lock protects: the memory that an object exposes at a
// process.
type LockKey struct {
	Object int64
	Target int32 // world rank
}

// LockOrder orders those who held a lock by tickets that were drawn when it was
// granted.
type LockOrder struct {
	key     LockKey
	next    int64 // the lowest ticket not yet seen
	tickets map[int64]*lockTicket
	order   []int64 // tickets in tickets below next, ascending
	// Whether a shared, and an exclusive lock were forgotten, because their
	// releases are ordered before whatever is to come.
	pastShared, pastExclusive bool
}

// lockTicket is one granted lock.
type lockTicket struct {
	exclusive bool
	seen      Signal // its lock call was replayed
	released  Signal // its unlock was
}

// LockOrder returns the order of a lock.
func (m *Machine) LockOrder(k LockKey) *LockOrder {
	o := m.sync.locks[k]
	if o == nil {
		o = &LockOrder{key: k, tickets: map[int64]*lockTicket{}}
		m.sync.locks[k] = o
	}
	return o
}

// Grant is a lock that was granted.
type Grant struct {
	ticket *lockTicket
	span   *regions.LockSpan // instead, where the order of locks is left out
}

// Grant orders the strand after those who held a lock before it and whom it
// excludes, and then goes on with after, which may be nil. call is that which
// took the lock.
func (s *Strand) Grant(c *Call, o *LockOrder, ticket int64, exclusive bool, call *regions.CallInfo, after func()) *Grant {
	if after == nil {
		after = func() {}
	}
	if s.m.opts.AnyLockOrder {
		g := &Grant{span: &regions.LockSpan{
			Lock:   regions.Lock{Object: o.key.Object, Target: o.key.Target, Exclusive: exclusive},
			Ticket: ticket, From: s.Now(), To: regions.Point{Rank: s.Rank, Seg: regions.Never}, Call: call,
		}}
		s.m.sync.lockSpans = append(s.m.sync.lockSpans, g.span)
		after()
		return g
	}
	g := &Grant{ticket: o.saw(s.m, ticket, exclusive)}
	waits := o.before(ticket, exclusive)
	if len(waits) == 0 && !o.pastExclusive && !(exclusive && o.pastShared) {
		after()
		return g
	}
	s.Synchronize(c, nil, waits, after)
	return g
}

// Skip notes a ticket of a lock that excludes nobody.
func (m *Machine) Skip(o *LockOrder, ticket int64) {
	if !m.opts.AnyLockOrder {
		m.Announce(&o.saw(m, ticket, false).released)
	}
}

// Released returns the signal that the release of a lock gives; nil where there
// is none. It is released now.
func (s *Strand) Released(g *Grant) *Signal {
	if g.span != nil {
		g.span.To = s.Now()
		return nil
	}
	return &g.ticket.released
}

func (o *LockOrder) ticket(n int64) *lockTicket {
	t := o.tickets[n]
	if t == nil {
		t = &lockTicket{}
		o.tickets[n] = t
	}
	return t
}

// saw notes that the lock with ticket n was replayed.
func (o *LockOrder) saw(m *Machine, n int64, exclusive bool) *lockTicket {
	t := o.ticket(n)
	t.exclusive = exclusive
	m.Announce(&t.seen)
	for o.tickets[o.next] != nil && o.tickets[o.next].seen.given {
		o.order = append(o.order, o.next)
		o.next++
	}
	o.prune()
	return t
}

// prune forgets the locks before the last exclusive one that was released:
// what comes later waits for that one, which had waited for them.
func (o *LockOrder) prune() {
	for i := len(o.order) - 1; i > 0; i-- {
		t := o.tickets[o.order[i]]
		if t.exclusive && t.released.given {
			for _, n := range o.order[:i] {
				delete(o.tickets, n)
			}
			o.order = slices.Delete(o.order, 0, i)
			return
		}
	}
}

// before returns what a lock with ticket n waits for: that the locks before it
// are seen, and the release of those that it excludes.
func (o *LockOrder) before(n int64, exclusive bool) []Wait {
	var waits []Wait
	what := func() string { return fmt.Sprintf("for an earlier lock of rank %d to be released", o.key.Target) }
	for k := o.next; k < n; k++ {
		// Not seen yet: whether it excludes is known when it is.
		t := o.ticket(k)
		waits = append(waits, Wait{On: &t.seen, Soft: true, What: what, Then: func() []Wait {
			if exclusive || t.exclusive {
				return []Wait{{On: &t.released, Soft: true, What: what}}
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
			waits = append(waits, Wait{On: &t.released, Soft: true, What: what})
		}
		if t.exclusive {
			break
		}
	}
	return waits
}

// forget forgets the locks whose release is past: to wait for it orders nothing
// that is not ordered already.
func (o *LockOrder) forget(m *Machine) {
	o.order = slices.DeleteFunc(o.order, func(n int64) bool {
		t := o.tickets[n]
		if !t.released.given || !m.past(&t.released) {
			return false
		}
		o.pastShared = o.pastShared || !t.exclusive
		o.pastExclusive = o.pastExclusive || t.exclusive
		delete(o.tickets, n)
		return true
	})
}
