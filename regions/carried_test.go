package regions

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// stretchOf returns the stretch of one load or store.
func stretchOf(a *trace.Access) Stretch {
	st := trace.StretchOf(a)
	return NewStretch(&st, st.Rows, 1, 0, 0)
}

// TestCarried: a region has the carried accesses that share bytes with something
// new in it, each once and none that is complete, and what a region was given stays
// as it was.
func TestCarried(t *testing.T) {
	const processes = 2
	rng := rand.New(rand.NewPCG(1, 2))
	s := NewStorage(processes, 0)
	type open struct {
		*Carried
		access *Access
	}
	var all []open
	type given struct {
		region *Region
		want   map[*Access]bool
	}
	var regions []given
	layout := intervals.NewLayout([]intervals.Run{intervals.Solid(0, 8)})
	pos, chosen, left := uint64(0), 0, 0
	access := func(seg int32) *Access {
		pos++
		rank := int32(rng.IntN(processes))
		return &Access{
			Owner: int32(rng.IntN(processes)), Rank: rank, Kind: Write, Role: testTarget, Layout: layout, Base: 8 * uint64(rng.IntN(40)),
			Start: Point{Line: rank, Seg: seg, Pos: pos}, End: Point{Line: rank, Seg: Never}, Span: &Completion{},
			Call: NewCallInfo(CallSite{Fn: "put", Rank: rank, Stack: uint32(rng.IntN(2))}, pos),
		}
	}
	for range 300 {
		s.Begin()
		for rank := range s.Region().Segments {
			s.Region().Segments[rank] = append(s.Region().Segments[rank], Segment{Bounds: &Bounds{}})
		}
		for range rng.IntN(6) {
			a := access(Earlier)
			a.Old = true
			all = append(all, open{s.Carry(a), a})
		}
		require.Equal(t, len(all), s.NewCalls())
		var fresh []*Access
		for range rng.IntN(4) {
			a := access(0)
			if rng.IntN(2) == 0 {
				s.Add(a)
			} else {
				a.End = a.Start
				require.True(t, s.Settle(a, nil))
			}
			fresh = append(fresh, a)
		}
		if n := rng.IntN(3); n > 0 {
			a := access(0)
			s.AddLocals(a.Owner, stretchOf(&trace.Access{Addr: a.Base, Size: 8, Count: 1}))
			fresh = append(fresh, a)
		}
		before := s.NewCalls()
		for range rng.IntN(6) {
			if len(all) == 0 {
				break
			}
			i := rng.IntN(len(all))
			if rng.IntN(3) == 0 {
				i = 0
			}
			done := s.Finish(all[i].Carried)
			require.Equal(t, all[i].access.Call, done.Call)
			require.True(t, done.Old)
			done.End = Point{Line: done.Rank, Pos: pos}
			all = append(all[:i:i], all[i+1:]...)
		}
		require.Equal(t, before, s.NewCalls())
		whole := rng.IntN(8) == 0
		want := map[*Access]bool{}
		for _, c := range all {
			meets := whole
			for _, a := range fresh {
				meets = meets || a.Owner == c.access.Owner && a.Base == c.access.Base
			}
			if meets {
				want[c.access] = true
				chosen++
			} else {
				left++
			}
		}
		r := s.HandOver(whole)
		require.Equal(t, len(r.Calls)+r.settled+len(all), r.CallCount())
		regions = append(regions, given{r, want})
	}
	for _, g := range regions {
		has := map[*Access]bool{}
		for owner := range int32(processes) {
			for _, same := range g.region.CarriedOf(owner) {
				for i, a := range same {
					require.Equal(t, owner, a.Owner)
					require.Equal(t, same[0].carriedKey(), a.carriedKey())
					require.True(t, i == 0 || same[i-1].Call.Pos < a.Call.Pos)
					require.False(t, has[a], "twice")
					has[a] = true
				}
			}
		}
		require.Equal(t, g.want, has)
	}
	require.Greater(t, chosen, 1000)
	require.Greater(t, left, 1000)
}
