package conflicts

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// randomLayout is dense, a patch of a matrix, a column of one, or elements anywhere.
func randomLayout(r *rand.Rand) *intervals.Layout {
	const row = 512
	block := func(n int) uint64 { return 1 + r.Uint64N(uint64(n)) }
	switch r.IntN(5) {
	case 0:
		return intervals.NewLayout([]intervals.Run{intervals.Strided(0, block(2*row), 0, 1)})
	case 1:
		return intervals.NewLayout([]intervals.Run{intervals.Strided(0, block(row/4), row, 1+r.Uint64N(12))})
	case 2:
		return intervals.NewLayout([]intervals.Run{intervals.Strided(0, block(row/8), row, 20+r.Uint64N(40))})
	case 3:
		return intervals.NewLayout([]intervals.Run{intervals.Strided(0, 8, 64+r.Uint64N(3)*64, 20+r.Uint64N(40))})
	}
	var runs []intervals.Run
	for range 1 + r.IntN(40) {
		lo := r.Uint64N(60 * row)
		runs = append(runs, intervals.Solid(lo, lo+block(24)))
	}
	if r.IntN(3) == 0 { // planes
		lo := r.Uint64N(60 * row)
		runs = append(runs, intervals.Strided(lo, 8, row, 1+r.Uint64N(30)))
	}
	return intervals.NewLayout(runs)
}

// An index gives each lane that shares bytes with another, whatever lies how, and none
// twice.
func TestLaneIndex(t *testing.T) {
	t.Parallel()
	kinds := []regions.Kind{regions.Read, regions.Write, regions.AtomicWrite}
	meetings := 0
	for seed := range uint64(27) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lanes Lanes
		lanes.byKey = map[laneKey]*Lane{}
		for range []int{10, 60, 250}[seed%3] {
			a := &regions.Access{
				Base: 1<<20 + r.Uint64N(64<<9), Layout: randomLayout(r), Kind: kinds[r.IntN(len(kinds))], Call: regions.NewCallInfo(regions.CallSite{}, 0),
			}
			l := lanes.newLane(a, false)
			l.accesses = append(l.accesses, a)
		}
		x := laneIndex{judge: anyOp{}}
		x.build(lanes.lanes, []int{1, 16, 1 << 12}[seed/3%3])
		check := func(name string, found map[int32]int, meets func(a *regions.Access) bool, of class) {
			for j, l := range lanes.lanes {
				n := found[int32(j)]
				require.LessOrEqual(t, n, 1, name)
				if meets(l.First()) && !of.compatible(anyOp{}, l.class) {
					require.Equal(t, 1, n, "%s: lane %d, %v", name, j, l.First().Layout.Runs())
					meetings++
				}
			}
		}
		for i, l := range lanes.lanes {
			found := map[int32]int{}
			x.meeting(l, func(j int32) bool { found[j]++; return true })
			a := l.First()
			check(fmt.Sprintf("seed %d, lane %d", seed, i), found, func(b *regions.Access) bool {
				_, _, ok := intervals.MeetLayouts(a.Base, a.Layout, b.Base, b.Layout)
				return ok
			}, l.class)
		}
		for range 200 {
			lo := 1<<20 + r.Uint64N(64<<9)
			run := intervals.Solid(lo, lo+1+r.Uint64N([]uint64{8, 100, 5000}[r.IntN(3)]))
			of := class{kind: kinds[r.IntN(len(kinds))]}
			found := map[int32]int{}
			x.overlapping(of, run.Lo, run.Hi(), func(j int32) bool { found[j]++; return true })
			check(fmt.Sprintf("seed %d, %v", seed, run), found, func(b *regions.Access) bool { return b.Layout.Meets(b.Base, run) }, of)
		}
	}
	require.Greater(t, meetings, 20_000)
}
