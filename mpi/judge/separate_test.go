package judge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// What a source place leaves to the next regions is a set of bytes: it does
// not grow when the same bytes are written again and again.
func TestKeptIsMerged(t *testing.T) {
	column := intervals.Strided(0x1000, 8, 64, 100)
	tests := []struct {
		name string
		run  func(i uint64) intervals.Run
		want int // runs in the end, at most
	}{
		{"one place", func(uint64) intervals.Run { return intervals.Solid(0x1000, 0x1008) }, 1},
		{"places one after the other", func(i uint64) intervals.Run { return intervals.Solid(0x1000+8*i, 0x1008+8*i) }, 1},
		{"one column", func(uint64) intervals.Run { return column }, 1},
		{"eight columns", func(i uint64) intervals.Run { return column.Shift(8 * (i % 8)) }, 8},
		{"columns that begin anywhere", func(i uint64) intervals.Run { return column.Shift(8 * i) }, maxRuns},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sets := map[keptKey]*keptSet{}
			for i := range uint64(3 * maxRuns) {
				keep(sets, &regions.Access{
					Kind: regions.Write, Role: regions.Store, Call: regions.NewCallInfo(regions.CallSite{Stack: 7}, 0),
					Layout: intervals.NewLayout([]intervals.Run{tt.run(i)}),
				})
				for _, s := range sets {
					if i%16 == 0 {
						s.compact()
					}
				}
			}
			require.Len(t, sets, 1)
			for _, s := range sets {
				s.compact()
				require.LessOrEqual(t, len(s.runs), tt.want)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	got := blocks([]intervals.Run{intervals.Strided(0, 4, 8, 3), intervals.Solid(4, 8), intervals.Solid(30, 31)})
	require.Equal(t, []intervals.Run{intervals.Solid(0, 12), intervals.Solid(16, 20), intervals.Solid(30, 31)}, got)
}
