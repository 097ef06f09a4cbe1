package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

const programs = 300 // random programs that each property is tried on

func forEach(t *testing.T, f func(t *testing.T, seed int64, p *Program, races []Pair)) {
	t.Helper()
	for seed := range int64(programs) {
		p := Generate(seed, Options{})
		races, err := p.Races()
		require.NoError(t, err, "seed %d\n%s", seed, p)
		f(t, seed, p, races)
	}
}

func TestGenerateIsMixed(t *testing.T) {
	free := 0
	seen := map[string]int{}
	kinds := map[Kind]int{}
	forEach(t, func(t *testing.T, _ int64, p *Program, races []Pair) {
		if len(races) == 0 {
			free++
		}
		for _, q := range races {
			kinds[q.Kind]++
		}
		for i := range p.Calls {
			seen[p.Calls[i].Fn]++
		}
	})
	require.Greater(t, free, programs*3/10)
	require.Less(t, free, programs*6/10)
	require.Greater(t, kinds[Warning], 10)
	require.Greater(t, len(seen), 100, seen)
}

// Where every feature is in every program, all calls must come up.
func TestGenerateHasEverything(t *testing.T) {
	seen := map[string]int{}
	for seed := range int64(2500) {
		p := Generate(seed, Options{All: true, Purge: -1})
		for i := range p.Calls {
			seen[p.Calls[i].Fn]++
		}
	}
	for fn := range functions {
		require.Positive(t, seen[fn], fn)
	}
	for _, fn := range []string{
		"MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_lock_all", "MPI_Win_unlock_all",
		"MPI_Win_flush", "MPI_Win_flush_local", "MPI_Win_flush_all", "MPI_Win_flush_local_all",
		"MPI_Win_post", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait", "MPI_Win_test",
		"MPI_Win_attach", "MPI_Win_detach",
	} {
		require.Greater(t, seen[fn], 100, fn)
	}
}

func TestGenerateIsRepeatable(t *testing.T) {
	require.Equal(t, Generate(7, Options{}).String(), Generate(7, Options{}).String())
}

func TestGenerateLeavesOut(t *testing.T) {
	for seed := range int64(100) {
		p := Generate(seed, Options{Without: Exposure | Locks | Messages | NoPrecede | Atomics, MaxRanks: 3, Purge: -1})
		for i := range p.Calls {
			c := &p.Calls[i]
			require.NotContains(t, []string{"MPI_Win_post", "MPI_Win_lock", "MPI_Win_lock_all", "MPI_Send", "MPI_Accumulate"}, c.Fn)
			require.Zero(t, c.Assert&trace.AssertNoPrecede)
		}
	}
}

// Every file must be readable, and the functions must have the arguments that
// the tracer records.
func TestFilesAreReadable(t *testing.T) {
	table := tracerTable(t)
	forEach(t, func(t *testing.T, seed int64, p *Program, _ []Pair) {
		files, err := p.Files()
		require.NoError(t, err)
		require.Len(t, files, p.Ranks)
		small, err := p.FilesIn(2)
		require.NoError(t, err)
		for rank := range files {
			readFile(t, table, p, rank, files[rank])
			readFile(t, table, p, rank, small[rank])
		}
	})
}

// tracerTable returns the arguments that the tracer records of each function,
// as names and kinds.
func tracerTable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../tracer/runtime/mpi.tbl")
	require.NoError(t, err)
	entry := regexp.MustCompile(`(?m)^(\w+)\((.*)\)`)
	argument := regexp.MustCompile(`(\w+):([a-zA-Z])\b`)
	out := map[string]string{}
	for _, m := range entry.FindAllStringSubmatch(string(text), -1) {
		var args []string
		for _, a := range argument.FindAllStringSubmatch(m[2], -1) {
			args = append(args, a[1]+":"+a[2])
		}
		out[m[1]] = strings.Join(args, ",")
	}
	return out
}

func argsOf(fn *trace.Fn) string {
	var args []string
	for _, a := range fn.Args {
		args = append(args, fmt.Sprintf("%s:%c", a.Name, a.Kind))
	}
	return strings.Join(args, ",")
}

func readFile(t *testing.T, recorded map[string]string, p *Program, rank int, b []byte) {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(b), "memory")
	require.NoError(t, err)
	require.Equal(t, rank, r.Header().Rank)
	var lines []int
	var ev trace.Event
	for {
		err := r.ReadEvent(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		stack := ev.Access.Stack
		if ev.Kind == trace.KindCall {
			stack = ev.Call.Stack
			if strings.HasPrefix(ev.Call.Fn.Name, "mcchk_") {
				continue
			}
			require.Equal(t, recorded[ev.Call.Fn.Name], argsOf(ev.Call.Fn), ev.Call.Fn.Name)
		} else if ev.Kind != trace.KindAccess {
			continue
		}
		places := r.Sources(r.Stack(stack)[0])
		require.NotEmpty(t, places)
		lines = append(lines, int(places[0].Line))
	}
	require.Nil(t, r.Cut())
	var want []int
	for i := range p.Calls {
		if p.Calls[i].Rank == rank {
			want = append(want, p.Calls[i].Line)
		}
	}
	require.Equal(t, want, lines[1:len(lines)-1]) // without MPI_Init and MPI_Finalize
}

// The answer must not depend on names of processes, places in memory, or the
// size of the pieces in which data are put.
func TestMetamorphic(t *testing.T) {
	forEach(t, func(t *testing.T, seed int64, p *Program, races []Pair) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		perm := r.Perm(p.Ranks)
		got, err := p.PermuteRanks(perm).Races()
		require.NoError(t, err)
		require.Equal(t, Renamed(races, perm), got, "seed %d, ranks %v\n%s", seed, perm, p)

		base := slices.Clone(p.Base)
		for i := range base {
			base[i] += uint64(r.IntN(1000))
		}
		got, err = p.MoveMemory(base).Races()
		require.NoError(t, err)
		require.Equal(t, races, got)

		got, err = p.BarriersAsMessages().Races()
		require.NoError(t, err, "seed %d\n%s", seed, p)
		require.Equal(t, races, got, "seed %d\n%s", seed, p)

		for _, i := range p.Splittable() {
			got, err = p.SplitPut(i).Races()
			require.NoError(t, err)
			require.Equal(t, races, got, "seed %d, call %d\n%s", seed, i, p)
		}
		for i := range p.Calls {
			if p.Calls[i].Count > 2 {
				got, err = p.SplitRun(i).Races()
				require.NoError(t, err)
				require.Equal(t, races, got)
			}
		}
	})
}

// Taking calls out can take order away, but what is left of the calls of a
// race when only one race is asked for must be small.
func TestShrink(t *testing.T) {
	shrunk := 0
	for seed := range int64(60) {
		p := Generate(seed, Options{})
		races, err := p.Races()
		require.NoError(t, err)
		if len(races) == 0 {
			continue
		}
		want := races[0]
		q := Shrink(p, func(q *Program) bool {
			got, err := q.Races()
			return err == nil && slices.Contains(got, want)
		})
		got, err := q.Races()
		require.NoError(t, err)
		require.Contains(t, got, want)
		require.LessOrEqual(t, len(q.Calls), len(p.Calls))
		require.LessOrEqual(t, len(q.Calls), 10*p.Ranks+16, "%s", q)
		shrunk++
	}
	require.Greater(t, shrunk, 10)
}
