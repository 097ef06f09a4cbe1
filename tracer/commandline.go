package tracer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tokenKind classifies one option (with its separate value) or input of a
// compiler command line by what has to be done with it when the command is
// split into compilations and a link.
type tokenKind uint8

const (
	tokOption       tokenKind = iota // meant for compiling, linking or both
	tokInput                         // a file, or - for standard input
	tokLibrary                       // -lname
	tokOutput                        // -o
	tokMode                          // -c, -S
	tokLanguage                      // -x
	tokPreprocessor                  // -D, -I, -include, …
	tokDependency                    // -MD, -MF, …
	tokFrontend                      // -std, -W…, -Xclang: nothing that bitcode needs
	tokLinker                        // -L, -Wl, -shared, …: nothing that compiling needs
)

// token is one option or input: its words as they stand in the command, and
// the value of an option that has one.
type token struct {
	kind  tokenKind
	words []string
	value string
	lang  string // of an input: what -x said, "" for none
}

// stage is how far a compiler command goes.
type stage uint8

const (
	stagePassThrough stage = iota // makes nothing that runs: -E, --version, no inputs
	stageAssembly                 // -S, or precompiled headers: one command, no object
	stageCompile                  // -c
	stageLink
)

// commandLine is a compiler command, understood as far as it is needed.
type commandLine struct {
	tokens      []token
	stage       stage
	output      string // -o, "" when not given
	shared      bool   // makes a shared library
	relocatable bool   // -r
	noUndefined bool   // the link of a shared library may leave nothing undefined
	verbose     bool   // -v
	files       bool   // had response files
	sanitizers  []string
}

// withValue lists the options whose value may be (or, for long names, is) the
// next word.
var withValue = map[string]tokenKind{
	"-o": tokOutput, "-x": tokLanguage, "-l": tokLibrary, "--language": tokLanguage, "--output": tokOutput,
	"-D": tokPreprocessor, "-U": tokPreprocessor, "-I": tokPreprocessor, "-A": tokPreprocessor,
	"-include": tokPreprocessor, "-imacros": tokPreprocessor, "-isystem": tokPreprocessor, "-iquote": tokPreprocessor,
	"-idirafter": tokPreprocessor, "-iprefix": tokPreprocessor, "-iwithprefix": tokPreprocessor,
	"-iwithprefixbefore": tokPreprocessor, "-imultilib": tokPreprocessor, "-include-pch": tokPreprocessor,
	"-cxx-isystem": tokPreprocessor, "-stdlib++-isystem": tokPreprocessor, "-ivfsoverlay": tokPreprocessor,
	"-Xpreprocessor": tokPreprocessor, "-J": tokPreprocessor, "-fintrinsic-modules-path": tokPreprocessor,
	"-MF": tokDependency, "-MT": tokDependency, "-MQ": tokDependency, "-MJ": tokDependency,
	"-Xclang": tokFrontend, "-aux-info": tokFrontend, "--serialize-diagnostics": tokFrontend,
	"-serialize-diagnostics": tokFrontend, "-dumpbase": tokFrontend, "-dumpbase-ext": tokFrontend, "-dumpdir": tokFrontend,
	"-L": tokLinker, "-Xlinker": tokLinker, "-T": tokLinker, "-u": tokLinker, "-z": tokLinker, "-e": tokLinker,
	"-rpath": tokLinker, "-R": tokLinker, "-h": tokLinker, "-soname": tokLinker,
	"--param": tokOption, "-Xassembler": tokOption, "-mllvm": tokOption, "-target": tokOption, "-arch": tokOption,
	"-isysroot": tokOption, "--sysroot": tokOption, "-B": tokOption, "-wrapper": tokOption, "-gcc-toolchain": tokOption,
	"-Xopenmp-target": tokOption,
}

// joined lists the options of one letter whose value may follow at once.
var joined = []string{"-o", "-x", "-l", "-D", "-U", "-I", "-J", "-A", "-L", "-T", "-u", "-z", "-B", "-R"}

// prefixes classifies the other options by how they begin; the first that fits counts.
var prefixes = []struct {
	prefix string
	kind   tokenKind
}{
	{"-Wl,", tokLinker}, {"-Wa,", tokOption}, {"-Wp,-MD", tokDependency}, {"-Wp,-MMD", tokDependency},
	{"-Wp,", tokPreprocessor}, {"-MD", tokDependency}, {"-MMD", tokDependency}, {"-MP", tokDependency},
	{"-MG", tokDependency}, {"-MF", tokDependency}, {"-MT", tokDependency}, {"-MQ", tokDependency}, {"-MV", tokDependency},
	{"-include", tokPreprocessor}, {"-imacros", tokPreprocessor}, {"-isystem", tokPreprocessor}, {"-iquote", tokPreprocessor},
	{"-idirafter", tokPreprocessor}, {"-nostdinc", tokPreprocessor}, {"-undef", tokPreprocessor},
	{"-std=", tokFrontend}, {"--std=", tokFrontend}, {"-ansi", tokFrontend}, {"-W", tokFrontend}, {"-pedantic", tokFrontend},
	{"-fsanitize", tokFrontend}, {"-fno-sanitize", tokFrontend}, {"-fplugin", tokFrontend}, {"-fpass-plugin", tokFrontend},
	{"-fprofile", tokFrontend}, {"-fmodule", tokFrontend},
	{"-shared", tokLinker}, {"--shared", tokLinker}, {"-static", tokLinker}, {"--static", tokLinker}, {"-rdynamic", tokLinker},
	{"-nostdlib", tokLinker}, {"-nodefaultlibs", tokLinker}, {"-nostartfiles", tokLinker}, {"-nolibc", tokLinker},
	{"-fuse-ld", tokLinker}, {"-pie", tokLinker}, {"-no-pie", tokLinker}, {"-nopie", tokLinker},
}

// queries are the options (whole, or how they begin with a star) with which a
// compiler or wrapper answers a question or only preprocesses.
var queries = []string{
	"-E", "-M", "-MM", "-fsyntax-only", "-###", "--help", "--help=*", "-help", "--version", "-dumpmachine", "-dumpversion",
	"-dumpfullversion", "-dumpspecs", "--target-help", "-print-*", "--print-*", "--analyze", "-show", "-compile_info",
	"-link_info", "-compile-info", "-link-info", "-showme*", "--showme*", "--verify-pch",
}

// parseCommandLine classifies the arguments of a compiler command. Response
// files (@file) are expanded, relative to dir.
func parseCommandLine(dir string, args []string) (*commandLine, error) {
	words, files, err := expandResponseFiles(dir, args, 0)
	if err != nil {
		return nil, err
	}
	c := &commandLine{files: files, stage: stageLink}
	lang := ""
	query, assembly, compile := false, false, false
	for i := 0; i < len(words); {
		t := nextToken(words[i:])
		i += len(t.words)
		word := t.words[0]
		switch t.kind {
		case tokInput:
			t.lang = lang
		case tokLanguage:
			lang = t.value
			if lang == "none" {
				lang = ""
			}
		case tokOutput:
			c.output = t.value
		}
		switch word {
		case "-c":
			compile = true
		case "-S", "-emit-llvm", "-emit-ast":
			assembly = true
		case "-v":
			c.verbose = true
		case "-r":
			c.relocatable = true
		}
		if slices.ContainsFunc(queries, func(q string) bool { return matches(q, word) }) {
			query = true
		}
		c.noteLinker(t)
		c.noteSanitizers(word)
		c.tokens = append(c.tokens, t)
	}
	switch {
	case query || len(c.inputs()) == 0:
		c.stage = stagePassThrough
	case assembly || c.hasHeader():
		c.stage = stageAssembly
	case compile:
		c.stage = stageCompile
	}
	return c, nil
}

// matches compares a word with a pattern that may end in a star.
func matches(pattern, word string) bool {
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(word, p)
	}
	return pattern == word
}

// nextToken takes the first option or input off words, which is not empty.
func nextToken(words []string) token {
	w := words[0]
	if !strings.HasPrefix(w, "-") || w == "-" {
		return token{kind: tokInput, words: words[:1], value: w}
	}
	if kind, ok := withValue[w]; ok {
		if len(words) == 1 {
			return token{kind: kind, words: words[:1]}
		}
		return token{kind: kind, words: words[:2], value: words[1]}
	}
	switch w {
	case "-c", "-S":
		return token{kind: tokMode, words: words[:1]}
	case "-r", "-s":
		return token{kind: tokLinker, words: words[:1]}
	}
	for _, p := range prefixes {
		if strings.HasPrefix(w, p.prefix) {
			return token{kind: p.kind, words: words[:1], value: w[len(p.prefix):]}
		}
	}
	for _, name := range []string{"--output=", "--language="} {
		if v, ok := strings.CutPrefix(w, name); ok {
			return token{kind: withValue[strings.TrimSuffix(name, "=")], words: words[:1], value: v}
		}
	}
	for _, p := range joined {
		if strings.HasPrefix(w, p) {
			return token{kind: withValue[p], words: words[:1], value: w[len(p):]}
		}
	}
	return token{kind: tokOption, words: words[:1]}
}

// noteLinker reads what the linker options say of the kind of output.
func (c *commandLine) noteLinker(t token) {
	if t.kind != tokLinker {
		return
	}
	var options []string
	switch w := t.words[0]; {
	case strings.HasPrefix(w, "-Wl,"):
		options = strings.Split(t.value, ",")
	case w == "-Xlinker":
		options = []string{t.value}
	case strings.HasPrefix(w, "-z"):
		options = []string{t.value}
	default:
		options = []string{w}
	}
	for _, o := range options {
		switch o {
		case "-shared", "--shared", "-Bshareable":
			c.shared = true
		case "-r", "--relocatable":
			c.relocatable = true
		case "--no-undefined", "-no-undefined", "defs", "-zdefs":
			c.noUndefined = true
		}
	}
}

// foreignSanitizers are those whose instrumentation excludes ours.
var foreignSanitizers = []string{
	"thread", "address", "kernel-address", "hwaddress", "kernel-hwaddress", "memory", "kernel-memory", "leak", "dataflow",
}

func (c *commandLine) noteSanitizers(word string) {
	list, ok := strings.CutPrefix(word, "-fsanitize=")
	if !ok {
		return
	}
	for name := range strings.SplitSeq(list, ",") {
		if slices.Contains(foreignSanitizers, name) {
			c.sanitizers = append(c.sanitizers, name)
		}
	}
}

// checkSanitizers refuses commands whose own instrumentation excludes ours.
func (c *commandLine) checkSanitizers() error {
	if len(c.sanitizers) == 0 {
		return nil
	}
	name := c.sanitizers[0]
	if name == "thread" {
		return fmt.Errorf("-fsanitize=thread: mcchk uses this instrumentation itself, with call-backs of its own; " +
			"remove the option from the flags of the build traced by mcchk")
	}
	return fmt.Errorf("-fsanitize=%s cannot be combined with the tracing of loads and stores; "+
		"remove the option from the flags of the build traced by mcchk", name)
}

// checkLanguages refuses sources that the command does not instrument.
func (c *commandLine) checkLanguages(language Language) error {
	for _, i := range c.inputs() {
		t := c.tokens[i]
		switch {
		case t.fortran() && language != Fortran:
			return fmt.Errorf("%s: Fortran is compiled with mcchk fc: this command would not record its loads and stores", t.value)
		case !t.fortran() && t.source() == sourceCode && language == Fortran:
			return fmt.Errorf("%s: C and C++ are compiled with mcchk cc and mcchk cxx, and the objects linked with mcchk fc", t.value)
		}
	}
	return nil
}

// fortran reports whether an input is a source in Fortran.
func (t token) fortran() bool {
	if t.lang != "" {
		return strings.HasPrefix(t.lang, "f77") || strings.HasPrefix(t.lang, "f95")
	}
	switch strings.ToLower(filepath.Ext(t.value)) {
	case ".f", ".for", ".ftn", ".fpp", ".f77", ".f90", ".f95", ".f03", ".f08":
		return true
	}
	return false
}

// inputs returns the indices of the tokens that are files.
func (c *commandLine) inputs() []int {
	var list []int
	for i, t := range c.tokens {
		if t.kind == tokInput {
			list = append(list, i)
		}
	}
	return list
}

// words returns the words of all tokens for which keep holds, in order.
func (c *commandLine) words(keep func(token) bool) []string {
	var list []string
	for _, t := range c.tokens {
		if keep(t) {
			list = append(list, t.words...)
		}
	}
	return list
}

// has reports whether an option stands in the command, with or without a value.
func (c *commandLine) has(options ...string) bool {
	return slices.ContainsFunc(c.tokens, func(t token) bool {
		return t.kind != tokInput && slices.ContainsFunc(options, func(o string) bool { return matches(o, t.words[0]) })
	})
}

func (c *commandLine) hasHeader() bool {
	return slices.ContainsFunc(c.tokens, func(t token) bool { return t.kind == tokInput && t.source() == sourceHeader })
}

// sourceKind is what an input is to the compiler driver.
type sourceKind uint8

const (
	sourceNone     sourceKind = iota // for the linker
	sourceCode                       // C, C++, Fortran, …: can be instrumented
	sourceAssembly                   // or LLVM IR: is translated as it is
	sourceHeader
)

var extensions = map[string]sourceKind{
	".c": sourceCode, ".i": sourceCode, ".ii": sourceCode, ".cc": sourceCode, ".cp": sourceCode, ".cxx": sourceCode,
	".cpp": sourceCode, ".CPP": sourceCode, ".c++": sourceCode, ".C": sourceCode, ".m": sourceCode, ".mm": sourceCode,
	".f": sourceCode, ".F": sourceCode, ".for": sourceCode, ".FOR": sourceCode, ".ftn": sourceCode, ".FTN": sourceCode,
	".fpp": sourceCode, ".FPP": sourceCode, ".f90": sourceCode, ".F90": sourceCode, ".f95": sourceCode,
	".F95": sourceCode, ".f03": sourceCode, ".F03": sourceCode, ".f08": sourceCode, ".F08": sourceCode,
	".s": sourceAssembly, ".S": sourceAssembly, ".sx": sourceAssembly, ".ll": sourceAssembly, ".bc": sourceAssembly,
	".h": sourceHeader, ".H": sourceHeader, ".hh": sourceHeader, ".hp": sourceHeader, ".hxx": sourceHeader,
	".hpp": sourceHeader, ".h++": sourceHeader, ".tcc": sourceHeader,
}

// source tells what an input is: -x decides, otherwise the name's extension.
func (t token) source() sourceKind {
	switch {
	case t.lang == "":
		return extensions[filepath.Ext(t.value)]
	case strings.HasPrefix(t.lang, "assembler"), t.lang == "ir":
		return sourceAssembly
	case strings.HasSuffix(t.lang, "-header"):
		return sourceHeader
	}
	return sourceCode
}

const maxResponseDepth = 16

// expandResponseFiles replaces @file by the words in the file, as gcc does: an
// argument whose file cannot be opened stays as it is.
func expandResponseFiles(dir string, args []string, depth int) ([]string, bool, error) {
	var out []string
	found := false
	for _, a := range args {
		name, ok := strings.CutPrefix(a, "@")
		if !ok || name == "" {
			out = append(out, a)
			continue
		}
		text, err := os.ReadFile(within(dir, name))
		if err != nil {
			out = append(out, a)
			continue
		}
		if depth == maxResponseDepth {
			return nil, false, fmt.Errorf("response file %s: nested more than %d deep", name, maxResponseDepth)
		}
		words, _, err := expandResponseFiles(dir, splitWords(string(text)), depth+1)
		if err != nil {
			return nil, false, err
		}
		out = append(out, words...)
		found = true
	}
	return out, found, nil
}

// splitWords splits the text of a response file at white space. Quotes of
// either kind group, and a backslash takes the next character as it is.
func splitWords(text string) []string {
	var (
		words []string
		word  strings.Builder
		quote rune
		in    bool
		slash bool
	)
	for _, r := range text {
		switch {
		case slash:
			word.WriteRune(r)
			slash = false
		case r == '\\':
			slash, in = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, in = r, true
		case strings.ContainsRune(" \t\n\r\v\f", r):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}

// quoteWord writes a word so that splitWords (and gcc, ld, lld) read it back.
func quoteWord(w string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
}

// within makes a path of a command usable from here: relative ones are
// relative to dir, "" for the current directory.
func within(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
