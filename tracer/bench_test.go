//go:build !quick

package tracer

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/internal/turns"
)

// platform is a combination of MPI library and compiler.
type platform struct{ mpi, compiler string }

func (p platform) String() string { return p.mpi + " " + p.compiler }

var platforms = []platform{{"mpich", "gcc"}, {"mpich", "clang"}, {"openmpi", "gcc"}, {"openmpi", "clang"}}

// aptPackages are what the tests need, by the program that shows them.
var aptPackages = map[string]string{
	"mpicc.mpich": "mpich libmpich-dev", "mpicc.openmpi": "openmpi-bin libopenmpi-dev", "gcc": "gcc", "g++": "g++",
	"clang": "clang", "llvm-link": "llvm", "make": "make", "cmake": "cmake", "ar": "binutils", "addr2line": "binutils",
}

// need fails the test when a program is missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		_, err := exec.LookPath(p)
		require.NoError(t, err, "install it: apt install %s", aptPackages[p])
	}
}

// needPlugin fails the test when the headers for plug-ins of the compiler are missing.
func needPlugin(t *testing.T, compiler string) {
	t.Helper()
	if compiler == "clang" {
		path, err := exec.LookPath("clang")
		require.NoError(t, err)
		clang, err := filepath.EvalSymlinks(path)
		require.NoError(t, err)
		require.FileExists(t, filepath.Join(filepath.Dir(filepath.Dir(clang)), "include", "llvm", "Passes", "PassPlugin.h"),
			"install it: apt install llvm-dev of clang's version")
		return
	}
	dir, err := exec.Command("gcc", "-print-file-name=plugin").Output()
	require.NoError(t, err)
	version, err := exec.Command("gcc", "-dumpversion").Output()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(strings.TrimSpace(string(dir)), "include", "gcc-plugin.h"),
		"install it: apt install gcc-%s-plugin-dev", strings.TrimSpace(string(version)))
}

// What all tests of this package share: the machine, and for each compiler a
// *sync.Once that has its run-time compiled.
var (
	machine = turns.New(runtime.NumCPU())
	ready   sync.Map
)

// bench is a folder in which a test compiles with one platform.
type bench struct {
	t      *testing.T
	dir    string
	p      platform
	plugin string // as in CompileOptions
}

func newBench(t *testing.T, p platform, files map[string]string) *bench {
	t.Helper()
	need(t, "mpicc."+p.mpi, p.compiler, "ar")
	if p.compiler == "clang" {
		need(t, "llvm-link")
	}
	needPlugin(t, p.compiler)
	b := &bench{t: t, dir: t.TempDir(), p: p}
	b.write(files)
	return b
}

func (b *bench) write(files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		path := b.path(name)
		require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(b.t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	b.t.Cleanup(cancel)
	return ctx
}

// compile runs Compile and returns its outcome and messages.
func (b *bench) compile(language Language, args ...string) (code int, output string, err error) {
	var out bytes.Buffer
	wrapper := "mpicc." + b.p.mpi
	if language == CXX {
		wrapper = "mpicxx." + b.p.mpi
	}
	options := CompileOptions{Language: language, MPICC: wrapper, Compiler: b.p.compiler, Plugin: b.plugin, Dir: b.dir, Stdout: &out, Stderr: &out}
	b.prepare(options)
	options.Args = args
	machine.Shared(func() { code, err = Compile(b.context(), options) })
	return code, out.String(), err
}

// prepare has the run-time for a compiler built. Those who need the same one at
// once wait for it here, before their turns.
func (b *bench) prepare(o CompileOptions) {
	b.t.Helper()
	once, _ := ready.LoadOrStore(o.MPICC+" "+o.Compiler, new(sync.Once))
	once.(*sync.Once).Do(func() {
		var out bytes.Buffer
		o.Dir, o.Args, o.Stdout, o.Stderr = b.t.TempDir(), []string{"empty.c"}, &out, &out
		require.NoError(b.t, os.WriteFile(filepath.Join(o.Dir, "empty.c"), []byte("int main(void) { return 0; }\n"), 0o644))
		machine.Shared(func() {
			code, err := Compile(b.context(), o)
			require.NoError(b.t, err, out.String())
			require.Zero(b.t, code, out.String())
		})
	})
}

// cc compiles and expects that to succeed.
func (b *bench) cc(args ...string) string {
	b.t.Helper()
	return b.must(C, args...)
}

// must compiles with the plug-in, and expects that to succeed.
func (b *bench) must(language Language, args ...string) string {
	b.t.Helper()
	code, out, err := b.compile(language, args...)
	require.NoError(b.t, err, out)
	require.Zero(b.t, code, out)
	require.NotContains(b.t, out, pluginFails)
	return out
}

// command runs another program in the folder and expects it to succeed.
func (b *bench) command(env []string, name string, args ...string) string {
	b.t.Helper()
	var out []byte
	var err error
	machine.Shared(func() {
		cmd := exec.CommandContext(b.context(), name, args...)
		cmd.Dir = b.dir
		cmd.Env = append(os.Environ(), env...)
		out, err = cmd.CombinedOutput()
	})
	require.NoError(b.t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

// compilerLinks makes mcchk-cc and mcchk-cxx in the folder and returns their
// paths and the environment that makes them use the platform.
func (b *bench) compilerLinks() (cc, cxx string, env []string) {
	b.t.Helper()
	self, err := os.Executable()
	require.NoError(b.t, err)
	cc, cxx = b.path("mcchk-cc"), b.path("mcchk-cxx")
	require.NoError(b.t, os.Symlink(self, cc))
	require.NoError(b.t, os.Symlink(self, cxx))
	return cc, cxx, []string{"MCCHK_MPICC=mpicc." + b.p.mpi, "MCCHK_MPICXX=mpicxx." + b.p.mpi, "MCCHK_COMPILER=" + b.p.compiler}
}

func (b *bench) info(binary string) *BuildInfo {
	b.t.Helper()
	info, err := ReadBuildInfo(b.path(binary))
	require.NoError(b.t, err)
	return info
}

// run starts a built program under the platform's mpiexec, without tracing.
func (b *bench) run(program string, args ...string) string {
	b.t.Helper()
	return b.command(nil, b.launcher()[0], append(append(b.launcher()[1:], "-n", "1", b.path(program)), args...)...)
}

// launch waits until an MPI program of several processes may run, and runs it.
// MPICH's processes keep their processors while they wait.
func (b *bench) launch(run func()) {
	if b.p.mpi == "mpich" {
		machine.Alone(run)
	} else {
		machine.Shared(run)
	}
}

func (b *bench) launcher() []string {
	if b.p.mpi == "openmpi" {
		return []string{"mpiexec.openmpi", "--oversubscribe"}
	}
	return []string{"mpiexec.mpich"}
}
