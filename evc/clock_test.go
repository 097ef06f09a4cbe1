package evc

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func clockOf(t *testing.T, name string, strands int) Clock {
	t.Helper()
	m, err := NewMaker(name, strands)
	require.NoError(t, err)
	return m.New()
}

// TestAgainstReachability draws executions of signals and waits and holds both
// clocks against reachability in the graph of separate regions.
func TestAgainstReachability(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 2 + rng.IntN(6)
		e, v := clockOf(t, Encoded, n), clockOf(t, Vector, n)

		type node struct{ strand, pos int }
		type region struct {
			node
			e, v  Stamp
			preds []int // indices of regions that happen before, directly
		}
		var regions []region
		current := make([]int, n)
		begin := func(strand int, preds ...int) {
			pos := 0
			if len(preds) > 0 {
				pos = regions[preds[0]].pos + 1
			}
			current[strand] = len(regions)
			regions = append(regions, region{node{strand, pos}, e.Now(strand), v.Now(strand), preds})
		}
		for s := range n {
			begin(s)
		}
		type message struct {
			e, v Stamp
			from int
		}
		var inFlight []message
		for range 60 {
			s := rng.IntN(n)
			old := current[s]
			if len(inFlight) > 0 && rng.IntN(2) == 0 {
				m := inFlight[rng.IntN(len(inFlight))]
				for _, c := range []struct {
					clock Clock
					stamp Stamp
				}{{e, m.e}, {v, m.v}} {
					c.clock.Tick(s)
					c.clock.Merge(s, c.stamp)
				}
				begin(s, old, m.from)
			} else {
				inFlight = append(inFlight, message{e.Now(s), v.Now(s), old})
				e.Tick(s)
				v.Tick(s)
				begin(s, old)
			}
		}
		reach := make([]map[int]bool, len(regions))
		for i, r := range regions {
			reach[i] = map[int]bool{}
			for _, p := range r.preds {
				reach[i][p] = true
				for q := range reach[p] {
					reach[i][q] = true
				}
			}
		}
		for i, a := range regions {
			for j, b := range regions {
				if a.strand == b.strand {
					continue
				}
				require.Equal(t, reach[j][i], e.Before(a.e, b.e), "seed %d: evc %d→%d", seed, i, j)
				require.Equal(t, reach[j][i], v.Before(a.v, b.v), "seed %d: vector %d→%d", seed, i, j)
			}
		}
	}
}

func TestEncodedNumbers(t *testing.T) {
	c := newEncoded(firstPrimes(3))
	c.limit = 1000
	require.Equal(t, []uint64{2, 3, 5}, c.primes)
	for range 100 {
		c.Tick(1)
	}
	want := new(big.Int).Exp(big.NewInt(3), big.NewInt(101), nil)
	require.Zero(t, want.Cmp(c.stamps[c.Now(1)].big()))
	c.Tick(2)
	c.Merge(2, c.Now(1))
	require.Zero(t, new(big.Int).Mul(want, big.NewInt(25)).Cmp(c.stamps[c.Now(2)].big()))
	require.True(t, c.Before(c.Now(1), c.Now(2)))
	require.False(t, c.Before(c.Now(2), c.Now(1)))
	require.False(t, c.Before(c.Now(0), c.Now(2)))
	require.Equal(t, want.BitLen(), c.Bits(c.Now(1)))
}

func TestZeroStampIsBeforeAndAfterNothing(t *testing.T) {
	for _, name := range []string{Encoded, Vector} {
		c := clockOf(t, name, 2)
		require.False(t, c.Before(0, c.Now(0)), name)
		require.False(t, c.Before(c.Now(0), 0), name)
		require.Equal(t, c.Now(1), c.Join(0, c.Now(1)), name)
		require.Equal(t, c.Now(1), c.Join(c.Now(1), 0), name)
	}
	_, err := NewMaker("sundial", 2)
	require.ErrorContains(t, err, `no clock "sundial"`)
}

func TestFirstPrimes(t *testing.T) {
	p := firstPrimes(8192)
	require.Len(t, p, 8192)
	require.Equal(t, []uint64{2, 3, 5, 7, 11, 13}, p[:6])
	require.EqualValues(t, 84017, p[8191])
	require.Empty(t, firstPrimes(0))
}

func TestFactor(t *testing.T) {
	primes := firstPrimes(40)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		want := make([]uint32, len(primes))
		x := number{w: 1}
		for range rng.IntN(60) {
			i := rng.IntN(len(primes))
			want[i]++
			x = x.times(primes[i])
		}
		require.Equal(t, want, x.factor(primes))
	}
}

// A clock without global synchronization keeps bounded timestamps.
func TestEncodedNeverOutgrowsTheVector(t *testing.T) {
	c := newEncoded(firstPrimes(4))
	for i := range 1000 {
		from, to := i%4, (i*7+1)%4
		s := c.Now(from)
		c.Tick(from)
		c.Tick(to)
		c.Merge(to, s)
		require.LessOrEqual(t, c.Bits(c.Now(to)), 4*32)
	}
}
