// Package evc keeps logical time for the strands of a concurrent region: as
// encoded vector clocks, one number a timestamp, and as plain vector clocks
// behind the same interface.
//
// A Clock belongs to one phase of one concurrent region: a phase ends with the
// region, or earlier, where all strands have long known of what came first (see
// Next). While the phase is built, one goroutine ticks and merges; afterwards
// any number may compare.
package evc

import (
	"fmt"
	"strings"
)

// Stamp names a timestamp of the Clock that gave it. The zero Stamp lies before
// every event: it knows of nothing.
type Stamp int32

// Clock timestamps the separate regions of the strands of one concurrent
// region (rules R1 to R5 of "On the Growth of the Prime Numbers Based Encoded
// Vector Clock", section 5).
type Clock interface {
	// Now returns the timestamp of the strand's current separate region.
	Now(strand int) Stamp
	// Time returns a timestamp as a signal carries it.
	Time(s Stamp) Time
	// Tick begins a new separate region of the strand (R1).
	Tick(strand int)
	// Merge takes over what a signal carried (R2 to R5): the strand's
	// timestamp becomes the least upper bound of its own and t. The zero
	// Time changes nothing.
	Merge(strand int, t Time)
	// Join returns the least upper bound of two times.
	Join(a, b Time) Time
	// JoinAll returns that of a time and others. It makes nothing in between that stays
	// in memory.
	JoinAll(a Time, others []Time) Time
	// Knows reports whether the n-th separate region of a strand, from 1 in
	// the first phase, happens before one of another strand stamped s:
	// whether that strand's own component of its timestamp is in s. For
	// regions of one strand program order decides instead.
	Knows(s Stamp, strand int, n uint32) bool
	// Has is Knows of a time.
	Has(t Time, strand int, n uint32) bool
	// Bits returns the size of a timestamp in bits: of a number, or of a vector
	// with a component of 32 bits for each strand.
	Bits(s Stamp) int
	// Size returns how many bytes a timestamp takes in memory, beside what it
	// has in common with those made before it.
	Size(s Stamp) int
	// Stamps returns the number of timestamps made.
	Stamps() int

	// Floor returns for each strand how many of its separate regions all of
	// the active strands know of, or have passed, and are in all of some times
	// too: what strands that are still to begin know.
	Floor(active []int, coming ...Time) []uint32
	// Next returns the clock of a phase that goes on from here, without the
	// separate regions below the floor: the first that it counts is the one
	// behind them. Times of earlier phases keep their meaning.
	Next(floor []uint32) Clock
	// Strands returns how many strands the clock has, and Grow a clock that goes on
	// from here with more. The new ones have been ticked once, and know of nothing but
	// what lies before the phase. Times keep their meaning; timestamps are to be
	// entered anew, as with Next.
	Strands() int
	Grow(strands int) Clock
	// Enter returns a time of an earlier phase as a timestamp of this one.
	Enter(t Time) Stamp
	// Past reports whether a time knows of nothing but what lies before this
	// phase.
	Past(t Time) bool
}

// joinAll is Clock.JoinAll, where many joins a time that knows of something and several others.
func joinAll(c Clock, a Time, others []Time, many func(Time, []Time) Time) Time {
	for a.IsZero() && len(others) > 0 {
		a, others = others[0], others[1:]
	}
	switch len(others) {
	case 0:
		return a
	case 1:
		return c.Join(a, others[0])
	}
	return many(a, others)
}

// Time is a timestamp apart from its clock. It has a meaning in all phases of the
// concurrent region.
type Time struct {
	n     number
	v     vector // where n is zero
	phase *phase
}

// IsZero reports whether the time lies before every event.
func (t Time) IsZero() bool { return t.phase == nil }

// Names of the clocks that New makes.
const (
	Encoded = "evc"
	Vector  = "vector"
	// Auto is encoded while numbers are quicker than vectors, and vectors from
	// then on to the end of the concurrent region; of so many strands that
	// vectors share pages, vectors at once: there, to find the factors of the
	// numbers takes longer than everything else.
	Auto = "auto"
)

// Names returns the names of all clocks.
func Names() []string { return []string{Auto, Encoded, Vector} }

// Maker makes the clocks of one run, one for each concurrent region.
type Maker struct {
	name    string
	strands int
	primes  []uint64
}

// NewMaker returns a Maker of clocks of that name for that many strands.
func NewMaker(name string, strands int) (*Maker, error) {
	m := &Maker{name: name, strands: strands}
	if name == Auto && strands > onePage {
		m.name = Vector
	}
	switch m.name {
	case Encoded, Auto:
		m.primes = firstPrimes(strands)
	case Vector:
	default:
		return nil, fmt.Errorf("no clock %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return m, nil
}

// New returns the clock of a concurrent region, in which each strand has been
// ticked once.
func (m *Maker) New() Clock { return m.Again(nil) }

// Again is New, in the storage of a clock of the Maker that is not used any more;
// nil: there is none. Times that it gave have no meaning then.
func (m *Maker) Again(old Clock) Clock {
	if old != nil && old.Strands() != m.strands {
		old = nil // it has grown
	}
	if m.name == Vector {
		c, _ := old.(*vectorClock)
		return newVector(c, m.strands)
	}
	c, _ := old.(*encodedClock)
	c = newEncoded(c, m.primes)
	c.auto = m.name == Auto
	c.limit = limitOf(m.strands, c.auto)
	return c
}
