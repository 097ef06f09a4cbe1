package shmem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// TestChainForgets: what was issued counts the links before it from the first, though those
// that are past are not kept.
func TestChainForgets(t *testing.T) {
	var a core.Pending // nothing is held of it, so that it is past
	c := &chain{links: []link{{parts: parts{&a}}, {parts: parts{&a}}, {parts: parts{&a}}}, seen: map[viewer]int{}}
	early, late := chained{c, 1}, chained{c, 3}
	c.forget()
	require.Empty(t, c.links)
	require.Equal(t, 3, c.gone)
	for _, x := range []chained{early, late} {
		require.True(t, x.past())
		x.see(nil, 0, regions.Point{}) // of links that are not kept any more
	}
	c.links = append(c.links, link{})
	require.True(t, chained{c, 4}.past())
}
