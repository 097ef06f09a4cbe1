package tracer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Files of a built run-time library.
const (
	libraryFile   = "libmcchk.a"
	inlineBitcode = "inline.bc"
	inlineSource  = "inline.c"           // sources: the tests that are inlined
	prototypes    = "mpi.tbl"            // sources: the table of MPI functions
	wrappersFile  = "wrappers.c"         // generated from the table
	fortranFile   = "fortran_wrappers.c" // the same for Fortran
	functionsFile = "functions.c"        // generated: all functions that are recorded
	executableRsp = "program.rsp"        // linker arguments for executables
	sharedRsp     = "shared.rsp"         // linker arguments for shared libraries
	exportList    = "exports.list"
	factsFile     = "library.json"
)

// mpiUnits are the sources that need mpi.h.
var mpiUnits = []string{
	"comms.c", "contents.c", "files.c", "init.c", "order.c", "places.c", "requests.c", "rounds.c", "types.c", "values.c", "windows.c", "words.c", "fortran.c", wrappersFile, fortranFile,
}

// Sources of which a run-time has one or the other: linkedSource where it is linked
// into programs, preloadSource where it is a library to be preloaded.
const (
	linkedSource  = "linked.c"
	preloadSource = "preload.c"
	preloadFile   = "libmcchk-preload.so"
)

// runtimeSourceDir is where debug information says that the run-time's sources
// are, by which its code is told from the program's.
const runtimeSourceDir = "mcchk-runtime"

// libraryFlags compile the run-time. It must fit executables and shared
// libraries of any kind, so it is position-independent.
var libraryFlags = []string{
	"-x", "c", "-std=gnu11", "-Werror=implicit-function-declaration", "-O2", "-g1", "-fPIC", "-pthread", "-fno-lto", "-fno-omit-frame-pointer",
	"-U_FORTIFY_SOURCE", "-fno-stack-protector",
}

// unitFlags are more flags for some units: the wrappers of OpenSHMEM are so many that
// a compiler takes a minute to optimize them, for nothing that could be measured.
var unitFlags = map[string][]string{shmemAPI.wrappers: {"-O0"}, wrappersFile: {"-O1"}, fortranFile: {"-O1", "-w"}, "locks.c": {"-fexceptions"}}

// inlineFlags compile the bitcode that is linked into every object. It has no
// debug information: the inlined test stands at the user's own lines.
var inlineFlags = []string{"-x", "c", "-std=gnu11", "-O2", "-g0", "-fPIC", "-fno-lto", "-emit-llvm"}

// library is a built run-time library in the cache.
type library struct {
	dir string
}

func (l *library) path(file string) string { return filepath.Join(l.dir, file) }

// runtimeLibrary returns the run-time library for a toolchain, and builds it
// when the cache does not hold it.
func runtimeLibrary(ctx context.Context, t *tools, c *cache, tc *Toolchain, sources fs.FS) (*library, error) {
	return buildLibrary(ctx, "runtime", t, c, tc, sources, preloadSource, (*libraryBuild).static)
}

// preloadLibrary returns the run-time as a library that is loaded into programs as
// they are.
func preloadLibrary(ctx context.Context, t *tools, c *cache, tc *Toolchain, sources fs.FS) (*library, error) {
	return buildLibrary(ctx, "preload", t, c, tc, sources, linkedSource, (*libraryBuild).shared)
}

// buildLibrary returns the library of a kind, made of all sources but one, and makes it
// when the cache does not hold it.
func buildLibrary(ctx context.Context, kind string, t *tools, c *cache, tc *Toolchain, sources fs.FS, without string,
	link func(b *libraryBuild, ctx context.Context, objects []string) error,
) (*library, error) {
	files, err := librarySources(sources, tc)
	if err != nil {
		return nil, fmt.Errorf("run-time library: %w", err)
	}
	delete(files, without)
	l := &library{dir: c.path(kind, libraryKey(tc, files))}
	err = c.build(l.dir, func(dir string) error {
		t.wait("making the run-time for %s with %s, which takes some seconds, and only the first time", tc.Library(), tc.Compiler())
		b := libraryBuild{tools: t, cache: c, tc: tc, files: files, dir: dir, final: l.dir}
		objects, err := b.compile(ctx)
		if err != nil {
			return err
		}
		return link(&b, ctx, objects)
	})
	if err != nil {
		return nil, fmt.Errorf("run-time library for %s with %s: %w", tc.Library(), tc.Compiler(), err)
	}
	return l, nil
}

// librarySources reads the embedded sources that a toolchain needs, and generates
// the wrappers.
func librarySources(sources fs.FS, tc *Toolchain) (map[string][]byte, error) {
	files := map[string][]byte{}
	if err := readSources(files, sources, "."); err != nil {
		return nil, err
	}
	table, ok := files[prototypes]
	if !ok {
		return nil, fmt.Errorf("%s is missing", prototypes)
	}
	var list functionList
	funcs, err := parseTable(table)
	if err != nil {
		return nil, err
	}
	if tc.MPI != "" {
		for i := range funcs {
			list.add(funcs[i].definition(), funcs[i].named())
		}
		files[wrappersFile] = generateWrappers(funcs, list.ids)
		files[fortranFile] = generateFortran(funcs, list.ids)
	} else {
		for _, unit := range mpiUnits {
			delete(files, unit)
		}
	}
	if tc.SHMEM != "" {
		if err := addSources(&shmemAPI, files, sources, &list, nil); err != nil {
			return nil, err
		}
	}
	if tc.GASPI != "" {
		if err := addSources(&gaspiAPI, files, sources, &list, tc.Declared); err != nil {
			return nil, err
		}
	}
	files[functionsFile] = list.generate()
	return files, nil
}

// addSources adds those of an interface: with wrappers for the functions declared, or
// for all of the table.
func addSources(i *api, files map[string][]byte, sources fs.FS, list *functionList, declared []string) error {
	if err := readSources(files, sources, i.dir); err != nil {
		return err
	}
	table, err := i.parse(files[i.table])
	if err != nil {
		return err
	}
	funcs := table.funcs
	if i.missing == "" {
		funcs = slices.DeleteFunc(funcs, func(f apiFunc) bool { return !f.Custom && !slices.Contains(declared, f.Name) })
	}
	for k := range funcs {
		list.add(funcs[k].definition(), funcs[k].Custom)
	}
	files[i.wrappers] = i.generate(funcs, list.ids)
	return nil
}

// readSources adds the files of a folder, without those of folders in it.
func readSources(files map[string][]byte, sources fs.FS, dir string) error {
	entries, err := fs.ReadDir(sources, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := fs.ReadFile(sources, path.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		files[e.Name()] = data
	}
	return nil
}

// libraryKey names a run-time library by everything it is made of.
func libraryKey(tc *Toolchain, files map[string][]byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n%q\n%q\n%q\n%q\n%q\n", tc.Wrapper, tc.Show, tc.MPI, tc.SHMEM, tc.GASPI, tc.Compiler(), tc.Mode())
	fmt.Fprintf(h, "%q\n%q\n%q\n", libraryFlags, unitFlags, inlineFlags)
	for _, name := range sortedKeys(files) {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func sortedKeys(m map[string][]byte) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// libraryBuild is one build of the run-time in a temporary folder, which moves
// to its final place when all is done.
type libraryBuild struct {
	tools      *tools
	cache      *cache
	tc         *Toolchain
	files      map[string][]byte
	dir, final string
}

func (b *libraryBuild) source(name string) string { return filepath.Join(b.dir, "src", name) }

// static makes an archive, and what linking a program against it needs.
func (b *libraryBuild) static(ctx context.Context, objects []string) error {
	if err := b.archive(ctx, objects); err != nil {
		return err
	}
	if b.tc.Mode() == ModeInline {
		args := slices.Concat(inlineFlags, []string{"-I", b.source(""), "-c", b.source(inlineSource), "-o", filepath.Join(b.dir, inlineBitcode)})
		if _, _, err := b.tools.output(ctx, "", b.tc.command(args...)...); err != nil {
			return err
		}
	}
	return b.describe(objects)
}

// shared makes a shared library.
func (b *libraryBuild) shared(ctx context.Context, objects []string) error {
	args := append([]string{"-shared", "-pthread", "-fno-lto", "-o", filepath.Join(b.dir, preloadFile)}, objects...)
	_, _, err := b.tools.output(ctx, "", b.tc.command(append(args, "-ldl")...)...)
	return err
}

// compile translates the sources, side by side, and returns the object files.
func (b *libraryBuild) compile(ctx context.Context) ([]string, error) {
	if err := os.Mkdir(b.source(""), 0o755); err != nil {
		return nil, err
	}
	var units []string
	for _, name := range sortedKeys(b.files) {
		if err := os.WriteFile(b.source(name), b.files[name], 0o644); err != nil {
			return nil, err
		}
		if filepath.Ext(name) == ".c" && name != inlineSource {
			units = append(units, name)
		}
	}
	objects := make([]string, len(units))
	errs := make([]error, len(units))
	slots := make(chan struct{}, runtime.NumCPU())
	var wait sync.WaitGroup
	for i, unit := range units {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			objects[i], errs[i] = b.object(ctx, unit)
		})
	}
	wait.Wait()
	return objects, errors.Join(errs...)
}

func (b *libraryBuild) archive(ctx context.Context, objects []string) error {
	ar, err := b.tools.look("ar")
	if err != nil {
		if ar, err = b.tools.look("llvm-ar"); err != nil {
			return fmt.Errorf("neither ar nor llvm-ar found (Debian: apt install binutils)")
		}
	}
	argv := append([]string{ar, "rcs", filepath.Join(b.dir, libraryFile)}, objects...)
	_, _, err = b.tools.output(ctx, "", argv...)
	return err
}

// describe writes the linker arguments that the library needs: whole, so that
// its wrappers come before those of the MPI library; its call-backs and
// wrappers visible to shared libraries; C library functions that it stands in
// for replaced.
func (b *libraryBuild) describe(objects []string) error {
	var wraps, exports []string
	for _, o := range objects {
		names, err := globalSymbols(o)
		if err != nil {
			return err
		}
		for _, n := range names {
			if w, ok := strings.CutPrefix(n, "__wrap_"); ok {
				wraps = append(wraps, "--wrap="+w)
			}
		}
		exports = append(exports, names...)
	}
	slices.Sort(wraps)
	slices.Sort(exports)
	list := "{\n\t" + strings.Join(slices.Compact(exports), ";\n\t") + ";\n};\n"
	program := append([]string{
		"--whole-archive", filepath.Join(b.final, libraryFile), "--no-whole-archive",
		"--dynamic-list=" + filepath.Join(b.final, exportList),
		"--no-as-needed", // libraries behind it that the run-time passes calls on to (threads.c)
	}, wraps...)
	shared := wraps
	if b.tc.Mode() == ModeInline {
		// The outlined tests keep all registers, but the dynamic linker, when it
		// resolves a call at its first use, does not.
		shared = append([]string{"-z", "now"}, wraps...)
	}
	facts, err := json.MarshalIndent(b.tc, "", "\t")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		exportList:    list,
		executableRsp: responseFile(program),
		sharedRsp:     responseFile(shared),
		factsFile:     string(facts),
	} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func globalSymbols(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := definedSymbols(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return names, nil
}

// responseFile writes arguments for gcc's, clang's and the linkers' @file.
func responseFile(args []string) string {
	var text strings.Builder
	for _, a := range args {
		text.WriteString(quoteWord(a) + "\n")
	}
	return text.String()
}
