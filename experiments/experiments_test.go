package experiments

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

func TestGrowth(t *testing.T) {
	last := 0
	g := Growth{Runs: 2, Delay: 1, Seed: 1, Progress: func(done, of int) {
		require.Equal(t, 2*10*(1+len(figure7Shares())), of)
		require.Greater(t, done, last)
		last = done
	}}
	res, err := g.Run(context.Background())
	require.NoError(t, err)
	require.Len(t, res.figure3, 10)
	for i, p := range res.figure3 {
		require.Equal(t, 10*(i+1), p.processes)
		require.Greater(t, p.events.value, float64(10*p.processes))
		require.InDelta(t, 0.25, p.internal, 1e-12)
		require.Less(t, p.receives.value, 0.6/1.6)
	}
	for _, n := range figure4Processes() {
		sizes := res.sizes[n]
		require.NotEmpty(t, sizes)
		for i, s := range sizes {
			require.Equal(t, i+1, s.event)
			require.LessOrEqual(t, s.bits, 32*n)
		}
	}
	g.Jobs, g.Progress = 1, nil
	again, err := g.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, res, again, "whatever the number of workers")

	require.Len(t, res.Tables(), 5)
	checkWritten(t, res.Tables())
	require.Len(t, res.Summary().Rows, 10)
}

func TestGrowthIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Growth{Runs: 1}.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// checkWritten writes tables and reads them back.
func checkWritten(t *testing.T, tables []Table) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "b")
	paths, err := Write(dir, tables)
	require.NoError(t, err)
	require.Len(t, paths, len(tables))
	for _, table := range tables {
		b, err := os.ReadFile(filepath.Join(dir, table.Name+".csv"))
		require.NoError(t, err)
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		require.NoError(t, err)
		require.Equal(t, append([][]string{table.Columns}, table.Rows...), rows)
	}
}

func TestScale(t *testing.T) {
	dir := t.TempDir()
	var said []string
	s := Scale{
		Pattern: synth.LockOptions, Ranks: []int{3, 5}, Clocks: []string{"a", "b"}, Steps: 2, Runs: 3, Dir: dir,
		Progress: func(what string) { said = append(said, what) },
	}
	calls := 0
	s.Analyze = func(_ context.Context, traces, clock string) (Cost, error) {
		d, err := trace.OpenDir(traces)
		require.NoError(t, err)
		calls++
		seconds := map[string]int{"a": 1, "b": 2}[clock] * d.Ranks * (1 + calls%2*5)
		return Cost{Wall: time.Duration(seconds) * time.Second, CPU: time.Second, Memory: int64(d.Ranks) << 20}, nil
	}
	res, err := s.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, 12, calls)
	require.Len(t, said, 14)
	require.Equal(t, [][]string{
		{"lockopts", "3", "2", "36", "a", "3", "18.000", "1.000", "3.0"},
		{"lockopts", "3", "2", "36", "b", "3", "6.000", "1.000", "3.0"},
		{"lockopts", "5", "2", "60", "a", "3", "30.000", "1.000", "5.0"},
		{"lockopts", "5", "2", "60", "b", "3", "10.000", "1.000", "5.0"},
	}, res.Tables()[0].Rows)
	require.Equal(t, [][]string{{"3", "18.00", "1.00", "3", "6.00", "1.00", "3"}, {"5", "30.00", "1.00", "5", "10.00", "1.00", "5"}}, res.Summary().Rows)
	checkWritten(t, res.Tables())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "traces are removed")
}

func TestScaleSaysWhatFailed(t *testing.T) {
	s := Scale{Pattern: synth.Ring, Ranks: []int{2}, Clocks: []string{"x"}, Steps: 1, Runs: 1, Dir: t.TempDir()}
	s.Analyze = func(context.Context, string, string) (Cost, error) { return Cost{}, errors.New("no such clock") }
	_, err := s.Run(context.Background())
	require.ErrorContains(t, err, "2 processes: clock x: no such clock")
	s.Pattern = "spiral"
	_, err = s.Run(context.Background())
	require.ErrorIs(t, err, synth.ErrConfig)
}

func TestMedian(t *testing.T) {
	row := scaleRow{costs: []Cost{{Memory: 9 << 20}, {Memory: 1 << 20}, {Memory: 4 << 20}}}
	require.InDelta(t, 4, row.median(mebibytes), 0)
	row.costs = append(row.costs, Cost{Memory: 6 << 20})
	require.InDelta(t, 5, row.median(mebibytes), 0)
}

func TestWriteText(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Table{Columns: []string{"n", "events"}, Rows: [][]string{{"10", "3"}, {"100", "40"}}}.WriteText(&out))
	require.Equal(t, "    n  events\n   10       3\n  100      40\n", out.String())
}
