package evc

import (
	"math/big"
	"math/bits"
)

// number is a positive integer: w, or b where that is set.
type number struct {
	w uint64
	b *big.Int
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
