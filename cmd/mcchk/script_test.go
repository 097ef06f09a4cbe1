package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/internal/scenario"
)

var update = flag.Bool("update", false, "write the expected output in testdata/script anew")

// TestMain lets the test binary stand in for the program, under two of its names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcchk": main, "mcchk-cc": main})
}

// TestScripts runs testdata/script/*.txtar. On top of testscript's commands
// there are:
//
//	status N COMMAND...   run a command, whose exit status must be N
//	truncate FILE BYTES   cut a file
//	scenario FILE NAME    write the traces of a scenario (package internal/scenario)
//	                      as JSON Lines: NAME0.jsonl, NAME1.jsonl, …
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(5 * time.Minute),
		Setup: func(env *testscript.Env) error {
			// What a user has set must not change what is expected.
			for _, name := range []string{"NO_COLOR", "TERM", "MCCHK_MPICC", "MCCHK_MPICXX", "MCCHK_COMPILER", "MCCHK_PLUGIN", "MCCHK_OPENMP", "MCCHK_VERBOSE"} {
				env.Setenv(name, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   scriptStatus,
			"truncate": scriptTruncate,
			"scenario": scriptScenario,
		},
	})
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", strings.Join(args[1:], " "), err)
	}
	if got != want {
		ts.Fatalf("%s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptTruncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

func scriptScenario(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: scenario FILE NAME")
	}
	s, err := scenario.Parse(args[0], ts.ReadFile(args[0]))
	ts.Check(err)
	for rank := range s.Trace.Ranks() {
		lines, err := s.Trace.Lines(rank)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(fmt.Sprintf("%s%d.jsonl", args[1], rank)), []byte(lines), 0o666))
	}
}

// TestReportsFollowTheirSchemas checks what scripts expect of real analyses against the
// published schemas.
func TestReportsFollowTheirSchemas(t *testing.T) {
	for script, published := range map[string]string{"analyze_formats": "report.schema.json", "diff": "diff.schema.json"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", "script", script+".txtar"))
		require.NoError(t, err)
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want.json" })
		require.GreaterOrEqual(t, i, 0)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(archive.Files[i].Data))
		require.NoError(t, err)
		schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", published))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(value))
	}
}
