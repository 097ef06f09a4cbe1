package core

import (
	"cmp"
	"fmt"
	"maps"
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
// granted. What it keeps does not grow with the locks that were released.
type LockOrder struct {
	key     LockKey
	next    int64 // the lowest ticket not yet seen
	tickets map[int64]*lockTicket
	// Tickets below next that are in tickets, ascending: of shared and of exclusive
	// locks.
	shared, exclusive []int64
	// released has, by line, the last of its shared locks that fold took out of
	// shared: who comes after that comes after those before it too.
	released map[int32]*lockTicket
	// Whether a shared, and an exclusive lock were forgotten, because their
	// releases are ordered before whatever is to come.
	pastShared, pastExclusive bool
}

// lockTicket is one granted lock.
type lockTicket struct {
	n         int64
	line      int32 // of the strand that held it; noLine: of none, as it excluded nobody
	exclusive bool
	seen      Signal // its lock call was replayed
	released  Signal // its unlock was
}

// LockOrder returns the order of a lock.
func (m *Machine) LockOrder(k LockKey) *LockOrder {
	o := m.registry.locks[k]
	if o == nil {
		o = &LockOrder{key: k, tickets: map[int64]*lockTicket{}, released: map[int32]*lockTicket{}}
		m.registry.locks[k] = o
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
			Ticket: ticket, From: s.Now(), To: regions.Point{Line: s.line, Seg: regions.Never}, Call: call,
		}}
		s.m.registry.lockSpans = append(s.m.registry.lockSpans, g.span)
		after()
		return g
	}
	g := &Grant{ticket: o.saw(s.m, ticket, s.line, exclusive)}
	waits := o.before(ticket, exclusive)
	o.fold()
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
		m.Announce(&o.saw(m, ticket, noLine, false).released)
		o.fold()
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
		t = &lockTicket{n: n}
		o.tickets[n] = t
	}
	return t
}

// saw notes that the lock with ticket n was replayed.
func (o *LockOrder) saw(m *Machine, n int64, line int32, exclusive bool) *lockTicket {
	t := o.ticket(n)
	t.line, t.exclusive = line, exclusive
	m.Announce(&t.seen)
	for x := o.tickets[o.next]; x != nil && x.seen.given; x = o.tickets[o.next] {
		if x.exclusive {
			o.exclusive = append(o.exclusive, o.next)
		} else {
			o.shared = append(o.shared, o.next)
		}
		o.next++
	}
	o.prune()
	return t
}

// prune forgets the locks before the last exclusive one that was released:
// what comes later waits for that one, which had waited for them.
func (o *LockOrder) prune() {
	i := len(o.exclusive) - 1
	for i >= 0 && !o.tickets[o.exclusive[i]].released.given {
		i--
	}
	if i < 0 {
		return
	}
	last := o.exclusive[i]
	for _, n := range o.exclusive[:i] {
		delete(o.tickets, n)
	}
	o.exclusive = o.exclusive[i:]
	for len(o.shared) > 0 && o.shared[0] < last {
		delete(o.tickets, o.shared[0])
		o.shared = o.shared[1:]
	}
	for line, t := range o.released {
		if t.n < last {
			delete(o.released, line)
		}
	}
}

// fold forgets shared locks that were released, but for the last of each strand.
// Who came before any of them was granted its lock already: all lower tickets
// were seen.
func (o *LockOrder) fold() {
	for len(o.shared) > 0 {
		t := o.tickets[o.shared[0]]
		if !t.released.given {
			return
		}
		o.released[t.line] = t
		delete(o.tickets, t.n)
		o.shared = o.shared[1:]
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
	last := int64(-1) // the last exclusive one before
	for _, k := range slices.Backward(o.exclusive) {
		if k < n {
			last = k
			break
		}
	}
	if exclusive {
		for _, k := range slices.Backward(o.shared) {
			if k < last {
				break
			}
			if k < n {
				waits = append(waits, Wait{On: &o.tickets[k].released, Soft: true, What: what})
			}
		}
		folded := slices.SortedFunc(maps.Values(o.released), func(a, b *lockTicket) int { return cmp.Compare(b.n, a.n) })
		for _, t := range folded {
			waits = append(waits, Wait{On: &t.released, Soft: true, What: what})
		}
	}
	if last >= 0 {
		waits = append(waits, Wait{On: &o.tickets[last].released, Soft: true, What: what})
	}
	return waits
}

// forget forgets the locks whose release is past: to wait for it orders nothing
// that is not ordered already.
func (o *LockOrder) forget(m *Machine) {
	gone := func(n int64) bool {
		t := o.tickets[n]
		if !t.released.given || !m.past(&t.released) {
			return false
		}
		delete(o.tickets, n)
		return true
	}
	shared, exclusive := len(o.shared), len(o.exclusive)
	o.shared, o.exclusive = slices.DeleteFunc(o.shared, gone), slices.DeleteFunc(o.exclusive, gone)
	o.pastShared = o.pastShared || len(o.shared) < shared
	o.pastExclusive = o.pastExclusive || len(o.exclusive) < exclusive
	for line, t := range o.released {
		if m.past(&t.released) {
			delete(o.released, line)
			o.pastShared = true
		}
	}
}
