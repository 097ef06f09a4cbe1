package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/experiments"
	"github.com/mcchk/mcchk/synth"
)

// tables writes the tables of both experiments into a directory.
func tables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	growth, err := experiments.Growth{Runs: 1, Delay: 1, Seed: 1}.Run(t.Context())
	require.NoError(t, err)
	scale, err := experiments.Scale{
		Pattern: synth.LockOptions, Ranks: []int{3, 5}, Clocks: []string{"a", "b"}, Steps: 2, Runs: 1, Dir: t.TempDir(),
		Analyze: func(_ context.Context, _, clock string) (experiments.Cost, error) {
			return experiments.Cost{Wall: map[string]time.Duration{"a": time.Second, "b": 2 * time.Second}[clock], CPU: time.Minute, Memory: 3 << 20}, nil
		},
	}.Run(t.Context())
	require.NoError(t, err)
	_, err = experiments.Write(dir, append(growth.Tables(), scale.Tables()...))
	require.NoError(t, err)
	return dir
}

// TestDrawAll draws all that mcchk experiment writes.
func TestDrawAll(t *testing.T) {
	dir := tables(t)
	paths, err := drawAll(dir)
	require.NoError(t, err)
	titles := map[string]string{
		"growth-figure3": overflowTitle, "growth-figure7": overflowTitle, "growth-figure4": "n = 30", "growth-figure5": "n = 60",
		"growth-figure6": "n = 100", "scale-time": "pattern lockopts", "scale-cpu": "Processor time", "scale-memory": "MiB",
	}
	require.Len(t, paths, len(titles))
	for name, title := range titles {
		b, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		require.Contains(t, string(b), title)
		for d := xml.NewDecoder(bytes.NewReader(b)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
}

// TestFigures: what is drawn is what the tables hold.
func TestFigures(t *testing.T) {
	dir := tables(t)
	pictures := map[string]*picture{}
	for _, f := range figures() {
		table, err := readTable(filepath.Join(dir, f.table+".csv"))
		require.NoError(t, err)
		pictures[f.name], err = f.plot(table)
		require.NoError(t, err)
	}
	require.Equal(t, []series{{name: "a", points: []point{{3, 1}, {5, 1}}}, {name: "b", points: []point{{3, 2}, {5, 2}}}}, pictures["scale-time"].series)
	three := pictures["growth-figure3"].series
	require.Len(t, three, 1)
	require.Len(t, three[0].points, 10)
	require.Equal(t, 100.0, three[0].points[9].x)
	seven := pictures["growth-figure7"].series
	require.Len(t, seven, 10)
	require.Equal(t, "n = 10", seven[0].name)
	require.Equal(t, 98.0, seven[0].points[len(seven[0].points)-1].x, "per cent")
	require.True(t, pictures["growth-figure4"].series[0].dots)
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	_, err := drawAll(dir)
	require.ErrorContains(t, err, "no table of an experiment")
	for text, want := range map[string]string{
		"":                            "no rows",
		"processes,events\n":          "no rows",
		"processes\n10\n":             "no column events",
		"processes,events\n10,many\n": `row 1: events: "many" is not a number`,
		"processes,events\n10\n":      "wrong number of fields",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "growth-figure3.csv"), []byte(text), 0o600))
		_, err := drawAll(dir)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "growth-figure3.csv")
	}
}
