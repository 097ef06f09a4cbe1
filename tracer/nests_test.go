//go:build !quick

package tracer

import (
	"debug/elf"
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
		require.Contains(t, symbolsOf(t, b.path(object)), "mcchk_nest", object)
	}
}

// TestTrianglesAreNests: so are rows of which each has an element more than the last, or one less.
func TestTrianglesAreNests(t *testing.T) {
	t.Parallel()
	source := `
double lower(const double *a, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			s += a[j];
	return s;
}
double upper(double (*a)[64], int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			s += a[j][i];
	return s;
}
`
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"sum.c": source})
			for _, level := range []string{"-O0", "-O2", "-O3"} {
				b.must(C, level, "-c", "sum.c", "-o", "sum.o")
				names := symbolsOf(t, b.path("sum.o"))
				require.Contains(t, names, "mcchk_nest", level)
				if compiler == "gcc" || level != "-O0" { // there an index need not be known to be within its type
					require.NotContains(t, names, "mcchk_loop", level)
				}
			}
		})
	}
}

// symbolsOf returns the names of an object's symbols.
func symbolsOf(t *testing.T, object string) []string {
	t.Helper()
	f, err := elf.Open(object)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	var names []string
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	return names
}

// TestSanitizersCallsAreNone: where clang's sanitizer makes calls of copies of structures, and says
// of sqrt that it may be the program's own, loops are what they are in the plain program.
func TestSanitizersCallsAreNone(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "clang"}, map[string]string{"app.c": `
#include <math.h>
struct sixteen { double x; int kind, from; };
struct forty { double x[5]; };
void lengths(double *restrict to, const double *restrict x, int rows, long n)
{
	for (int r = 0; r < rows; r++)
		for (long i = 0; i < n; i++)
			to[r * n + i] = sqrt(x[r * n + i]);
}
void copy(struct sixteen *restrict a, const struct sixteen *restrict b, struct forty *restrict c, const struct forty *restrict d, const int *list, int n)
{
	for (int i = 0; i < n; i++) {
		a[i] = b[i];
		c[i] = d[list[i]];
	}
}
`})
	b.must(C, "-O2", "-c", "app.c", "-o", "app.o")
	names := symbolsOf(t, b.path("app.o"))
	require.Contains(t, names, "mcchk_nest")
	require.Contains(t, names, "mcchk_loop")
	require.Contains(t, names, "__tsan_read_range")
	require.NotContains(t, names, "memcpy")
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
			places := 0
			for _, s := range symbolsOf(t, b.path("sum.o")) {
				if strings.HasPrefix(s, name) {
					places++
				}
			}
			require.Equal(t, 2, places)
		})
	}
}
