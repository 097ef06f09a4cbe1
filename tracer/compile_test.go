//go:build !quick

package tracer

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mainSource calls lib; its program prints 499500.
const mainSource = `#include <mpi.h>
#include <stdio.h>
#include "lib.h"
static int numbers[1000];
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 1000; i++)
		numbers[i] = i;
	printf("%d\n", sum(numbers, 1000));
	MPI_Finalize();
	return 0;
}
`

const libSource = `#include "lib.h"
int sum(const int *p, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += p[i];
	return s;
}
`

const libHeader = "int sum(const int *p, int n);\n"

func sumFiles() map[string]string {
	return map[string]string{"main.c": mainSource, "lib.c": libSource, "lib.h": libHeader}
}

func TestCompileAndLink(t *testing.T) {
	t.Parallel()
	for _, p := range platforms {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(p.String()+" "+level, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, p, sumFiles())
				b.cc(level, "-g", "main.c", "lib.c", "-o", "one")
				b.cc(level, "-g", "-c", "main.c")
				b.cc(level, "-g", "-c", "lib.c", "-o", "second.o")
				b.cc("main.o", "second.o", "-o", "two")
				b.cc(level, "-g", "main.c", "second.o")

				for program, objects := range map[string][]string{
					"one": {"main.o", "lib.o"}, "two": {"main.o", "second.o"}, "a.out": {"main.o", "second.o"},
				} {
					info := b.info(program)
					require.Equal(t, ModeInline, info.Mode)
					require.True(t, strings.HasPrefix(info.Compiler, p.compiler+" "), info.Compiler)
					require.Equal(t, objects, info.Objects)
					require.Empty(t, info.Uninstrumented)
					require.Contains(t, strings.ToLower(strings.ReplaceAll(info.MPI, " ", "")), p.mpi)
				}
				require.Contains(t, b.run("two"), "499500")
				require.Contains(t, b.run("a.out"), "499500")
			})
		}
	}
}

func TestCompileSeveralObjects(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			b.write(map[string]string{"sub/other.c": "int other;\n"})
			b.cc("-c", "main.c", "lib.c", "sub/other.c")
			for _, o := range []string{"main.o", "lib.o", "other.o"} {
				require.FileExists(t, b.path(o))
			}
		})
	}
}

func TestCompileFromStandardInput(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, nil)
			machine.Shared(func() {
				code, err := Compile(b.context(), CompileOptions{
					MPICC: "mpicc." + p.mpi, Compiler: p.compiler, Dir: b.dir,
					Args: []string{"-x", "c", "-", "-o", "app"}, Stdin: strings.NewReader("int main(void) { return 0; }\n"),
				})
				require.NoError(t, err)
				require.Zero(t, code)
			})
			b.run("app")
		})
	}
}

func TestCompileCXX(t *testing.T) {
	t.Parallel()
	const text = `#include <mpi.h>
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>
struct base { virtual ~base() {} virtual int value() = 0; };
struct derived : base { std::vector<int> v{3, 1, 2}; int value() override { std::sort(v.begin(), v.end()); return v[0]; } };
static std::atomic<long> counter{0};
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	auto p = std::make_shared<derived>();
	base *b = p.get();
	counter += b->value();
	try { throw std::runtime_error("thrown"); } catch (const std::exception &e) { std::cout << e.what() << counter << std::endl; }
	MPI_Finalize();
}
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			need(t, "g++")
			b := newBench(t, p, map[string]string{"app.cpp": text})
			b.must(CXX, "-O2", "-g", "-std=c++17", "app.cpp", "-o", "app")
			require.Equal(t, ModeInline, b.info("app").Mode)
			require.Contains(t, b.run("app"), "thrown1")
		})
	}
}

func TestPassThrough(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			require.Contains(t, b.cc("--version"), p.compiler)
			require.NotEmpty(t, b.cc("-dumpmachine"))
			require.Contains(t, b.cc("-show"), p.compiler)
			require.Contains(t, b.cc("-E", "lib.c"), "int sum(")
			require.Contains(t, b.cc("-MM", "lib.c"), "lib.o: lib.c lib.h")
			b.cc("-fsyntax-only", "lib.c")
			b.cc("-v")
			b.cc("-S", "lib.c")
			text, err := os.ReadFile(b.path("lib.s"))
			require.NoError(t, err)
			require.Regexp(t, "__tsan_|mcchk_miss_", string(text))

			code, _, err := b.compile(C)
			require.NoError(t, err)
			require.NotZero(t, code, "no input files")
		})
	}
}

func TestCompilerErrorsAreTheCompilers(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"bad.c": "int f( { return 1; }\n", "undefined.c": "int g(void); int main(void) { return g(); }\n"})
			for _, args := range [][]string{{"-c", "bad.c"}, {"bad.c", "-o", "app"}, {"-c", "absent.c"}, {"undefined.c"}} {
				code, out, err := b.compile(C, args...)
				require.NoError(t, err)
				require.NotZero(t, code, args)
				require.NotEmpty(t, out)
			}
			require.NoFileExists(t, b.path("app"))
		})
	}
}

func TestDependencyFiles(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		for name, c := range map[string]struct{ args, file, text string }{
			"beside the object":   {"-MD -c lib.c -o out/x.o", "out/x.d", "out/x.o:"},
			"default object":      {"-MMD -c lib.c", "lib.d", "lib.o:"},
			"named":               {"-MD -MF deps -c lib.c -o x.o", "deps", "x.o:"},
			"target":              {"-MMD -MP -MT target -MF deps -c lib.c -o x.o", "deps", "target:"},
			"joined names":        {"-MD -MFdeps -MTtarget -c lib.c", "deps", "target:"},
			"preprocessor option": {"-Wp,-MD,deps -c lib.c -o x.o", "deps", "x.o:"},
			"with link":           {"-MMD main.c lib.c -o app", "app.d", "app:"},
			"with default link":   {"-MMD main.c lib.c", "lib.d", "lib.o:"},
		} {
			t.Run(p.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, p, sumFiles())
				b.write(map[string]string{"out/empty": ""})
				b.cc(strings.Fields(c.args)...)
				data, err := os.ReadFile(b.path(c.file))
				require.NoError(t, err)
				if name == "preprocessor option" && p.compiler == "gcc" {
					c.text = "lib.o:" // gcc's preprocessor does not see -o
				}
				require.True(t, strings.HasPrefix(string(data), c.text), string(data))
				require.Contains(t, string(data), "lib.h")
				require.NotContains(t, string(data), os.TempDir()+"/mcchk-")
			})
		}
	}
}

func TestSharedLibrary(t *testing.T) {
	t.Parallel()
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			b.write(map[string]string{"copy.c": "#include <string.h>\nvoid copy(void *d, const void *s, unsigned long n) { memcpy(d, s, n); }\n"})
			b.cc("-O2", "-fPIC", "-shared", "-Wl,-z,defs", "lib.c", "copy.c", "-o", "libsum.so")
			b.cc("-O2", "main.c", "-L.", "-lsum", "-Wl,-rpath,"+b.dir, "-o", "app")
			require.Equal(t, []string{"lib.o", "copy.o"}, b.info("libsum.so").Objects)
			require.Equal(t, []string{"main.o", "libsum.so"}, b.info("app").Objects)
			require.Empty(t, b.info("app").Uninstrumented)
			require.Contains(t, b.run("app"), "499500")

			f, err := elf.Open(b.path("libsum.so"))
			require.NoError(t, err)
			defer f.Close()
			imported, err := f.ImportedSymbols()
			require.NoError(t, err)
			var names []string
			for _, s := range imported {
				names = append(names, s.Name)
			}
			require.Contains(t, names, "__wrap_memcpy")
			require.NotContains(t, names, "memcpy")
		})
	}
}

func TestUninstrumentedParts(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			b.write(map[string]string{
				"data.c": "int table[4] = {1, 2, 3, 4};\n", "asm.s": ".text\n.globl nothing\nnothing:\n\tret\n",
				"plain.c": "int plain(int *p) { return *p; }\n",
				"past.c":  "#include <mpi.h>\nint past(int *p) { return PMPI_Comm_rank(MPI_COMM_WORLD, p) + PMPI_Barrier(MPI_COMM_WORLD); }\n",
			})
			plain := p.compiler
			b.command(nil, plain, "-c", "lib.c", "-o", "util.o")
			b.command(nil, plain, "-c", "data.c")
			b.command(nil, plain, "-shared", "-fPIC", "plain.c", "-o", "libplain.so")
			b.cc("-c", "main.c")
			b.command(nil, "ar", "rcs", "libx.a", "util.o", "data.o")
			b.cc("main.o", "asm.s", "libx.a", "./libplain.so", "-lm", "-o", "app")
			info := b.info("app")
			require.Equal(t, ModeInline, info.Mode)
			require.Equal(t, []string{"main.o", "asm.o", "libx.a(util.o)", "libx.a(data.o)", "./libplain.so"}, info.Objects)
			require.Equal(t, []string{"asm.o", "libx.a(util.o)", "./libplain.so"}, info.Uninstrumented)

			require.Empty(t, info.Bypassed)

			b.cc("main.o", "past.c", "-L.", "-lx", "-o", "by-name")
			require.Equal(t, []string{"PMPI_Barrier"}, b.info("by-name").Bypassed, "queries do not matter")
			require.Equal(t, []string{"libx.a(util.o)"}, b.info("by-name").Uninstrumented)

			b.write(map[string]string{
				"other.c":   "void shmem_quiet(void); int shmem_my_pe(void); void shmem_put4_(void); int gaspi_wait(int, int);\nint other(void) { shmem_quiet(); shmem_put4_(); return shmem_my_pe() + gaspi_wait(0, 0); }\n",
				"library.c": "void shmem_quiet(void) {}\nint shmem_my_pe(void) { return 0; }\nvoid shmem_put4_(void) {}\nint gaspi_wait(int a, int b) { return a + b; }\n",
			})
			b.command(nil, plain, "-shared", "-fPIC", "library.c", "-o", "liblibrary.so")
			b.cc("main.o", "other.c", "./liblibrary.so", "-L.", "-lx", "-o", "others")
			require.Equal(t, []string{"gaspi_wait", "shmem_put4_", "shmem_quiet"}, b.info("others").Bypassed, "functions of other models")
			b.write(map[string]string{
				"beyond.c":     "void shmemx_int32_p(int *, int, int); int gaspi_threads_sync(void); int MPIX_Comm_agree(int, int *); int MPIX_Query_cuda_support(void);\nint beyond(int *p) { shmemx_int32_p(p, 1, 0); return gaspi_threads_sync() + MPIX_Comm_agree(0, p) + MPIX_Query_cuda_support(); }\n",
				"extensions.c": "void shmemx_int32_p(int *p, int v, int pe) { *p = v + pe; }\nint gaspi_threads_sync(void) { return 0; }\nint MPIX_Comm_agree(int c, int *p) { return c + *p; }\nint MPIX_Query_cuda_support(void) { return 0; }\n",
			})
			b.command(nil, plain, "-shared", "-fPIC", "extensions.c", "-o", "libextensions.so")
			b.cc("main.o", "beyond.c", "./libextensions.so", "-L.", "-lx", "-o", "extensions")
			require.Equal(t, []string{"MPIX_Comm_agree", "gaspi_threads_sync", "shmemx_int32_p"}, b.info("extensions").Bypassed, "beyond the standards")
			b.cc("main.o", "beyond.c", "extensions.c", "-L.", "-lx", "-o", "own")
			require.Empty(t, b.info("own").Bypassed, "the program's own functions of these names")
			b.cc("main.o", "other.c", "library.c", "-L.", "-lx", "-o", "own")
			require.Empty(t, b.info("own").Bypassed, "the program's own functions of these names")
		})
	}
}

func TestMixedModes(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	b.plugin = pluginOff
	b.cc("-c", "-O1", "lib.c")
	b.p.compiler, b.plugin = "clang", ""
	b.cc("-O1", "main.c", "lib.o", "-o", "app")
	require.Equal(t, ModeMixed, b.info("app").Mode)
	require.Contains(t, b.run("app"), "499500")
}

// The slow rest of clang's tests has a calling convention that gcc does not know.
func TestObjectsOfClangLinkedByGCC(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "clang"}, sumFiles())
	b.cc("-c", "-O1", "main.c")
	b.p.compiler = "gcc"
	code, _, err := b.compile(C, "main.o", "lib.c", "-o", "app")
	require.Equal(t, 2, code)
	require.ErrorContains(t, err, "main.o: compiled by clang, so clang has to link the program too")
}

func TestRelocatableLink(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			b.write(map[string]string{"other.c": "int other(int *p) { return *p; }\n"})
			b.cc("-r", "-nostdlib", "lib.c", "other.c", "-o", "both.o")
			b.cc("main.c", "both.o", "-o", "app")
			require.Empty(t, b.info("app").Uninstrumented)
			require.Contains(t, b.run("app"), "499500")
		})
	}
}

func TestResponseFileCommand(t *testing.T) {
	t.Parallel()
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			filler := strings.Repeat("-DUNUSED_NAME_THAT_IS_LONG=1\n", 2500)
			b.write(map[string]string{"args": "-O1 main.c\nlib.c -o 'my app'\n" + filler})
			b.cc("@args")
			require.Contains(t, b.run("my app"), "499500")
		})
	}
}

func TestOptionsThatChangeCode(t *testing.T) {
	t.Parallel()
	both := []string{
		"-flto", "-static-libgcc", "-gsplit-dwarf", "-fPIE -pie", "-fno-pie -no-pie", "-pg", "-x c",
		"-ffunction-sections -fdata-sections -Wl,--gc-sections", "-Wl,--as-needed",
		"-O3 -march=x86-64-v3 -D_FORTIFY_SOURCE=2", "-std=c99 -Wall -Wextra -Werror -pedantic", "-mcmodel=medium",
	}
	for compiler, list := range map[string][]string{
		"gcc":   append([]string{"--coverage", "-fsanitize=undefined", "-fopenmp"}, both...), // clang's run-times for these are packages of their own
		"clang": both,
	} {
		for _, options := range list {
			t.Run(compiler+" "+options, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, platform{"mpich", compiler}, sumFiles())
				b.cc(append(strings.Fields(options), "-O2", "main.c", "lib.c", "-o", "app")...)
				require.Empty(t, b.info("app").Uninstrumented)
				require.Contains(t, b.run("app"), "499500")
			})
		}
	}
}

// TestAtomicUpdatesThatExchange: the processor has no instruction for these, so that gcc makes
// loops around a compare-and-exchange of numbers without a sign.
func TestAtomicUpdatesThatExchange(t *testing.T) {
	t.Parallel()
	const source = `
#include <stdio.h>
#define UPDATES(type) \
static __attribute__((noinline)) type type##_updates(type *x, type y) \
{ \
	_Pragma("omp atomic") *x *= y; \
	_Pragma("omp atomic") *x /= (type)2; \
	_Pragma("omp atomic") *x = y - *x; \
	return *x; \
}
UPDATES(char) UPDATES(short) UPDATES(int) UPDATES(long) UPDATES(unsigned) UPDATES(float) UPDATES(double)
int main(void)
{
	char c = -3; short s = -3; int i = -3; long l = -3; unsigned u = 3; float f = -3; double d = -3;
	printf("%d %d %d %ld %u %g %g\n", char_updates(&c, 4), short_updates(&s, 4), int_updates(&i, 4), long_updates(&l, 4),
		unsigned_updates(&u, 4), float_updates(&f, 4), double_updates(&d, 4));
	return 0;
}
`
	b := newBench(t, platform{"mpich", "gcc"}, map[string]string{"app.c": source})
	for _, level := range []string{"-O0", "-O2"} {
		b.cc(level, "-fopenmp", "app.c", "-o", "app")
		require.Contains(t, b.run("app"), "10 10 10 10 4294967294 10 10\n", level)
	}
}

// TestCopiesIntoLocalMemory: the functions that copies become write memory that nobody else
// knows, and what was there before is not what is read behind them.
func TestCopiesIntoLocalMemory(t *testing.T) {
	t.Parallel()
	const source = `
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int copied(const int *f, size_t n) { int c[2] = {0}; memcpy(c, f, n); return c[1]; }
__attribute__((noinline)) int filled(size_t n) { char c[16] = "abcdefgh"; memset(c, 'x', n); return c[3]; }
__attribute__((noinline)) int moved(const int *f) { struct { int v[2]; } c = {{0}}; memmove(c.v, f, (const char *)(f + 2) - (const char *)f); return c.v[1]; }
__attribute__((noinline)) int string(const char *s) { char c[16] = "abcdefgh"; strcpy(c, s); return c[1]; }
__attribute__((noinline)) int end(const char *s) { char c[16] = "abcdefgh"; strcat(c, s); return c[8]; }
int main(void)
{
	int f[2] = {7, 7};
	printf("%d %c %d %c %c\n", copied(f, 8), filled(8), moved(f), string("rstu"), end("z"));
	return 0;
}
`
	for _, compiler := range []string{"gcc", "clang"} {
		b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": source})
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3", "-Os"} {
			b.cc(level, "app.c", "-o", "app")
			require.Contains(t, b.run("app"), "7 x 7 s z\n", "%s %s", compiler, level)
		}
	}
}

// TestDebugInformationIsWhole: files of their own have none of it, whatever the options say.
func TestDebugInformationIsWhole(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"gcc", "clang"} {
		b := newBench(t, platform{"mpich", compiler}, sumFiles())
		b.cc("-O2", "-gsplit-dwarf", "-c", "lib.c")
		require.NoFileExists(t, b.path("lib.dwo"))
	}
}

func TestCoverageIsNotInlined(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "clang"}, sumFiles())
	require.Contains(t, b.cc("-v", "--coverage", "-c", "lib.c"), "coverage is on")
	require.FileExists(t, b.path("lib.gcno"))
}

func TestRefusals(t *testing.T) {
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	code, _, err := b.compile(C, "-fsanitize=thread", "main.c")
	require.ErrorContains(t, err, "remove the option")
	require.Equal(t, 2, code)

	_, err = Compile(b.context(), CompileOptions{MPICC: "no-such-mpicc", Args: []string{"-c", "main.c"}, Dir: b.dir})
	require.ErrorIs(t, err, errNoCompiler)
	require.ErrorContains(t, err, "apt install")

	_, err = Compile(b.context(), CompileOptions{MPICC: "gcc", Args: []string{"-c", "lib.c"}, Dir: b.dir})
	require.ErrorIs(t, err, errNoHeader)

	_, err = Compile(b.context(), CompileOptions{Compiler: "no-such-gcc", Args: []string{"-c", "lib.c"}, Dir: b.dir})
	require.ErrorContains(t, err, "no-such-gcc")
}

// It writes a program and starts it, so nothing may run beside it: a process that
// is being started there could hold that program open for writing.
func TestNoLLVMLinkFallsBackToCalls(t *testing.T) {
	b := newBench(t, platform{"mpich", "clang"}, sumFiles())
	// A PATH without llvm-link, and a clang that does not lie beside one.
	bin := t.TempDir()
	for _, program := range []string{"mpicc.mpich", "ar", "ld", "as", "bash", "sh", "sed", "gcc"} {
		path, err := newToolsPath(program)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, program)))
	}
	clang, err := newToolsPath("clang")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "clang"), []byte("#!/bin/sh\nexec "+clang+" \"$@\"\n"), 0o755))
	env := append(os.Environ(), "PATH="+bin)
	var out strings.Builder
	code, err := Compile(b.context(), CompileOptions{
		MPICC: "mpicc.mpich", Compiler: "clang", Args: []string{"main.c", "lib.c", "-o", "app"}, Dir: b.dir, Env: append(env, "MCCHK_VERBOSE=1"),
		Stdout: &out, Stderr: &out,
	})
	require.NoError(t, err, out.String())
	require.Zero(t, code, out.String())
	require.Contains(t, out.String(), "no llvm-link")
	require.Equal(t, ModeCall, b.info("app").Mode)
	require.Contains(t, b.run("app"), "499500")
}

// Compilers that have no headers for plug-ins, or cannot compile one: everything works
// as without, and doctor says what is missing. It writes programs and starts them, as
// the test above.
func TestNoPluginFallsBackToCalls(t *testing.T) {
	gcc, err := newToolsPath("gcc")
	require.NoError(t, err)
	version, err := exec.Command("gcc", "-dumpversion").Output()
	require.NoError(t, err)
	header := "gcc-" + strings.TrimSpace(string(version)) + "-plugin-dev"
	for name, script := range map[string]string{
		"no headers":           `case "$*" in *-print-libgcc-file-name*) echo /nowhere/libgcc.a; exit 0; esac`,
		"no C++":               `case "$*" in *-fno-rtti*) echo "no C++ here" >&2; exit 1; esac`,
		"a plug-in for others": `case "$*" in *-fplugin=*) echo "not for this version" >&2; exit 1; esac`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
			own := filepath.Join(t.TempDir(), "gcc")
			require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\n"+script+"\nexec "+gcc+" \"$@\"\n"), 0o755))
			b.p.compiler = own
			out := b.cc("-v", "main.c", "lib.c", "-o", "app")
			require.Contains(t, out, "no compiler plug-in")
			require.Contains(t, out, header)
			require.Equal(t, ModeCall, b.info("app").Mode)
			require.False(t, b.info("app").Plugin)
			require.Contains(t, b.run("app"), "499500")
			found := b.findings("app", "", nil)
			for _, check := range []string{"C instrumentation", "binary's instrumentation"} {
				require.Equal(t, Warning, found[check].Health, check)
				require.Contains(t, found[check].Fix, header, check)
			}
		})
	}
}

func TestPluginOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	b.plugin = pluginOff
	b.cc("main.c", "lib.c", "-o", "app")
	require.Equal(t, ModeCall, b.info("app").Mode)
	require.Equal(t, "unset MCCHK_PLUGIN", b.findings("app", "", append(os.Environ(), "MCCHK_PLUGIN=off"))["C instrumentation"].Fix)
	b.plugin = "on"
	_, _, err := b.compile(C, "main.c")
	require.ErrorContains(t, err, "auto or off")
}

func newToolsPath(program string) (string, error) {
	t := newTools("", nil)
	return t.look(program)
}

func TestArchiveMembers(t *testing.T) {
	need(t, "ar")
	dir := t.TempDir()
	long := "a-name-that-is-longer-than-sixteen-bytes.o"
	want := map[string]string{"a.o": "odd", long: "even"}
	for name, text := range want {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, flags := range map[string]string{"normal": "rc", "thin": "rcT", "indexed": "rcs"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".a")
			cmd := exec.CommandContext(t.Context(), "ar", flags, path, "a.o", long)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, want, archiveText(t, path))
		})
	}
}
