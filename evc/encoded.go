package evc

import (
	"math/big"
	"math/bits"
)

// encodedClock is the encoded vector clock: strand i owns the i-th prime, a
// tick multiplies by it, a merge is the least common multiple, and a timestamp
// is ordered before another when it divides it. No operation factors a number.
//
// A timestamp is a machine word while it fits, and a big number beyond.
type encodedClock struct {
	primes []uint64
	stamps []number // by Stamp; stamps[0] is unused
	now    []Stamp
}

// number is a positive integer: w, or b where that is set.
type number struct {
	w uint64
	b *big.Int
}

func newEncoded(strands int) *encodedClock {
	c := &encodedClock{primes: firstPrimes(strands), stamps: make([]number, 1, strands+1), now: make([]Stamp, strands)}
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
	x, p := c.stamps[c.now[strand]], c.primes[strand]
	c.now[strand] = c.add(x.times(p))
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
	x, y := c.stamps[a], c.stamps[b]
	switch {
	case y.divides(x):
		return a
	case x.divides(y):
		return b
	}
	return c.add(lcm(x, y))
}

func (c *encodedClock) Before(a, b Stamp) bool {
	return a != 0 && b != 0 && c.stamps[a].divides(c.stamps[b])
}

func (c *encodedClock) Bits(s Stamp) int {
	if x := c.stamps[s]; x.b != nil {
		return x.b.BitLen()
	}
	return bits.Len64(c.stamps[s].w)
}

func (c *encodedClock) Stamps() int { return len(c.stamps) - 1 }

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
