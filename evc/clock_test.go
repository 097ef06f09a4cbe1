package evc

import (
	"math/big"
	"math/rand/v2"
	"slices"
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
		e, v := clockOf(t, []string{Encoded, Auto}[seed%2], n), clockOf(t, Vector, n)

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
			e, v Time
			from int
		}
		var inFlight []message
		for range 60 {
			s := rng.IntN(n)
			old := current[s]
			if len(inFlight) > 0 && rng.IntN(2) == 0 {
				m := inFlight[rng.IntN(len(inFlight))]
				e.Tick(s)
				e.Merge(s, m.e)
				v.Tick(s)
				v.Merge(s, m.v)
				begin(s, old, m.from)
			} else {
				inFlight = append(inFlight, message{e.Time(e.Now(s)), v.Time(v.Now(s)), old})
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
				n := uint32(a.pos + 1)
				require.Equal(t, reach[j][i], e.Knows(b.e, a.strand, n), "seed %d: evc %d→%d", seed, i, j)
				require.Equal(t, reach[j][i], v.Knows(b.v, a.strand, n), "seed %d: vector %d→%d", seed, i, j)
			}
		}
	}
}

// TestPhases draws executions whose clocks begin a new phase now and then, and
// holds what they know against a vector clock of one phase.
func TestPhases(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 2 + rng.IntN(5)
		whole := clockOf(t, Vector, n)
		phased := clockOf(t, []string{Encoded, Vector}[seed%2], n)
		if c, ok := phased.(*encodedClock); ok && seed%4 == 0 {
			c.limit = 20 // goes on as vectors soon
		}
		type event struct{ whole, phased Time }
		var sent []event
		passed := make([]uint32, n) // separate regions below the phase
		ticks := make([]uint32, n)
		for i := range ticks {
			ticks[i] = 1
		}
		for step := range 120 {
			s := rng.IntN(n)
			switch x := rng.IntN(10); {
			case step == 60 && seed%5 == 0 && seed < 100: // and from then on has some strands more
				n = []int{n + 1, 16, 70, 300}[int(seed%20)/5]
				whole, phased = whole.Grow(n), phased.Grow(n)
				for i := len(ticks); i < n; i++ {
					ticks, passed = append(ticks, 1), append(passed, 0)
					whole.Merge(i, whole.Time(whole.Now(0)))
					phased.Merge(i, phased.Time(phased.Now(0)))
				}
			case x == 0:
				floor := phased.Floor(everyone(n))
				phased = phased.Next(floor)
				for i := range floor {
					passed[i] += floor[i]
					require.LessOrEqual(t, passed[i], ticks[i])
				}
			case x < 5 && len(sent) > 0:
				m := sent[rng.IntN(len(sent))]
				whole.Tick(s)
				whole.Merge(s, m.whole)
				phased.Tick(s)
				phased.Merge(s, m.phased)
				ticks[s]++
			case x < 6 && len(sent) > 1:
				a, b := sent[rng.IntN(len(sent))], sent[rng.IntN(len(sent))]
				joined := event{whole.Join(a.whole, b.whole), phased.Join(a.phased, b.phased)}
				if more := sent[len(sent)-rng.IntN(len(sent)):]; len(more)%2 == 0 { // all at once, among them none
					late := []Time{b.phased, {}}
					for _, m := range more {
						joined.whole, late = whole.Join(joined.whole, m.whole), append(late, m.phased)
					}
					joined.phased = phased.JoinAll(a.phased, late)
				}
				sent = append(sent, joined)
			default:
				sent = append(sent, event{whole.Time(whole.Now(s)), phased.Time(phased.Now(s))})
				whole.Tick(s)
				phased.Tick(s)
				ticks[s]++
			}
			if step%8 != 7 || n > 20 && step != 119 {
				continue
			}
			for r := range n {
				for p := range n {
					for k := uint32(1); k <= ticks[p]; k++ {
						if p == r && k <= passed[p] {
							continue // program order
						}
						require.Equal(t, whole.Knows(whole.Now(r), p, k), phased.Knows(phased.Now(r), p, k),
							"seed %d: does %d know region %d of %d (phase from %d)", seed, r, k, p, passed[p])
					}
				}
			}
		}
	}
}

func everyone(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestEncodedNumbers(t *testing.T) {
	c := newEncoded(nil, firstPrimes(3))
	c.limit = 1000
	require.Equal(t, []uint64{2, 3, 5}, c.primes)
	for range 100 {
		c.Tick(1)
	}
	want := new(big.Int).Exp(big.NewInt(3), big.NewInt(101), nil)
	require.Zero(t, want.Cmp(c.stamps[c.Now(1)].n.big()))
	c.Tick(2)
	c.Merge(2, c.Time(c.Now(1)))
	require.Zero(t, new(big.Int).Mul(want, big.NewInt(25)).Cmp(c.stamps[c.Now(2)].n.big()))
	require.True(t, c.Knows(c.Now(2), 1, 101))
	require.False(t, c.Knows(c.Now(2), 1, 102))
	require.False(t, c.Knows(c.Now(1), 2, 1))
	require.False(t, c.Knows(c.Now(2), 0, 1))
	require.Equal(t, want.BitLen(), c.Bits(c.Now(1)))
}

func TestPowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	primes := firstPrimes(200)
	for range 2_000 {
		x, count := number{w: 1}, map[uint64]uint32{}
		for range rng.IntN(40) {
			p := primes[rng.IntN(len(primes))]
			x = x.times(p)
			count[p]++
		}
		p := primes[rng.IntN(len(primes))]
		if rng.IntN(2) == 0 {
			for range rng.IntN(30) {
				x = x.times(p)
				count[p]++
			}
		}
		for n := range count[p] + 3 {
			require.Equal(t, n <= count[p], x.hasPower(p, n), "%d^%d in %v", p, n, x.big())
		}
	}
}

func TestZeroTimeIsBeforeAndAfterNothing(t *testing.T) {
	for _, name := range []string{Encoded, Vector} {
		c := clockOf(t, name, 2)
		require.False(t, c.Knows(0, 0, 1), name)
		now := c.Time(c.Now(1))
		require.Equal(t, now, c.Join(Time{}, now), name)
		require.Equal(t, now, c.Join(now, Time{}), name)
		before := c.Now(0)
		c.Merge(0, Time{})
		require.Equal(t, before, c.Now(0), name)
		require.True(t, c.Time(0).IsZero(), name)
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
	c := newEncoded(nil, firstPrimes(4))
	c.limit = vectorBits(4)
	for i := range 1000 {
		from, to := i%4, (i*7+1)%4
		s := c.Time(c.Now(from))
		c.Tick(from)
		c.Tick(to)
		c.Merge(to, s)
		require.LessOrEqual(t, c.Bits(c.Now(to)), 4*32)
	}
}

// TestFloor: every clock finds the same separate regions passed, whoever is
// active, with numbers of one word, of many, and behind that.
func TestFloor(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rng.IntN(12)
		var clocks []Clock
		for _, name := range Names() {
			clocks = append(clocks, clockOf(t, name, n))
		}
		nonzero := 0
		for step := range 400 {
			s, from := rng.IntN(n), rng.IntN(n)
			for _, c := range clocks {
				sent := c.Time(c.Now(from))
				c.Tick(s)
				if step%3 == 0 {
					c.Merge(s, sent)
				}
			}
			if step%5 != 0 {
				continue
			}
			active := rng.Perm(n)[:1+rng.IntN(n)]
			want := clocks[0].Floor(active)
			for _, c := range clocks[1:] {
				require.Equal(t, want, c.Floor(active), "seed %d, step %d, active %v", seed, step, active)
			}
			if slices.Max(want) > 0 {
				nonzero++
			}
		}
		require.NotZero(t, nonzero)
	}
}
