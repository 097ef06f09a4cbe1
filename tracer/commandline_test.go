package tracer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCommandLineStage(t *testing.T) {
	for _, c := range []struct {
		args   string
		stage  stage
		inputs int
	}{
		{"-O2 -g -o app app.c", stageLink, 1},
		{"a.o b.o -lm -oapp", stageLink, 2},
		{"-c a.c", stageCompile, 1},
		{"a.c -c -o a.o -MD -MF a.d -MT a.o", stageCompile, 1},
		{"-x c -c -", stageCompile, 1},
		{"-S a.c", stageAssembly, 1},
		{"-x c-header a.h", stageAssembly, 1},
		{"-c all.h", stageAssembly, 1},
		{"-E a.c", stagePassThrough, 1},
		{"-M a.c", stagePassThrough, 1},
		{"-fsyntax-only a.c", stagePassThrough, 1},
		{"--version", stagePassThrough, 0},
		{"-v", stagePassThrough, 0},
		{"-dumpmachine", stagePassThrough, 0},
		{"-print-prog-name=ld", stagePassThrough, 0},
		{"-showme:compile", stagePassThrough, 0},
		{"", stagePassThrough, 0},
		{"-I include -D X -include x.h -L lib -l m", stagePassThrough, 0},
		{"-Xlinker -rpath -Xlinker dir --param x=1 a.c", stageLink, 1},
		{"-T script -u symbol -z defs -e start a.o", stageLink, 1},
	} {
		t.Run(c.args, func(t *testing.T) {
			line, err := parseCommandLine("", strings.Fields(c.args))
			require.NoError(t, err)
			require.Equal(t, c.stage, line.stage)
			require.Len(t, line.inputs(), c.inputs)
		})
	}
}

func TestParseCommandLineOutput(t *testing.T) {
	for args, want := range map[string]commandLine{
		"a.c":                          {},
		"-o app a.c":                   {output: "app"},
		"-oapp a.c":                    {output: "app"},
		"--output=app a.c":             {output: "app"},
		"-shared -o x.so a.o":          {output: "x.so", shared: true},
		"-Wl,-shared,-soname,x a.o":    {shared: true},
		"-shared-libgcc a.o":           {},
		"-shared -Wl,-z,defs a.o":      {shared: true, noUndefined: true},
		"-shared -z defs a.o":          {shared: true, noUndefined: true},
		"-shared -Xlinker -zdefs a.o":  {shared: true, noUndefined: true},
		"-shared -Wl,--no-undefined a": {shared: true, noUndefined: true},
		"-r -o x.o a.o":                {output: "x.o", relocatable: true},
		"-v a.c":                       {verbose: true},
	} {
		t.Run(args, func(t *testing.T) {
			line, err := parseCommandLine("", strings.Fields(args))
			require.NoError(t, err)
			line.tokens, line.stage = nil, 0
			require.Equal(t, want, *line)
		})
	}
}

func TestParseCommandLineSources(t *testing.T) {
	line, err := parseCommandLine("", strings.Fields("a.c b.cpp -x c++ c.c - -x none d.s e.o -x assembler f lib.a"))
	require.NoError(t, err)
	var kinds []sourceKind
	for _, i := range line.inputs() {
		kinds = append(kinds, line.tokens[i].source())
	}
	require.Equal(t, []sourceKind{
		sourceCode, sourceCode, sourceCode, sourceCode, sourceAssembly, sourceNone, sourceAssembly, sourceAssembly,
	}, kinds)
}

func TestParseCommandLineKeepsWords(t *testing.T) {
	args := strings.Fields("-O2 -I inc -Iinc2 -D A=1 -o app a.c -L. -lm -Wl,-rpath,x -Xlinker -y -std=c11 -MD -pthread -v -weird=1")
	line, err := parseCommandLine("", args)
	require.NoError(t, err)
	require.Equal(t, args, line.words(func(token) bool { return true }))
}

func TestForeignSanitizers(t *testing.T) {
	for args, part := range map[string]string{
		"-fsanitize=thread a.c":            "uses this instrumentation itself",
		"-fsanitize=address a.c":           "-fsanitize=address cannot be combined",
		"-fsanitize=undefined,leak -c a.c": "-fsanitize=leak cannot be combined",
	} {
		line, err := parseCommandLine("", strings.Fields(args))
		require.NoError(t, err)
		require.ErrorContains(t, line.checkSanitizers(), part, args)
	}
	line, err := parseCommandLine("", strings.Fields("-fsanitize=undefined a.c"))
	require.NoError(t, err)
	require.NoError(t, line.checkSanitizers())
}

func TestLanguagesOfSources(t *testing.T) {
	for _, test := range []struct {
		args     string
		language Language
		refused  string
	}{
		{"-c part.f90", C, "mcchk fc"},
		{"a.c part.F -o app", C, "mcchk fc"},
		{"-x f95 part", CXX, "mcchk fc"},
		{"-xc part.f90", C, ""},
		{"a.c part.o -lgfortran", C, ""},
		{"-c part.f90", Fortran, ""},
		{"-x f77 part -J mod -o app", Fortran, ""},
		{"part.F08 c.o lib.a start.s", Fortran, ""},
		{"part.f90 c.c", Fortran, "mcchk cc"},
	} {
		line, err := parseCommandLine("", strings.Fields(test.args))
		require.NoError(t, err)
		err = line.checkLanguages(test.language)
		if test.refused == "" {
			require.NoError(t, err, test.args)
		} else {
			require.ErrorContains(t, err, test.refused, test.args)
		}
	}
}

func TestResponseFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("outer", "-c\n@inner 'a b.c' \"x\\\"y\" -DA=\\ z ''")
	write("inner", "-O2")
	write("loop", "@loop")
	words, found, err := expandResponseFiles(dir, []string{"@outer", "@absent", "@"}, 0)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []string{"-c", "-O2", "a b.c", `x"y`, "-DA= z", "", "@absent", "@"}, words)

	_, _, err = expandResponseFiles(dir, []string{"@loop"}, 0)
	require.ErrorContains(t, err, "nested")
}

func TestQuoteWordIsReadBack(t *testing.T) {
	args := []string{"plain", "with space", `quote " and \ backslash`, "", "tab\tnew\nline", "'"}
	require.Equal(t, args, splitWords(responseFile(args)))
}

func TestCompilerNamed(t *testing.T) {
	for name, want := range map[string]CompileOptions{
		"mcchk-cc": {Language: C}, "/usr/bin/mcchk-cc": {Language: C}, "mcchk-cxx": {Language: CXX}, "./mcchk-c++": {Language: CXX},
		"mcchk-gcc": {Language: C, Compiler: "gcc"}, "mcchk-g++": {Language: CXX, Compiler: "gcc"},
		"mcchk-clang": {Language: C, Compiler: "clang"}, "bin/mcchk-clang++": {Language: CXX, Compiler: "clang"},
		"mcchk": {}, "cc": {},
	} {
		got, ok := CompilerNamed(name)
		require.Equal(t, want, got, name)
		require.Equal(t, want.Language != "", ok, name)
	}
}

func TestCompilerFor(t *testing.T) {
	for name, want := range map[string]string{
		"gcc": "g++", "clang": "clang++", "clang-15": "clang++-15", "/opt/bin/gcc-12": "/opt/bin/g++-12",
		"x86_64-linux-gnu-gcc": "x86_64-linux-gnu-g++", "clang++": "clang++", "icpx": "icpx",
	} {
		require.Equal(t, want, compilerFor(CXX, name))
		require.Equal(t, name, compilerFor(C, name))
	}
}

func TestWhereTheHeaderOfGASPIIs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"home/include", "gpi/include"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "GASPI.h"), nil, 0o666))
	}
	home, gpi := filepath.Join(dir, "home/include"), filepath.Join(dir, "gpi/include")
	for _, c := range []struct {
		args      []string
		home, was string
		want      string
	}{
		{args: []string{"-c", "a.c"}, was: "/x", want: "/x"},
		{args: []string{"-c", "a.c"}, home: filepath.Dir(home), want: home},
		{args: []string{"-Isrc", "-I", "gpi/include", "a.c"}, home: filepath.Dir(home), was: "/x", want: gpi + ":/x"},
		{args: []string{"-isystem" + gpi, "a.c"}, want: gpi},
		{args: []string{"a.c", "-I"}, home: filepath.Dir(home), want: home},
	} {
		tools := newTools(dir, []string{"GASPI_HOME=" + c.home, "CPATH=" + c.was})
		tools.findGaspi(c.args)
		require.Equal(t, c.want, tools.getenv("CPATH"), c.args)
	}
}
