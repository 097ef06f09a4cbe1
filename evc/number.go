package evc

import (
	"math/big"
	"math/bits"
	"unsafe"
)

// number is a positive integer: w, or b where that is set.
type number struct {
	w uint64
	b *big.Int
}

func (x number) isZero() bool { return x.b == nil && x.w == 0 }

func (x number) isOne() bool { return x.b == nil && x.w == 1 }

// room is what a big number takes in memory, bytes.
func (x number) room() int {
	if x.b == nil {
		return 0
	}
	return int(unsafe.Sizeof(*x.b)) + len(x.b.Bits())*bits.UintSize/8
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
	if bits.UintSize != 64 {
		return number{b: new(big.Int).Mul(x.big(), new(big.Int).SetUint64(p))}
	}
	return x.timesWord(p)
}

// timesWord is times where the words of big numbers have 64 bits: with one
// allocation of words, and none for the factor.
func (x number) timesWord(p uint64) number {
	var one [1]big.Word
	words := one[:]
	if x.b == nil {
		one[0] = big.Word(x.w)
	} else {
		words = x.b.Bits()
	}
	out := make([]big.Word, len(words), len(words)+1)
	var carry uint64
	for i, w := range words {
		hi, lo := bits.Mul64(uint64(w), p)
		sum, c := bits.Add64(lo, carry, 0)
		out[i], carry = big.Word(sum), hi+c
	}
	if carry != 0 {
		out = append(out, big.Word(carry))
	}
	return number{b: new(big.Int).SetBits(out)}
}

// product returns the product of powers of primes.
func product(primes []uint64, powers []uint32) number {
	x, word := number{w: 1}, uint64(1)
	for i, n := range powers {
		for range n {
			hi, lo := bits.Mul64(word, primes[i])
			if hi != 0 {
				x, lo = x.times(word), primes[i]
			}
			word = lo
		}
	}
	return x.times(word)
}

func (x number) divides(y number) bool {
	switch {
	case x.b == nil && y.b == nil:
		return y.w%x.w == 0
	case y.b == nil: // a larger number divides no smaller one
		return false
	case x.b == nil:
		return modWord(y.b, x.w) == 0
	case x.b.BitLen() > y.b.BitLen():
		return false
	}
	return new(big.Int).Rem(y.b, x.b).Sign() == 0
}

// hasPower reports whether pⁿ divides x.
func (x number) hasPower(p uint64, n uint32) bool {
	if int(n)*(bits.Len64(p)-1) >= x.bits() {
		return n == 0
	}
	power, left := uint64(1), n
	for ; left > 0; left-- {
		hi, lo := bits.Mul64(power, p)
		if hi != 0 {
			break
		}
		power = lo
	}
	switch {
	case x.b == nil:
		return left == 0 && x.w%power == 0
	case modWord(x.b, power) != 0:
		return false
	case left == 0:
		return true
	}
	all := new(big.Int).Exp(new(big.Int).SetUint64(p), new(big.Int).SetUint64(uint64(n)), nil)
	return new(big.Int).Rem(x.b, all).Sign() == 0
}

// modWord returns b mod m.
func modWord(b *big.Int, m uint64) uint64 {
	var rest uint64
	words := b.Bits()
	for i := len(words) - 1; i >= 0; i-- {
		if bits.UintSize == 64 {
			rest = bits.Rem64(rest, uint64(words[i]), m)
			continue
		}
		hi, lo := rest>>32, rest<<32|uint64(words[i])
		rest = bits.Rem64(hi, lo, m)
	}
	return rest
}

// factor returns how often each prime divides x.
func (x number) factor(primes []uint64) []uint32 {
	v := make([]uint32, len(primes))
	if x.b == nil {
		factorWord(v, x.w, primes)
		return v
	}
	rest := new(big.Int).Set(x.b)
	p, q, r := new(big.Int), new(big.Int), new(big.Int)
	for i, prime := range primes {
		if rest.IsUint64() {
			factorWord(v[i:], rest.Uint64(), primes[i:])
			break
		}
		if modWord(rest, prime) != 0 {
			continue
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

// factorWord adds to v how often each prime divides x.
func factorWord(v []uint32, x uint64, primes []uint64) {
	for i := 0; x > 1 && i < len(primes); i++ {
		for x%primes[i] == 0 {
			x /= primes[i]
			v[i]++
		}
	}
}

// lcm returns the least common multiple: x·y / gcd(x, y).
func lcm(x, y number) number {
	g := gcd(x, y)
	switch {
	case x.b == nil:
		return y.times(x.w / g.w)
	case y.b == nil:
		return x.times(y.w / g.w)
	}
	z := new(big.Int).Quo(x.b, g.big())
	return number{b: z.Mul(z, y.b)}
}

// gcd returns the greatest common divisor.
func gcd(x, y number) number {
	if x.b != nil {
		x, y = y, x
	}
	if x.b != nil {
		z := new(big.Int).GCD(nil, nil, x.b, y.b)
		if z.IsUint64() {
			return number{w: z.Uint64()}
		}
		return number{b: z}
	}
	g, r := x.w, y.w
	if y.b != nil {
		r = modWord(y.b, g)
	}
	for r != 0 {
		g, r = r, g%r
	}
	return number{w: g}
}

// over returns x / p, which divides it.
func (x number) over(p uint64) number {
	if x.b == nil {
		return number{w: x.w / p}
	}
	z := new(big.Int).Quo(x.b, new(big.Int).SetUint64(p))
	if z.IsUint64() {
		return number{w: z.Uint64()}
	}
	return number{b: z}
}
