package tracer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// link does a command that makes an executable or a shared library: it compiles
// the sources among its inputs, and puts their objects in the sources' places.
func (c *compilation) link(ctx context.Context) (int, error) {
	objects := map[int]string{} // of the tokens that are sources
	for _, i := range c.line.inputs() {
		t := c.line.tokens[i]
		if t.source() == sourceNone {
			continue
		}
		object := c.tempFile(objectName(t.value))
		target := c.line.output
		if target == "" {
			target = objectName(t.value)
		}
		code, err := c.compileOne(ctx, t, object, target)
		if code != 0 || err != nil {
			return code, err
		}
		objects[i] = object
	}
	args := c.linkArguments(objects)
	if c.line.relocatable {
		return c.wrapperRun(ctx, args)
	}
	l, err := runtimeLibrary(ctx, &c.tools, c.cache, c.tc.forC(), c.sources)
	if err != nil {
		return 1, err
	}
	info, n, err := c.buildInfo(objects)
	if err != nil {
		return 1, err
	}
	if c.tc.Family == familyGCC && !c.line.shared && len(n.slow) > 0 {
		return 2, fmt.Errorf("%s: compiled by clang, so clang has to link the program too, and may link what gcc compiled: --compiler clang, or MCCHK_COMPILER=clang, at the link", strings.Join(n.slow, ", "))
	}
	var calls, coarrays map[string]bool
	if c.tc.X86 {
		calls, coarrays = n.fortran, n.coarrays
	}
	more := libgfortranSource(calls) + coarraySource(coarrays)
	if c.tc.SHMEM != "" && !c.line.shared {
		needs, err := n.shmemSource()
		if err != nil {
			return 1, err
		}
		more += needs
	}
	object, err := c.buildInfoObject(ctx, info, more)
	if err != nil {
		return 1, err
	}
	args = slices.Concat(args, []string{object}, wraps(calls), wraps(coarrays), behindStubs(coarrays))
	if c.line.shared {
		args = append(args, "-Wl,@"+l.path(sharedRsp))
		if c.line.noUndefined {
			// The call-backs are the executable's.
			args = append(args, "-Wl,-z,undefs")
		}
		return c.wrapperRun(ctx, args)
	}
	args = append(args, "-Wl,@"+l.path(executableRsp))
	if c.tc.GASPI != "" {
		args = append(args, c.gaspi(n)...)
	}
	args, err = c.openMP(ctx, n, args)
	if err != nil {
		return 1, err
	}
	return c.wrapperRun(ctx, append(args, "-lpthread", "-ldl"))
}

// gaspi returns the linker arguments for what the run-time calls of GASPI: its library, which
// is the user's to name, or nothing where the program does not call GASPI, such as those with
// which build systems try a compiler out.
func (c *compilation) gaspi(n *inspection) []string {
	if n.gaspi {
		return c.libraries()
	}
	var none []string
	for _, name := range c.tc.Declared {
		none = append(none, "-Wl,--defsym="+name+"=0", "-Wl,--defsym=p"+name+"=0")
	}
	return none
}

// libraries are those that the user's arguments name.
func (c *compilation) libraries() []string {
	return c.line.words(func(t token) bool {
		return t.kind == tokLibrary || t.kind == tokInput && strings.HasSuffix(t.value, ".a")
	})
}

// linkArguments are the user's, with objects in place of sources and without
// what only concerns compiling.
func (c *compilation) linkArguments(objects map[int]string) []string {
	var args []string
	for i, t := range c.line.tokens {
		switch {
		case objects[i] != "":
			args = append(args, objects[i])
		case t.kind == tokLanguage, t.kind == tokDependency, t.kind == tokPreprocessor && len(objects) > 0:
		default:
			args = append(args, t.words...)
		}
	}
	args = append(args, "-fno-lto")
	if c.tc.Family == familyClang && len(objects) > 0 {
		args = append(args, "-Wno-unused-command-line-argument")
	}
	return args
}

// buildInfo inspects all inputs of the link.
func (c *compilation) buildInfo(objects map[int]string) (*BuildInfo, *inspection, error) {
	var (
		n        = new(inspection)
		dirs     []string // of the user's -L
		mpiDirs  = libraryDirs(c.tc.Show)
		ownFiles = func(path string) bool {
			return filepath.Base(path) == libraryFile || systemFile(path, mpiDirs) || c.tc.GASPI != "" && gaspiLibrary(path)
		}
	)
	for _, t := range c.line.tokens {
		if t.kind == tokLinker && strings.HasPrefix(t.words[0], "-L") {
			dirs = append(dirs, within(c.tools.dir, t.value))
		}
	}
	for i, t := range c.line.tokens {
		path, shown := "", ""
		switch {
		case objects[i] != "":
			path, shown = objects[i], objectName(t.value)
		case t.kind == tokInput && t.value != "-":
			path, shown = within(c.tools.dir, t.value), t.value
			if ownFiles(path) {
				continue
			}
		case t.kind == tokLibrary:
			path = findLibrary(t.value, dirs)
			if path == "" || ownFiles(path) {
				continue
			}
			shown = filepath.Base(path)
		default:
			continue
		}
		if err := n.add(path, shown); err != nil {
			return nil, nil, err
		}
	}
	bypassed, err := n.unseen(c.tc)
	if err != nil {
		return nil, nil, err
	}
	copies := ""
	if c.target.language == Fortran && n.call && !n.plugin {
		copies = c.tc.pluginPackages()
	}
	return &BuildInfo{
		CopiesUnseen:   copies,
		Compiler:       c.tc.Compiler(),
		Mode:           n.mode(c.mode()),
		Plugin:         n.plugin,
		MPI:            c.tc.MPI,
		Objects:        orEmpty(n.objects),
		Uninstrumented: orEmpty(n.uninstrumented),
		Bypassed:       slices.Compact(slices.Sorted(slices.Values(bypassed))),
	}, n, nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// libraryDirs are the folders that the wrapper's own command names with -L.
func libraryDirs(show string) []string {
	var dirs []string
	for _, w := range splitWords(show) {
		if d, ok := strings.CutPrefix(w, "-L"); ok && filepath.IsAbs(d) {
			dirs = append(dirs, filepath.Clean(d))
		}
	}
	return dirs
}

// findLibrary finds what -lname stands for in the given folders, "" when it is
// in none of them (a library of the system).
func findLibrary(name string, dirs []string) string {
	names := []string{"lib" + name + ".so", "lib" + name + ".a"}
	if exact, ok := strings.CutPrefix(name, ":"); ok {
		names = []string{exact}
	}
	for _, dir := range dirs {
		for _, n := range names {
			path := filepath.Join(dir, n)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	return ""
}

// buildInfoObject compiles the build information and more source, with the user's
// options of code generation (such as -m or --sysroot).
func (c *compilation) buildInfoObject(ctx context.Context, info *BuildInfo, more string) (string, error) {
	text, err := info.source(c.line.shared)
	if err != nil {
		return "", err
	}
	file := c.tempFile("mcchk-build.c")
	if err := os.WriteFile(file, []byte(text+more), 0o600); err != nil {
		return "", err
	}
	object := withExtension(file, ".o")
	options := c.line.words(func(t token) bool {
		return t.kind == tokOption && (strings.HasPrefix(t.words[0], "-m") && t.words[0] != "-mllvm" ||
			slices.Contains([]string{"--sysroot", "-isysroot", "-target", "-fPIC", "-fpic", "-fPIE", "-fpie"}, t.words[0]))
	})
	argv := c.tc.forC().command(slices.Concat(options, []string{"-w", "-fno-lto", "-x", "c", "-c", file, "-o", object})...)
	if _, _, err := c.tools.output(ctx, "", argv...); err != nil {
		return "", fmt.Errorf("build information: %w", err)
	}
	return object, nil
}
