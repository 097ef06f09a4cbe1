package core_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// TestOrderIsFollowed: an order that was found for many operations decides many of them, so that
// there are few steps of searches for each.
func TestOrderIsFollowed(t *testing.T) {
	t.Parallel()
	tries := 0
	streams := simulate(rand.New(rand.NewPCG(1, 12)), 4, 200, func(a *actor) {
		for range a.turns {
			for tries++; a.swap(0, 1) == 1; tries++ {
			}
			a.store(0)
			a.set(0, 0)
		}
	})
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Auto}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
	require.NoError(t, err)
	replay(t, m, func(*regions.Region) {})
	require.False(t, m.Choices().Unexplained())
	require.Less(t, m.Stats().Searched, uint64(20*tries))
}
