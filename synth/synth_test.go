package synth_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// configs is every pattern in every form, small.
func configs() map[string]synth.Config {
	cs := map[string]synth.Config{}
	for _, pattern := range synth.Patterns() {
		cs[pattern] = synth.Config{Pattern: pattern}
	}
	for _, dims := range []int{2, 3} {
		for _, sync := range []string{synth.SyncFence, synth.SyncPSCW, synth.SyncMessages} {
			cs[fmt.Sprintf("halo %d-D %s", dims, sync)] = synth.Config{Pattern: synth.Halo, Dims: dims, Sync: sync}
		}
	}
	return cs
}

func generate(t *testing.T, c synth.Config) (string, *synth.Expected) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "traces")
	e, err := synth.Generate(context.Background(), dir, c)
	require.NoError(t, err)
	return dir, e
}

// TestFindingsAreThePlantedOnes analyses small traces of every pattern: what is
// found must be what was planted, and what was counted what was asked for.
func TestFindingsAreThePlantedOnes(t *testing.T) {
	for name, c := range configs() {
		for _, size := range []struct {
			ranks, steps, races int
			seed                uint64
			clock               string
		}{
			{2, 7, 0, 1, evc.Encoded}, {2, 5, 16, 2, evc.Vector}, {3, 9, 0, 3, evc.Vector},
			{5, 12, 40, 4, evc.Encoded}, {8, 10, 0, 5, evc.Encoded}, {12, 3, 24, 6, evc.Vector},
		} {
			t.Run(fmt.Sprintf("%s of %d", name, size.ranks), func(t *testing.T) {
				c.Ranks, c.Seed, c.Races = size.ranks, size.seed, size.races
				if c.Steps = int64(size.steps); c.Pattern == synth.HotCounter || c.Pattern == synth.HotBlock {
					c.Steps, c.Accesses = 0, int64(100*size.steps+7)
				}
				dir, e := generate(t, c)
				res, err := analysis.Run(context.Background(), dir, analysis.Options{Clock: size.clock})
				require.NoError(t, err)
				require.Empty(t, res.Caveats)
				planted := slices.Clone(e.Races)
				for i := range planted {
					planted[i].Step = 0 // not to be seen in a finding
				}
				require.Equal(t, planted, found(t, res))
				require.EqualValues(t, e.Calls, res.Basis.Calls)
				require.EqualValues(t, e.Operations, res.Basis.Operations)
				require.EqualValues(t, e.Loads, res.Basis.Loads)
				require.EqualValues(t, e.Stores, res.Basis.Stores)
				require.Equal(t, e.Accesses, e.Operations+e.Runs)
				require.Len(t, e.Races, size.races)
				if c.Accesses != 0 {
					require.Equal(t, c.Accesses, e.Accesses)
				}
			})
		}
	}
}

// found returns the findings as Expected has them, by place.
func found(t *testing.T, res *analysis.Result) []synth.ExpectedRace {
	t.Helper()
	races := []synth.ExpectedRace{}
	for _, f := range res.Findings {
		r := synth.ExpectedRace{Rule: f.Rule, First: side(f.First), Second: side(f.Second), Owner: f.Owner, Window: f.Window, Lo: f.Lo, Hi: f.Hi}
		if r.First.Line > r.Second.Line {
			r.First, r.Second = r.Second, r.First
		}
		races = append(races, r)
		require.EqualValues(t, 1, f.Count)
		require.Equal(t, conflicts.Error, f.Severity)
	}
	slices.SortFunc(races, func(a, b synth.ExpectedRace) int { return cmp.Compare(a.First.Line, b.First.Line) })
	return races
}

func side(s conflicts.Side) synth.ExpectedSide {
	e := synth.ExpectedSide{Rank: s.Rank, Access: s.Call}
	if e.Access == "" {
		e.Access = s.Role
	}
	if len(s.Stack) > 0 {
		e.File, e.Line = s.Stack[0].File, int(s.Stack[0].Line)
	}
	return e
}

// TestExactNumberOfAccesses asks for numbers that no number of steps makes.
func TestExactNumberOfAccesses(t *testing.T) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			for _, accesses := range []int64{997, 12345} {
				c.Ranks, c.Accesses, c.Races = 7, accesses, 3
				_, e := generate(t, c)
				require.Equal(t, accesses, e.Accesses)
				require.Equal(t, accesses, e.Operations+e.Runs)
			}
		})
	}
}

// TestDependsOnTheConfigAlone writes with one worker and with several, plain
// and compressed, and again in the same place.
func TestDependsOnTheConfigAlone(t *testing.T) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			c.Ranks, c.Accesses, c.Races, c.Seed, c.Jobs = 6, 1500, 10, 9, 1
			one, _ := generate(t, c)
			c.Jobs = 4
			several, _ := generate(t, c)
			require.Equal(t, sums(t, one), sums(t, several))
			_, err := synth.Generate(context.Background(), several, c)
			require.NoError(t, err)
			require.Equal(t, sums(t, one), sums(t, several))
			c.Compress = true
			packed, _ := generate(t, c)
			require.Equal(t, events(t, one), events(t, packed))
			if c.Pattern == synth.Random {
				c.Seed++
				other, _ := generate(t, c)
				require.NotEqual(t, events(t, one), events(t, other))
			}
		})
	}
}

func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(b))
	}
	return out
}

// events returns the traces as text: those that mcchk dump prints.
func events(t *testing.T, dir string) string {
	t.Helper()
	d, err := trace.OpenDir(dir)
	require.NoError(t, err)
	require.Empty(t, d.Missing)
	var out bytes.Buffer
	for _, f := range d.Files {
		r, err := trace.Open(f.Path)
		require.NoError(t, err)
		for {
			var e trace.Event
			err := r.ReadEvent(&e)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			fmt.Fprintln(&out, f.Header.Rank, e.Kind, e.Access, e.End)
			if e.Kind == trace.KindCall {
				fmt.Fprintln(&out, e.Call.Fn.Name, e.Call.Seq, e.Call.Begin, e.Call.Args)
			}
		}
		require.NoError(t, r.Close())
	}
	return out.String()
}

func TestExpectedFile(t *testing.T) {
	dir, e := generate(t, synth.Config{Pattern: synth.Ring, Ranks: 3, Steps: 5, Races: 9, Seed: 1})
	b, err := os.ReadFile(filepath.Join(dir, synth.ExpectedFile))
	require.NoError(t, err)
	var got synth.Expected
	require.NoError(t, json.Unmarshal(b, &got))
	require.Equal(t, *e, got)
	require.Len(t, got.Races, 9)
}

func TestWhatCannotBeGenerated(t *testing.T) {
	tests := []struct {
		name string
		c    synth.Config
		want string
	}{
		{"no such pattern", synth.Config{Pattern: "spiral", Ranks: 2, Accesses: 10}, `no pattern "spiral"`},
		{"one process", synth.Config{Pattern: synth.Ring, Ranks: 1, Accesses: 10}, "from 2 to"},
		{"no accesses", synth.Config{Pattern: synth.Ring, Ranks: 2}, "number of accesses is missing"},
		{"negative", synth.Config{Pattern: synth.Ring, Ranks: 2, Accesses: -1}, "must be from"},
		{"too few for a step", synth.Config{Pattern: synth.LockOptions, Ranks: 4, Accesses: 20}, "at least 24 accesses"},
		{"too few for the races", synth.Config{Pattern: synth.Ring, Ranks: 2, Accesses: 20, Races: 100}, "at least 204 accesses"},
		{"too few for the steps", synth.Config{Pattern: synth.Halo, Ranks: 2, Accesses: 20, Steps: 100}, "at least 800 accesses"},
		{"too many steps", synth.Config{Pattern: synth.Halo, Ranks: 1 << 20, Steps: 1 << 39}, "more than"},
		{"one step only", synth.Config{Pattern: synth.HotCounter, Ranks: 2, Steps: 3}, "has one step"},
		{"dimensions of a ring", synth.Config{Pattern: synth.Ring, Ranks: 2, Accesses: 10, Dims: 2}, "for the pattern halo"},
		{"four dimensions", synth.Config{Pattern: synth.Halo, Ranks: 2, Accesses: 1000, Dims: 4}, "there are 2 and 3"},
		{"no such synchronization", synth.Config{Pattern: synth.Halo, Ranks: 2, Accesses: 1000, Sync: "hope"}, `"hope"`},
		{"negative races", synth.Config{Pattern: synth.Ring, Ranks: 2, Accesses: 10, Races: -1}, "planted races"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := synth.Generate(context.Background(), t.TempDir(), test.c)
			require.ErrorIs(t, err, synth.ErrConfig)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestOtherFilesAreKept(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "rank-0.mcct")
	require.NoError(t, os.WriteFile(mine, []byte("recorded"), 0o644))
	_, err := synth.Generate(context.Background(), dir, synth.Config{Pattern: synth.Ring, Ranks: 2, Accesses: 100})
	require.ErrorContains(t, err, "holds other files (rank-0.mcct)")
	require.FileExists(t, mine)
}

// A generation that is interrupted leaves no whole set, and can be repeated.
func TestInterruptedAndRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := synth.Config{Pattern: synth.Ring, Ranks: 50, Accesses: 10000, Jobs: 1, Progress: func(done, of int64) {
		require.EqualValues(t, 10000, of)
		if done > 1000 {
			cancel()
		}
	}}
	dir := t.TempDir()
	_, err := synth.Generate(ctx, dir, c)
	require.ErrorIs(t, err, context.Canceled)
	d, err := trace.OpenDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, d.Files)
	require.NotEmpty(t, d.Missing)
	c.Progress, c.Ranks = nil, 2
	_, err = synth.Generate(context.Background(), dir, c)
	require.NoError(t, err)
	d, err = trace.OpenDir(dir)
	require.NoError(t, err)
	require.Len(t, d.Files, 2)
	require.Empty(t, d.Missing)
}

// TestOrderMatters takes the messages out of patterns that they order: then
// what the pattern accesses races, so it does meet.
func TestOrderMatters(t *testing.T) {
	for _, c := range []synth.Config{{Pattern: synth.AllToAll}, {Pattern: synth.Halo, Sync: synth.SyncMessages}, {Pattern: synth.Halo, Sync: synth.SyncMessages, Dims: 3}} {
		t.Run(fmt.Sprint(c.Pattern, c.Dims), func(t *testing.T) {
			c.Ranks, c.Steps = 8, 20
			dir, _ := generate(t, c)
			for rank := range c.Ranks {
				withoutCalls(t, filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", rank)), "MPI_Sendrecv")
			}
			res, err := analysis.Run(context.Background(), dir, analysis.Options{})
			require.NoError(t, err)
			require.Equal(t, analysis.Race, res.Verdict)
			require.Equal(t, conflicts.RuleLocalRemote, res.Findings[0].Rule)
		})
	}
}

func withoutCalls(t *testing.T, path, name string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var text, packed bytes.Buffer
	require.NoError(t, trace.Dump(context.Background(), f, &text))
	var kept bytes.Buffer
	for line := range bytes.Lines(text.Bytes()) {
		var record struct{ Call string }
		require.NoError(t, json.Unmarshal(line, &record))
		if record.Call != name {
			kept.Write(line)
		}
	}
	require.NoError(t, trace.Pack(context.Background(), &kept, &packed))
	require.NoError(t, os.WriteFile(path, packed.Bytes(), 0o644))
}
