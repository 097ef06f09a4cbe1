//go:build !quick

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// libraryKinds are ways to build the library of fixtures/library, and how many of
// the findings of its program lie at the program's own lines without a setting.
var libraryKinds = []struct {
	name, compiler string
	flags          []string
	shared         bool
	own            bool
}{
	{"shared without -g", "gcc", []string{"-O1"}, true, true},
	{"shared with -g", "clang", []string{"-O1", "-g"}, true, false},
	{"static without -g", "clang", []string{"-O0"}, false, true},
	{"static with -g and inlined", "gcc", []string{"-O2", "-g"}, false, false},
}

// libraryProject is a folder with the library and its program, built.
type libraryProject struct {
	t        *testing.T
	dir      string
	env      []string
	compiler string
}

func (p *libraryProject) must(argv ...string) {
	p.t.Helper()
	got, out := status(p.t, p.dir, p.env, argv...)
	require.Zero(p.t, got, "%s:\n%s", strings.Join(argv, " "), out)
}

// run builds the program with options of the compiler, runs it, and analyses it.
func (p *libraryProject) run(traces string, cflags []string, options ...string) (int, string) {
	p.t.Helper()
	argv := append([]string{"mcchk", "cc", "--compiler", p.compiler, "-O1", "-g", "-o", traces + ".app"}, cflags...)
	p.must(append(argv, "app.c", "-L.", "-lhalo", "-Wl,-rpath,"+p.dir)...)
	p.must("mcchk", "run", "--timeout", "60s", "--no-analyze", "-o", traces, "--", "mpiexec.mpich", "-n", "2", "./"+traces+".app")
	return p.analyze(traces, options...)
}

func (p *libraryProject) analyze(traces string, options ...string) (int, string) {
	p.t.Helper()
	return status(p.t, p.dir, p.env, append([]string{"mcchk", "analyze", traces}, options...)...)
}

// TestLibrary: two mistakes through one library are two findings, at the lines of
// the program, whether the library has debug information or not; a baseline with
// one of them has not the other; and what moves stays what it is.
func TestLibrary(t *testing.T) {
	for _, kind := range libraryKinds {
		t.Run(kind.name, func(t *testing.T) {
			p := newLibraryProject(t, kind.compiler, kind.flags, kind.shared)
			own := []string{"--libraries", "halo.c", "--libraries", "libhalo*"}

			got, out := p.run("both", nil)
			require.Equal(t, 1, got, out)
			require.Contains(t, out, "race (2 errors)", "also without a setting")
			require.Equal(t, kind.own, strings.Contains(out, "app.c:16: error: "), out)
			got, out = p.analyze("both", own...)
			require.Equal(t, 1, got, out)
			require.Contains(t, out, "app.c:16: error: ")
			require.Contains(t, out, "app.c:22: error: ")
			require.Contains(t, out, "race (2 errors)")
			require.Contains(t, out, "halo_send (", "the rest is below")

			got, out = p.run("north", []string{"-DSOUTH=rank"}, append(own, "--write-baseline", "baseline.json")...)
			require.Equal(t, 1, got, out)
			require.Contains(t, out, "race (1 error)")
			known := append(own, "--baseline", "baseline.json")
			got, out = p.analyze("both", known...)
			require.Equal(t, 1, got, out)
			require.Contains(t, out, "race (1 error, 1 accepted)")
			require.Contains(t, out, "app.c:22: error: ")
			got, out = p.run("south", []string{"-DNORTH=rank"}, known...)
			require.Equal(t, 1, got, "the old race mended, a new one there: %s", out)

			program, err := os.ReadFile(filepath.Join(p.dir, "app.c"))
			require.NoError(t, err)
			moved := "/* one */\n/* two */\n" + strings.ReplaceAll(string(program), "static void north", "/* three */\nstatic void north")
			require.NoError(t, os.WriteFile(filepath.Join(p.dir, "app.c"), []byte(moved), 0o600))
			got, out = p.run("moved", []string{"-DSOUTH=rank"}, known...)
			require.Zero(t, got, out)
			require.Contains(t, out, "nothing new found (1 accepted)")

			// The first run's lines are those of its time.
			got, out = p.analyze("both", known...)
			require.Equal(t, 1, got, out)
			require.Contains(t, out, "race (1 error, 1 accepted)")
			require.Contains(t, out, "app.c has changed since the run: its lines are shown as they were then")
			require.Contains(t, out, "halo_send(&halo, &rank, 0, SOUTH);")
		})
	}
}

func newLibraryProject(t *testing.T, compiler string, flags []string, shared bool) *libraryProject {
	t.Helper()
	dir, env := project(t, false, nil)
	p := &libraryProject{t, dir, env, compiler}
	for _, name := range []string{"app.c", "halo.c", "halo.h"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "library", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	build := append([]string{"mcchk", "cc", "--compiler", compiler, "-fPIC", "-c", "halo.c"}, flags...)
	p.must(build...)
	if shared {
		p.must("mcchk", "cc", "--compiler", compiler, "-shared", "-o", "libhalo.so", "halo.o")
	} else {
		p.must("ar", "rc", "libhalo.a", "halo.o")
	}
	return p
}
