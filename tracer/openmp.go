package tracer

import (
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// What CompileOptions.OpenMP can be.
const (
	openMPAuto = "auto" // LLVM's library, which tells what orders tasks, where it is there
	openMPOwn  = "own"  // the compiler's
)

// openMPLibrary is LLVM's OpenMP library. It has the functions that gcc and gfortran
// call as well, so that it can take the place of libgomp.
const openMPLibrary = "libomp.so.5"

// undone are functions that this library has, and in which it does not do for gcc's programs
// what those call them for: tasks with a detach clause are complete without their event, and
// reductions with inscan, or lastprivate(conditional:) of sections, end the program.
var undone = []string{"omp_fulfill_event", "GOMP_loop_start", "GOMP_loop_ordered_start", "GOMP_sections2_start"}

const openMPPackages = "Debian: apt install libomp-dev"

// asksOpenMP reports whether the command links with OpenMP.
func (l *commandLine) asksOpenMP() bool {
	asks := false
	for _, t := range l.tokens {
		switch w := t.words[0]; {
		case w == "-fopenmp", strings.HasPrefix(w, "-fopenmp="):
			asks = true
		case w == "-fno-openmp":
			asks = false
		}
	}
	return asks
}

// findOpenMP returns the path of LLVM's OpenMP library, "" when there is none.
func findOpenMP(ctx context.Context, t *tools, tc *Toolchain) string {
	out, _, err := t.output(ctx, "", append(tc.underneath(t), "-print-file-name="+openMPLibrary)...)
	path := strings.TrimSpace(out)
	if err != nil || !filepath.IsAbs(path) {
		return "" // the compiler repeats the name of what it does not find
	}
	return filepath.Clean(path)
}

// lacking returns a function that the objects call and that the library does not have, or
// does not do: with it in another library's place, the two would not know of one another.
// "": there is none.
func lacking(library string, calls map[string]bool) (string, error) {
	f, err := elf.Open(library)
	if err != nil {
		return "", fmt.Errorf("%s: %w", library, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return "", fmt.Errorf("%s: %w", library, err)
	}
	has := map[string]bool{}
	for _, s := range symbols {
		has[s.Name] = has[s.Name] || s.Section != elf.SHN_UNDEF
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if !has[name] || slices.Contains(undone, name) {
			return name, nil
		}
	}
	return "", nil
}

// isOpenMPName tells the functions of an OpenMP library that gcc and gfortran call.
func isOpenMPName(name string) bool {
	return strings.HasPrefix(name, "GOMP_") || strings.HasPrefix(name, "GOACC_") || strings.HasPrefix(name, "omp_")
}

// isGOMP tells a linker argument that names gcc's OpenMP library, as build systems do that
// have looked for it themselves.
func isGOMP(arg string) bool {
	return arg == "-lgomp" || strings.HasPrefix(filepath.Base(arg), "libgomp.so")
}

// openMP returns the linker arguments with LLVM's OpenMP library before gcc's, or in its
// place, and says what it did. It is for programs that ask for OpenMP at the link, or of which
// a part calls it.
func (c *compilation) openMP(ctx context.Context, n *inspection, args []string) ([]string, error) {
	if c.openmp == openMPOwn || c.tc.Family != familyGCC || !c.line.asksOpenMP() && len(n.openmp) == 0 {
		return args, nil
	}
	const undecided = "what orders OpenMP's tasks will not be recorded, and verdicts will be undecided"
	library := findOpenMP(ctx, &c.tools, c.tc)
	if library == "" {
		c.say("LLVM's OpenMP library is not installed (%s): %s", openMPPackages, undecided)
		return args, nil
	}
	name, err := lacking(library, n.openmp)
	if err != nil {
		return nil, err
	}
	if name != "" {
		c.say("the program calls %s, which LLVM's OpenMP library (%s) does not have for programs of gcc: %s", name, library, undecided)
		return args, nil
	}
	c.say("linked with LLVM's OpenMP library (%s) in place of libgomp, because it tells what orders tasks; --openmp own keeps libgomp", library)
	return append(slices.DeleteFunc(args, isGOMP), library), nil
}

func (c *compilation) say(format string, args ...any) {
	fmt.Fprintf(c.tools.stderr, "mcchk: "+format+"\n", args...)
}
