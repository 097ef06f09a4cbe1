package analysis

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// TestMapsOfFixtures: who touched which bytes, as the programs say.
func TestMapsOfFixtures(t *testing.T) {
	write := func(rank int, runs ...Bytes) Track { return Track{Rank: rank, Kind: regions.Write, Runs: runs} }
	tests := []struct {
		fixture string
		owner   int
		want    []Track
	}{
		{"jacobi_halo_wrong", 0, []Track{ // 16 cells of 8 bytes between two of the neighbours
			{Rank: 0, Kind: regions.Read, Runs: []Bytes{{0, 144}}}, write(0, Bytes{8, 136}), write(1, Bytes{136, 144}),
		}},
		{"jacobi_halo_wrong", 1, []Track{
			{Rank: 1, Kind: regions.Read, Runs: []Bytes{{0, 144}}}, write(1, Bytes{8, 136}), write(0, Bytes{0, 8}), write(2, Bytes{136, 144}),
		}},
		{"column_puts_wrong", 0, []Track{ // a matrix of 4 by 8 numbers: two columns each, of which one is the same
			write(1, Bytes{4, 12}, Bytes{36, 44}, Bytes{68, 76}, Bytes{100, 108}),
			write(2, Bytes{8, 16}, Bytes{40, 48}, Bytes{72, 80}, Bytes{104, 112}),
		}},
		{"accumulate_ops_wrong", 0, []Track{
			{Rank: 1, Kind: regions.AtomicWrite, Runs: []Bytes{{0, 4}}}, {Rank: 2, Kind: regions.AtomicWrite, Runs: []Bytes{{0, 4}}},
		}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.fixture, " ", test.owner), func(t *testing.T) {
			pictures := drawn(t, test.fixture, Options{})
			require.Len(t, pictures.Windows, 1)
			for _, part := range pictures.Windows[0].Parts {
				if part.Owner == test.owner {
					require.Equal(t, PartMap{Owner: test.owner, Cell: 1, Tracks: test.want}, part)
					return
				}
			}
			require.Fail(t, "no such part")
		})
	}
}

func drawn(t *testing.T, fixture string, opts Options) *Pictures {
	t.Helper()
	res, err := Run(t.Context(), filepath.Join("..", "fixtures", "traces", fixture), Options{})
	require.NoError(t, err)
	pictures, err := Draw(t.Context(), res, opts)
	require.NoError(t, err)
	require.Len(t, pictures.Lattices, len(res.Findings))
	return pictures
}

// TestMapsDoNotDependOnPhases: however regions are cut into phases.
func TestMapsDoNotDependOnPhases(t *testing.T) {
	for _, fixture := range []string{"jacobi_halo_wrong", "pingpong_flush_wrong", "lock_barrier_wrong"} {
		want := drawn(t, fixture, Options{}).Windows
		require.Equal(t, want, drawn(t, fixture, Options{phase: 2, turn: 1}).Windows, fixture)
		require.Equal(t, want, drawn(t, fixture, Options{MaxMemory: 1 << 12}).Windows, fixture)
	}
}

func TestDrawOfOtherTraces(t *testing.T) {
	res, err := Run(t.Context(), filepath.Join("..", "fixtures", "traces", "jacobi_halo_wrong"), Options{})
	require.NoError(t, err)
	other := *res
	other.Directory = filepath.Join("..", "fixtures", "traces", "lock_barrier_wrong")
	_, err = Draw(t.Context(), &other, Options{})
	require.ErrorIs(t, err, ErrOtherRun)
	other.Directory = t.TempDir()
	_, err = Draw(t.Context(), &other, Options{})
	require.ErrorIs(t, err, trace.ErrNoTraces)
}

// TestTracksAgainstBytes: a part's tracks cover what was touched, tell it apart
// as finely as they say, and are bounded.
func TestTracksAgainstBytes(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := &partBuilder{kept: map[int32]bool{}, tracks: map[trackKey]*trackBuilder{}}
		span := uint64(1) << (2 + random.IntN(14))
		touched := map[trackKey]map[uint64]bool{}
		for range random.IntN(60) {
			rank, kind := int32(random.IntN(20)), regions.Kind(random.IntN(4))
			size := 1 + random.Uint64N(16)
			stride, count := size+random.Uint64N(40), 1+random.Uint64N(1+span/32)
			lo := random.Uint64N(span)
			track := p.track(rank, kind)
			track.add(lo, size, stride, count)
			if !p.kept[rank] {
				rank = OtherRanks
			}
			key := trackKey{rank, kind}
			if touched[key] == nil {
				touched[key] = map[uint64]bool{}
			}
			for n := range count {
				for k := range size {
					touched[key][lo+n*stride+k] = true
				}
			}
		}
		m := p.part(3)
		require.Len(t, m.Tracks, len(touched))
		require.LessOrEqual(t, len(p.kept), mapRanks)
		all := map[uint64]bool{}
		for _, track := range m.Tracks {
			bytes := touched[trackKey{int32(track.Rank), track.Kind}]
			want, got := map[uint64]bool{}, map[uint64]bool{}
			for b := range bytes {
				want[b/m.Cell], all[b/m.Cell] = true, true
			}
			last := uint64(0)
			for i, run := range track.Runs {
				require.True(t, i == 0 || run.Lo > last, "runs that touch")
				require.Zero(t, run.Lo%m.Cell+run.Hi%m.Cell)
				for c := run.Lo / m.Cell; c < run.Hi/m.Cell; c++ {
					got[c] = true
				}
				last = run.Hi
			}
			require.Equal(t, want, got, "seed %d, track of rank %d", seed, track.Rank)
		}
		require.LessOrEqual(t, len(all), mapCells)
	}
}

func TestTracksOfHugeRanges(t *testing.T) {
	p := &partBuilder{kept: map[int32]bool{}, tracks: map[trackKey]*trackBuilder{}}
	p.track(0, regions.Read).add(1<<40, 8, 1<<20, 1<<30)
	p.track(1, regions.Write).add(0, 1<<50, 0, 1)
	p.track(2, regions.Read).add(5, 1, 1<<63, 3)
	require.LessOrEqual(t, p.all.count(), uint64(mapCells))
}
