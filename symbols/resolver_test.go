//go:build !quick

package symbols

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// packages says what to install where a tool is missing.
var packages = map[string]string{
	"gcc": "gcc", "g++": "g++", "gfortran": "gfortran", "clang": "clang", "clang++": "clang",
	"objcopy": "binutils", "strip": "binutils",
}

// run starts a tool or program and returns its standard output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	return runIn(t, "", name, args...)
}

// runIn is run in a directory.
func runIn(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: apt-get install %s", name, packages[name])
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	require.NoError(t, cmd.Run(), "%s %s\n%s", name, strings.Join(args, " "), diag.String())
	return out.String()
}

// program is a compiled test program in a directory of its own.
type program struct {
	dir, exe string
	places   []place
}

// place is one line that a test program printed: where it called where().
type place struct {
	addr uint64
	path string
}

// build compiles source with the flags, links it with the helper (which has no
// debug information), runs it and collects its places.
func build(t *testing.T, compiler, source string, flags ...string) program {
	t.Helper()
	p := program{dir: t.TempDir()}
	p.exe = filepath.Join(p.dir, "app")
	src, err := filepath.Abs(filepath.Join("testdata", source))
	require.NoError(t, err)
	helper := filepath.Join(p.dir, "where.o")
	run(t, "gcc", "-O1", "-g0", "-c", "-o", helper, filepath.Join("testdata", "where.c"))
	args := append([]string{}, flags...)
	args = append(args, "-o", p.exe, src)
	if source == "app.c" {
		args = append(args, filepath.Join(filepath.Dir(src), "lib.c"))
	}
	if source == "app.f90" {
		args = append(args, "-J", p.dir)
	}
	runIn(t, p.dir, compiler, append(args, helper)...)
	p.run(t)
	return p
}

func (p *program) run(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(run(t, p.exe)) {
		addr, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseUint(addr, 16, 64)
		require.NoError(t, err)
		if path == "" {
			path = p.exe
		}
		p.places = append(p.places, place{n, path})
	}
}

func resolveAll(r *Resolver, p program) []string {
	var got []string
	for _, pl := range p.places {
		got = append(got, show(r.Resolve(Module{Path: pl.path}, pl.addr)))
	}
	return got
}

func TestResolve(t *testing.T) {
	c := []string{"inner app.c:6 < middle app.c:12 < outer app.c:18", "outer app.c:19", "lib_call lib.c:5"}
	// Split debug information is in files of its own, which are not read: the
	// lines are right, the functions those of the symbol table.
	split := []string{"outer app.c:6", "outer app.c:19", "lib_call lib.c:5"}
	cxx := []string{"halo::Grid<double>::exchange app.cc:8", "hidden app.cc:17"}
	fortran := []string{"halo::exchange app.f90:5", "app app.f90:15"}
	tests := []struct {
		name, compiler, source string
		flags                  []string
		want                   []string
	}{
		{"gcc O0", "gcc", "app.c", []string{"-g", "-O0"}, c},
		{"gcc O2", "gcc", "app.c", []string{"-g", "-O2"}, c},
		{"gcc DWARF 4", "gcc", "app.c", []string{"-gdwarf-4", "-O2"}, c},
		{"gcc DWARF 5", "gcc", "app.c", []string{"-gdwarf-5", "-O2"}, c},
		{"gcc not position-independent", "gcc", "app.c", []string{"-g", "-no-pie", "-fno-pie"}, c},
		{"gcc compressed", "gcc", "app.c", []string{"-g", "-O2", "-gz=zlib"}, c},
		{"gcc compressed the old way", "gcc", "app.c", []string{"-g", "-O2", "-gz=zlib-gnu"}, c},
		{"gcc sections, unused ones thrown away", "gcc", "app.c", []string{"-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections"}, c},
		{"gcc line tables only", "gcc", "app.c", []string{"-g1", "-O2"}, c},
		{"clang O0", "clang", "app.c", []string{"-g", "-O0"}, c},
		{"clang DWARF 4", "clang", "app.c", []string{"-gdwarf-4", "-O2"}, c},
		{"clang DWARF 5", "clang", "app.c", []string{"-gdwarf-5", "-O2"}, c},
		{"gcc split", "gcc", "app.c", []string{"-gdwarf-5", "-gsplit-dwarf", "-O2"}, split},
		{"clang split, DWARF 4", "clang", "app.c", []string{"-gdwarf-4", "-gsplit-dwarf", "-O2"}, split},
		{"clang optimized at link time", "clang", "app.c", []string{"-g", "-O1", "-flto", "-fno-inline"},
			[]string{"inner app.c:6 < middle app.c:12 < outer app.c:18", "outer app.c:19", "lib_call lib.c:5"}},
		{"g++", "g++", "app.cc", []string{"-g", "-O2"}, cxx},
		{"clang++", "clang++", "app.cc", []string{"-g", "-O2"}, cxx},
		{"gfortran", "gfortran", "app.f90", []string{"-g", "-O0"}, fortran},
		{"gfortran DWARF 4", "gfortran", "app.f90", []string{"-gdwarf-4", "-O0"}, fortran},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := build(t, test.compiler, test.source, test.flags...)
			require.Equal(t, test.want, resolveAll(NewResolver(Options{}), p))
		})
	}
}

// What a lambda does, and a class of a function's own, is of that function, whatever the compiler inlines.
func TestLambdas(t *testing.T) {
	want := []string{
		"put lambdas.cc:6 < phase::Local::send lambdas.cc:23", "put lambdas.cc:6 < phase::{lambda} lambdas.cc:29",
		"put lambdas.cc:6 < phase::{lambda} lambdas.cc:33",
	}
	for _, compiler := range []string{"g++", "clang++"} {
		for _, level := range []string{"-O0", "-O1", "-O2"} {
			all := resolveAll(NewResolver(Options{}), build(t, compiler, "lambdas.cc", "-g", level))
			require.Len(t, all, len(want))
			for i, got := range all {
				got = strings.Replace(strings.ReplaceAll(got, "phase(int)::", "phase::"), "Local::send() ", "Local::send ", 1)
				require.True(t, strings.HasPrefix(got, want[i]), "%s %s: %s", compiler, level, got)
			}
		}
	}
}

// Paths are whole, however the compiler was called.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "src", "a.c")
	header := filepath.Join(dir, "src", "include", "a.h")
	require.NoError(t, os.MkdirAll(filepath.Dir(header), 0o755))
	require.NoError(t, os.WriteFile(source, []byte("#include \"include/a.h\"\nint a;\nint in_source(void) { return a; }\n"), 0o644))
	require.NoError(t, os.WriteFile(header, []byte("extern int a;\nint in_header(void) { return a; }\n"), 0o644))
	calls := []struct{ name, dir, source string }{
		{"absolute", dir, source},
		{"absolute, from elsewhere", t.TempDir(), source},
		{"below", dir, "src/a.c"},
		{"below with a dot", dir, "./src/a.c"},
		{"beside", filepath.Join(dir, "src"), "a.c"},
		{"above", filepath.Join(dir, "src", "include"), "../a.c"},
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, flag := range []string{"-gdwarf-4", "-gdwarf-5"} {
			for _, call := range calls {
				t.Run(compiler+flag+" "+call.name, func(t *testing.T) {
					lib := filepath.Join(t.TempDir(), "lib.so")
					runIn(t, call.dir, compiler, flag, "-shared", "-fPIC", "-o", lib, call.source)
					r := NewResolver(Options{})
					for function, want := range map[string]string{"in_source": source, "in_header": header} {
						frames := r.Resolve(Module{Path: lib}, symbolAddress(t, lib, function))
						require.Equal(t, want, filepath.Clean(frames[0].File))
						require.Equal(t, function, frames[0].Func)
					}
				})
			}
		}
	}
}

func symbolAddress(t *testing.T, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for _, s := range functionSymbols(f) {
		if s.name == name {
			return s.lo
		}
	}
	t.Fatalf("%s has no function %s", path, name)
	return 0
}

// A part of a function is marked, and the whole ones are not.
func TestPartOfFunction(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "app")
	run(t, "gcc", "-g", "-O2", "-o", exe, filepath.Join("testdata", "part.c"))
	f, err := elf.Open(exe)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.Symbols()
	require.NoError(t, err)
	r := NewResolver(Options{})
	seen := map[string]bool{}
	for _, s := range all {
		if strings.HasPrefix(s.Name, "put") || s.Name == "main" {
			frames := r.Resolve(Module{Path: exe}, s.Value)
			last := frames[len(frames)-1]
			require.Equal(t, last.Func == "put", last.Part, s.Name)
			seen[last.Func] = true
		}
	}
	require.Equal(t, map[string]bool{"put": true, "main": true}, seen)
}

func TestSharedLibrary(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "liblib.so")
	run(t, "gcc", "-g", "-fPIC", "-shared", "-o", lib, "testdata/lib.c")
	exe := filepath.Join(dir, "app")
	run(t, "gcc", "-g", "-O2", "-rdynamic", "-o", exe, "testdata/app.c", "testdata/where.c", lib, "-Wl,-rpath,"+dir)
	p := program{dir: dir, exe: exe}
	p.run(t)
	last := p.places[len(p.places)-1]
	require.Equal(t, lib, last.path)
	r := NewResolver(Options{})
	frames := r.Resolve(Module{Path: lib}, last.addr)
	require.Equal(t, "lib_call lib.c:5", show(frames))
	require.Equal(t, lib, frames[0].Module)
	require.Equal(t, last.addr, frames[0].Offset)
}

func TestNameFallsBackOnSymbols(t *testing.T) {
	c := build(t, "gcc", "app.c", "-O2")
	require.Equal(t, "outer (no debug information (compile with -g))", resolveAll(NewResolver(Options{}), c)[1])
	cxx := build(t, "g++", "app.cc", "-O2")
	require.Equal(t, "halo::Grid<double>::exchange (no debug information (compile with -g))", resolveAll(NewResolver(Options{}), cxx)[0])
	fortran := build(t, "gfortran", "app.f90")
	require.Equal(t, "halo::exchange (no debug information (compile with -g))", resolveAll(NewResolver(Options{}), fortran)[0])
}

func TestPartlyWithoutDebugInformation(t *testing.T) {
	dir := t.TempDir()
	obj := filepath.Join(dir, "lib.o")
	run(t, "gcc", "-g0", "-c", "-o", obj, "testdata/lib.c")
	p := program{dir: dir, exe: filepath.Join(dir, "app")}
	run(t, "gcc", "-g", "-O2", "-o", p.exe, "testdata/app.c", "testdata/where.c", obj)
	p.run(t)
	require.Equal(t, "lib_call ("+reasonNoUnit+")", resolveAll(NewResolver(Options{}), p)[2])
}

func TestSeparateDebugFile(t *testing.T) {
	want := []string{"inner app.c:6 < middle app.c:12 < outer app.c:18", "outer app.c:19", "lib_call lib.c:5"}
	// split moves the debug information out of the program into debug.
	split := func(t *testing.T, debug string, link bool, flags ...string) program {
		p := build(t, "gcc", "app.c", append(flags, "-g", "-O2")...)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(p.dir, debug)), 0o755))
		run(t, "objcopy", "--only-keep-debug", p.exe, filepath.Join(p.dir, debug))
		run(t, "strip", p.exe)
		if link {
			run(t, "objcopy", "--add-gnu-debuglink="+filepath.Join(p.dir, debug), p.exe)
		}
		return p
	}
	noID := "-Wl,--build-id=none"
	t.Run("stripped, nothing else", func(t *testing.T) {
		p := split(t, "elsewhere/app.debug", false, noID)
		require.Equal(t, " ("+reasonNoSymbols+")", resolveAll(NewResolver(Options{DebugDirs: []string{}}), p)[0])
	})
	t.Run("debug link beside", func(t *testing.T) {
		require.Equal(t, want, resolveAll(NewResolver(Options{}), split(t, "app.debug", true, noID)))
	})
	t.Run("debug link in .debug", func(t *testing.T) {
		require.Equal(t, want, resolveAll(NewResolver(Options{}), split(t, ".debug/app.debug", true, noID)))
	})
	t.Run("debug link under the root", func(t *testing.T) {
		p := split(t, "x/app.debug", true, noID)
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(root, p.dir), 0o755))
		require.NoError(t, os.Rename(filepath.Join(p.dir, "x/app.debug"), filepath.Join(root, p.dir, "app.debug")))
		require.Equal(t, want, resolveAll(NewResolver(Options{DebugDirs: []string{root}}), p))
	})
	t.Run("debug link with another checksum", func(t *testing.T) {
		p := split(t, "app.debug", true, noID)
		f, err := os.OpenFile(filepath.Join(p.dir, "app.debug"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString("changed")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, " ("+reasonNoSymbols+")", resolveAll(NewResolver(Options{}), p)[0])
	})
	t.Run("build id", func(t *testing.T) {
		p := split(t, "x/app.debug", false, "-Wl,--build-id=sha1")
		root := t.TempDir()
		id := buildIDOf(t, p.exe)
		file := filepath.Join(root, ".build-id", id[:2], id[2:]+".debug")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.Rename(filepath.Join(p.dir, "x/app.debug"), file))
		require.Equal(t, want, resolveAll(NewResolver(Options{DebugDirs: []string{root}}), p))

		// The program itself may be gone, or built anew, by then.
		gone := NewResolver(Options{DebugDirs: []string{root}})
		frames := gone.Resolve(Module{Path: "/nonexistent/app", BuildID: id}, p.places[1].addr)
		require.Equal(t, "outer app.c:19", show(frames))
	})
}

func buildIDOf(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	id := buildID(f)
	require.NotEmpty(t, id)
	return id
}

func TestReasons(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("not a program"), 0o755))
	p := build(t, "gcc", "app.c", "-g", "-Wl,--build-id=sha1")
	tests := []struct {
		name   string
		module Module
		addr   uint64
		reason string
	}{
		{"gone", Module{Path: filepath.Join(dir, "gone")}, 1, reasonNotFound},
		{"kernel code", Module{Path: "[vdso]"}, 1, reasonNoFile},
		{"no module known", Module{}, 1, reasonNoFile},
		{"built again", Module{Path: p.exe, BuildID: "0123456789abcdef"}, p.places[0].addr, reasonRebuilt},
		{"outside of all functions", Module{Path: p.exe}, 1, reasonNoUnit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frames := NewResolver(Options{DebugDirs: []string{}}).Resolve(test.module, test.addr)
			require.Len(t, frames, 1)
			require.Equal(t, test.reason, frames[0].Reason)
			require.Empty(t, frames[0].File)
			require.Equal(t, test.module.Path, frames[0].Module)
		})
	}
	frames := NewResolver(Options{}).Resolve(Module{Path: text}, 1)
	require.Contains(t, frames[0].Reason, "the file cannot be read")
}

func TestConcurrentUse(t *testing.T) {
	p := build(t, "gcc", "app.c", "-g", "-O2")
	r := NewResolver(Options{})
	want := resolveAll(NewResolver(Options{}), p)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := resolveAll(r, p); strings.Join(got, ";") != strings.Join(want, ";") {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestEveryAddressOfAProgram(t *testing.T) {
	p := build(t, "g++", "app.cc", "-g", "-O2")
	f, err := elf.Open(p.exe)
	require.NoError(t, err)
	defer f.Close()
	text := f.Section(".text")
	r := NewResolver(Options{})
	for addr := text.Addr - 8; addr < text.Addr+text.Size+8; addr++ {
		for _, fr := range r.Resolve(Module{Path: p.exe}, addr) {
			require.True(t, (fr.File != "" && fr.Line > 0) != (fr.Reason != ""), "0x%x: %+v", addr, fr)
		}
	}
}
