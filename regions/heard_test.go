package regions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// TestAround: the landmarks around a moment are those between the synchronization calls of its
// separate region, also where updates of words begin further ones between these.
func TestAround(t *testing.T) {
	mark := func(pos uint64) Landmark { return Landmark{Pos: pos, Fn: &trace.Fn{Name: "MPI_Win_flush"}} }
	leaves := mark(12)
	leaves.Leaves = true
	before, between, after := &Bounds{}, &Bounds{}, &Bounds{}
	r := &Region{contents: contents{lines: lines{processes: 1}}, First: []int32{3}, Segments: [][]Segment{{
		{Bounds: before, Landmarks: []Landmark{mark(5)}},
		{Bounds: between, Landmarks: []Landmark{mark(10), leaves}},
		{Bounds: between},
		{Bounds: between, Landmarks: []Landmark{mark(20)}},
		{Bounds: after, Landmarks: []Landmark{mark(30)}},
	}}}
	for _, c := range []struct {
		at            Point
		before, after uint64 // 0: none
	}{
		{Point{Seg: 4, Pos: 8}, 0, 10},
		{Point{Seg: 4, Pos: 10}, 0, 20},
		{Point{Seg: 4, Pos: 11}, 10, 20},
		{Point{Seg: 5, Pos: 15}, 10, 20},
		{Point{Seg: 6, Pos: 18}, 10, 20},
		{Point{Seg: 6, Pos: 22}, 20, 0},
		{Point{Seg: 2, Pos: 4}, 0, 0}, // in a phase that is over
	} {
		pos := func(c *CallInfo) uint64 {
			if c == nil {
				return 0
			}
			return c.Pos
		}
		first, last := r.Around(c.at)
		require.Equal(t, [2]uint64{c.before, c.after}, [2]uint64{pos(first), pos(last)}, c.at)
	}
}
