//go:build !quick

package tracer

import (
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemoryThatNobodyKnows: what can be no buffer has no test, what can has one, and
// doctor counts both.
func TestMemoryThatNobodyKnows(t *testing.T) {
	t.Parallel()
	const private = `
double own(int n, const int *at)
{
	double a[64];
	for (int i = 0; i < 64; i++)
		a[i] = i;
	for (int i = 0; i < n; i++)
		a[at[i] & 63] += i;
	return a[n & 63];
}
`
	const known = `
void tell(double *);
double own(int n, const int *at)
{
	double a[64];
	tell(a);
	for (int i = 0; i < n; i++)
		a[at[i] & 63] += i;
	return a[n & 63];
}
`
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"private.c": private, "known.c": known, "main.c": "int main(void) { return 0; }\n"})
			b.write(map[string]string{"tell.c": "void tell(double *p) { *p = 1; }\n"})
			b.cc("-O2", "main.c", "private.c", "-o", "private")
			b.cc("-O2", "main.c", "known.c", "tell.c", "-o", "known")
			p := placesOfFile(t, b.path("private"))
			require.Zero(t, p.tested, p)
			require.EqualValues(t, 1, p.announced, p) // of at
			k := placesOfFile(t, b.path("known"))
			require.Zero(t, k.without, k)
			require.EqualValues(t, 1, k.announced, k)
			require.GreaterOrEqual(t, k.tested, uint64(4), k)
		})
	}
}

func placesOfFile(t *testing.T, path string) places {
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	return placesOf(f)
}
