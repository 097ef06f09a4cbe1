package analysis

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/synth"
)

// TestHeap: an analysis that needs more memory than it may take ends with what it
// found, says so, and is undecided; a part of one is an error.
func TestHeap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	_, err := synth.Generate(context.Background(), dir, synth.Config{Pattern: synth.Halo, Ranks: 4, Accesses: 400_000})
	require.NoError(t, err)
	runtime.GC() // then what is in use is known
	res, err := Run(context.Background(), dir, Options{Heap: 1 << 10, MaxMemory: 5 << 20})
	require.NoError(t, err)
	require.True(t, res.Interrupted)
	require.Equal(t, Undecided, res.Verdict)
	require.Len(t, res.Caveats, 1)
	require.Equal(t, TooLarge, res.Caveats[0].Kind)
	require.Contains(t, res.Caveats[0].Text, "because it needs more than the 5 MiB of memory that it may take")

	_, err = RunShard(context.Background(), dir, Shard{1, 2}, Options{Heap: 1 << 10})
	require.ErrorContains(t, err, "the analysis needs more memory than the 0 MiB that it may take")

	res, err = Run(context.Background(), dir, Options{Heap: 1 << 40})
	require.NoError(t, err)
	require.Equal(t, NoRace, res.Verdict)
}

// TestHeapForFindings: findings count before they are named, explained and reported.
func TestHeapForFindings(t *testing.T) {
	const races = 20_000
	dir := filepath.Join(t.TempDir(), "traces")
	_, err := synth.Generate(context.Background(), dir, synth.Config{Pattern: synth.Halo, Ranks: 4, Accesses: 400_000, Races: races})
	require.NoError(t, err)
	// What tests that run at the same time have in use counts as well.
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	res, err := Run(context.Background(), dir, Options{Heap: (int64(m.HeapAlloc) + races*findingBytes/4) * 100 / heapShare})
	require.NoError(t, err)
	require.True(t, res.Interrupted)
	require.Equal(t, Race, res.Verdict)
	require.NotEmpty(t, res.Findings)
	require.Less(t, len(res.Findings), races)
	require.Len(t, res.Caveats, 1)
	require.Contains(t, res.Caveats[0].Text, "most of it is for")
	require.Contains(t, res.Caveats[0].Text, "findings. The rest was not analysed; fix what is reported")
}

// TestSearchAfterEnough: where memory runs out within a long region, what was replayed
// of it is searched.
func TestSearchAfterEnough(t *testing.T) {
	const races = 100
	dir := filepath.Join(t.TempDir(), "traces")
	_, err := synth.Generate(context.Background(), dir, synth.Config{Pattern: synth.Halo, Ranks: 4, Accesses: 400_000, Races: races})
	require.NoError(t, err)
	r, err := start(context.Background(), dir, Options{})
	require.NoError(t, err)
	defer r.close()
	turns := 0
	opts := r.replayOptions()
	opts.Tick = func() {
		if turns++; turns == 400 {
			r.enough.Store(true)
		}
	}
	r.streams = prefetchAll(r.readers)
	_, groups, err := r.search(r.streams, opts)
	require.NoError(t, err)
	require.Equal(t, 400, turns, "the replay ends there")
	require.NotEmpty(t, groups)
	require.Less(t, len(groups), races)
	var memory *memoryError
	require.ErrorAs(t, r.stopped, &memory)
	require.NotZero(t, r.held)
}

// TestRoom: what fits is known before it is taken.
func TestRoom(t *testing.T) {
	for _, c := range []struct {
		heap, bytes int64
		want        bool
	}{
		{0, 1 << 50, true}, // no limit
		{1 << 40, 1 << 30, true},
		{1 << 40, 1 << 40, false},
		{1 << 10, 1 << 9, false}, // all of it is in use
		{1 << 40, 1 << 40 / 100 * (replayShare + 1), false},
		{1 << 40, 1 << 40 / 100 * (replayShare - 1), true},
	} {
		r := run{opts: Options{Heap: c.heap}}
		require.Equal(t, c.want, r.room(c.bytes), c)
	}
}

// TestTooLarge: the caveat names what takes most, and what helps.
func TestTooLarge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	_, err := synth.Generate(context.Background(), dir, synth.Config{Pattern: synth.Halo, Ranks: 2, Accesses: 100})
	require.NoError(t, err)
	for _, c := range []struct {
		held  core.Holdings
		found int64
		want  string
		count uint64
	}{
		{core.Holdings{Pending: 1000, OpenBytes: 600_000, Landmarks: 5000}, 10, "1000 pending accesses of operations. The rest was not analysed; complete operations more often", 1000},
		{core.Holdings{Separate: 1000, StampBytes: 4000, Pending: 5000, OpenBytes: 3_000_000}, 10, "1000 separate regions with their timestamps. The rest was not analysed; let all processes synchronize", 1000},
		{core.Holdings{Landmarks: 1_000_000, Pending: 5000, OpenBytes: 3_000_000}, 10, "1000000 calls that lock, flush or complete. ", 1_000_000},
		{core.Holdings{Accesses: 1_000_000, Pending: 5000, OpenBytes: 3_000_000}, 10, "1000000 accesses. ", 1_000_000},
		{core.Holdings{Accesses: 1000, Pending: 1000, OpenBytes: 600_000}, 500, "500 findings. ", 500},
	} {
		r, err := start(context.Background(), dir, Options{})
		require.NoError(t, err)
		r.found.Store(c.found)
		d := r.tooLarge(c.held)
		require.Contains(t, d.Text, c.want)
		require.Equal(t, c.count, d.Count)
		require.Contains(t, d.Text, "that it may take: most of it is for "+strconv.Itoa(int(c.count)))
		r.opts.Heap = 1 << 40 // which that does not fill
		require.Contains(t, r.tooLarge(c.held).Text, "most of it is for reading, replaying and searching, and of what grows most (")
		require.Contains(t, r.tooLarge(c.held).Text, c.want)
		r.close()
	}
}
