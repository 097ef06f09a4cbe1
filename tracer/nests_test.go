//go:build !quick

package tracer

import (
	"debug/elf"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowsAreNests: loops in loops are announced together behind the outer one where the
// bounds of a row are computed from its number, too.
func TestRowsAreNests(t *testing.T) {
	t.Parallel()
	const rows = `
void multiply(double *restrict y, const double *restrict a, int rows)
{
	for (int r = 0; r < rows; r++) {
		double sum = 0;
		for (int k = r * 12; k < (r + 1) * 12; k++)
			sum += a[k];
		y[r] = sum;
	}
}
`
	b := newBench(t, platform{"mpich", "clang"}, map[string]string{"rows.c": rows})
	b.must(C, "-O2", "-c", "rows.c", "-o", "rows.o")
	f, err := elf.Open(b.path("rows.o"))
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "mcchk_nest" }))
}
