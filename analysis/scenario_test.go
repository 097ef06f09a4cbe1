package analysis

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// condition is a way to record and to analyse a scenario.
type condition struct {
	recorded string // the memory model that MPI says windows have, "" for that of the scenario
	opts     Options
}

// conditions are those that scenarios expect something under. Under each of the
// ways the same is expected.
var conditions = map[string][]condition{
	"":                   {{}},
	"--predict":          {{opts: Options{Predict: true}}},
	"the separate model": {{recorded: "separate"}, {recorded: "unified", opts: Options{MemoryModel: ModelSeparate}}},
	"the unified model":  {{recorded: "unified"}, {recorded: "separate", opts: Options{MemoryModel: ModelUnified}}},
}

// TestScenarios: what testdata/scenarios expect, with both clocks. Package
// internal/scenario tells how they are written.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt*"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			scenarios, err := scenario.ReadFile(path)
			require.NoError(t, err)
			for _, s := range scenarios {
				t.Run(s.Name, func(t *testing.T) { checkScenario(t, s) })
			}
		})
	}
}

func checkScenario(t *testing.T, s *scenario.Scenario) {
	for _, expect := range s.Expect {
		require.Contains(t, conditions, expect.Under, "%s: no condition is called so", expect.Where)
		for _, c := range conditions[expect.Under] {
			run := s.Trace
			switch c.recorded {
			case "separate":
				run = run.With("model", 0)
			case "unified":
				run = run.With("model", 1)
			}
			files := traceFiles(t, run)
			for jobs, clock := range []string{evc.Encoded, evc.Vector} {
				opts := c.opts
				opts.Clock, opts.Jobs = clock, 1+jobs
				res := inMemoryWith(t, files, opts)
				how := fmt.Sprintf("%s clock, windows as %q, %+v", clock, c.recorded, c.opts)
				require.NoError(t, expect.Check(outcome(res)), how)
				requireWhole(t, res)
			}
		}
	}
}

// scenarioFiles returns the trace files of a scenario of testdata/scenarios.
func scenarioFiles(t testing.TB, file, name string) [][]byte {
	t.Helper()
	scenarios, err := scenario.ReadFile(filepath.Join("testdata", "scenarios", file))
	require.NoError(t, err)
	for _, s := range scenarios {
		if s.Name == name {
			return traceFiles(t, s.Trace)
		}
	}
	require.Fail(t, "no scenario "+name+" in "+file)
	return nil
}

// traceFiles returns the trace files of a run that a test built.
func traceFiles(t testing.TB, run *scenario.Trace) [][]byte {
	t.Helper()
	files, err := run.Files()
	require.NoError(t, err)
	return files
}
