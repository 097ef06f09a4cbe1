package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/tracer"
)

// testApp is an app without anything behind it, and what it writes.
func testApp() (a *app, out, diag *bytes.Buffer) {
	out, diag = &bytes.Buffer{}, &bytes.Buffer{}
	return &app{in: strings.NewReader(""), out: out, err: diag, getenv: func(string) string { return "" }}, out, diag
}

func findings(severities ...conflicts.Severity) []conflicts.Finding {
	var fs []conflicts.Finding
	for _, s := range severities {
		fs = append(fs, conflicts.Finding{Severity: s})
	}
	return fs
}

func TestVerdictStatus(t *testing.T) {
	caveats := []analysis.Caveat{{Kind: analysis.MissingRank}}
	race := &analysis.Result{Verdict: analysis.Race, Findings: findings(conflicts.Error, conflicts.Warning), Caveats: caveats}
	warned := &analysis.Result{Verdict: analysis.NoRace, Findings: findings(conflicts.Warning)}
	noted := &analysis.Result{Verdict: analysis.NoRace, Findings: findings(conflicts.Note)}
	clean := &analysis.Result{Verdict: analysis.NoRace}
	undecided := &analysis.Result{Verdict: analysis.Undecided, Findings: findings(conflicts.Warning), Caveats: caveats}
	tests := []struct {
		name   string
		res    *analysis.Result
		failOn string
		want   int
	}{
		{"an error", race, "error", exitFindings},
		{"an error, but never fail", race, failNever, exitOK},
		{"a warning below the threshold", warned, "error", exitOK},
		{"a warning at the threshold", warned, "warning", exitFindings},
		{"a note below the threshold", noted, "warning", exitOK},
		{"a note at the threshold", noted, "note", exitFindings},
		{"nothing", clean, "note", exitOK},
		{"undecided", undecided, "error", exitFailure},
		{"undecided, and a warning at the threshold", undecided, "warning", exitFindings},
		{"undecided, but never fail", undecided, failNever, exitFailure},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, verdictStatus(test.res, test.failOn))
		})
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a, out, diag := testApp()
	a.backend.analyze = func(ctx context.Context, _ string, _ analysis.Options) (*analysis.Result, error) {
		cancel()
		return nil, ctx.Err()
	}
	require.Equal(t, exitFailure, a.run(ctx, []string{"mcchk", "analyze", "traces"}))
	require.Equal(t, "mcchk: interrupted\n", diag.String())
	require.Empty(t, out.String())
}

func TestInterruptedProgramIsNotAnalysed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a, _, diag := testApp()
	a.backend.run = func(context.Context, tracer.RunOptions) (tracer.Exit, error) {
		cancel()
		return tracer.Exit{Status: 130}, nil
	}
	dir := filepath.Join(t.TempDir(), "traces")
	require.Equal(t, exitFailure, a.run(ctx, []string{"mcchk", "run", "-o", dir, "--", "app"}))
	require.Equal(t, "mcchk: interrupted\n", diag.String())

	// Where there are traces, it says where.
	_, err := synth.Generate(t.Context(), dir, synth.Config{Pattern: "hot-counter", Ranks: 2, Accesses: 10})
	require.NoError(t, err)
	diag.Reset()
	require.Equal(t, exitFailure, a.run(ctx, []string{"mcchk", "run", "-o", dir, "--", "app"}))
	require.Equal(t, "mcchk: what was recorded until the interruption is in "+dir+": mcchk analyze "+dir+"\nmcchk: interrupted\n", diag.String())
}

// Two runs in one directory would be judged by the traces of one of them.
func TestRunWhereAnotherIsAtWork(t *testing.T) {
	dir := t.TempDir()
	release, err := tracer.Claim(dir)
	require.NoError(t, err)
	defer release()
	for _, options := range [][]string{{"-o", dir}, {"-o", dir, "--live"}} {
		a, _, diag := testApp()
		require.Equal(t, exitFailure, a.run(t.Context(), slices.Concat([]string{"mcchk", "run"}, options, []string{"--", "app"})))
		require.Contains(t, diag.String(), "another mcchk run is at work there")
	}
}

func TestCompile(t *testing.T) {
	tests := []struct {
		name string
		argv []string
		want tracer.CompileOptions
	}{
		{"all is the compiler's", []string{"mcchk", "cc", "-O2", "--verbose", "a.c"}, tracer.CompileOptions{Language: tracer.C, Args: []string{"-O2", "--verbose", "a.c"}}},
		{"our options first", []string{"mcchk", "cxx", "--mpicc", "mpicxx.mpich", "--compiler=clang", "-c", "a.cc"},
			tracer.CompileOptions{Language: tracer.CXX, MPICC: "mpicxx.mpich", Compiler: "clang", Args: []string{"-c", "a.cc"}}},
		{"the option by the name of the compiler", []string{"mcchk", "cxx", "--mpicxx", "mpicxx.mpich", "-c", "a.cc"},
			tracer.CompileOptions{Language: tracer.CXX, MPICC: "mpicxx.mpich", Args: []string{"-c", "a.cc"}}},
		{"each language its own", []string{"mcchk", "fc", "--mpifc", "mpifort.mpich", "--mpicc=mpicc.mpich", "-c", "a.f90"},
			tracer.CompileOptions{Language: tracer.Fortran, MPICC: "mpifort.mpich", Args: []string{"-c", "a.f90"}}},
		{"beside that for C", []string{"mcchk", "fc", "--mpicc", "mpicc.mpich", "-c", "a.f90"},
			tracer.CompileOptions{Language: tracer.Fortran, MPICC: "mpicc.mpich", Args: []string{"-c", "a.f90"}}},
		{"help of the compiler", []string{"mcchk", "cc", "-c", "--help"}, tracer.CompileOptions{Language: tracer.C, Args: []string{"-c", "--help"}}},
		{"color is no option of ours here", []string{"mcchk", "cc", "--color", "x"}, tracer.CompileOptions{Language: tracer.C, Args: []string{"--color", "x"}}},
		{"called as mcchk-cc", []string{"/bin/mcchk-cc", "-c", "a.c"}, tracer.CompileOptions{Language: tracer.C, Args: []string{"-c", "a.c"}}},
		{"called as mcchk-clang++", []string{"mcchk-clang++", "-c", "a.cc"}, tracer.CompileOptions{Language: tracer.CXX, Compiler: "clang", Args: []string{"-c", "a.cc"}}},
		{"an option beside the name", []string{"mcchk-gcc", "--compiler", "gcc-11", "-c", "a.c"}, tracer.CompileOptions{Language: tracer.C, Compiler: "gcc-11", Args: []string{"-c", "a.c"}}},
		{"OpenSHMEM", []string{"mcchk", "oshcxx", "-c", "a.cc"}, tracer.CompileOptions{Library: tracer.SHMEM, Language: tracer.CXX, Args: []string{"-c", "a.cc"}}},
		{"GASPI", []string{"mcchk", "cxx", "--gaspi", "--compiler", "clang", "-c", "a.cc"}, tracer.CompileOptions{Library: tracer.GASPI, Language: tracer.CXX, Compiler: "clang", Args: []string{"-c", "a.cc"}}},
		{"called as mcchk-oshcc", []string{"mcchk-oshcc", "-c", "a.c"}, tracer.CompileOptions{Library: tracer.SHMEM, Language: tracer.C, Args: []string{"-c", "a.c"}}},
		{"called as mcchk-cxx", []string{"mcchk-cxx", "--version"}, tracer.CompileOptions{Language: tracer.CXX, Args: []string{"--version"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, diag := testApp()
			var got tracer.CompileOptions
			a.backend.compile = func(_ context.Context, o tracer.CompileOptions) (int, error) {
				got = o
				return 4, nil
			}
			require.Equal(t, 4, a.run(context.Background(), test.argv), "the exit status is the compiler's")
			got.Stdin, got.Stdout, got.Stderr = nil, nil, nil
			test.want.Library, got.Library = cmp.Or(test.want.Library, tracer.MPI), cmp.Or(got.Library, tracer.MPI)
			require.Equal(t, test.want, got)
			require.Empty(t, diag.String())
		})
	}
}

func TestCompileVerbose(t *testing.T) {
	o, _, err := compileOptions([]string{"--verbose", "-c", "a.c"})
	require.NoError(t, err)
	require.Contains(t, o.Env, "MCCHK_VERBOSE=1")
	require.Equal(t, []string{"-c", "a.c"}, o.Args)
}

func TestCompileTrouble(t *testing.T) {
	a, _, diag := testApp()
	a.backend.compile = func(context.Context, tracer.CompileOptions) (int, error) { return 0, errors.New("no room") }
	require.NotZero(t, a.run(context.Background(), []string{"mcchk", "cc", "a.c"}), "never 0 because something failed")
	require.Equal(t, "mcchk: no room\n", diag.String())

	for _, tt := range []struct {
		name string
		argv []string
		want string
	}{
		{"an option of ours behind others", []string{"mcchk", "cc", "-o", "app", "app.c", "--mpicc", "mpicc.mpich"}, "mcchk's own options come first: --mpicc follows -o"},
		{"the same with a value", []string{"mcchk", "cc", "-c", "--compiler=clang"}, "--compiler follows -c"},
		{"a compiler of another language", []string{"mcchk", "cc", "--mpifc", "mpifort", "-c", "a.c"}, "--mpifc does not name a compiler of C programs with MPI: --mpicc does"},
		{"a compiler of another library", []string{"mcchk", "oshcc", "--mpicc", "mpicc", "-c", "a.c"}, "--mpicc does not name a compiler of C programs with OpenSHMEM: --oshcc does"},
		{"nothing to compile", []string{"mcchk", "cc"}, "there is nothing to compile"},
		{"options of ours alone", []string{"mcchk", "cc", "--verbose"}, "there is nothing to compile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _, diag := testApp()
			require.Equal(t, exitUsage, a.run(context.Background(), tt.argv))
			require.Contains(t, diag.String(), tt.want)
		})
	}
}

func TestDoctor(t *testing.T) {
	a, out, _ := testApp()
	found := []tracer.Finding{{Check: "MPI C compiler", Health: tracer.OK, Text: "mpicc: MPICH 4.0.2 with gcc 12.2.0"}}
	a.backend.doctor = func(_ context.Context, o tracer.DoctorOptions) ([]tracer.Finding, error) {
		require.Equal(t, tracer.DoctorOptions{Binary: "app", MPICC: "mpicc.mpich", TraceDir: defaultTraceDir}, o)
		return found, nil
	}
	argv := []string{"mcchk", "doctor", "--mpicc", "mpicc.mpich", "app"}
	require.Equal(t, exitOK, a.run(context.Background(), argv))
	require.Equal(t, "ok       MPI C compiler: mpicc: MPICH 4.0.2 with gcc 12.2.0\n", out.String())

	out.Reset()
	found = append(found, tracer.Finding{Check: "debug information", Health: tracer.Problem, Text: "there is none", Fix: "compile with -g"})
	require.Equal(t, exitFindings, a.run(context.Background(), argv))
	require.Contains(t, out.String(), "problem  debug information: there is none\n         compile with -g\n")

	out.Reset()
	require.Equal(t, exitFindings, a.run(context.Background(), append(argv, "--json")))
	require.Contains(t, out.String(), `"health": "problem"`)
}

func TestColorOn(t *testing.T) {
	tests := []struct {
		mode string
		want bool
	}{{colorAlways, true}, {colorNever, false}, {colorAuto, false}}
	for _, test := range tests {
		a, out, _ := testApp()
		a.color = test.mode
		require.Equal(t, test.want, a.colorOn(out), test.mode)
	}
}

// A timeline or a page for browsers is not written to a terminal.
func TestRefuseTerminal(t *testing.T) {
	for want, argv := range map[string][]string{
		"name one with -o":                    {"timeline", recordedTraces("jacobi_halo_right")},
		"name a file with --format html=FILE": {"analyze", recordedTraces("jacobi_halo_right"), "--format", "html"},
	} {
		a, _, diag := testApp()
		_, a.out = terminal(t)
		a.backend = realBackend()
		require.Equal(t, exitUsage, a.run(t.Context(), append([]string{"mcchk"}, argv...)))
		require.Contains(t, diag.String(), want)
	}
}

func TestWrap(t *testing.T) {
	require.Equal(t, "aa bb\ncc\n\ndd", wrap("aa bb cc\n\ndd", 6))
}
