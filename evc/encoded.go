package evc

import (
	"math/bits"
	"unsafe"
)

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
	*phase
	primes []uint64
	limit  int       // bits of a number that are too many
	stamps []encoded // by Stamp; stamps[0] is unused
	now    []Stamp
	fresh  []bool // the timestamp of now was given to nobody: a merge may change it
	taken  int    // bytes of the phase that are counted in timestamps
	wide   bool   // a number outgrew the limit: new timestamps are vectors
	auto   bool   // and so they are in later phases
}

// encoded is a timestamp: a number, or where that is zero a vector.
type encoded struct {
	n     number
	v     vector
	pages uint32 // bytes of the vector that are of no earlier one
}

func (x *encoded) isVector() bool { return x.n.isZero() }

// newEncoded returns a clock of a strand for each of the primes, which has no
// limit yet. old, which may be nil, is one whose storage serves it.
func newEncoded(old *encodedClock, primes []uint64) *encodedClock {
	c := old
	if c == nil {
		c = emptyEncoded(newPhase(len(primes)), primes)
	}
	c.phase.reset()
	clear(c.stamps)
	clear(c.fresh)
	c.stamps, c.taken, c.limit, c.wide, c.auto = c.stamps[:1], 0, 0, false, false
	for i, p := range c.primes {
		// Each strand's first separate region is ticked once already: a
		// timestamp of 1 would divide every other.
		c.now[i] = c.add(encoded{n: number{w: p}})
	}
	return c
}

func emptyEncoded(p *phase, primes []uint64) *encodedClock {
	return &encodedClock{
		phase: p, primes: primes,
		stamps: make([]encoded, 1, 2*p.strands+1), now: make([]Stamp, p.strands), fresh: make([]bool, p.strands),
	}
}

// wordBits is the size of numbers that cost no more than a word of memory.
const wordBits = 64

// vectorBits is the size of a plain vector in bits, or wordBits.
func vectorBits(strands int) int { return max(wordBits, 32*strands) }

// quickBits is the size of numbers, in bits, up to which they are quicker than
// vectors: the least common multiple of numbers of w words takes some 5·w²
// operations beside memory, that of vectors one for each strand.
func quickBits(strands int) int {
	words := 1
	for 4*(words+1)*(words+1) <= strands {
		words++
	}
	return wordBits * words
}

// limitOf returns how many bits a number may have in a clock of that many strands.
func limitOf(strands int, auto bool) int {
	limit := vectorBits(strands)
	if auto {
		limit = min(quickBits(strands), limit)
	}
	return limit
}

func (c *encodedClock) add(x encoded) Stamp {
	x.pages = c.grown(&c.taken)
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
	return c.time(c.stamps[s])
}

func (c *encodedClock) time(x encoded) Time { return Time{n: x.n, v: x.v, phase: c.phase} }

func (c *encodedClock) Tick(strand int) {
	x := c.stamps[c.now[strand]]
	c.fresh[strand] = true
	if !c.wide && !x.isVector() {
		y := x.n.times(c.primes[strand])
		if y.bits() <= c.limit {
			c.now[strand] = c.add(encoded{n: y})
			return
		}
		c.wide = true
	}
	v := c.vector(x, strand)
	v.own++
	c.now[strand] = c.add(encoded{v: v})
}

func (c *encodedClock) Merge(strand int, t Time) {
	if t.IsZero() {
		return
	}
	switch x, same := c.join(c.stamps[c.now[strand]], c.local(t), strand); {
	case same:
	case c.fresh[strand]:
		x.pages += c.grown(&c.taken)
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
	x, _ := c.join(c.local(a), c.local(b), 0)
	return c.time(x)
}

func (c *encodedClock) JoinAll(a Time, others []Time) Time { return joinAll(c, a, others, c.joinMany) }

func (c *encodedClock) joinMany(a Time, others []Time) Time {
	var vectors []vector
	x := c.local(a)
	for _, t := range others {
		switch {
		case t.IsZero():
		case x.isVector():
			vectors = append(vectors, c.vector(c.local(t), 0))
		default:
			x, _ = c.join(x, c.local(t), 0)
		}
	}
	if len(vectors) > 0 {
		x = encoded{v: c.upperAll(x.v, vectors)}
	}
	return c.time(x)
}

// join returns the least upper bound of two timestamps, and whether it is the
// first, which is of the strand or of none.
func (c *encodedClock) join(x, y encoded, strand int) (z encoded, same bool) {
	if !x.isVector() && !y.isVector() && !c.wide {
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
	w := y.v
	if !y.isVector() {
		w = c.vector(y, strand)
	}
	z = encoded{v: c.upper(c.vector(x, strand), w), pages: x.pages}
	return z, z == x
}

// vector returns a timestamp as a vector of the strand.
func (c *encodedClock) vector(x encoded, strand int) vector {
	if x.isVector() {
		return c.owned(x.v, strand)
	}
	return c.gather(x.n.factor(c.primes), strand)
}

// local returns a time as a timestamp of this phase.
func (c *encodedClock) local(t Time) encoded {
	switch x := (encoded{n: t.n, v: t.v}); {
	case t.phase == c.phase:
		return x
	case x.isVector():
		return encoded{v: c.bring(t.phase, x.v)}
	}
	v := t.n.factor(c.primes)
	for i, n := range v {
		v[i] = c.since(t.phase, i, n)
	}
	return c.encode(v)
}

// encode returns a vector as a number where that is small enough.
func (c *encodedClock) encode(v []uint32) encoded {
	if c.small(v) {
		if n := product(c.primes, v); n.bits() <= c.limit {
			return encoded{n: n}
		}
	}
	return encoded{v: c.gather(v, 0)}
}

// small reports whether the number of a vector may be within the limit.
func (c *encodedClock) small(v []uint32) bool {
	least := 0 // bits that the number has at least
	for i, n := range v {
		if least += int(n) * (bits.Len64(c.primes[i]) - 1); least > c.limit {
			return false
		}
	}
	return !c.wide
}

func (c *encodedClock) Knows(s Stamp, strand int, n uint32) bool {
	if s == 0 {
		return false
	}
	return c.has(&c.stamps[s], strand, n)
}

func (c *encodedClock) Has(t Time, strand int, n uint32) bool {
	if t.IsZero() {
		return false
	}
	x := c.local(t)
	return c.has(&x, strand, n)
}

func (c *encodedClock) has(x *encoded, strand int, n uint32) bool {
	n, past := c.above(strand, n)
	switch {
	case past:
		return true
	case x.isVector():
		return c.component(x.v, strand) >= n
	default:
		return x.n.hasPower(c.primes[strand], n)
	}
}

func (c *encodedClock) Bits(s Stamp) int {
	if x := &c.stamps[s]; !x.isVector() {
		return x.n.bits()
	}
	return 32 * c.strands
}

func (c *encodedClock) Size(s Stamp) int {
	x := &c.stamps[s]
	return int(unsafe.Sizeof(*x)) + int(x.pages) + x.n.room()
}

func (c *encodedClock) Stamps() int { return len(c.stamps) - 1 }

// Floor: the least power of each prime is that in the greatest common divisor,
// which mostly is 1 after a few numbers.
func (c *encodedClock) Floor(active []int, coming ...Time) []uint32 {
	var known []encoded // before lowest, which gives up the pages that are made from then on
	for _, t := range coming {
		if t.IsZero() {
			return make([]uint32, c.strands)
		}
		known = append(known, c.local(t))
	}
	l := c.lowest()
	var common number // 0: of no numbers
	add := func(n number) bool {
		if common.isZero() {
			common = n
		} else {
			common = gcd(common, n)
		}
		return !common.isOne()
	}
	for _, x := range known {
		if x.isVector() {
			l.addAll(x.v)
		} else if !add(x.n) {
			return make([]uint32, c.strands)
		}
	}
	for _, i := range active {
		x := &c.stamps[c.now[i]]
		if x.isVector() {
			if !l.add(c.owned(x.v, i)) {
				break
			}
			continue
		}
		n := x.n
		if n.hasPower(c.primes[i], 1) { // its own present separate region is not over
			n = n.over(c.primes[i])
		}
		if !add(n) {
			return make([]uint32, c.strands)
		}
	}
	floor := l.floor()
	if !common.isZero() {
		for i, n := range common.factor(c.primes) {
			floor[i] = min(floor[i], n)
		}
	}
	return floor
}

func (c *encodedClock) Next(floor []uint32) Clock {
	return c.goOn(c.next(floor, c.strands), c.primes, c.limit)
}

func (c *encodedClock) Grow(strands int) Clock {
	p := c.next(make([]uint32, c.strands), strands)
	return c.goOn(p, firstPrimes(strands), limitOf(strands, c.auto))
}

// goOn returns the clock of a phase that goes on from here.
func (c *encodedClock) goOn(p *phase, primes []uint64, limit int) Clock {
	d := emptyEncoded(p, primes)
	d.limit, d.auto, d.wide = limit, c.auto, c.auto && (c.wide || p.height > 0)
	for i := range d.now {
		switch {
		case i < len(c.now):
			d.now[i] = d.Enter(c.Time(c.now[i]))
		case d.wide:
			d.now[i] = d.add(encoded{v: vector{own: 1, strand: int32(i)}})
		default:
			d.now[i] = d.add(encoded{n: number{w: primes[i]}})
		}
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
	return x.n.isOne() || x.isVector() && c.isZero(x.v)
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
