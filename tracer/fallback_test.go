//go:build !quick

package tracer

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pluginFails is what a user is told of a source that the plug-in makes the compiler fail on.
const pluginFails = "the compiler fails with mcchk's plug-in, as it says above, and not without"

// TestIrregularLoopAtEachLevel: whatever the compiler does to a loop behind the plug-in, what
// that has made of it is well-formed.
func TestIrregularLoopAtEachLevel(t *testing.T) {
	t.Parallel()
	const scatter = `
void use(int **);
void scatter(int steps)
{
	int *w;
	use(&w);
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < 300; i++)
			w[2000 + (unsigned)(i * 7919 + step) % 10000] += i;
		use(&w);
	}
}
`
	for _, compiler := range []string{"gcc", "clang"} {
		b := newBench(t, platform{"mpich", compiler}, map[string]string{"scatter.c": scatter})
		for _, level := range []string{"-O1", "-Os", "-O2", "-O3"} {
			b.must(C, level, "-c", "scatter.c")
		}
	}
}

// TestObjectOfWhatNeverReturns: a call that does not return writes no object, though it returns one.
func TestObjectOfWhatNeverReturns(t *testing.T) {
	t.Parallel()
	const source = `
#include <stdexcept>
#include <string>
std::string later() { throw std::runtime_error("not implemented"); }
std::string now() { return later(); }
`
	for _, compiler := range []string{"gcc", "clang"} {
		b := newBench(t, platform{"mpich", compiler}, map[string]string{"later.cpp": source})
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
			b.must(CXX, level, "-c", "later.cpp")
		}
	}
}

// compileWith compiles in the bench's folder with another plug-in. It returns the exit status, and what
// was said.
func compileWith(b *bench, mpicc, plugin string, args ...string) (code int, said string) {
	b.t.Helper()
	var out bytes.Buffer
	o := CompileOptions{MPICC: mpicc, Compiler: b.p.compiler, Dir: b.dir, Args: args, Stdout: &out, Stderr: &out}
	b.prepare(o)
	c, err := newCompilation(o, runtimeSources())
	require.NoError(b.t, err)
	machine.Shared(func() {
		require.NoError(b.t, c.find(b.context()))
		c.temp, c.plugin = b.t.TempDir(), b.path(plugin)
		code, err = c.run(b.context())
	})
	require.NoError(b.t, err, out.String())
	require.Equal(b.t, b.path(plugin), c.plugin)
	return code, out.String()
}

// TestSourceThatThePluginFailsOn: it is compiled without, and the user is told; what is
// wrong with the source itself is said once.
func TestSourceThatThePluginFailsOn(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, sumFiles())
			b.write(map[string]string{"wrong.c": "int wrong(void) { return nothing; }\n", "broken.so": "no plug-in"})
			compile := func(args ...string) (int, string) { return compileWith(b, "mpicc.mpich", "broken.so", args...) }
			code, out := compile("-O2", "-c", "lib.c")
			require.Zero(t, code, out)
			require.Contains(t, out, "mcchk: lib.c: "+pluginFails)
			f, err := os.Open(b.path("lib.o"))
			require.NoError(t, err)
			defer f.Close()
			lib, err := inspectObject(f)
			require.NoError(t, err)
			require.False(t, lib.plugin)
			require.Contains(t, []instrumentation{instrCall, instrInline}, lib.state)

			code, out = compile("-O2", "main.c", "lib.c", "-o", "app")
			require.Zero(t, code, out)
			require.Equal(t, 2, strings.Count(out, pluginFails), out)
			require.Contains(t, b.run("app"), "499500")

			code, out = compile("-c", "wrong.c")
			require.NotZero(t, code)
			require.NotContains(t, out, pluginFails)
			require.Equal(t, 1, strings.Count(out, "wrong.c:1:26: error"), out)
		})
	}
}

// TestInterruptedCompilation: a compiler that a signal has ended does not fail with the plug-in, so that
// nothing is compiled once more.
func TestInterruptedCompilation(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	script := "#!/bin/sh\ncase \"$*\" in *broken.so*) kill -TERM $$ ;; esac\nexec mpicc.mpich \"$@\"\n"
	require.NoError(t, os.WriteFile(b.path("mpicc"), []byte(script), 0o755))
	code, out := compileWith(b, b.path("mpicc"), "broken.so", "-O2", "-c", "lib.c")
	require.Equal(t, 128+15, code, out)
	require.NotContains(t, out, pluginFails)
	require.NoFileExists(t, b.path("lib.o"))
}
