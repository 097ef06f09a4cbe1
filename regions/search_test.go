package regions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearchFrom(t *testing.T) {
	for n := range 20 {
		for want := range n + 1 {
			for near := range n + 1 {
				looks := 0
				got := searchFrom(near, n, func(i int) bool {
					require.True(t, i >= 0 && i < n, "asked for %d of %d", i, n)
					looks++
					return i >= want
				})
				require.Equal(t, want, got, "%d, from %d", n, near)
				require.LessOrEqual(t, looks, 12)
			}
		}
	}
}
