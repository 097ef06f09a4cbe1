package core

import "github.com/mcchk/mcchk/regions"

// ChannelKey names a channel of signals from one strand to another that match in
// order, in the terms of its model: messages of one communicator and tag, for
// example.
type ChannelKey struct {
	Kind     int64 // tells what kinds of channels a model has apart
	On       int64
	From, To int32
	Tag      int64
}

// Channel matches the n-th signal with the n-th wait.
type Channel struct {
	sent, received uint64
	matches        map[uint64]*Match
}

// Match is one signal and the wait that matches it.
type Match struct {
	Forth Signal // from the sender
	Back  Signal // from the receiver, which a synchronous sender waits for
	// With is what a model has travel along.
	With any

	carried []*Pending
	over    bool // the wait is over
	of      *Channel
	n       uint64 // its number there, from 1
	sides   uint8  // how many of the two sides have it
}

// Channel returns the channel of that name.
func (m *Machine) Channel(k ChannelKey) *Channel {
	c := m.sync.channels[k]
	if c == nil {
		c = &Channel{matches: map[uint64]*Match{}}
		m.sync.channels[k] = c
	}
	return c
}

// Send returns the next match to its sender.
func (c *Channel) Send() *Match {
	c.sent++
	return c.at(c.sent)
}

// Receive returns the next match to its receiver.
func (c *Channel) Receive() *Match {
	c.received++
	return c.at(c.received)
}

// Peek returns the match that the next Receive will return.
func (c *Channel) Peek() *Match { return c.look(c.received + 1) }

// at returns the n-th match to one of its two sides.
func (c *Channel) at(n uint64) *Match {
	x := c.look(n)
	if x.sides++; x.sides == 2 {
		delete(c.matches, n)
	}
	return x
}

// look returns the n-th match, of which at least one side is to come.
func (c *Channel) look(n uint64) *Match {
	x := c.matches[n]
	if x == nil {
		x = &Match{of: c, n: n}
		c.matches[n] = x
	}
	return x
}

// GiveBack takes the match back from its receiver, for the next Receive. It
// reports whether the match is the last.
func (x *Match) GiveBack() bool {
	c := x.of
	if c.received != x.n {
		return false
	}
	c.received--
	x.sides--
	c.matches[x.n] = x
	return true
}

// Carry lets the end of the wait complete accesses.
func (x *Match) Carry(pending ...*Pending) { x.carried = append(x.carried, pending...) }

// Over reports whether Finish was called.
func (x *Match) Over() bool { return x.over }

// Finish notes that the receiver's wait is over, and completes what the match
// carries at the present moment of a strand; by is the call that does.
func (x *Match) Finish(s *Strand, by *regions.CallInfo) {
	x.over = true
	for _, p := range x.carried {
		p.Complete(s.Now(), by)
	}
	x.carried = nil
}
