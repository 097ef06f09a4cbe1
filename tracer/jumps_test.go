//go:build !quick

package tracer

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSilentFunctionsEndInJumps: functions in which nothing is recorded may call one
// another as often as in the plain program, also where the language has exceptions.
func TestSilentFunctionsEndInJumps(t *testing.T) {
	t.Parallel()
	const source = `
__attribute__((noinline)) int odd(int n, int s);
__attribute__((noinline)) int even(int n, int s) { return n == 0 ? s : odd(n - 1, s ^ n); }
__attribute__((noinline)) int odd(int n, int s) { return n == 0 ? -s : even(n - 1, s + n); }
`
	// With clang, the assembly of -S has not been through all of the plug-in.
	b := newBench(t, platform{"mpich", "gcc"}, map[string]string{"jumps.cc": source})
	for _, language := range []Language{C, CXX} {
		b.must(language, "-O2", "-S", "-x", map[Language]string{C: "c", CXX: "c++"}[language], "jumps.cc", "-o", "jumps.s")
		text, err := os.ReadFile(b.path("jumps.s"))
		require.NoError(t, err)
		require.Regexp(t, `\tjmp\t\S*odd`, string(text))
		require.NotRegexp(t, `\tcall\t\S*(odd|even)`, string(text))
	}
}
