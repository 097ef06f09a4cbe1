package intervals

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func bytesOf(r Run) map[uint64]bool {
	m := map[uint64]bool{}
	for k := range r.Count {
		for b := range r.Size {
			m[r.Lo+k*r.Stride+b] = true
		}
	}
	return m
}

func randomRun(rng *rand.Rand) Run {
	size := 1 + rng.Uint64N(6)
	return Strided(rng.Uint64N(120), size, 1+rng.Uint64N(25), 1+rng.Uint64N(12))
}

func TestMeetAgainstBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	met, missedBoxes := 0, 0
	for range 200_000 {
		a, b := randomRun(rng), randomRun(rng)
		ba, bb := bytesOf(a), bytesOf(b)
		want := false
		for x := range ba {
			want = want || bb[x]
		}
		lo, hi, ok := Meet(a, b)
		require.Equal(t, want, ok, "%v %v", a, b)
		if ok {
			met++
			require.Less(t, lo, hi)
			for x := lo; x < hi; x++ {
				require.True(t, ba[x] && bb[x], "%v %v: byte %d of [%d,%d)", a, b, x, lo, hi)
			}
		} else if a.Lo < b.Hi() && b.Lo < a.Hi() {
			missedBoxes++
		}
	}
	require.Greater(t, met, 10_000)
	require.Greater(t, missedBoxes, 10_000, "too few interleaved runs to mean anything")
}

func TestMeetLargeStrides(t *testing.T) {
	const ld = 4096 * 8
	column := func(c uint64) Run { return Strided(0x7f0000000000+8*c, 8, ld, 4096) }
	_, _, ok := Meet(column(3), column(4))
	require.False(t, ok)
	lo, hi, ok := Meet(column(3), column(3))
	require.True(t, ok)
	require.Equal(t, []uint64{0x7f0000000018, 0x7f0000000020}, []uint64{lo, hi})
	// Strides that share no factor meet only far in.
	a := Strided(1<<40, 1, 1_000_003, 1_000_000)
	b := Strided(1<<40+1, 1, 1_000_033, 1_000_000)
	lo, _, ok = Meet(a, b)
	require.True(t, ok)
	require.Zero(t, (lo-a.Lo)%a.Stride)
	require.Zero(t, (lo-b.Lo)%b.Stride)
}

func TestLayout(t *testing.T) {
	vector := func(count, block, stride uint64) *Layout {
		runs := make([]Run, 0, count)
		for k := range count {
			runs = append(runs, Solid(k*stride, k*stride+block))
		}
		return NewLayout(runs)
	}
	require.Equal(t, []Run{{Lo: 0, Size: 4, Stride: 16, Count: 10}}, vector(10, 4, 16).Runs())
	require.Equal(t, []Run{Solid(0, 40)}, vector(10, 4, 4).Runs())
	require.Equal(t, []Run{Solid(0, 40)}, NewLayout([]Run{Solid(0, 4)}).Repeat(10, 4).Runs())
	require.Equal(t, []Run{{Lo: 0, Size: 4, Stride: 8, Count: 10}}, NewLayout([]Run{Solid(0, 4)}).Repeat(10, 8).Runs())
	neg := NewLayout([]Run{Solid(0, 4)}).Repeat(3, -8)
	lo, hi := neg.Bounds(100)
	require.Equal(t, []uint64{84, 104}, []uint64{lo, hi})
	require.True(t, vector(5, 4, 8).Repeat(0, 4).IsEmpty())
	require.EqualValues(t, 40, vector(10, 4, 16).Bytes())
	cols := Join(vector(3, 4, 12), vector(3, 4, 12).Shifted(4))
	require.EqualValues(t, 24, cols.Bytes())
	_, _, ok := MeetLayouts(0, cols, 8, vector(3, 4, 12))
	require.False(t, ok)
	lo, hi, ok = MeetLayouts(0, cols, 2, vector(3, 4, 12))
	require.True(t, ok)
	require.Equal(t, []uint64{2, 4}, []uint64{lo, hi})
}

func TestIndexAgainstScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var x Index
	for range 2_000 {
		n := rng.IntN(60)
		ranges := make([]Range, n)
		for i := range ranges {
			lo := rng.Uint64N(200)
			ranges[i] = Range{Lo: lo, Hi: lo + 1 + rng.Uint64N(1+rng.Uint64N(100)), ID: int32(i)}
		}
		all := slices.Clone(ranges)
		x.Build(ranges)
		require.Equal(t, n, x.Len())
		for range 20 {
			lo := rng.Uint64N(320)
			hi := lo + 1 + rng.Uint64N(30)
			var want, got []int32
			for _, r := range all {
				if r.Lo < hi && lo < r.Hi {
					want = append(want, r.ID)
				}
			}
			x.Overlapping(lo, hi, func(id int32) bool { got = append(got, id); return true })
			slices.Sort(got)
			require.Equal(t, want, got)
		}
	}
}

// A layout is told to have elements in one place where its bytes, listed one by one, are fewer
// than those that it was made of; with bases below and above 0.
func TestOverlapsAgainstBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	found := 0
	for range 20_000 {
		var runs []Run
		data, bytes := uint64(0), map[uint64]bool{}
		for range 1 + rng.IntN(4) {
			size, stride, count := 1+rng.Uint64N(4), 1+rng.Uint64N(20), 1+rng.Uint64N(6)
			r := Run{Lo: rng.Uint64N(100) - 50, Size: size, Stride: stride, Count: count}
			data += size * count
			for b := range bytesOf(r) {
				bytes[b] = true
			}
			runs = append(runs, Strided(r.Lo, size, stride, count))
		}
		overlap := uint64(len(bytes)) < data
		if overlap {
			found++
		}
		require.Equal(t, overlap, NewLayout(slices.Clone(runs)).Overlaps(data), "%v", runs)
	}
	require.Greater(t, found, 1000)
	require.Less(t, found, 19_000)
}

func TestClipAgainstBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	all := func(base uint64, l *Layout) map[uint64]bool {
		m := map[uint64]bool{}
		for _, r := range l.Runs() {
			for b := range bytesOf(r.Shift(base)) {
				m[b] = true
			}
		}
		return m
	}
	for range 50_000 {
		l := NewLayout([]Run{randomRun(rng)})
		base := rng.Uint64N(100)
		lo := rng.Uint64N(300)
		hi := lo + 1 + rng.Uint64N(80)
		in, out := map[uint64]bool{}, map[uint64]bool{}
		for b := range all(base, l) {
			if b >= lo && b < hi {
				in[b] = true
			} else {
				out[b] = true
			}
		}
		require.Equal(t, in, all(base, l.Within(base, lo, hi)), "%v at %d in [%d,%d)", l.Runs(), base, lo, hi)
		require.Equal(t, out, all(base, l.Without(base, lo, hi)), "%v at %d outside of [%d,%d)", l.Runs(), base, lo, hi)
	}
}

// Bytes of random nested sequences, and the first of them, lie where they do when
// they are listed one by one.
func TestSequenceAgainstLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	type listed struct {
		seq   *Sequence
		bytes []int64
	}
	backward := 0
	for range 5_000 {
		n := 1 + rng.Uint64N(4)
		one := listed{seq: Ascending(Solid(0, n))}
		for b := range n {
			one.bytes = append(one.bytes, int64(b))
		}
		for range 1 + rng.IntN(3) {
			var parts []Part
			var bytes []int64
			at := int64(0)
			for range 1 + rng.IntN(3) {
				p := Part{Of: one.seq, At: at, Count: rng.Uint64N(4), Step: rng.Int64N(24) - 8}
				for k := range p.Count {
					for _, b := range one.bytes {
						bytes = append(bytes, at+int64(k)*p.Step+b)
					}
				}
				parts = append(parts, p)
				at += rng.Int64N(60) - 20
			}
			one = listed{Chain(parts...), bytes}
		}
		if !slices.IsSorted(one.bytes) {
			backward++
		}
		for _, limit := range []int{0, rng.IntN(len(one.bytes) + 1), len(one.bytes), len(one.bytes) + 1} {
			got, want := map[int64]bool{}, map[int64]bool{}
			for _, r := range one.seq.First(uint64(limit)).Runs() {
				for k := range r.Count {
					for b := range r.Size {
						got[int64(r.Lo+k*r.Stride+b)] = true
					}
				}
			}
			for _, b := range one.bytes[:min(limit, len(one.bytes))] {
				want[b] = true
			}
			require.Equal(t, want, got, "the first %d of %v", limit, one.bytes)
		}
	}
	require.Greater(t, backward, 1_000)
	require.Less(t, backward, 4_900)
}
