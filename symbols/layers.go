package symbols

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Layer says whose code a frame is of.
type Layer string

// Layers of a program.
const (
	Application Layer = ""
	Wrapper     Layer = "wrapper" // of the program, between the application and MPI: counts in call paths, and no report points at it
	Library     Layer = "library" // not of the program: it counts in no call path either
)

// systemDirs hold headers and sources that are not the user's, and systemModules
// libraries.
var (
	systemDirs    = []string{"/usr/include/", "/usr/lib/", "/usr/local/include/", "/opt/"}
	systemModules = append([]string{"/lib/", "/lib32/", "/lib64/", "/usr/lib32/", "/usr/lib64/", "/usr/local/lib/"}, systemDirs...)
)

// tracerDir is the folder that the sources of the tracer's run-time were compiled in, which
// are linked into programs.
const tracerDir = "mcchk-runtime"

// Layers are patterns of the paths of source files and shared libraries that do
// not belong to the application, on top of those in folders of the system. The
// elements of a pattern fit elements of a path that follow one another, from the
// root on where the pattern begins with "/"; * stands for any characters but "/".
// So "third_party" is all below each folder of that name, and "libhalo*" every
// file that is called so.
type Layers struct {
	Libraries []string
	Wrappers  []string
}

// ErrPattern is the error of a pattern that fits no path, or each.
var ErrPattern = errors.New("no pattern of paths")

// CheckPattern returns what is wrong with a pattern: an error that wraps
// ErrPattern.
func CheckPattern(pattern string) error {
	if strings.Trim(pattern, "/*. ") == "" {
		return fmt.Errorf("%w: %q would fit every file", ErrPattern, pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%w: %q: %w", ErrPattern, pattern, err)
	}
	return nil
}

// Mark sets the Layer of each frame of a stack, innermost first. What called the
// main function is the system's.
func (l Layers) Mark(stack []Frame) {
	started := false
	for i := range stack {
		f := &stack[i]
		if f.Layer = l.of(f); started {
			f.Layer = Library
		}
		started = started || isMain(f.Func) && (i+1 == len(stack) || !isMain(stack[i+1].Func))
	}
}

// isMain reports whether a program begins with that function: gfortran's main
// calls MAIN__, which names were once stored under.
func isMain(function string) bool { return function == "main" || function == fortranMain }

// System reports whether a module is a library of the system.
func (m Module) System() bool { return isShared(m.Path) && below(m.Path, systemModules) }

func isShared(module string) bool { return strings.Contains(filepath.Base(module), ".so") }

func (l Layers) of(f *Frame) Layer {
	shared := isShared(f.Module)
	fits := func(pattern string) bool {
		return fitsPath(pattern, f.File) || shared && fitsPath(pattern, f.Module)
	}
	switch {
	case below(f.File, systemDirs), strings.Contains(f.File, "/"+tracerDir+"/"), shared && below(f.Module, systemModules), slices.ContainsFunc(l.Libraries, fits):
		return Library
	case slices.ContainsFunc(l.Wrappers, fits):
		return Wrapper
	}
	return Application
}

func below(file string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// fitsPath reports whether elements of a path that follow one another fit those
// of a pattern.
func fitsPath(pattern, file string) bool {
	if file == "" {
		return false
	}
	rooted := strings.HasPrefix(pattern, "/")
	want, have := elements(pattern), elements(file)
	for from := 0; from+len(want) <= len(have); from++ {
		matches := true
		for i, w := range want {
			ok, err := path.Match(w, have[from+i])
			matches = matches && ok && err == nil
		}
		if matches {
			return true
		}
		if rooted {
			break
		}
	}
	return false
}

func elements(file string) []string { return strings.Split(strings.Trim(path.Clean(file), "/"), "/") }
