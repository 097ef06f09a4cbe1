package analysis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "2/8": {2, 8}, "8/8": {8, 8}} {
		s, err := ParseShard(text)
		require.NoError(t, err)
		require.Equal(t, want, s)
	}
	for _, text := range []string{"", "1", "0/2", "3/2", "-1/2", "1/0", "a/b", "1/2/3", "1/2000000"} {
		_, err := ParseShard(text)
		require.ErrorIs(t, err, ErrShard, text)
	}
}

// inParts analyses traces in n parts and joins them, by way of files. Whether
// parts are processes is as opts.part says.
func inParts(t *testing.T, files [][]byte, opts Options, n int) *Result {
	t.Helper()
	dir := t.TempDir()
	var parts []*Partial
	for i := range n {
		s := Shard{i + 1, n}
		opts.part.Index, opts.part.Of = i, n
		p, err := runInMemory(t, files, opts).partial(s)
		require.NoError(t, err)
		path := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, p.WriteFile(path))
		p, err = ReadPartial(path, "")
		require.NoError(t, err)
		parts = append(parts, p)
	}
	rand.Shuffle(n, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	res, err := MergePartials(parts, 0)
	require.NoError(t, err)
	return res
}

// TestPartsWithFiles: that a conflict is one whatever collective calls on files have ordered
// is known where only one of the parts has come to it.
func TestPartsWithFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a race that none of them orders", "one place is ordered, the other is not", "they cannot all have ordered"} {
		files := scenarioFiles(t, "file_calls.txtar", name)
		whole := inMemory(t, files, evc.Encoded, 1)
		for n := 1; n <= 3; n++ {
			require.Equal(t, whole, inParts(t, files, Options{Clock: evc.Encoded, Jobs: 1}, n), "%s, %d parts", name, n)
		}
	}
}

// TestParts: an analysis in parts finds the same as one in a whole, whatever
// the options, and wherever memory lies; phases included.
func TestParts(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range int64(min(programs(t)/20, 400)) {
		p := oracle.Generate(seed, oracle.Options{Calls: 40 + int(seed%100)})
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		base := make([]uint64, len(p.Base))
		for i := range base {
			base[i] = uint64(r.IntN(1 << 20)) // across the borders of blocks
		}
		p = p.MoveMemory(base)
		files, err := p.Files()
		require.NoError(t, err)
		opts := Options{
			Clock: []string{evc.Encoded, evc.Vector, evc.Auto}[r.IntN(3)], Jobs: 1, Predict: r.IntN(2) == 0,
			MemoryModel: []MemoryModel{ModelAuto, ModelUnified, ModelSeparate}[r.IntN(3)],
			phase:       r.IntN(30), turn: r.IntN(5),
		}
		want := inMemoryWith(t, files, opts)
		found += len(want.Findings)
		n := 1 + r.IntN(4)
		opts.part.Processes = r.IntN(2) == 0
		require.Equal(t, want, inParts(t, files, opts, n), "seed %d, %d parts, %+v:\n%s", seed, n, opts, p)
	}
	require.Greater(t, found, 10)
}

// A part has a block or it has not; every byte is in one part.
func TestPartsOfMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		n := 1 + r.IntN(9)
		owner, lo := int32(r.IntN(20)), r.Uint64N(1<<24)
		hi := lo + 1 + r.Uint64N(1<<19)
		parts := 0
		for i := range n {
			p := regions.Part{Index: i, Of: n}
			if p.Has(owner, lo) {
				parts++
			}
			touches := p.Has(owner, lo) || p.Has(owner, hi-1)
			for at := lo; at < hi; at += 1 << 12 {
				touches = touches || p.Has(owner, at)
			}
			require.Equal(t, touches, p.Touches(owner, lo, hi), "%v, process %d, [%x, %x)", p, owner, lo, hi)
		}
		require.Equal(t, 1, parts)
	}
}

func twoParts(t *testing.T) []*Partial {
	t.Helper()
	files, err := oracle.Generate(1, oracle.Options{}).Files()
	require.NoError(t, err)
	var parts []*Partial
	for i := range 2 {
		p, err := runInMemory(t, files, Options{Clock: evc.Vector, part: regions.Part{Index: i, Of: 2}}).partial(Shard{i + 1, 2})
		require.NoError(t, err)
		p.Path = fmt.Sprintf("part-%d", i+1)
		parts = append(parts, p)
	}
	return parts
}

func TestPartsThatAreNoWhole(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p []*Partial) []*Partial
		want   string
	}{
		{"none", func([]*Partial) []*Partial { return nil }, "none"},
		{"the first is missing", func(p []*Partial) []*Partial { return p[1:] }, "missing 1/2"},
		{"the last is missing", func(p []*Partial) []*Partial { return p[:1] }, "missing 2/2"},
		{"one twice", func(p []*Partial) []*Partial { return append(p, p[0]) }, "part-1 and part-1 are both part 1/2"},
		{"other run", func(p []*Partial) []*Partial { p[1].Run = "ff"; return p }, "different runs"},
		{"other number", func(p []*Partial) []*Partial { p[1].Shard.Of = 3; return p }, "different numbers of parts (2 and 3)"},
		{"other options", func(p []*Partial) []*Partial { p[1].Options.Predict = true; return p }, "--memory-model auto --predict"},
		{"other traces", func(p []*Partial) []*Partial { p[1].Basis.Calls++; return p }, "different traces"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := MergePartials(tt.change(twoParts(t)), 0)
			require.ErrorIs(t, err, ErrParts)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestDamagedPart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "part")
	p := twoParts(t)[0]
	p.Version = "v1"
	require.NoError(t, p.WriteFile(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = ReadPartial(path, "v2")
	require.ErrorIs(t, err, ErrPartial)
	require.ErrorContains(t, err, "written by version v1")
	for _, data := range [][]byte{nil, []byte("text"), whole[:len(whole)-1], whole[:len(whole)/2], append([]byte{0}, whole...)} {
		require.NoError(t, os.WriteFile(path, data, 0o644))
		_, err := ReadPartial(path, "v1")
		require.ErrorIs(t, err, ErrPartial)
		require.ErrorContains(t, err, path)
	}
	require.Error(t, p.WriteFile(filepath.Join(dir, "no", "part")))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "temporary files stay")
}

// An analysis that is interrupted tells what it had found by then.
func TestInterrupted(t *testing.T) {
	run := scenario.NewTrace(2)
	run.Every().Call(1, "win_create", nil)
	for range 40 {
		run.Every().Call(10, "fence", nil)
		run.Rank(0).Call(11, "put", scenario.Args{"to": 1})
		run.Rank(1).Access(20, trace.Access{Store: true, Addr: 0x1000, Size: 4})
	}
	run.Every().Call(12, "fence", nil)
	files := traceFiles(t, run)
	whole := inMemory(t, files, evc.Encoded, 1)
	require.Equal(t, Race, whole.Verdict)

	ctx, cancel := context.WithCancel(context.Background())
	at := 0
	r := runInMemory(t, files, Options{Clock: evc.Encoded, Jobs: 1, Progress: func(p Progress) {
		if at = p.Regions; at == 10 {
			cancel()
		}
	}})
	r.ctx = ctx
	res, err := r.result()
	require.NoError(t, err)
	require.True(t, res.Interrupted)
	require.Equal(t, 10, res.Basis.Regions)
	require.Len(t, res.Caveats, 1)
	require.Equal(t, Interrupted, res.Caveats[0].Kind)
	require.Contains(t, res.Caveats[0].Text, "after 10 concurrent regions")

	_, err = RunShard(ctx, t.TempDir(), Shard{1, 2}, Options{})
	require.Error(t, err)
	r = runInMemory(t, files, Options{Clock: evc.Encoded, part: regions.Part{Of: 2}})
	r.ctx = ctx
	_, err = r.partial(Shard{1, 2})
	require.ErrorIs(t, err, context.Canceled, "half a part is none")
}

// TestPartsOfSharedMemory: loads and stores in the memory of another process are
// not passed over by the part that has that memory.
func TestPartsOfSharedMemory(t *testing.T) {
	run := scenario.NewTrace(2)
	for rank := range 2 { // each part lies elsewhere in each process
		run.Rank(rank).Call(1, "win_allocate_shared", scenario.Args{"baseptr": 0x10000 * (1 + rank)})
		run.Rank(rank).Call(1, "mcchk_Shared_segment", scenario.Args{"rank": 1 - rank, "base": 0x90000 + 0x10000*rank})
	}
	run.Rank(0).Access(3, trace.Access{Store: true, Addr: 0x90008, Size: 4}) // in the part of rank 1
	run.Rank(1).Access(9, trace.Access{Addr: 0x20008, Size: 4})
	files := traceFiles(t, run)
	opts := Options{Clock: evc.Encoded, Jobs: 1}
	want := inMemoryWith(t, files, opts)
	require.Len(t, want.Findings, 1)
	require.Equal(t, want, inParts(t, files, opts, 2))
	opts.part.Processes = true
	require.Equal(t, want, inParts(t, files, opts, 2))

	// What asks for the order of calls alone needs none of them.
	observe(t, files)
}

// observe replays a run for an Observer, from a directory.
func observe(t *testing.T, files [][]byte) {
	t.Helper()
	dir := t.TempDir()
	for rank, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", rank)), data, 0o600))
	}
	require.NoError(t, Observe(t.Context(), dir, unheeding{}))
}

// unheeding is an Observer to whom everything is the same.
type unheeding struct{}

func (unheeding) Call(*core.ObservedCall)         {}
func (unheeding) Signal(int32) core.Mark          { return nil }
func (unheeding) Meet(core.Mark, int32) core.Mark { return nil }
func (unheeding) Wait(int32, core.Mark)           {}
func (unheeding) Over(int32)                      {}
func (unheeding) Interval(*core.ObservedInterval) {}
func (unheeding) Region(int)                      {}

// TestPartsOfCutTraces: a trace that was cut is taken as far as it goes, by all
// parts alike.
func TestPartsOfCutTraces(t *testing.T) {
	dir := t.TempDir()
	const ranks = 4
	_, err := synth.Generate(t.Context(), dir, synth.Config{Pattern: "halo", Ranks: ranks, Accesses: 120_000, Races: 3})
	require.NoError(t, err)
	files := make([][]byte, ranks)
	for i := range files {
		files[i], err = os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", i)))
		require.NoError(t, err)
	}
	whole := files[1]
	for n := 5000; n < len(whole); n += len(whole) / 15 {
		files[1] = whole[:n]
		opts := Options{Clock: evc.Encoded, Jobs: 1}
		want := inMemoryWith(t, files, opts)
		require.NotEmpty(t, want.Caveats)
		for _, processes := range []bool{true, false} {
			opts.part.Processes = processes
			require.Equal(t, want, inParts(t, files, opts, 2), "%d bytes, by process: %t", n, processes)
		}
	}
}

// TestMergeWithLittleMemory: where findings of all conflicts do not fit, the first are
// reported, and the caveat counts the others.
func TestMergeWithLittleMemory(t *testing.T) {
	parts := twoParts(t)
	all, err := MergePartials(parts, 0)
	require.NoError(t, err)
	n := len(conflicts.Join(parts[0].Groups, parts[1].Groups))
	require.Greater(t, n, 1)
	some, err := MergePartials(parts, 100*(findingBytes/heapShare+1))
	require.NoError(t, err)
	require.Len(t, some.Findings, 1)
	require.Len(t, some.Caveats, len(all.Caveats)+1)
	left := some.Caveats[len(some.Caveats)-1]
	require.Equal(t, TooLarge, left.Kind)
	require.EqualValues(t, n-1, left.Count)
}
