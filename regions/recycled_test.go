package regions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
	require.False(t, r.Recycles(before, behind, 96, 104))
	require.False(t, r.Recycles(before, at(1, 11, 11), 100, 108))
	require.True(t, r.Recycled(before, behind, 100, 108))
	require.True(t, r.Recycled(behind, before, 192, 200))
	require.True(t, r.Recycled(at(0, 10, 10), behind, 100, 108), "what gives it up belongs to what was before")
	require.False(t, r.Recycled(before, behind, 96, 104), "some of it was not given up")
	require.False(t, r.Recycled(before, at(0, 8, 12), 100, 108))
	require.False(t, r.Recycled(at(0, 3, 10), at(0, 10, 10), 100, 108))
	require.False(t, r.Recycled(at(1, 3, 9), behind, 100, 108), "an operation of another process")
	pending := at(0, 3, 9)
	pending.End.Seg = Never
	require.False(t, r.Recycled(pending, behind, 100, 108))
}
