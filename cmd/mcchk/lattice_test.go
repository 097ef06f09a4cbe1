package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/trace"
)

// drawn runs a command on a directory of recorded traces.
func drawn(args ...string) (status int, out, diag string) {
	a, stdout, stderr := testApp()
	a.backend = realBackend()
	status = a.run(context.Background(), append([]string{"mcchk"}, args...))
	return status, stdout.String(), stderr.String()
}

func recordedTraces(name string) string {
	return filepath.Join("..", "..", "fixtures", "traces", name)
}

// updating reports whether golden files are to be written.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// Each kind of output of mcchk lattice, of small recorded traces.
func TestLatticeGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"finding.svg": {recordedTraces("pingpong_flush_wrong"), "--finding", "1"},
		"finding.dot": {recordedTraces("pingpong_flush_wrong"), "--finding", "1", "--format", "dot", "--around", "2"},
		"finding.txt": {recordedTraces("pingpong_flush_wrong"), "--finding", "1", "--total-order"},
		"second.txt":  {recordedTraces("jacobi_halo_wrong"), "--finding", "2", "--around", "1", "--total-order"},
		"region.svg":  {recordedTraces("jacobi_halo_wrong"), "--region", "2"},
		"region.txt":  {recordedTraces("jacobi_halo_wrong"), "--region", "2", "--total-order"},
		"barrier.svg": {recordedTraces("lock_barrier_wrong"), "--finding", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, diag := drawn(append([]string{"lattice"}, args...)...)
			require.Equal(t, exitOK, status, diag)
			again, same, _ := drawn(append([]string{"lattice"}, args...)...)
			require.Equal(t, status, again)
			require.Equal(t, out, same, "not the same bytes")
			path := filepath.Join("testdata", "lattice", name)
			if updating() {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(out), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), out)
		})
	}
}

// The JSON of a lattice is one lattice; that of a total order the same in
// another order.
func TestLatticeJSON(t *testing.T) {
	dir := recordedTraces("pingpong_flush_wrong")
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "lattice.schema.json"))
	require.NoError(t, err)
	read := func(args ...string) (l lattice.Lattice) {
		status, out, diag := drawn(append([]string{"lattice", dir, "--format", "json"}, args...)...)
		require.Equal(t, exitOK, status, diag)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(value))
		require.NoError(t, json.Unmarshal([]byte(out), &l))
		return l
	}
	region := read("--region", "1", "--limit", "2")
	require.True(t, region.Truncated)
	l, ordered := read("--finding", "1"), read("--finding", "1", "--total-order")
	require.Len(t, l.Accesses, 2)
	require.ElementsMatch(t, l.Events, ordered.Events)
	require.Len(t, ordered.Edges, len(l.Edges))
	for _, e := range ordered.Edges {
		require.Less(t, e.From, e.To)
	}
	for i, a := range l.Accesses {
		require.Equal(t, l.Events[a.Event], ordered.Events[ordered.Accesses[i].Event])
	}
}

// What is wrong is said with what would be right.
func TestLatticeErrors(t *testing.T) {
	wrong, right := recordedTraces("jacobi_halo_wrong"), recordedTraces("jacobi_halo_right")
	for name, tt := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"both chosen":            {[]string{wrong, "--finding", "1", "--region", "1"}, exitUsage, "not both"},
		"no such region":         {[]string{wrong, "--region", "99"}, exitUsage, "--region: no such region: 99; there are 8, from 0 to 7"},
		"a region below 0":       {[]string{wrong, "--region", "-3"}, exitUsage, "--region: -3 is negative"},
		"no such finding":        {[]string{wrong, "--finding", "3"}, exitUsage, `"3" is none of the 2 findings:` + "\n  1  "},
		"no findings":            {[]string{right, "--finding", "1"}, exitUsage, "there are no findings in these traces"},
		"no such format":         {[]string{wrong, "--finding", "1", "--format", "svq"}, exitUsage, `"svq" is none of svg, dot, json (did you mean svg?)`},
		"a drawing of the order": {[]string{wrong, "--finding", "1", "--format", "svg", "--total-order"}, exitUsage, `"svg" is none of text, json`},
		"negative":               {[]string{wrong, "--finding", "1", "--around", "-1"}, exitUsage, "--around: -1 is negative"},
		"no traces":              {[]string{t.TempDir(), "--finding", "1"}, exitFailure, trace.ErrNoTraces.Error()},
		"nowhere to write":       {[]string{wrong, "--finding", "1", "-o", filepath.Join(t.TempDir(), "no", "x.svg")}, exitFailure, "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, diag := drawn(append([]string{"lattice"}, tt.args...)...)
			require.Equal(t, tt.status, status, diag)
			require.Contains(t, diag, tt.says)
			require.Empty(t, out)
		})
	}
}

// Without a choice it is the first finding, and the file's name says the format.
func TestLatticeDefaults(t *testing.T) {
	dir := recordedTraces("jacobi_halo_wrong")
	_, want, _ := drawn("lattice", dir, "--finding", "1", "--format", "dot")
	path := filepath.Join(t.TempDir(), "first.dot")
	status, out, diag := drawn("lattice", dir, "-o", path)
	require.Equal(t, exitOK, status, diag)
	require.Empty(t, out)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

// A finding is known by its fingerprint, as the list of findings names it.
func TestLatticeOfFingerprint(t *testing.T) {
	dir := recordedTraces("jacobi_halo_wrong")
	_, _, diag := drawn("lattice", dir, "--finding", "none")
	lines := strings.Split(strings.TrimSpace(diag), "\n")
	require.Len(t, lines, 3)
	hash := strings.Fields(lines[2])[1]
	_, byNumber, _ := drawn("lattice", dir, "--finding", "2")
	status, byPrint, diag := drawn("lattice", dir, "--finding", hash)
	require.Equal(t, exitOK, status, diag)
	require.Equal(t, byNumber, byPrint)
}

// A file that is there is replaced.
func TestLatticeReplacesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.svg")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("old", 100_000)), 0o644))
	status, _, diag := drawn("lattice", recordedTraces("jacobi_halo_wrong"), "--finding", "1", "-o", path)
	require.Equal(t, exitOK, status, diag)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(data), "<svg ") && strings.HasSuffix(string(data), "</svg>\n"))
}

// A lattice of a truncated region says so.
func TestLatticeLimit(t *testing.T) {
	status, out, diag := drawn("lattice", recordedTraces("jacobi_halo_wrong"), "--region", "2", "--limit", "4")
	require.Equal(t, exitOK, status)
	require.Contains(t, diag, "region 2 has more than 4 events; these are the first (--limit)")
	require.Contains(t, out, "There are more events.")
}

// A timeline of recorded traces has their times, and everything that happened.
func TestTimelineCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.json")
	status, out, diag := drawn("timeline", recordedTraces("jacobi_halo_wrong"), "-o", path)
	require.Equal(t, exitOK, status, diag)
	require.Empty(t, out)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	status, same, _ := drawn("timeline", recordedTraces("jacobi_halo_wrong"))
	require.Equal(t, exitOK, status)
	require.Equal(t, string(data), same)
	var file struct {
		OtherData   map[string]string
		TraceEvents []struct {
			Ph, Name, Cat string
			TS            float64
			Args          map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Equal(t, "wall-clock", file.OtherData["time"])
	count := map[string]int{}
	for _, e := range file.TraceEvents {
		count[e.Ph]++
		require.GreaterOrEqual(t, e.TS, 0.0)
		if e.Cat == "finding" {
			require.Equal(t, "MC102", e.Args["rule"])
		}
	}
	require.Equal(t, map[string]int{"M": 9, "X": 36, "s": 14, "f": 14, "b": 12, "e": 12, "i": 4}, count)
}

func TestTimelineErrors(t *testing.T) {
	status, _, diag := drawn("timeline", t.TempDir())
	require.Equal(t, exitFailure, status)
	require.Contains(t, diag, trace.ErrNoTraces.Error())
	status, _, diag = drawn("timeline")
	require.Equal(t, exitUsage, status)
	require.Contains(t, diag, "a directory of traces is missing")
}

// Of the settings, pictures heed those that findings depend on.
func TestLatticeSettings(t *testing.T) {
	for _, command := range [][]string{{"lattice", recordedTraces("jacobi_halo_wrong"), "--finding", "1"}, {"timeline", recordedTraces("jacobi_halo_wrong")}} {
		_, want, _ := drawn(command...)
		for name, tt := range map[string]struct {
			env    map[string]string
			status int
		}{
			"those of reports": {map[string]string{"MCCHK_FORMAT": "sarif=x.sarif", "MCCHK_OUTPUT": "elsewhere"}, exitOK},
			"the analysis's":   {map[string]string{"MCCHK_MEMORY_MODEL": "unified", "MCCHK_PREDICT": "true"}, exitOK},
			"a wrong one":      {map[string]string{"MCCHK_MEMORY_MODEL": "unifide"}, exitUsage},
		} {
			a, out, diag := testApp()
			a.backend = realBackend()
			a.getenv = func(key string) string { return tt.env[key] }
			require.Equal(t, tt.status, a.run(context.Background(), append([]string{"mcchk"}, command...)), "%s: %s", name, diag)
			if tt.status == exitOK {
				require.Equal(t, want, out.String(), name)
			}
		}
	}
}
