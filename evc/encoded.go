package evc

import (
	"math/big"
	"math/bits"
)

// encodedClock is the encoded vector clock: strand i owns the i-th prime, a
// tick multiplies by it, a merge is the least common multiple, and a timestamp
// is ordered before another when it divides it. No operation of these factors
// a number.
//
// A timestamp is a machine word while it fits, and a big number beyond. Once
// one has outgrown 32 bits a strand, the size of a plain vector, the clock goes
// on with vectors (section 4.3 of the paper: the encoded clock must not cost
// more than the vector). A number that is then compared with a vector is
// factored, once.
type encodedClock struct {
	primes []uint64
	limit  int      // bits of a number that are too many
	stamps []number // by Stamp; stamps[0] is unused
	now    []Stamp

	vector  *vectorClock // set once a number outgrew the limit
	first   Stamp        // the first Stamp that is a vector: vector's Stamp 1
	factors map[Stamp]Stamp
}

// number is a positive integer: w, or b where that is set.
type number struct {
	w uint64
	b *big.Int
}

// newEncoded returns a clock of a strand for each of the primes.
func newEncoded(primes []uint64) *encodedClock {
	strands := len(primes)
	c := &encodedClock{
		primes: primes, limit: max(64, 32*strands),
		stamps: make([]number, 1, 4*strands+1), now: make([]Stamp, strands),
	}
	for i, p := range c.primes {
		// Each strand's first separate region is ticked once already: a
		// timestamp of 1 would divide every other.
		c.now[i] = c.add(number{w: p})
	}
	return c
}

func (c *encodedClock) add(x number) Stamp {
	c.stamps = append(c.stamps, x)
	return Stamp(len(c.stamps) - 1)
}

func (c *encodedClock) Now(strand int) Stamp { return c.now[strand] }

func (c *encodedClock) Tick(strand int) {
	if c.vector == nil {
		x := c.stamps[c.now[strand]].times(c.primes[strand])
		if x.bits() <= c.limit {
			c.now[strand] = c.add(x)
			return
		}
		c.outgrow()
	}
	s := c.asVector(c.now[strand])
	c.now[strand] = c.fromVector(c.vector.tick(s, strand))
}

func (c *encodedClock) Merge(strand int, s Stamp) {
	c.now[strand] = c.Join(c.now[strand], s)
}

func (c *encodedClock) Join(a, b Stamp) Stamp {
	if a == 0 || a == b {
		return b
	}
	if b == 0 {
		return a
	}
	if c.vector == nil {
		x, y := c.stamps[a], c.stamps[b]
		switch {
		case y.divides(x):
			return a
		case x.divides(y):
			return b
		}
		z := lcm(x, y)
		if z.bits() <= c.limit {
			return c.add(z)
		}
		c.outgrow()
	}
	return c.fromVector(c.vector.Join(c.asVector(a), c.asVector(b)))
}

func (c *encodedClock) Before(a, b Stamp) bool {
	switch {
	case a == 0 || b == 0:
		return false
	case c.vector == nil || a < c.first && b < c.first:
		return c.stamps[a].divides(c.stamps[b])
	case a < c.first:
		return c.numberBefore(c.stamps[a], c.vector.stamps[b-c.first+1])
	case b < c.first:
		return c.beforeNumber(c.vector.stamps[a-c.first+1], c.stamps[b])
	}
	return c.vector.Before(a-c.first+1, b-c.first+1)
}

// outgrow begins to use vectors.
func (c *encodedClock) outgrow() {
	c.vector = &vectorClock{n: len(c.primes), stamps: make([][]uint32, 1)}
	c.first = Stamp(len(c.stamps))
	c.factors = map[Stamp]Stamp{}
}

func (c *encodedClock) fromVector(s Stamp) Stamp { return s + c.first - 1 }

// asVector returns the vector's stamp of any stamp.
func (c *encodedClock) asVector(s Stamp) Stamp {
	if s >= c.first {
		return s - c.first + 1
	}
	v, ok := c.factors[s]
	if !ok {
		v = c.vector.add(c.stamps[s].factor(c.primes))
		c.factors[s] = v
	}
	return v
}

// numberBefore reports whether a number is ordered before a vector: every
// prime divides it at most as often as the vector has it. It factors without
// keeping anything, because comparisons happen in several goroutines.
func (c *encodedClock) numberBefore(x number, v []uint32) bool {
	for i, n := range x.factor(c.primes) {
		if n > v[i] {
			return false
		}
	}
	return true
}

func (c *encodedClock) beforeNumber(v []uint32, y number) bool {
	for i, n := range y.factor(c.primes) {
		if v[i] > n {
			return false
		}
	}
	return true
}

func (c *encodedClock) Bits(s Stamp) int {
	if c.vector != nil && s >= c.first {
		return c.vector.Bits(s - c.first + 1)
	}
	return c.stamps[s].bits()
}

func (c *encodedClock) Stamps() int {
	n := len(c.stamps) - 1
	if c.vector != nil {
		n += c.vector.Stamps()
	}
	return n
}

func (x number) bits() int {
	if x.b != nil {
		return x.b.BitLen()
	}
	return bits.Len64(x.w)
}

func (x number) big() *big.Int {
	if x.b != nil {
		return x.b
	}
	return new(big.Int).SetUint64(x.w)
}

func (x number) times(p uint64) number {
	if x.b == nil {
		hi, lo := bits.Mul64(x.w, p)
		if hi == 0 {
			return number{w: lo}
		}
	}
	return number{b: new(big.Int).Mul(x.big(), new(big.Int).SetUint64(p))}
}

func (x number) divides(y number) bool {
	switch {
	case x.b == nil && y.b == nil:
		return y.w%x.w == 0
	case y.b == nil: // a larger number divides no smaller one
		return false
	case x.b != nil && x.b.BitLen() > y.b.BitLen():
		return false
	}
	return new(big.Int).Rem(y.b, x.big()).Sign() == 0
}

// factor returns how often each prime divides x.
func (x number) factor(primes []uint64) []uint32 {
	v := make([]uint32, len(primes))
	rest := new(big.Int).Set(x.big())
	p, q, r := new(big.Int), new(big.Int), new(big.Int)
	for i, prime := range primes {
		if rest.IsUint64() {
			word := rest.Uint64()
			for ; i < len(primes) && word > 1; i++ {
				for word%primes[i] == 0 {
					word /= primes[i]
					v[i]++
				}
			}
			break
		}
		p.SetUint64(prime)
		for {
			if q.QuoRem(rest, p, r); r.Sign() != 0 {
				break
			}
			rest, q = q, rest
			v[i]++
		}
	}
	return v
}

// lcm returns the least common multiple: x·y / gcd(x, y).
func lcm(x, y number) number {
	if x.b == nil && y.b == nil {
		g, r := x.w, y.w
		for r != 0 {
			g, r = r, g%r
		}
		return number{w: x.w / g}.times(y.w)
	}
	bx, by := x.big(), y.big()
	g := new(big.Int).GCD(nil, nil, bx, by)
	z := new(big.Int).Quo(bx, g)
	return number{b: z.Mul(z, by)}
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
