//go:build !quick

package tracer

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowsAreNests: loops in loops are announced together behind the outer one where the
// compiler makes it hard to see that all rows are alike.
func TestRowsAreNests(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		// The bounds of a row are computed from its number.
		"rows.c": `
void multiply(double *restrict y, const double *restrict a, int rows)
{
	for (int r = 0; r < rows; r++) {
		double sum = 0;
		for (int k = r * 12; k < (r + 1) * 12; k++)
			sum += a[k];
		y[r] = sum;
	}
}
`,
		// Where the field lies, and how large it is, stands in an object, which is read in
		// each row; and the number of the row goes on in two branches.
		"field.cc": `
struct Field {
	double *p;
	int n, m;
	double &operator()(int i, int j) { return p[(long)i * m + j]; }
};
struct Solver {
	Field u, v;
	void step()
	{
		for (int i = 1; i < u.n - 1; i++)
			for (int j = 1; j < u.m - 1; j++)
				v(i, j) = u(i + 1, j) + u(i - 1, j) + u(i, j + 1) + u(i, j - 1);
	}
};
void step(Solver &s) { s.step(); }
`,
	}
	b := newBench(t, platform{"mpich", "clang"}, sources)
	b.must(C, "-O2", "-c", "rows.c", "-o", "rows.o")
	b.must(CXX, "-O2", "-c", "field.cc", "-o", "field.o")
	for _, object := range []string{"rows.o", "field.o"} {
		f, err := elf.Open(b.path(object))
		require.NoError(t, err)
		defer f.Close()
		symbols, err := f.Symbols()
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "mcchk_nest" }), object)
	}
}

// TestMembersShareMaps: members of an object that are accessed together are one place.
func TestMembersShareMaps(t *testing.T) {
	t.Parallel()
	for compiler, name := range map[string]string{"gcc": "mcchk_touch", "clang": "mcchk.touch"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"sum.c": `
struct point { double x, y, z; int kind; };
double sum(const struct point *all, const double *flat, const int *list, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++) {
		const struct point *p = all + list[i];
		s += p->x * p->y + p->z + p->kind;
		s += flat[3 * list[i]] + flat[3 * list[i] + 1] + flat[3 * list[i] + 2];
	}
	return s;
}
`})
			b.must(C, "-O2", "-c", "sum.c", "-o", "sum.o")
			f, err := elf.Open(b.path("sum.o"))
			require.NoError(t, err)
			defer f.Close()
			symbols, err := f.Symbols()
			require.NoError(t, err)
			places := 0
			for _, s := range symbols {
				if strings.HasPrefix(s.Name, name) {
					places++
				}
			}
			require.Equal(t, 2, places)
		})
	}
}
