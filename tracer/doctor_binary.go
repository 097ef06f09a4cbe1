package tracer

import (
	"cmp"
	"context"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// binary looks at an executable.
func (d *examination) binary(ctx context.Context, path string) {
	const check = "binary"
	f, err := elf.Open(path)
	if err != nil {
		fix := "give the program itself"
		if isNotELF(err) {
			fix = "give the executable itself, not a script that starts it"
		}
		switch strings.ToLower(filepath.Ext(path)) {
		case ".c", ".cc", ".cpp", ".cxx", ".h", ".f", ".f90":
			d.add(check, Problem, "give the program built from it", "%s is a source file", path)
			return
		}
		d.add(check, Problem, fix, "%s cannot be read: %v", path, err)
		return
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		d.add(check, Problem, "give the linked program", "%s is not an executable", path)
		return
	}
	info, err := ReadBuildInfo(path)
	switch {
	case errors.Is(err, ErrNoBuildInfo):
		d.add(check, Problem, "compile and link it with mcchk cc (mcchk cxx for C++)", "%s was not linked by mcchk: it will write no trace", path)
		return
	case err != nil:
		d.add(check, Problem, "link it again", "%v", err)
		return
	}
	d.build(path, info)
	if p := placesOf(f); p != (places{}) {
		d.add("places of loads and stores", OK, "", "%s", p)
	}
	d.callbacks(f)
	d.debugInformation(f)
	d.launcher(ctx, f, info)
}

// maxNamed is how many objects a sentence names.
const maxNamed = 5

// build says how the parts of the binary were made.
func (d *examination) build(path string, info *BuildInfo) {
	const check = "binary's instrumentation"
	switch info.Mode {
	case ModeInline:
		way := "inline"
		if info.Plugin {
			way = "inline, and by whole loops, by a compiler plug-in"
		}
		d.add(check, OK, "", "%s: %s (the fast way), %s, %s", path, way, info.Compiler, info.MPI)
	case ModeMixed:
		d.add(check, Warning, "compile all parts in one way: with the plug-in of gcc, or with --compiler clang", "%s: some objects inline, some by calls (slower), %s, %s", path, info.Compiler, info.MPI)
	case ModeCall:
		d.add(check, Warning, fasterThanCalls(info.Compiler),
			"%s: by calls (slower than inline), %s, %s", path, info.Compiler, info.MPI)
	default:
		d.add(check, Problem, "compile its sources with mcchk cc, too", "%s: no load or store is recorded, only MPI calls", path)
	}
	if n := len(info.Uninstrumented); n > 0 && info.Mode != ModeNone {
		named := info.Uninstrumented[:min(n, maxNamed)]
		rest := ""
		if n > maxNamed {
			rest = fmt.Sprintf(" and %d more", n-maxNamed)
		}
		d.add("uninstrumented objects", Warning, "compile them with mcchk cc, unless they never touch window memory or buffers",
			"loads and stores of %d of %d objects are not recorded: %s%s", n, len(info.Objects), strings.Join(named, ", "), rest)
	}
}

// fasterThanCalls says how code compiled with a compiler, such as "gcc 12.2.0", gets
// faster than with a call for each access.
func fasterThanCalls(compiler string) string {
	family, version, _ := strings.Cut(compiler, " ")
	tc := Toolchain{Family: family, Version: version}
	if family == familyGCC {
		return fmt.Sprintf("compile with gcc's plug-in (Debian: apt install %s), or with --compiler clang (needs clang and llvm-link)", tc.pluginPackages())
	}
	return fmt.Sprintf("compile it again with llvm-link installed (Debian: apt install llvm-%d)", tc.major())
}

// callbacks looks for the run-time in the binary.
func (d *examination) callbacks(f *elf.File) {
	const check = "run-time in the binary"
	symbols, err := f.DynamicSymbols()
	if err != nil || len(symbols) == 0 {
		symbols, err = f.Symbols() // a static executable
	}
	if err != nil {
		d.add(check, Warning, "", "cannot be seen: the binary has no symbols (stripped, and static)")
		return
	}
	callback, wrapper := false, false
	for _, s := range symbols {
		defined := s.Section != elf.SHN_UNDEF
		callback = callback || defined && s.Name == callbackPrefix+"init"
		wrapper = wrapper || defined && s.Name == "MPI_Init"
	}
	if !callback || !wrapper {
		d.add(check, Problem, "link it with mcchk cc", "the call-backs for loads and stores or the wrappers of MPI calls are missing")
		return
	}
	d.add(check, OK, "", "call-backs and MPI wrappers are linked in")
}

// debugInformation looks for that of the program's own sources, in the binary
// or beside it.
func (d *examination) debugInformation(f *elf.File) {
	const check = "debug information"
	if f.Section(".gnu_debuglink") != nil {
		d.add(check, OK, "", "in a separate file")
		return
	}
	units, err := compileUnits(f)
	switch {
	case err != nil:
		d.add(check, Warning, "compile with -g", "cannot be read: %v", err)
	case units == 0:
		d.add(check, Warning, "compile with -g", "none of the program's own: reports will name addresses instead of source lines")
	default:
		files := "source files"
		if units == 1 {
			files = "source file"
		}
		d.add(check, OK, "", "for %d %s: reports name source lines", units, files)
	}
}

// compileUnits counts the units of source code with debug information, apart
// from those of the run-time.
func compileUnits(f *elf.File) (int, error) {
	data, err := f.DWARF()
	if err != nil {
		return 0, err
	}
	n := 0
	for r := data.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil {
			return n, err
		}
		if e == nil {
			return n, nil
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		isUnit := e.Tag == dwarf.TagCompileUnit || e.Tag == dwarf.TagSkeletonUnit
		if isUnit && !strings.HasPrefix(name, runtimeSourceDir+"/") {
			n++
		}
	}
}

// defaultLauncher is what programs are taken to be started with.
const defaultLauncher = "mpiexec"

// launcher compares the MPI library of the binary with that of
// the launcher.
func (d *examination) launcher(ctx context.Context, f *elf.File, info *BuildInfo) {
	const check = "MPI library of binary and launcher"
	linked := info.MPI
	if libraries, err := f.ImportedLibraries(); err == nil {
		if l := mpiOfLibraries(libraries); l != "" && !sameMPI(info.MPI, l) {
			d.add(check, Problem, "link with the wrapper of the library it was compiled for", "compiled for %s, but linked with %s", info.MPI, l)
			return
		}
	}
	name := cmp.Or(d.options.MPIExec, d.tools.beside(d.tools.getenv(wrapperVariables[target{MPI, C}].name), defaultLauncher), defaultLauncher)
	path, launcher, err := mpiOfLauncher(ctx, &d.tools, name)
	switch {
	case err != nil:
		d.add(check, Warning, "install the launcher of "+linked+", or name it", "%v", err)
	case launcher == "":
		d.add(check, OK, "", "the binary uses %s; %s does not say which library it belongs to", linked, path)
	case !sameMPI(linked, launcher):
		d.add(check, Problem, "start it with the mpiexec of "+linked+" (Debian: mpiexec.mpich, mpiexec.openmpi)",
			"the binary uses %s, but %s belongs to %s: every process would run alone as rank 0", linked, path, launcher)
	default:
		other := ""
		if usual, of, err := mpiOfLauncher(ctx, &d.tools, defaultLauncher); err == nil && of != "" && !sameMPI(linked, of) {
			other = fmt.Sprintf(", while %s belongs to %s", usual, of)
		}
		d.add(check, OK, "", "%s, and %s belongs to it%s", linked, path, other)
	}
}

// mpiOfLibraries tells the MPI library by the names of shared libraries.
// libmpi.so.12 is the common name of MPICH's relatives.
func mpiOfLibraries(names []string) string {
	for _, n := range names {
		switch {
		case strings.HasPrefix(n, "libmpich"), n == "libmpi.so.12":
			return "MPICH"
		case strings.HasPrefix(n, "libmpi.so."):
			return "Open MPI"
		}
	}
	return ""
}
