//go:build !quick

package tracer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// byteOf is a byte that a place touched after a call.
type byteOf struct {
	seq   uint64
	place uint32
	at    uint64
}

// grids is the program of testdata/grids.c.
type grids struct {
	t       *testing.T
	program string
}

func newGrids(t *testing.T) grids {
	g := grids{t, filepath.Join(t.TempDir(), "grids")}
	args := []string{"-std=gnu11", "-O2", "-Wall", "-Werror", "-fno-omit-frame-pointer", "-Iruntime", "-o", g.program, "testdata/grids.c"}
	for _, name := range []string{"callbacks", "loops", "rows", "runs", "compact", "index"} {
		args = append(args, "runtime/"+name+".c")
	}
	out, err := exec.CommandContext(t.Context(), "gcc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return g
}

// run returns what was announced to the run-time, and the trace of it.
func (g grids) run(args ...string) (announced map[byteOf]bool, data []byte) {
	path := filepath.Join(g.t.TempDir(), "chunks")
	out, err := exec.CommandContext(g.t.Context(), g.program, append(args, path)...).Output()
	require.NoError(g.t, err)
	announced = map[byteOf]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var b byteOf
		var size uint64
		_, err := fmt.Sscan(lines.Text(), &b.seq, &b.place, &b.at, &size)
		require.NoError(g.t, err)
		for range size {
			announced[b] = true
			b.at++
		}
	}
	var head bytes.Buffer
	w, err := trace.NewWriter(&head, trace.Header{Ranks: 1})
	require.NoError(g.t, err)
	require.NoError(g.t, w.Close())
	chunks, err := os.ReadFile(path)
	require.NoError(g.t, err)
	return announced, append(head.Bytes(), chunks...)
}

// recorded returns the bytes that a trace has, how many records, and how many accesses these
// are.
func (g grids) recorded(data []byte) (bytesOf map[byteOf]bool, records int, accesses uint64) {
	bytesOf = map[byteOf]bool{}
	add := func(seq uint64, a trace.Access) {
		accesses++
		for i := range a.Count {
			for k := range uint64(a.Size) {
				bytesOf[byteOf{seq, a.Stack, a.Addr + i*uint64(a.Stride) + k - arenaStart}] = true
			}
		}
	}
	r, err := trace.NewRecordReader(bytes.NewReader(data), "grids")
	require.NoError(g.t, err)
	defer r.Close()
	var seq uint64
	for rec := (trace.Record{}); ; {
		err := r.Read(&rec)
		if errors.Is(err, io.EOF) {
			require.Contains(g.t, r.Cut().Reason, "no end record")
			return bytesOf, records, accesses
		}
		require.NoError(g.t, err)
		switch rec.Kind {
		case trace.RecordMark:
			seq = rec.Mark
			continue
		case trace.RecordAccess:
			add(seq, rec.Access)
		case trace.RecordGrid:
			for p := range int64(rec.Grid.Planes) {
				for r := range int64(rec.Grid.Rows) {
					a := rec.Grid.Access
					a.Addr += uint64(p*rec.Grid.PlaneStep + r*rec.Grid.RowStep)
					add(seq, a)
				}
			}
		case trace.RecordChunk:
			continue
		}
		records++
	}
}

// TestGridsAreExact: whatever rows a program makes, in whatever order, and however they are
// announced, what is recorded is the bytes that they touch, and the indexes count them.
// MCCHK_GRIDS sets how many programs are drawn, MCCHK_GRIDS_SEED the first of their seeds.
func TestGridsAreExact(t *testing.T) {
	t.Parallel()
	g := newGrids(t)
	seeds, first := numberFrom(t, "MCCHK_GRIDS", 20), numberFrom(t, "MCCHK_GRIDS_SEED", 1)
	for seed := first; seed < first+seeds; seed++ {
		want, data := g.run(strconv.Itoa(seed), "150")
		got, records, accesses := g.recorded(data)
		require.NotEmpty(t, want)
		require.Empty(t, missing(want, got), "seed %d: not recorded", seed)
		require.Empty(t, missing(got, want), "seed %d: recorded besides", seed)
		require.Less(t, uint64(records), accesses)
		require.Equal(t, accesses, g.skipped(data), "seed %d", seed)
	}
}

func missing(in, from map[byteOf]bool) (some []byteOf) {
	for b := range in {
		if !from[b] && len(some) < 10 {
			some = append(some, b)
		}
	}
	return some
}

// skipped returns how many accesses the indexes tell of when all chunks are passed over.
func (g grids) skipped(data []byte) (accesses uint64) {
	path := filepath.Join(g.t.TempDir(), "rank-0.mcct")
	require.NoError(g.t, os.WriteFile(path, data, 0o644))
	d, err := trace.OpenDir(filepath.Dir(path))
	require.NoError(g.t, err)
	r, err := d.Open(0)
	require.NoError(g.t, err)
	r.Skip(func(uint64, uint64) bool { return true })
	var ev trace.Event
	for err == nil {
		if err = r.ReadEvent(&ev); err == nil {
			require.Equal(g.t, trace.KindSkipped, ev.Kind)
			accesses += ev.Skipped.Accesses
		}
	}
	require.ErrorIs(g.t, err, io.EOF)
	return accesses
}

// TestFieldIsAFewGrids: the rows of a field that its places make in turn are a grid for each
// place, and so are those that are announced plane by plane.
func TestFieldIsAFewGrids(t *testing.T) {
	t.Parallel()
	g := newGrids(t)
	want, data := g.run("field", "20", "10")
	got, records, accesses := g.recorded(data)
	require.Equal(t, want, got)
	require.Equal(t, 3, records)
	require.EqualValues(t, 3*20*10, accesses)
	require.Less(t, len(data), 1000)
}

// TestChequeredFieldIsAFewGrids: where every other row begins an element later, as in red-black
// relaxation, the rows of a plane are two grids, and not records of their own.
func TestChequeredFieldIsAFewGrids(t *testing.T) {
	t.Parallel()
	g := newGrids(t)
	want, data := g.run("chequered", "16", "16")
	got, records, accesses := g.recorded(data)
	require.Equal(t, want, got)
	require.LessOrEqual(t, records, 2*2*16)
	require.EqualValues(t, 2*16*16, accesses)
}

// TestRowsOfOtherLengthsAreApart: rows of a place that differ in length take turns, and those of
// each length become a grid.
func TestRowsOfOtherLengthsAreApart(t *testing.T) {
	t.Parallel()
	g := newGrids(t)
	records := 0
	for range 3 { // by where the program lies in memory, two lengths may have one slot
		want, data := g.run("halves", "64", "50")
		got, n, _ := g.recorded(data)
		require.Equal(t, want, got)
		if records = n; records <= 10 {
			return
		}
	}
	require.LessOrEqual(t, records, 10)
}
