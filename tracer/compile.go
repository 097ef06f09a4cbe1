package tracer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CompileOptions say what Compile runs, and where.
type CompileOptions struct {
	Library  Library  // "" means MPI
	Language Language // "" means C
	// MPICC is the compiler wrapper to use; "" means $MCCHK_MPICC
	// ($MCCHK_MPICXX for C++, $MCCHK_MPIFC for Fortran), else what stands beside
	// $MCCHK_MPICC, else mpicc (mpicxx, mpifort), for OpenSHMEM $MCCHK_OSHCC ($MCCHK_OSHCXX), else oshcc (oshcxx), and
	// for GASPI $MCCHK_GASPICC ($MCCHK_GASPICXX), else Compiler, else cc (c++).
	MPICC string
	// Compiler is the compiler that the wrapper is made to use, such as "gcc",
	// "clang" or "clang-15"; "" means $MCCHK_COMPILER, else the wrapper's own.
	Compiler string
	// Plugin is "off" for doing without the compiler plug-in; "" means $MCCHK_PLUGIN,
	// else "auto": where it can be built.
	Plugin string
	// OpenMP is "own" for leaving programs of gcc and gfortran their OpenMP library; ""
	// means $MCCHK_OPENMP, else "auto": LLVM's takes its place where it is installed,
	// because it tells what orders tasks.
	OpenMP string
	Args   []string // as for the wrapper, untouched
	Dir    string   // working directory; "" means the current one
	Env    []string // nil means os.Environ()
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Waiting is told what takes long before the compiler runs; nil: nobody is.
	Waiting io.Writer
}

// CompilerNamed returns what a name of the program stands for under which mcchk acts
// as a compiler: build systems that take the compiler as one word call a link or copy
// of mcchk named mcchk-cc or mcchk-cxx, or after the compiler that is to lie underneath,
// such as mcchk-clang. It reports whether argv0 is such a name.
func CompilerNamed(argv0 string) (o CompileOptions, ok bool) {
	switch strings.TrimSuffix(filepath.Base(argv0), ".exe") {
	case "mcchk-cc":
		return CompileOptions{Language: C}, true
	case "mcchk-cxx", "mcchk-c++":
		return CompileOptions{Language: CXX}, true
	case "mcchk-oshcc":
		return CompileOptions{Library: SHMEM, Language: C}, true
	case "mcchk-oshcxx", "mcchk-oshc++":
		return CompileOptions{Library: SHMEM, Language: CXX}, true
	case "mcchk-fc", "mcchk-fort":
		return CompileOptions{Language: Fortran}, true
	case "mcchk-gfortran":
		return CompileOptions{Language: Fortran, Compiler: "gcc"}, true
	case "mcchk-gcc":
		return CompileOptions{Language: C, Compiler: "gcc"}, true
	case "mcchk-g++":
		return CompileOptions{Language: CXX, Compiler: "gcc"}, true
	case "mcchk-clang":
		return CompileOptions{Language: C, Compiler: "clang"}, true
	case "mcchk-clang++":
		return CompileOptions{Language: CXX, Compiler: "clang"}, true
	}
	return CompileOptions{}, false
}

// Compile runs the MPI compiler wrapper so that what it compiles and links is
// traced. Commands that make no code (-E, --version, …) pass through
// unchanged. The exit code is the compiler's; an error is trouble of mcchk's
// own, and the exit code is then not 0.
func Compile(ctx context.Context, o CompileOptions) (exitCode int, err error) {
	return compile(ctx, o, runtimeSources())
}

func compile(ctx context.Context, o CompileOptions, sources fs.FS) (int, error) {
	c, err := newCompilation(o, sources)
	if err != nil {
		return 2, err
	}
	if c.line.stage == stagePassThrough {
		return c.tools.run(ctx, append(slices.Clone(c.wrapper), o.Args...))
	}
	if err := errors.Join(c.line.checkSanitizers(), c.line.checkLanguages(c.target.language)); err != nil {
		return 2, err
	}
	if err := c.find(ctx); err != nil {
		return 1, err
	}
	if c.temp, err = os.MkdirTemp("", "mcchk-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(c.temp)
	code, err := c.run(ctx)
	if err != nil && code == 0 {
		code = 1
	}
	return code, err
}

// find finds what the compilation is done with.
func (c *compilation) find(ctx context.Context) (err error) {
	if c.cache, err = openCache(&c.tools); err != nil {
		return err
	}
	if c.include, err = includeDir(c.cache); err != nil {
		return err
	}
	if c.tc, err = loadToolchain(ctx, &c.tools, c.cache, c.target, c.wrapper); err != nil {
		return err
	}
	return c.choosePlugin(ctx)
}

// compilation is one run of Compile.
type compilation struct {
	tools   tools
	target  target
	wrapper []string
	args    []string
	line    *commandLine
	sources fs.FS
	cache   *cache
	tc      *Toolchain
	include string // folder of mcchk.h
	plugin  string // "off", "auto", or its file
	openmp  string // "auto" or "own"
	temp    string // folder for what is made in between
	files   int    // names given out in temp
	verbose bool
}

func newCompilation(o CompileOptions, sources fs.FS) (*compilation, error) {
	c := &compilation{target: target{cmp.Or(o.Library, MPI), cmp.Or(o.Language, C)}, args: o.Args, sources: sources}
	if _, ok := wrapperVariables[c.target]; !ok {
		return nil, fmt.Errorf("unknown library or language %q", c.target)
	}
	c.tools = newTools(o.Dir, o.Env)
	c.tools.stdin, c.tools.stdout, c.tools.stderr = o.Stdin, orDiscard(o.Stdout), orDiscard(o.Stderr)
	c.tools.waiting = o.Waiting
	var err error
	wrapper := o.MPICC
	if c.target.library == GASPI {
		c.tools.findGaspi(o.Args)
		if chosen := cmp.Or(o.Compiler, c.tools.getenv("MCCHK_COMPILER")); wrapper == "" && chosen != "" && c.tools.getenv(wrapperVariables[c.target].name) == "" {
			wrapper = compilerFor(c.target.language, chosen)
		}
	}
	if c.wrapper, err = findWrapper(&c.tools, c.target, wrapper); err != nil {
		return nil, err
	}
	if err := c.tools.chooseCompiler(c.target, o.Compiler); err != nil {
		return nil, err
	}
	if c.line, err = parseCommandLine(o.Dir, o.Args); err != nil {
		return nil, err
	}
	switch c.plugin = cmp.Or(o.Plugin, c.tools.getenv("MCCHK_PLUGIN"), pluginAuto); c.plugin {
	case pluginOff, pluginAuto:
	default:
		return nil, fmt.Errorf("plug-in %q: it can be %s or %s", c.plugin, pluginAuto, pluginOff)
	}
	switch c.openmp = cmp.Or(o.OpenMP, c.tools.getenv("MCCHK_OPENMP"), openMPAuto); c.openmp {
	case openMPAuto, openMPOwn:
	default:
		return nil, fmt.Errorf("OpenMP library %q: it can be %s or %s", c.openmp, openMPAuto, openMPOwn)
	}
	c.verbose = c.line.verbose || c.tools.getenv("MCCHK_VERBOSE") != ""
	return c, nil
}

// choosePlugin finds the plug-in to compile with, if one is wanted and can be had.
func (c *compilation) choosePlugin(ctx context.Context) error {
	if c.plugin == pluginOff {
		return nil
	}
	file, err := plugin(ctx, &c.tools, c.cache, c.tc)
	switch {
	case errors.Is(err, errNoPlugin):
		c.note("%v", err)
		c.plugin = pluginOff
	case err != nil:
		return err
	default:
		c.plugin = file
	}
	return nil
}

// mode is how the compilation instruments.
func (c *compilation) mode() string {
	if c.plugin != pluginOff {
		return ModeInline
	}
	return c.tc.Mode()
}

func newTools(dir string, env []string) tools {
	if env == nil {
		env = os.Environ()
	}
	return tools{dir: dir, env: env}
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

func (c *compilation) run(ctx context.Context) (int, error) {
	switch c.line.stage {
	case stageAssembly:
		return c.compilesCode(ctx)
	case stageCompile:
		return c.compileAll(ctx)
	}
	return c.link(ctx)
}

// note says something that only a curious user wants to know.
func (c *compilation) note(format string, args ...any) {
	if c.verbose {
		fmt.Fprintf(c.tools.stderr, "mcchk: "+format+"\n", args...)
	}
}

// maxArguments is the length, in bytes, beyond which arguments of a command go
// into a response file.
const maxArguments = 64 << 10

// wrapperRun runs the wrapper. Arguments too long for a command line, which
// then came in a response file, go into one again.
func (c *compilation) wrapperRun(ctx context.Context, args []string) (int, error) {
	return c.wrapperRunTo(ctx, c.tools.stderr, args)
}

// wrapperRunTo is the same with another place for what the compiler says.
func (c *compilation) wrapperRunTo(ctx context.Context, stderr io.Writer, args []string) (int, error) {
	size := 0
	for _, a := range args {
		size += len(a) + 1
	}
	if size > maxArguments {
		file := c.tempFile("arguments.rsp")
		if err := os.WriteFile(file, []byte(responseFile(args)), 0o600); err != nil {
			return 1, err
		}
		args = []string{"@" + file}
	}
	tools := c.tools
	tools.stderr = stderr
	return tools.run(ctx, c.tc.command(args...))
}

// tempFile returns a new path in the temporary folder that ends in name.
func (c *compilation) tempFile(name string) string {
	c.files++
	dir := filepath.Join(c.temp, strconv.Itoa(c.files))
	// A failure shows when the file is made.
	_ = os.Mkdir(dir, 0o700)
	return filepath.Join(dir, name)
}

// instrumentFlags are the toolchain's, and for clang on a processor with masked
// and gathering accesses none of those: they get no call-back. Without a -m
// option that asks for such a processor, vectorized loops have plain accesses.
func (c *compilation) instrumentFlags() []string {
	if c.target.language == Fortran {
		return slices.Concat(c.tc.fortranFlags(), c.plainDebug(), c.gccPluginFlags())
	}
	flags := append(c.tc.instrumentFlags(), "-idirafter", c.include)
	flags = append(flags, c.plainDebug()...)
	asks := func(word string) bool {
		for _, prefix := range []string{"-march", "-mcpu", "-mavx", "-msve", "-mtarget", "@"} {
			if strings.HasPrefix(word, prefix) {
				return true
			}
		}
		return false
	}
	switch {
	case c.tc.Family == familyGCC:
		flags = append(flags, c.gccPluginFlags()...)
	case c.plugin == pluginOff:
	default:
		// Those come behind the plug-in, which is to see functions that are not optimized, too.
		flags = append(flags, "-fno-vectorize", "-fno-unroll-loops", "-Xclang", "-disable-O0-optnone", "-fpass-plugin="+c.plugin)
	}
	if c.tc.Family == familyClang && (!c.tc.X86 || slices.ContainsFunc(c.args, asks)) {
		flags = append(flags, "-fno-vectorize")
	}
	return flags
}

// gccPluginFlags have gcc load the plug-in, if there is one. A loop of which nothing is
// left but its stores would become a call of memset. Without the plug-in loads would come
// before the condition under which they are made.
func (c *compilation) gccPluginFlags() []string {
	if c.plugin == pluginOff {
		return []string{"-fno-tree-loop-im"}
	}
	return []string{"-fplugin=" + c.plugin, "-fno-tree-loop-distribute-patterns"}
}

// alignment has functions begin with a line of the cache. A loop full of tests is up to
// twice as slow where its branches fall badly on such lines, and where they fall would
// depend on what else the program has.
const alignment = "-falign-functions=64"

// instrumentFlags are what instrumentation adds to a compilation. The reasons:
// call stacks need frames and no sibling calls; memcpy and its kin must stay
// calls, for the link to replace them; constant sizes would be copied unseen
// otherwise, and fortified headers would make builtins of them; optimization at
// link time would come after instrumentation, or lose it.
func (t *Toolchain) instrumentFlags() []string {
	flags := []string{
		"-fsanitize=thread", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
		"-fno-builtin-memcpy", "-fno-builtin-memset", "-fno-builtin-memmove",
		"-U_FORTIFY_SOURCE", "-fno-lto", alignment,
	}
	switch {
	case t.Family == familyGCC:
		// The macro makes headers call what only the real sanitizer has; the
		// warning concerns fences, which that one does not know.
		flags = append(flags, "-U__SANITIZE_THREAD__", "-Wno-tsan")
		if t.X86 {
			flags = append(flags, "-mmemcpy-strategy=libcall:-1:noalign", "-mmemset-strategy=libcall:-1:noalign")
		}
	case t.X86:
		// Wider accesses get no call-back, nor do atomics of 16 bytes that are calls of libatomic,
		// which does the same.
		flags = append(flags, "-mprefer-vector-width=128", "-mcx16")
	}
	if t.Family == familyClang {
		// Wide vectors come about otherwise as well: by joining the scalar
		// accesses of a block, and those of interleaved arrays.
		// And what a loop adds to under a condition would be loaded before it, and what is
		// compared would become bcmp, or loads behind the instrumentation.
		flags = append(flags, "-fno-slp-vectorize", "-fno-builtin-memcmp", "-fno-builtin-bcmp",
			"-mllvm", "-enable-interleaved-mem-accesses=false", "-mllvm", "-disable-licm-promotion")
	}
	if t.Family == familyClang && t.major() >= 13 {
		// A load before a store to the same bytes is a place of its own: a
		// person who moves the store away must not need a second run for it.
		// And an element of a local array counts as private when its own
		// address does not escape, though the array's does: with no uses
		// explored, all of the stack counts as shared.
		flags = append(flags,
			"-mllvm", "-tsan-instrument-read-before-write", "-mllvm", "-capture-tracking-max-uses-to-explore=0")
	}
	return append(flags, t.placeFlags()...)
}

// fortranFlags are those for gfortran. What packs an argument must stay a call
// (of libgfortran), by which the copy is known for one.
func (t *Toolchain) fortranFlags() []string {
	flags := []string{
		"-fsanitize=thread", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-lto", "-Wno-tsan",
		"-fno-inline-arg-packing", "-fno-tree-pta", alignment,
	}
	if t.X86 {
		flags = append(flags, "-mmemcpy-strategy=libcall:-1:noalign", "-mmemset-strategy=libcall:-1:noalign")
	}
	return append(flags, t.placeFlags()...)
}

// placeFlags keep calls and accesses that stand at several places apart: made one,
// in the code behind or before a branch, they would be of one of the lines, or of
// none.
func (t *Toolchain) placeFlags() []string {
	switch {
	case t.Family == familyGCC:
		return []string{"-fno-tree-tail-merge", "-fno-crossjumping", "-fno-code-hoisting", "-fno-ipa-icf"}
	case t.Family == familyClang && t.major() >= 13:
		return []string{
			"-mllvm", "-simplifycfg-sink-common=false", "-mllvm", "-simplifycfg-hoist-common=false", "-mllvm", "-enable-tail-merge=false",
		}
	}
	return nil
}

// major returns the compiler's major version, 0 when it is not known.
func (t *Toolchain) major() int {
	major, _, _ := strings.Cut(t.Version, ".")
	n, _ := strconv.Atoi(major)
	return n
}

// secondFlags are what the translation of instrumented bitcode to an object adds.
func (t *Toolchain) secondFlags() []string {
	flags := []string{
		"-w", "-Wno-unused-command-line-argument", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
		"-fno-builtin-memcpy", "-fno-builtin-memset", "-fno-builtin-memmove", "-fno-lto",
	}
	if t.X86 {
		flags = append(flags, "-mprefer-vector-width=128")
	}
	if t.Family == familyClang { // at -O0, too, where what the plug-in made values of is spilled at each step else
		flags = append(flags, "-mllvm", "-optimize-regalloc")
	}
	return append(flags, t.placeFlags()...)
}

// inline reports whether this compilation inlines the test, and if clang cannot,
// says why.
func (c *compilation) inline() bool {
	if c.tc.Mode() != ModeInline {
		if c.tc.Family == familyClang {
			c.note("no llvm-link for %s: loads and stores are recorded by calls (slower)", c.tc.Compiler())
		}
		return false
	}
	if c.line.has("--coverage", "-coverage", "-fprofile-arcs", "-ftest-coverage") {
		c.note("coverage is on: loads and stores are recorded by calls (slower)")
		return false
	}
	return true
}

// compileAll does a command with -c.
func (c *compilation) compileAll(ctx context.Context) (int, error) {
	if !c.inline() {
		return c.compilesCode(ctx)
	}
	inputs := slices.DeleteFunc(c.line.inputs(), func(i int) bool { return c.line.tokens[i].source() == sourceNone })
	if len(inputs) == 0 || c.line.output != "" && len(inputs) > 1 {
		return c.tools.run(ctx, c.tc.command(c.args...)) // the compiler says what is wrong
	}
	worst := 0
	for _, i := range inputs {
		source := c.line.tokens[i]
		object := c.line.output
		if object == "" {
			object = objectName(source.value)
		}
		code, err := c.compileOne(ctx, source, object, object)
		if err != nil {
			return code, err
		}
		worst = max(worst, code)
	}
	return worst, nil
}

// objectName is the object that -c makes of a source when no -o says otherwise.
func objectName(source string) string { return withExtension(filepath.Base(source), ".o") }

func withExtension(path, extension string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + extension
}

// compileOne makes an instrumented object of one source. target is what
// dependency files name as made from it.
func (c *compilation) compileOne(ctx context.Context, source token, object, target string) (int, error) {
	defer c.keepPlugin()()
	args := c.line.words(func(t token) bool {
		switch t.kind {
		case tokInput, tokOutput, tokMode, tokLanguage, tokLibrary, tokLinker:
			return false
		}
		return true
	})
	args = append(args, c.dependencyFlags(target)...)
	from := []string{source.value}
	if source.lang != "" {
		from = []string{"-x", source.lang, source.value}
	}
	if source.source() != sourceCode || !c.inline() {
		return c.runCompiler(ctx, source.value, func() []string {
			return slices.Concat(args, c.instrumentFlags(), []string{"-c"}, from, []string{"-o", object})
		})
	}
	bitcode := c.tempFile(withExtension(objectName(source.value), ".ll"))
	code, err := c.runCompiler(ctx, source.value, func() []string {
		return slices.Concat(args, c.instrumentFlags(), []string{"-emit-llvm", "-S"}, from, []string{"-o", bitcode})
	})
	if code != 0 || err != nil {
		return code, err
	}
	if err := instrumentOddSizes(bitcode); err != nil {
		return 1, err
	}
	linked := c.tempFile(withExtension(filepath.Base(bitcode), ".bc"))
	if err := c.inlineTests(ctx, bitcode, linked); err != nil {
		if ctx.Err() != nil {
			return 1, context.Cause(ctx)
		}
		c.note("%s: loads and stores are recorded by calls (slower): %v", source.value, err)
		linked = bitcode
	}
	return c.runCompiler(ctx, source.value, func() []string { return c.secondStage(linked, object) })
}

// inlineTests joins bitcode with the tests to be inlined into it. Those become
// local to it, so that what is not inlined (or not needed) leaves no trace.
func (c *compilation) inlineTests(ctx context.Context, bitcode, linked string) error {
	l, err := runtimeLibrary(ctx, &c.tools, c.cache, c.tc, c.sources)
	if err != nil {
		return err
	}
	_, _, err = c.tools.output(ctx, "", c.tc.LLVMLink, "--only-needed", "--internalize", bitcode, l.path(inlineBitcode), "-o", linked)
	return err
}

// secondStage are the arguments that make an object of instrumented bitcode:
// the user's, without those for the preprocessor and the front end, which have
// done their work.
func (c *compilation) secondStage(bitcode, object string) []string {
	args := c.line.words(func(t token) bool {
		return t.kind == tokOption && t.words[0] != "-v" && !strings.HasPrefix(t.words[0], "-gsplit-dwarf")
	})
	flags := c.tc.secondFlags()
	if c.plugin != pluginOff {
		flags = append(flags, "-fpass-plugin="+c.plugin)
	}
	return slices.Concat(args, flags, []string{"-c", bitcode, "-o", object})
}

// plainDebug turns split debug information off: reports and fingerprints need what inlining
// did, which its files would have, and with clang these would be named after bitcode that does
// not last.
func (c *compilation) plainDebug() []string {
	if c.line.has("-gsplit-dwarf*") {
		return []string{"-gno-split-dwarf"}
	}
	return nil
}

// dependencyFlags make a compilation whose output is a temporary file write the
// dependency file that the user's command would have written: named after -o,
// else after the source, and for that target.
func (c *compilation) dependencyFlags(target string) []string {
	if !c.line.has("-MD", "-MMD", "-Wp,-MD*", "-Wp,-MMD*") {
		return nil
	}
	var flags []string
	if !c.line.has("-MT*", "-MQ*") {
		flags = append(flags, "-MQ", target)
	}
	if !c.line.has("-MF*", "-Wp,-MD,*", "-Wp,-MMD,*") {
		flags = append(flags, "-MF", withExtension(target, ".d"))
	}
	return flags
}
