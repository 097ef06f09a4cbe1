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
	"math"
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
	// Knows reports whether the n-th separate region of a strand, from 1 in
	// the first phase, happens before one of another strand stamped s:
	// whether that strand's own component of its timestamp is in s. For
	// regions of one strand program order decides instead.
	Knows(s Stamp, strand int, n uint32) bool
	// Bits returns the size of a timestamp in bits.
	Bits(s Stamp) int
	// Stamps returns the number of timestamps made.
	Stamps() int

	// Floor returns for each strand how many of its separate regions all of
	// the active strands know of, or have passed.
	Floor(active []int) []uint32
	// Next returns the clock of a phase that goes on from here, without the
	// separate regions below the floor: the first that it counts is the one
	// behind them. Times of earlier phases keep their meaning.
	Next(floor []uint32) Clock
	// Enter returns a time of an earlier phase as a timestamp of this one.
	Enter(t Time) Stamp
	// Past reports whether a time knows of nothing but what lies before this
	// phase.
	Past(t Time) bool
}

// Time is a timestamp apart from its clock.
type Time struct {
	n    number
	v    []uint32 // in vector form; n is unused then
	base *base
}

// IsZero reports whether the time lies before every event.
func (t Time) IsZero() bool { return t.base == nil }

// base says where a phase counts from.
type base struct {
	below []uint32 // separate regions of each strand before it; nil: none
}

// above returns the number of a separate region in a phase with this base, and
// whether it belongs to an earlier one.
func (b *base) above(strand int, n uint32) (uint32, bool) {
	below := b.of(strand)
	return n - below, n <= below
}

func (b *base) of(strand int) uint32 {
	if b.below == nil {
		return 0
	}
	return b.below[strand]
}

// next returns the base that lies floor above.
func (b *base) next(floor []uint32) *base {
	below := make([]uint32, len(floor))
	for i, n := range floor {
		below[i] = b.of(i) + n
	}
	return &base{below: below}
}

// lower takes the difference of two phases off a vector, which it changes.
func lower(v []uint32, from, to *base) {
	for i := range v {
		v[i] -= min(v[i], to.of(i)-from.of(i))
	}
}

// Names of the clocks that New makes.
const (
	Encoded = "evc"
	Vector  = "vector"
	// Auto is encoded while numbers are quicker than vectors, and vectors from
	// then on to the end of the concurrent region.
	Auto = "auto"
)

// Names returns the names of all clocks.
func Names() []string { return []string{Auto, Encoded, Vector} }

// Maker makes the clocks of one run, one for each concurrent region.
type Maker struct {
	name    string
	strands int
	primes  []uint64
	start   base // of the first phases of all regions
}

// NewMaker returns a Maker of clocks of that name for that many strands.
func NewMaker(name string, strands int) (*Maker, error) {
	m := &Maker{name: name, strands: strands}
	switch name {
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
// nil: there is none. Times that the clock gave keep their meaning.
func (m *Maker) Again(old Clock) Clock {
	if m.name == Vector {
		c, _ := old.(*vectorClock)
		return newVector(c, m.strands, &m.start)
	}
	c, _ := old.(*encodedClock)
	c = newEncoded(c, m.primes, &m.start)
	if c.limit = vectorBits(m.strands); m.name == Auto {
		c.limit, c.auto = min(quickBits(m.strands), c.limit), true
	}
	return c
}

// lowest takes the least of each component.
type lowest struct{ floor []uint32 }

func newLowest(strands int) lowest {
	l := lowest{make([]uint32, strands)}
	for i := range l.floor {
		l.floor[i] = math.MaxUint32
	}
	return l
}

// add takes in what an active strand knows. Its own present separate region is
// not over.
func (l lowest) add(strand int, v []uint32) {
	for i, n := range v {
		if i == strand && n > 0 {
			n--
		}
		l.floor[i] = min(l.floor[i], n)
	}
}
