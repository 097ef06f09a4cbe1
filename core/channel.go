package core

import "github.com/mcchk/mcchk/regions"

// ChannelKey names a channel of signals from one strand to another that match in
// order, in the terms of its model: messages of one communicator and tag, for
// example.
type ChannelKey struct {
	Kind     int64 // of channel: one that no other model uses
	On       int64
	From, To int32
	Tag      int64
}

// slot is one of n places for channels of which some of the last are kept.
func (k *ChannelKey) slot(n int) int {
	h := uint64(k.On)*3 ^ uint64(k.From)*5 ^ uint64(k.To)*7 ^ uint64(k.Tag)*11 ^ uint64(k.Kind)
	return int(h % uint64(n))
}

// Channel matches the n-th signal with the n-th wait.
type Channel struct {
	key            ChannelKey
	sent, received uint64
	open           line[*Match] // that one side has yet to take, in order
	first          uint64       // the number of the first of these
	spare          []*Match     // for reuse
	absent         *Machine     // set where one side has no trace: what that gives counts as given
}

// Match is one signal and the wait that matches it.
type Match struct {
	Forth Signal // from the sender
	Back  Signal // from the receiver, which a synchronous sender waits for
	// With is what a model has travel along.
	With any

	carried []*Pending
	over    bool     // the wait is over
	end     matchEnd // when it is
	of      *Channel
	n       uint64 // its number there, from 1
	sides   uint8  // how many of the two sides have taken it
	left    uint8  // and how many have left it
}

// matchEnd is the end of the wait of a match.
type matchEnd struct {
	at     regions.Point
	region int
	by     *regions.CallInfo // the call that ended it, or nil
}

// Channel returns the channel of that name.
func (m *Machine) Channel(k ChannelKey) *Channel {
	recent := &m.registry.recent[k.slot(len(m.registry.recent))]
	if c := *recent; c != nil && c.key == k {
		return c
	}
	c := m.registry.channels[k]
	if c == nil {
		c = &Channel{key: k, first: 1}
		if m.Absent(k.From) || m.Absent(k.To) {
			c.absent = m
		}
		m.registry.channels[k] = c
	}
	*recent = c
	return c
}

// Send returns the next match to its sender.
func (c *Channel) Send() *Match {
	c.sent++
	return c.take(c.sent)
}

// Receive returns the next match to its receiver.
func (c *Channel) Receive() *Match {
	c.received++
	return c.take(c.received)
}

// Peek returns the match that the next Receive will return.
func (c *Channel) Peek() *Match { return c.look(c.received + 1) }

// take gives the n-th match to one of its two sides.
func (c *Channel) take(n uint64) *Match {
	x := c.look(n)
	x.sides++
	if c.absent != nil {
		x.sides = 2
		c.absent.Announce(&x.Forth)
		c.absent.Announce(&x.Back)
	}
	if x.sides == 2 {
		// Both sides take all before it first, so that it is the first.
		c.open.take()
		c.first++
	}
	return x
}

// look returns the n-th match, of which at least one side is to come.
func (c *Channel) look(n uint64) *Match {
	i := int(n - c.first)
	for i >= c.open.len() {
		c.open.add(c.newMatch(c.first + uint64(c.open.len())))
	}
	return c.open.at(i)
}

func (c *Channel) newMatch(n uint64) *Match {
	if k := len(c.spare); k > 0 {
		x := c.spare[k-1]
		c.spare = c.spare[:k-1]
		*x = Match{of: c, n: n}
		return x
	}
	return &Match{of: c, n: n}
}

// GiveBack takes the match back from its receiver, for the next Receive. It
// reports whether the match is the last.
func (x *Match) GiveBack() bool {
	c := x.of
	if c.received != x.n {
		return false
	}
	c.received--
	if x.sides--; x.sides == 1 {
		c.open.putBack(x)
		c.first--
	}
	return true
}

// Leave says that one side will not use the match any more: the sender, which
// has given its signal, or the receiver, whose wait is over. The match may serve
// again once both have left it; who never says so costs its memory only.
func (x *Match) Leave() {
	if x.left++; x.left == 2 {
		x.of.spare = append(x.of.spare, x)
	}
}

// Carry lets the end of the wait complete accesses. Where it is over already, and
// the strand whose accesses they are does not know of it (KnownTo), they were
// complete at that moment.
func (x *Match) Carry(pending ...*Pending) {
	if !x.over {
		x.carried = append(x.carried, pending...)
		return
	}
	for _, p := range pending {
		p.Complete(x.end.at, x.end.by)
	}
}

// KnownTo reports whether the end of the wait comes before the present moment of
// a strand.
func (x *Match) KnownTo(s *Strand) bool {
	return x.over && (x.end.region < s.m.Index() || s.Knows(x.end.at))
}

// Finish ends the receiver's wait at the present moment of a strand, and
// completes what the match carries; by is the call that does.
func (x *Match) Finish(s *Strand, by *regions.CallInfo) {
	x.over, x.end = true, matchEnd{at: s.Now(), region: s.m.Index(), by: by}
	for _, p := range x.carried {
		p.Complete(x.end.at, by)
	}
	x.carried = nil
}
