// Package evc keeps logical time for the strands of a concurrent region: as
// encoded vector clocks, one number a timestamp, and as plain vector clocks
// behind the same interface.
//
// A Clock belongs to one concurrent region. While the region is built, one
// goroutine ticks and merges; afterwards any number may compare.
package evc

import "fmt"

// Stamp names a timestamp of the Clock that gave it. The zero Stamp lies before
// every event: it is ordered before nothing and nothing is ordered before it.
type Stamp int32

// Clock timestamps the separate regions of the strands of one concurrent
// region (rules R1 to R5 of "On the Growth of the Prime Numbers Based Encoded
// Vector Clock", section 5).
type Clock interface {
	// Now returns the timestamp of the strand's current separate region.
	Now(strand int) Stamp
	// Tick begins a new separate region of the strand (R1).
	Tick(strand int)
	// Merge takes over what a signal carried (R2 to R5): the strand's
	// timestamp becomes the least upper bound of its own and s.
	Merge(strand int, s Stamp)
	// Join returns the least upper bound of two timestamps. The zero Stamp
	// is neutral.
	Join(a, b Stamp) Stamp
	// Before reports whether a separate region stamped a happens before one
	// of another strand stamped b. For regions of one strand program order
	// decides instead.
	Before(a, b Stamp) bool
	// Bits returns the size of a timestamp in bits.
	Bits(s Stamp) int
	// Stamps returns the number of timestamps made.
	Stamps() int
}

// Names of the clocks that New makes.
const (
	Encoded = "evc"
	Vector  = "vector"
)

// Maker makes the clocks of one run, one for each concurrent region.
type Maker struct {
	name    string
	strands int
	primes  []uint64
}

// NewMaker returns a Maker of clocks of that name for that many strands.
func NewMaker(name string, strands int) (*Maker, error) {
	m := &Maker{name: name, strands: strands}
	switch name {
	case Encoded:
		m.primes = firstPrimes(strands)
	case Vector:
	default:
		return nil, fmt.Errorf("no clock %q: there are %q and %q", name, Encoded, Vector)
	}
	return m, nil
}

// New returns the clock of a concurrent region, in which each strand has been
// ticked once.
func (m *Maker) New() Clock {
	if m.name == Encoded {
		return newEncoded(m.primes)
	}
	return newVector(m.strands)
}
