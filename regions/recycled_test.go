package regions

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// different reports whether accesses by the processes of two others to bytes [lo, hi) are to
// different variables.
func different(r *Region, a, b *Access, lo, hi uint64) bool {
	if !r.Recycles(a, b, lo, hi) {
		return false
	}
	t := r.Lifetime(a.Owner, a.Start, a.End, lo, hi)
	return t.Before(b.End) || t.After(b.Start)
}

// Accesses before and behind a moment at which their memory was given up are to different
// variables, if they are of the process itself and complete.
func TestRecycled(t *testing.T) {
	s := NewStorage(2, 0)
	s.Begin()
	s.Recycle(0, 100, 200, 10)
	r := s.HandOver(false)
	at := func(rank int32, start, end uint64) *Access {
		return &Access{Owner: 0, Rank: rank, Start: Point{Line: rank, Pos: start}, End: Point{Line: rank, Pos: end}}
	}
	before, behind := at(0, 3, 9), at(0, 11, 11)
	require.True(t, r.Recycles(before, behind, 100, 108))
	require.False(t, r.Recycles(before, behind, 96, 104), "some of it was not given up")
	require.False(t, r.Recycles(before, at(1, 11, 11), 100, 108))
	require.True(t, different(r, before, behind, 100, 108))
	require.True(t, different(r, behind, before, 192, 200))
	require.True(t, different(r, at(0, 10, 10), behind, 100, 108), "what gives it up belongs to what was before")
	require.False(t, different(r, before, at(0, 8, 12), 100, 108))
	require.False(t, different(r, at(0, 3, 10), at(0, 10, 10), 100, 108))
	require.False(t, different(r, at(1, 3, 9), behind, 100, 108), "an operation of another process")
	pending := at(0, 3, 9)
	pending.End.Seg = Never
	require.False(t, different(r, pending, behind, 100, 108))
	require.False(t, different(r, behind, pending, 100, 108))
	earlier := at(0, 3, 9)
	earlier.Start.Seg = Earlier
	require.True(t, different(r, earlier, behind, 100, 108))
	require.True(t, different(r, behind, earlier, 100, 108))
}

// In any order in which memory is noted to be given up, and for any bytes, the answer is that
// of looking at each of these events; a region knows of those before it was handed over.
func TestRecycledInAnyOrder(t *testing.T) {
	for seed := range uint64(2_000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := NewStorage(1, 0)
		s.Begin()
		var noted []recycled
		order := rnd.Perm(1 + rnd.IntN(12))
		note := func(list []int) {
			for _, pos := range list {
				lo := uint64(rnd.IntN(8))
				g := recycled{lo, lo + 1 + uint64(rnd.IntN(8)), 10 * uint64(1+pos)}
				noted = append(noted, g)
				s.Recycle(0, g.lo, g.hi, g.pos)
			}
		}
		half := len(order) / 2
		note(order[:half])
		first, known := *s.HandOver(false), noted
		note(order[half:])
		moment := func() *Access {
			start := uint64(rnd.IntN(130))
			return &Access{Start: Point{Pos: start}, End: Point{Pos: start + uint64(rnd.IntN(2)*rnd.IntN(40))}}
		}
		check := func(r *Region, noted []recycled) {
			for range 20 {
				a, b := moment(), moment()
				lo := uint64(rnd.IntN(12))
				hi := lo + 1 + uint64(rnd.IntN(4))
				want := false
				for _, g := range noted {
					want = want || g.holds(lo, hi) && (a.End.Pos <= g.pos && g.pos < b.Start.Pos || b.End.Pos <= g.pos && g.pos < a.Start.Pos)
				}
				require.Equal(t, want, different(r, a, b, lo, hi), "seed %d: %v and %v of %d to %d, %v", seed, a.Start, b.Start, lo, hi, noted)
			}
		}
		check(s.HandOver(false), noted)
		check(&first, known)
	}
}

// What was given up many times is joined, and the answers stay the same for accesses that go on,
// and for those that come.
func TestRecycledIsJoined(t *testing.T) {
	joined := 0
	for seed := range uint64(5_000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var noted []recycled
		for range 1 + rnd.IntN(20) {
			lo := uint64(rnd.IntN(3))
			noted = append(noted, recycled{lo, lo + 1 + uint64(rnd.IntN(8)), 10 * uint64(1+rnd.IntN(12))})
		}
		coming := uint64(rnd.IntN(150))
		var going []span
		var accesses []*Access
		access := func(start, end uint64) {
			accesses = append(accesses, &Access{Start: Point{Pos: start}, End: Point{Pos: end}})
		}
		for range rnd.IntN(4) {
			start := uint64(rnd.IntN(130))
			switch end := start + uint64(rnd.IntN(40)); rnd.IntN(3) {
			case 0: // many, one after the other
				going = append(going, span{start, end})
				access(start, start)
				access((start+end)/2, (start+end)/2)
				access(end, end)
			default:
				going = append(going, span{start, start}, span{end, end})
				access(start, end)
			}
		}
		for range 3 {
			start := coming + uint64(rnd.IntN(40))
			access(start, start+uint64(rnd.IntN(20)))
		}
		region := func(list []recycled) *Region {
			s := NewStorage(1, 0)
			s.Begin()
			for _, g := range list {
				s.Recycle(0, g.lo, g.hi, g.pos)
			}
			return s.HandOver(false)
		}
		fewer := joinRecycled(noted, append(going, span{coming, math.MaxUint64}))
		joined += len(noted) - len(fewer)
		before, after := region(noted), region(fewer)
		for range 60 {
			a, b := accesses[rnd.IntN(len(accesses))], accesses[rnd.IntN(len(accesses))]
			lo := uint64(rnd.IntN(8))
			hi := lo + 1 + uint64(rnd.IntN(4))
			require.Equal(t, different(before, a, b, lo, hi), different(after, a, b, lo, hi),
				"seed %d: %v and %v of %d to %d, %v, coming %d: %v", seed, a.Start, b.Start, lo, hi, noted, coming, fewer)
		}
	}
	require.Greater(t, joined, 10_000)
}
