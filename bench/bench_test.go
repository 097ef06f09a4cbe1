package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/trace"
)

// The synthetic traces are complete, hold what their titles say, and have no
// races: otherwise their times would mean nothing.
func TestSynthetic(t *testing.T) {
	for _, tc := range []struct {
		name    string
		kernel  func(*script) error
		ranks   int
		records uint64 // of accesses, all processes
		regions int    // one for each synchronization of all processes, and the rest
	}{
		{"halo", haloScript(5), 2, 2 * 5 * 10, 2*5 + 5},
		{"halo of three", haloScript(5), 3, 3 * 5 * 10, 2*5 + 5},
		{"grid", gridScript(3, 7), 2, 2 * 3 * 7 * 5, 2*3 + 5},
		{"ring", ringScript(4, 6), 2, 2 * 4 * 6, 4 + 5},
		{"ring of three", ringScript(4, 6), 3, 3 * 4 * 6, 4 + 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, synthetic{name: "x", ranks: tc.ranks, kernel: tc.kernel}.write(context.Background(), dir))
			d, err := trace.OpenDir(dir)
			require.NoError(t, err)
			size, err := decode(d)
			require.NoError(t, err)
			require.Equal(t, tc.records, size.records)
			for _, clock := range []string{evc.Encoded, evc.Vector} {
				res, err := analysis.Run(context.Background(), dir, analysis.Options{Clock: clock})
				require.NoError(t, err)
				require.NoError(t, clean(res))
				require.Equal(t, tc.regions, res.Basis.Regions)
			}
		})
	}
}

func TestParseSample(t *testing.T) {
	const line = "bench seconds=0.5 cpu=0.25 checksum=1e+3 peak_kib=100 anon_kib=20 file_kib=70 shmem_kib=10\n"
	s, err := parseSample("a warning of the MPI library\n" + line)
	require.NoError(t, err)
	require.Equal(t, sample{seconds: 0.5, cpu: 0.25, checksum: "1e+3", peak: 100, own: 30, files: 70}, s)

	for name, output := range map[string]string{
		"nothing":      "",
		"no time":      "bench cpu=1 checksum=1 peak_kib=1 anon_kib=1 file_kib=1 shmem_kib=1",
		"not a number": "bench seconds=x cpu=1 checksum=1 peak_kib=1 anon_kib=1 file_kib=1 shmem_kib=1",
		"no checksum":  "bench seconds=1 cpu=1 peak_kib=1 anon_kib=1 file_kib=1 shmem_kib=1",
	} {
		_, err := parseSample(output)
		require.Error(t, err, name)
	}
}

func TestRatios(t *testing.T) {
	middle, best := ratios([]float64{1, 2, 4}, []float64{3, 4, 4})
	require.InDelta(t, 2, middle, 1e-9)
	require.InDelta(t, 3, best, 1e-9)
	require.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 1e-9)
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name       string
		ratio, aim float64
		text, ok   string
	}{
		{"within", 1.3, 1.3, "1.3", "ok"},
		{"over", 1.31, 1.3, "1.3", "over"},
		{"no aim", 9, 0, "-", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, ok := verdict(tc.ratio, tc.aim)
			require.Equal(t, []string{tc.text, tc.ok}, []string{text, ok})
		})
	}
}

func TestTables(t *testing.T) {
	var out bytes.Buffer
	results := []measured{{
		setup: setup{"openmpi", "clang"}, program: programs()[0],
		plain: []sample{{seconds: 0.1}}, traced: []sample{{seconds: 0.15}}, analyses: []float64{0.12},
	}}
	writeRunTimes(&out, results, usualLevel)
	require.Contains(t, out.String(), "stencil, halo in a window  openmpi  clang     1     100.0     150.0      1.50    1.50  1.05  over")
	out.Reset()
	writeAnalyses(&out, results)
	require.Contains(t, out.String(), "stencil, halo in a window  openmpi  clang     1     100.0     120.0        1.20    1.20  1    over")
}

// TestModelPatterns: the analysis understands the patterns of all models; some of each.
func TestModelPatterns(t *testing.T) {
	all := allPatterns()
	for i := len(matrix()); i < len(all); i += 61 {
		dir := t.TempDir()
		require.NoError(t, all[i].trace(3).write(t.Context(), dir))
		_, err := matrixRun(t.Context(), dir)
		require.NoError(t, err, all[i])
	}
}
