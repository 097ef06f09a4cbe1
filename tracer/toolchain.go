package tracer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Language of an MPI compiler wrapper.
type Language string

// Languages that Compile knows.
const (
	C       Language = "C"
	CXX     Language = "C++"
	Fortran Language = "Fortran"
)

// Library is a kind of communication library that programs are compiled for.
type Library string

// Libraries that Compile knows.
const (
	MPI   Library = "MPI"
	SHMEM Library = "OpenSHMEM"
	GASPI Library = "GASPI"
)

// article is the library's name with its article.
func (l Library) article() string {
	if l == GASPI {
		return "a " + string(l)
	}
	return "an " + string(l)
}

// target is what a compiler wrapper is for.
type target struct {
	library  Library
	language Language
}

// String is the target as a user is told of it: MPI goes without saying.
func (t target) String() string {
	if t.library == MPI {
		return string(t.language)
	}
	return string(t.library) + " " + string(t.language)
}

// Families of compilers whose instrumentation mcchk can use.
const (
	familyGCC   = "gcc"
	familyClang = "clang"
)

// Modes in which loads and stores are instrumented.
const (
	ModeCall   = "call"   // each load and store is a call
	ModeInline = "inline" // the test whether it matters is part of the program's code
	ModeMixed  = "mixed"  // some objects are of one mode, some of the other
	ModeNone   = "none"   // nothing is instrumented
)

// errNoCompiler and errNoHeader mark the two commonest troubles with libraries.
var (
	errNoCompiler = errors.New("compiler wrapper not found")
	errNoHeader   = errors.New("header not found")
)

// header is what programs for the library include.
func (l Library) header() string {
	switch l {
	case SHMEM:
		return "shmem.h"
	case GASPI:
		return "GASPI.h"
	}
	return "mpi.h"
}

// Toolchain is a compiler wrapper and what stands behind it.
type Toolchain struct {
	Wrapper  []string // absolute path, then words that always follow
	Language Language
	Family   string   // "gcc" or "clang"
	Version  string   // "12.2.0"
	Show     string   // what the wrapper says it runs
	MPI      string   // "MPICH 4.0.2"; "": it has no mpi.h
	SHMEM    string   // "OpenSHMEM 1.4 (…)"; "": it is not for OpenSHMEM
	GASPI    string   // "GASPI"; "": it is not for GASPI
	Declared []string // functions of GASPI that its header declares
	X86      bool     // compiles for x86
	LLVMLink string   // llvm-link of clang's major version, "" when there is none
	// PluginHeaders is the folder of the headers for plug-ins of the compiler, "" when there are none.
	PluginHeaders string
	Stamps        []string // state of the files the above was read from
	// C compiles the run-time where this one is for Fortran; else nil.
	C *Toolchain
}

// forC is the toolchain that compiles C for the same MPI library.
func (t *Toolchain) forC() *Toolchain {
	if t.C != nil {
		return t.C
	}
	return t
}

// Compiler names the compiler underneath, such as "gcc 12.2.0".
func (t *Toolchain) Compiler() string {
	if t.Language == Fortran {
		return "gfortran " + t.Version
	}
	return t.Family + " " + t.Version
}

// Library names the libraries that it compiles for.
func (t *Toolchain) Library() string {
	var names []string
	for _, name := range []string{t.SHMEM, t.GASPI, t.MPI} {
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// Mode is how this toolchain instruments without a plug-in.
func (t *Toolchain) Mode() string {
	if t.Family == familyClang && t.LLVMLink != "" {
		return ModeInline
	}
	return ModeCall
}

// libraries are those whose headers the wrapper finds, with their versions.
func (t *Toolchain) libraries() string {
	list := slices.DeleteFunc([]string{t.SHMEM, t.GASPI, t.MPI}, func(s string) bool { return s == "" })
	return strings.Join(list, " and ")
}

// command is the wrapper with arguments.
func (t *Toolchain) command(args ...string) []string {
	return append(slices.Clone(t.Wrapper), args...)
}

// compilerFor is the name of a compiler family's driver for a language:
// "clang-15" becomes "clang++-15" for C++.
func compilerFor(language Language, name string) string {
	if language == C || strings.Contains(name, "++") || strings.Contains(name, "gfortran") {
		return name
	}
	dir, base := filepath.Split(name)
	if i := strings.LastIndex(base, "gcc"); i >= 0 && language == Fortran {
		return dir + base[:i] + "gfortran" + base[i+3:]
	}
	if rest, ok := strings.CutPrefix(base, "clang"); ok {
		return dir + "clang++" + rest
	}
	if i := strings.LastIndex(base, "gcc"); i >= 0 {
		return dir + base[:i] + "g++" + base[i+3:]
	}
	return name
}

// chooseCompiler sets the variables that make wrappers use a given compiler.
func (t *tools) chooseCompiler(of target, name string) error {
	if name == "" {
		name = t.getenv("MCCHK_COMPILER")
	}
	if name == "" {
		return nil
	}
	if of.language == Fortran {
		// The run-time is compiled as for the program's parts in C.
		if err := t.chooseCompiler(target{MPI, C}, strings.Replace(name, "gfortran", "gcc", 1)); err != nil {
			return err
		}
		if strings.Contains(filepath.Base(name), familyClang) {
			return nil
		}
	}
	driver := compilerFor(of.language, name)
	if _, err := t.look(driver); err != nil {
		return fmt.Errorf("compiler %s: %w (Debian: apt install %s)", driver, err, strings.Replace(filepath.Base(driver), "clang++", "clang", 1))
	}
	t.env = slices.Clone(t.env)
	for _, v := range wrapperVariables[of].underneath {
		t.env = append(t.env, v+"="+driver)
	}
	return nil
}

// loadToolchain looks at the wrapper, or takes what an earlier look found as
// long as the files concerned have not changed since.
func loadToolchain(ctx context.Context, t *tools, c *cache, of target, wrapper []string) (*Toolchain, error) {
	file := c.path("toolchains", toolchainKey(t, of, wrapper)+".json")
	if data, err := os.ReadFile(file); err == nil {
		var tc Toolchain
		if json.Unmarshal(data, &tc) == nil && tc.current() {
			return &tc, nil
		}
	}
	tc, err := probe(ctx, t, of, wrapper)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(tc, "", "\t")
	if err != nil {
		return nil, err
	}
	return tc, c.write(file, data)
}

// toolchainFormat goes up when more is asked of wrappers than before: what an earlier
// version of mcchk found out does not do then.
const toolchainFormat = 4

// toolchainKey covers what a look at a wrapper depends on, apart from files.
func toolchainKey(t *tools, of target, wrapper []string) string {
	h := sha256.New()
	fmt.Fprintln(h, toolchainFormat)
	fmt.Fprintf(h, "%s\n%s\n%q\n", of.library, of.language, wrapper)
	var vars []string
	for _, v := range t.env {
		if slices.ContainsFunc(toolchainVariables, func(p string) bool { return matches(p, v) }) {
			vars = append(vars, v)
		}
	}
	slices.Sort(vars)
	fmt.Fprintf(h, "%q", vars)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

var toolchainVariables = []string{
	"PATH=*", "MPICH_*", "OMPI_*", "OPAL_*", "I_MPI_*", "SHMEM_*", "OSHMEM_*", "CPATH=*", "C_INCLUDE_PATH=*", "CPLUS_INCLUDE_PATH=*",
	"COMPILER_PATH=*", "GCC_EXEC_PREFIX=*",
}

// stamp describes the present state of a file: what a link leads to, size and
// time of change.
func stamp(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path + "\nmissing"
	}
	info, err := os.Stat(target)
	if err != nil {
		return path + "\nmissing"
	}
	return fmt.Sprintf("%s\n%s\n%d\n%d", path, target, info.Size(), info.ModTime().UnixNano())
}

// current reports whether no file that the toolchain was read from has changed.
func (t *Toolchain) current() bool {
	return len(t.Stamps) > 0 && !slices.ContainsFunc(t.Stamps, func(s string) bool {
		path, _, _ := strings.Cut(s, "\n")
		return stamp(path) != s
	})
}

var (
	reDefine = regexp.MustCompile(`(?m)^#define (\w+) (.*)$`)
	reHeader = regexp.MustCompile(`(?m)^\.+ (.*/(?:mpi|shmem|GASPI)\.h)$`)
	reLLVM   = regexp.MustCompile(`LLVM version (\d+)`)
)

// includes is a program that includes the headers of all libraries that a wrapper may
// be for: those for OpenSHMEM and GASPI may have MPI as well.
func (l Library) includes() string {
	if l == MPI {
		return "#include <mpi.h>\n"
	}
	return "#include <" + l.header() + ">\n#if __has_include(<mpi.h>)\n#include <mpi.h>\n#endif\n"
}

// findGaspi lets the compiler find the header of the library in a folder that the arguments
// of a compilation name, or else in that of GASPI_HOME.
func (t *tools) findGaspi(args []string) {
	var path string
	if home := t.getenv("GASPI_HOME"); home != "" {
		path = filepath.Join(home, "include")
	}
	for _, dir := range includeDirs(args) {
		dir, err := filepath.Abs(within(t.dir, dir))
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, GASPI.header())); err == nil {
			path = dir
			break
		}
	}
	if path == "" {
		return
	}
	if before := t.getenv("CPATH"); before != "" {
		path += ":" + before
	}
	t.env = append(slices.Clone(t.env), "CPATH="+path)
}

// includeDirs returns the folders that the arguments of a compilation name for headers.
func includeDirs(args []string) (dirs []string) {
	for i, arg := range args {
		for _, option := range []string{"-I", "-isystem", "-iquote", "-idirafter"} {
			if dir, ok := strings.CutPrefix(arg, option); ok {
				if dir == "" && i+1 < len(args) {
					dir = args[i+1]
				}
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

var reDeclared = regexp.MustCompile(`\b(gaspi_\w+)\s*\(`)

// probeGaspi asks which functions the header of GASPI declares.
func (t *Toolchain) probeGaspi(ctx context.Context, tools *tools, header string) error {
	text, _, err := tools.output(ctx, GASPI.includes(), t.command("-x", "c", "-E", "-P", "-")...)
	if err != nil {
		return err
	}
	t.GASPI = "GASPI (" + header + ")"
	for _, m := range reDeclared.FindAllStringSubmatch(text, -1) {
		t.Declared = append(t.Declared, m[1])
	}
	slices.Sort(t.Declared)
	t.Declared = slices.Compact(t.Declared)
	return nil
}

// probe asks the wrapper what it runs, and the compiler for the macros it and
// the library's header define.
func probe(ctx context.Context, t *tools, of target, wrapper []string) (*Toolchain, error) {
	if of.language == Fortran {
		return probeFortran(ctx, t, wrapper)
	}
	tc := &Toolchain{Wrapper: wrapper, Language: of.language}
	tc.Show = showCommand(ctx, t, tc)
	macros, headers, err := t.output(ctx, of.library.includes(), tc.command("-x", "c", "-E", "-dM", "-H", "-")...)
	if err != nil {
		if of.library == GASPI && strings.Contains(headers, GASPI.header()) {
			return nil, fmt.Errorf("%s: %w by %s: name its folder by -I, or let GASPI_HOME name the folder that the library is installed in\n%s",
				GASPI.header(), errNoHeader, wrapper[0], firstLines(headers, 4))
		}
		if strings.Contains(headers, of.library.header()) {
			return nil, fmt.Errorf("%s: %w by %s (which runs %q): is it a compiler wrapper of %s?\n%s",
				of.library.header(), errNoHeader, wrapper[0], tc.Show, of.library, firstLines(headers, 4))
		}
		return nil, err
	}
	defines := map[string]string{}
	for _, m := range reDefine.FindAllStringSubmatch(macros, -1) {
		defines[m[1]] = strings.Trim(m[2], `" `)
	}
	if of.library == SHMEM {
		tc.SHMEM = fmt.Sprintf("OpenSHMEM %s.%s", defines["SHMEM_MAJOR_VERSION"], defines["SHMEM_MINOR_VERSION"])
	}
	if err := tc.readMacros(defines); err != nil {
		return nil, err
	}
	files := []string{wrapper[0]}
	header := reHeader.FindStringSubmatch(headers)
	if header != nil {
		files = append(files, header[1])
	}
	if of.library == GASPI && header != nil {
		if err := tc.probeGaspi(ctx, t, header[1]); err != nil {
			return nil, err
		}
	}
	compiler := wrapper[0]
	if words := strings.Fields(tc.Show); len(words) > 0 {
		if path, err := t.look(words[0]); err == nil {
			compiler = path
			files = append(files, path)
		}
	}
	if tc.Family == familyClang {
		tc.LLVMLink = findLLVMLink(ctx, t, compiler, defines["__clang_major__"])
		if tc.LLVMLink != "" {
			files = append(files, tc.LLVMLink)
		}
	}
	var watched []string
	tc.PluginHeaders, watched = findPluginHeaders(ctx, t, tc)
	files = append(files, watched...)
	for _, f := range files {
		tc.Stamps = append(tc.Stamps, stamp(f))
	}
	return tc, nil
}

// probeFortran does so for Fortran. The MPI library is asked by way of C.
func probeFortran(ctx context.Context, t *tools, wrapper []string) (*Toolchain, error) {
	forC, err := wrapperForC(t, wrapper)
	if err != nil {
		return nil, err
	}
	tc := &Toolchain{Wrapper: wrapper, Language: Fortran}
	if tc.C, err = probe(ctx, t, target{MPI, C}, forC); err != nil {
		return nil, err
	}
	tc.MPI, tc.X86 = tc.C.MPI, tc.C.X86
	tc.Show = showCommand(ctx, t, tc)
	macros, _, err := t.output(ctx, "", tc.command("-x", "f95-cpp-input", "-cpp", "-E", "-dM", "-")...)
	if err != nil {
		return nil, err
	}
	defines := map[string]string{}
	for _, m := range reDefine.FindAllStringSubmatch(macros, -1) {
		defines[m[1]] = strings.TrimSpace(m[2])
	}
	if defines["__GFORTRAN__"] == "" {
		return nil, fmt.Errorf("%s runs a compiler that mcchk does not know (%q): for Fortran it needs gfortran; "+
			"choose it with --compiler, if the MPI library allows it", wrapper[0], tc.Show)
	}
	tc.Family = familyGCC
	tc.Version = strings.Join([]string{defines["__GNUC__"], defines["__GNUC_MINOR__"], defines["__GNUC_PATCHLEVEL__"]}, ".")
	files := []string{wrapper[0]}
	if words := strings.Fields(tc.Show); len(words) > 0 {
		if path, err := t.look(words[0]); err == nil {
			files = append(files, path)
		}
	}
	var watched []string
	tc.PluginHeaders, watched = findPluginHeaders(ctx, t, tc)
	tc.Stamps = slices.Clone(tc.C.Stamps)
	for _, f := range append(files, watched...) {
		tc.Stamps = append(tc.Stamps, stamp(f))
	}
	return tc, nil
}

// showCommand is the command that the wrapper runs, "" when it does not say.
func showCommand(ctx context.Context, t *tools, tc *Toolchain) string {
	for _, option := range []string{"-show", "--showme"} {
		if out, _, err := t.output(ctx, "", tc.command(option)...); err == nil {
			return strings.TrimSpace(out)
		}
	}
	return ""
}

// readMacros takes compiler, target and MPI library from predefined macros and
// those of mpi.h.
func (t *Toolchain) readMacros(defines map[string]string) error {
	join := func(names ...string) string {
		var parts []string
		for _, n := range names {
			parts = append(parts, defines[n])
		}
		return strings.Join(parts, ".")
	}
	switch {
	case defines["__clang_major__"] != "":
		t.Family, t.Version = familyClang, join("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
	case defines["__GNUC__"] != "" && defines["__NVCOMPILER"] == "" && defines["__INTEL_COMPILER"] == "":
		t.Family, t.Version = familyGCC, join("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
	default:
		return fmt.Errorf("%s runs a compiler that mcchk does not know (%q): it needs gcc or clang; "+
			"choose one with --compiler, if the MPI library allows it", t.Wrapper[0], t.Show)
	}
	t.X86 = defines["__x86_64__"] != "" || defines["__i386__"] != ""
	switch {
	case defines["I_MPI_VERSION"] != "":
		t.MPI = "Intel MPI " + defines["I_MPI_VERSION"]
	case defines["MVAPICH2_VERSION"] != "":
		t.MPI = "MVAPICH2 " + defines["MVAPICH2_VERSION"]
	case defines["MPICH_VERSION"] != "":
		t.MPI = "MPICH " + defines["MPICH_VERSION"]
	case defines["OMPI_MAJOR_VERSION"] != "":
		t.MPI = "Open MPI " + join("OMPI_MAJOR_VERSION", "OMPI_MINOR_VERSION", "OMPI_RELEASE_VERSION")
	case defines["MPI_VERSION"] == "":
		// A library for OpenSHMEM alone.
	default:
		t.MPI = "unknown MPI library, standard " + join("MPI_VERSION", "MPI_SUBVERSION")
	}
	return nil
}

// findLLVMLink finds the llvm-link of clang's major version: bitcode of a
// newer version cannot be read by an older tool. It returns "" when there is none.
func findLLVMLink(ctx context.Context, t *tools, clang, major string) string {
	candidates := []string{"llvm-link-" + major, "llvm-link"}
	if path, err := filepath.EvalSymlinks(clang); err == nil {
		candidates = append([]string{filepath.Join(filepath.Dir(path), "llvm-link")}, candidates...)
	}
	for _, name := range candidates {
		path, err := t.look(name)
		if err != nil {
			continue
		}
		out, _, err := t.output(ctx, "", path, "--version")
		if m := reLLVM.FindStringSubmatch(out); err == nil && m != nil && m[1] == major {
			return path
		}
	}
	return ""
}
