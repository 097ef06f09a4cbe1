package tracer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Objects of the run-time are kept by themselves: wrappers for C and for C++, or for
// several libraries, that run one compiler share what does not depend on which it is.

var reInclude = regexp.MustCompile(`(?m)^\s*#\s*include\s+[<"]([^>"]+)[>"]`)

// object translates a unit of the run-time, unless the cache holds what comes of it,
// and returns the file.
func (b *libraryBuild) object(ctx context.Context, unit string) (string, error) {
	name := strings.TrimSuffix(unit, ".c") + ".o"
	dir := b.cache.path("objects", b.objectKey(unit))
	err := b.cache.build(dir, func(dir string) error {
		args := slices.Concat(b.unitFlags(unit), []string{"-ffile-prefix-map=" + b.source("") + "=" + runtimeSourceDir,
			"-I", b.source(""), "-c", b.source(unit), "-o", filepath.Join(dir, name)})
		_, _, err := b.tools.output(ctx, "", b.tc.command(args...)...)
		return err
	})
	return filepath.Join(dir, name), err
}

// unitFlags compile a unit of a run-time, and tell it whether it is linked into programs.
func (b *libraryBuild) unitFlags(unit string) []string {
	flags := slices.Concat(libraryFlags, unitFlags[unit])
	if b.files[linkedSource] != nil {
		flags = append(flags, "-DMCCHK_LINKED")
	}
	return flags
}

// objectKey names the object of a unit by everything it is made of: of the libraries,
// those whose headers it includes.
func (b *libraryBuild) objectKey(unit string) string {
	own, others := b.included(unit)
	h := sha256.New()
	flags, includes := b.tc.compileFlags()
	fmt.Fprintf(h, "%s %s\n%q\n%q\n", b.tc.Family, b.tc.Version, flags, b.unitFlags(unit))
	for _, library := range []struct{ name, version string }{{"mpi", b.tc.MPI}, {"shmem", b.tc.SHMEM}, {"gaspi", b.tc.GASPI}} {
		if slices.ContainsFunc(others, func(header string) bool { return strings.Contains(strings.ToLower(header), library.name) }) {
			fmt.Fprintf(h, "%s\n%q\n%q\n", library.version, includes, b.tools.getenv("CPATH"))
		}
	}
	for _, name := range own {
		fmt.Fprintf(h, "%s %d\n", name, len(b.files[name]))
		h.Write(b.files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// included returns, in order, the files of the run-time that a unit is made of, and the
// headers of others that these include.
func (b *libraryBuild) included(unit string) (own, others []string) {
	own = []string{unit}
	for i := 0; i < len(own); i++ {
		for _, m := range reInclude.FindAllSubmatch(b.files[own[i]], -1) {
			name := string(m[1])
			list := &others
			if _, ok := b.files[name]; ok {
				list = &own
			}
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	slices.Sort(own)
	return own, others
}

// driverForC makes the name of a compiler's driver for C of that for another language.
var driverForC = strings.NewReplacer("clang++", "clang", "g++", "gcc", "gfortran", "gcc", "c++", "cc")

// compileFlags are the driver and flags with which the wrapper has its compiler translate, and of
// these the folders for headers apart. Where it does not say, it stands for itself.
func (t *Toolchain) compileFlags() (flags, includes []string) {
	words := strings.Fields(t.Show)
	if len(words) == 0 {
		return t.Wrapper, nil
	}
	flags = []string{driverForC.Replace(words[0])}
	for _, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "-I"), strings.HasPrefix(w, "-isystem"):
			includes = append(includes, w)
		case strings.HasPrefix(w, "-L"), strings.HasPrefix(w, "-l"), strings.HasPrefix(w, "-Wl,"):
		default:
			flags = append(flags, w)
		}
	}
	return flags, includes
}
