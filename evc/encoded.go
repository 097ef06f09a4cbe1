package evc

import "math/bits"

// encodedClock is the encoded vector clock: strand i owns the i-th prime, a
// tick multiplies by it, a merge is the least common multiple, and a separate
// region is ordered before another when its strand's own power of its prime
// divides the other's timestamp, which is when the whole timestamp does. No
// operation of these factors a number.
//
// A timestamp is a machine word while it fits, and a big number beyond. Once
// one has outgrown 32 bits a strand, the size of a plain vector, the clock goes
// on with vectors (section 4.3 of the paper: the encoded clock must not cost
// more than the vector).
type encodedClock struct {
	base   *base
	primes []uint64
	limit  int       // bits of a number that are too many
	stamps []encoded // by Stamp; stamps[0] is unused
	now    []Stamp
	fresh  []bool // the timestamp of now was given to nobody: a merge may change it
	wide   bool   // a number outgrew the limit: new timestamps are vectors
	auto   bool   // and so they are in later phases
	room   vectorRoom
}

// encoded is a timestamp: a number, or a vector where that is set.
type encoded struct {
	n number
	v []uint32
}

// newEncoded returns a clock of a strand for each of the primes, which has no
// limit yet. old, which may be nil, is one whose storage serves it.
func newEncoded(old *encodedClock, primes []uint64, b *base) *encodedClock {
	c := emptyEncoded(old, primes, b)
	for i, p := range c.primes {
		// Each strand's first separate region is ticked once already: a
		// timestamp of 1 would divide every other.
		c.now[i] = c.add(encoded{n: number{w: p}})
	}
	return c
}

func emptyEncoded(old *encodedClock, primes []uint64, b *base) *encodedClock {
	c := old
	if strands := len(primes); c == nil {
		c = &encodedClock{stamps: make([]encoded, 1, 2*strands+1), now: make([]Stamp, strands), fresh: make([]bool, strands)}
	}
	clear(c.stamps)
	clear(c.fresh)
	c.base, c.primes, c.stamps = b, primes, c.stamps[:1]
	c.limit, c.wide, c.auto = 0, false, false
	return c
}

// vectorBits is the size of a plain vector in bits; of a single word, numbers
// cost nothing.
func vectorBits(strands int) int { return max(64, 32*strands) }

// quickBits is the size of numbers, in bits, up to which they are quicker than
// vectors: the least common multiple of numbers of w words takes some 5·w²
// operations beside memory, that of vectors one for each strand.
func quickBits(strands int) int {
	words := 1
	for 4*(words+1)*(words+1) <= strands {
		words++
	}
	return 64 * words
}

func (c *encodedClock) add(x encoded) Stamp {
	c.stamps = append(c.stamps, x)
	return Stamp(len(c.stamps) - 1)
}

func (c *encodedClock) Now(strand int) Stamp {
	c.fresh[strand] = false
	return c.now[strand]
}

func (c *encodedClock) Time(s Stamp) Time {
	if s == 0 {
		return Time{}
	}
	return Time{n: c.stamps[s].n, v: c.stamps[s].v, base: c.base}
}

func (c *encodedClock) Tick(strand int) {
	x := c.stamps[c.now[strand]]
	c.fresh[strand] = true
	if !c.wide && x.v == nil {
		y := x.n.times(c.primes[strand])
		if y.bits() <= c.limit {
			c.now[strand] = c.add(encoded{n: y})
			return
		}
		c.wide = true
	}
	v := c.room.copy(c.vector(x))
	v[strand]++
	c.now[strand] = c.add(encoded{v: v})
}

func (c *encodedClock) Merge(strand int, t Time) {
	if t.IsZero() {
		return
	}
	own := c.stamps[c.now[strand]]
	if own.v != nil && c.fresh[strand] {
		raise(own.v, c.vector(c.local(t)))
		return
	}
	switch x, same := c.join(own, c.local(t)); {
	case same:
	case c.fresh[strand]:
		c.stamps[c.now[strand]] = x
	default:
		c.now[strand] = c.add(x)
	}
}

func (c *encodedClock) Join(a, b Time) Time {
	if a.IsZero() {
		return b
	}
	if b.IsZero() {
		return a
	}
	x, _ := c.join(c.local(a), c.local(b))
	return Time{n: x.n, v: x.v, base: c.base}
}

// join returns the least upper bound of two timestamps, and whether it is the
// first.
func (c *encodedClock) join(x, y encoded) (z encoded, same bool) {
	if x.v == nil && y.v == nil && !c.wide {
		switch {
		case y.n.divides(x.n):
			return x, true
		case x.n.divides(y.n):
			return y, false
		}
		n := lcm(x.n, y.n)
		if n.bits() <= c.limit {
			return encoded{n: n}, false
		}
		c.wide = true
	}
	a, b := c.vector(x), c.vector(y)
	if below(b, a) {
		return encoded{v: a}, x.v != nil
	}
	return encoded{v: joined(a, b)}, false
}

// vector returns a timestamp in vector form.
func (c *encodedClock) vector(x encoded) []uint32 {
	if x.v != nil {
		return x.v
	}
	return x.n.factor(c.primes)
}

// local returns a time as a timestamp of this phase.
func (c *encodedClock) local(t Time) encoded {
	x := encoded{n: t.n, v: t.v}
	if t.base == c.base {
		return x
	}
	v := append([]uint32(nil), c.vector(x)...)
	lower(v, t.base, c.base)
	return c.encode(v)
}

// encode returns a vector as a number where that is small enough.
func (c *encodedClock) encode(v []uint32) encoded {
	if c.wide {
		return encoded{v: v}
	}
	least := 0 // bits that the number has at least
	for i, n := range v {
		if least += int(n) * (bits.Len64(c.primes[i]) - 1); least > c.limit {
			return encoded{v: v}
		}
	}
	x := product(c.primes, v)
	if x.bits() > c.limit {
		return encoded{v: v}
	}
	return encoded{n: x}
}

func (c *encodedClock) Knows(s Stamp, strand int, n uint32) bool {
	if s == 0 {
		return false
	}
	n, past := c.base.above(strand, n)
	switch x := &c.stamps[s]; {
	case past:
		return true
	case x.v != nil:
		return x.v[strand] >= n
	default:
		return x.n.hasPower(c.primes[strand], n)
	}
}

func (c *encodedClock) Bits(s Stamp) int {
	if x := c.stamps[s]; x.v != nil {
		return 32 * len(x.v)
	}
	return c.stamps[s].n.bits()
}

func (c *encodedClock) Stamps() int { return len(c.stamps) - 1 }

// Floor: the least power of each prime is that in the greatest common divisor,
// which mostly is 1 after a few numbers.
func (c *encodedClock) Floor(active []int) []uint32 {
	l := newLowest(len(c.primes))
	var common number // 0: of no numbers
	for _, i := range active {
		x := c.stamps[c.now[i]]
		if x.v != nil {
			l.add(i, x.v)
			continue
		}
		n := x.n
		if n.hasPower(c.primes[i], 1) { // its own present separate region is not over
			n = n.over(c.primes[i])
		}
		if common.isZero() {
			common = n
		} else {
			common = gcd(common, n)
		}
		if common.b == nil && common.w == 1 {
			return make([]uint32, len(c.primes))
		}
	}
	if !common.isZero() {
		for i, n := range common.factor(c.primes) {
			l.floor[i] = min(l.floor[i], n)
		}
	}
	return l.floor
}

func (c *encodedClock) Next(floor []uint32) Clock {
	d := emptyEncoded(nil, c.primes, c.base.next(floor))
	d.limit, d.auto, d.wide = c.limit, c.auto, c.auto && c.wide
	for i := range d.now {
		d.now[i] = d.Enter(c.Time(c.now[i]))
	}
	return d
}

func (c *encodedClock) Enter(t Time) Stamp {
	if t.IsZero() {
		return 0
	}
	return c.add(c.local(t))
}

func (c *encodedClock) Past(t Time) bool {
	if t.IsZero() {
		return true
	}
	x := c.local(t)
	if x.v != nil {
		return isZero(x.v)
	}
	return x.n.b == nil && x.n.w == 1
}

// firstPrimes returns the first n primes, by the sieve of Eratosthenes.
func firstPrimes(n int) []uint64 {
	primes := make([]uint64, 0, n)
	limit := 16
	for len(primes) < n {
		limit *= 2
		primes = primes[:0]
		composite := make([]bool, limit)
		for p := 2; p < limit && len(primes) < n; p++ {
			if composite[p] {
				continue
			}
			primes = append(primes, uint64(p))
			for q := p * p; q < limit; q += p {
				composite[q] = true
			}
		}
	}
	return primes
}
