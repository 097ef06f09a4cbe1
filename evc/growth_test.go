package evc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrowthEndsAtTheSizeOfAVector(t *testing.T) {
	for _, n := range []int{2, 10, 30} {
		last, largest, events := 0, 0, 0
		g := Growth{Processes: n, Send: 0.5, Delay: 1, Seed: 3}.Run(func(process, bits int) {
			require.Less(t, process, n)
			require.LessOrEqual(t, largest, VectorBits(n), "the event before was the last")
			last, largest = bits, max(largest, bits)
			events++
		})
		require.True(t, g.Overflow)
		require.Greater(t, last, 32*n)
		require.Equal(t, last, g.Bits)
		require.Equal(t, events, g.Events)
		require.LessOrEqual(t, g.Receives, g.Sends)
		require.LessOrEqual(t, g.AtProcess, g.Events)
	}
}

func TestGrowthIsRepeatable(t *testing.T) {
	g := Growth{Processes: 20, Send: 0.6, Delay: 1, Seed: 1}
	require.Equal(t, g.Run(nil), g.Run(nil))
	other := g
	other.Seed++
	require.NotEqual(t, g.Run(nil), other.Run(nil))
}

// TestGrowthWithoutMessages: a process's clock is then a power of its prime, so
// that 2^k needs k+1 bits and overflows at k = 32n.
func TestGrowthWithoutMessages(t *testing.T) {
	bits := map[int]int{}
	g := Growth{Processes: 2, Send: 0, Seed: 1}.Run(func(process, n int) { bits[process] = n })
	require.True(t, g.Overflow)
	require.Zero(t, g.Sends)
	require.LessOrEqual(t, g.AtProcess, 64)
	require.GreaterOrEqual(t, g.AtProcess, 41, "log 2^64 / log 3 = 40.4")
	require.Equal(t, 65, max(bits[0], bits[1]))
}

// TestGrowthIsDrivenByReceives: more internal events, later overflow (figure 7
// of the paper).
func TestGrowthIsDrivenByReceives(t *testing.T) {
	mean := func(internal float64) int {
		sum := 0
		for seed := range uint64(10) {
			sum += Growth{Processes: 20, Send: InternalShare(internal), Delay: 1, Seed: seed}.Run(nil).Events
		}
		return sum
	}
	require.Less(t, mean(0), mean(0.5))
	require.Less(t, mean(0.5), mean(0.9))
	require.Less(t, mean(0.9), mean(0.99))
}

func TestGrowthCanBeEnded(t *testing.T) {
	g := Growth{Processes: 5, Send: 0.1, Delay: 1, MaxEvents: 7}.Run(nil)
	require.False(t, g.Overflow)
	require.Equal(t, 7, g.Events)
}

func TestInternalShare(t *testing.T) {
	require.InDelta(t, 0.05/0.95, InternalShare(0.9), 1e-12)
	require.EqualValues(t, 1, InternalShare(0))
	require.EqualValues(t, 0, InternalShare(1))
}
