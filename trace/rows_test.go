package trace

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// folded returns the stretches of accesses that follow one another.
func folded(accesses []Access) []Stretch {
	var all []Stretch
	var f folder
	for i := range accesses {
		a := &accesses[i]
		if n := len(all); n > 0 && all[n-1].Len < MaxLen && len(all[n-1].Rows) < MaxStretch {
			raw, err := appendAccess(nil, a)
			if err != nil {
				panic(err)
			}
			if s := &all[n-1]; f.period == 0 || f.follow(raw, s) == 0 {
				f.add(a, s)
			}
			continue
		}
		all = append(all, StretchOf(a))
		f.begin(all[len(all)-1].Rows)
	}
	return all
}

// TestFold: rows are the accesses that they were made of, in their order, with
// the number of each, and bounds that hold them.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		accesses := drawLoops(t)
		var got []Access
		for _, s := range folded(accesses) {
			byNumber := make([]*Access, s.Len)
			loads, stores := uint64(0), uint64(0)
			for i := range s.Rows {
				r := &s.Rows[i]
				lo, hi := r.Bounds()
				for k := range int(r.N) {
					a := r.Access(k)
					require.Nil(t, byNumber[r.Number(k)])
					byNumber[r.Number(k)] = &a
					require.LessOrEqual(t, lo, a.Addr)
					require.LessOrEqual(t, a.End(), hi)
					one := r.Part(k, k+1)
					require.Equal(t, a, one.Access(0))
					if a.Store {
						stores += a.Count
					} else {
						loads += a.Count
					}
				}
				require.LessOrEqual(t, s.Lo, lo)
				require.LessOrEqual(t, hi, s.Hi)
			}
			require.Equal(t, s.Loads, loads)
			require.Equal(t, s.Stores, stores)
			for _, a := range byNumber {
				got = append(got, *a)
			}
			require.Equal(t, got[len(got)-s.Len:], slices.Collect(InOrder(s.Rows)))
		}
		require.Equal(t, accesses, got)
	})
}

// TestWithin: no access that reaches into a range is left out, and at most the
// pitch and the length of an access decide what is taken besides.
func TestWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range folded(drawLoops(t)) {
			lo := rapid.Uint64Range(500, 6000).Draw(t, "lo")
			hi := lo + rapid.Uint64Range(1, 300).Draw(t, "length")
			for i := range s.Rows {
				r := &s.Rows[i]
				from, to := r.Within(lo, hi)
				for k := range int(r.N) {
					a := r.Access(k)
					require.Equal(t, a.Addr < hi && lo < a.End(), from <= k && k < to, "access %d of %+v, [%d, %d)", k, *r, lo, hi)
				}
			}
		}
	})
}

// drawLoops draws accesses, most of which a loop makes.
func drawLoops(t *rapid.T) []Access {
	draw := func() Access {
		a := Access{
			Addr: rapid.Uint64Range(1000, 5000).Draw(t, "address"), Size: rapid.SampledFrom([]uint32{1, 4, 8}).Draw(t, "size"),
			Stack: rapid.Uint32Range(1, 70).Draw(t, "stack"), Store: rapid.Bool().Draw(t, "store"), Count: 1,
		}
		if rapid.Bool().Draw(t, "run") {
			a.Count, a.Stride = rapid.Uint64Range(2, 9).Draw(t, "count"), rapid.Int64Range(1, 20).Draw(t, "stride")
		}
		return a
	}
	var all []Access
	for range rapid.IntRange(1, 8).Draw(t, "loops") {
		n := rapid.IntRange(1, 7).Draw(t, "accesses")
		round, pitch := make([]Access, n), make([]int64, n)
		for i := range round {
			round[i] = draw()
			pitch[i] = rapid.SampledFrom([]int64{0, 8, 100, -8, 64}).Draw(t, "pitch")
		}
		for k := range rapid.IntRange(1, 10).Draw(t, "rounds") {
			for i, a := range round {
				if a.Addr += uint64(int64(k) * pitch[i]); k > 2 && rapid.IntRange(0, 40).Draw(t, "leap") == 0 {
					a.Addr += 3
				}
				all = append(all, a)
			}
		}
	}
	return all
}

// TestFoldLoop: the accesses of a loop over rows are one Rows for each place.
func TestFoldLoop(t *testing.T) {
	var accesses []Access
	for row := range uint64(1000) {
		for place := range uint32(5) {
			accesses = append(accesses, Access{
				Addr: 1<<20*uint64(place*place+1) + 4096*row, Stride: 8, Count: 500, Size: 8, Stack: 7 * (place / 3), Store: place == 4,
			})
		}
	}
	all := folded(accesses)
	require.Len(t, all, 1)
	require.Len(t, all[0].Rows, 5)
	for i, r := range all[0].Rows {
		require.EqualValues(t, 1000, r.N)
		require.EqualValues(t, 5, r.Every)
		require.EqualValues(t, i, r.At)
	}
}

// TestRowsOfBatch: a Batch has room for as many rows as are there, however many it may have.
func TestRowsOfBatch(t *testing.T) {
	for _, n := range []int{3, 1000} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Header{Ranks: 1})
		require.NoError(t, err)
		var want []Access
		for i := range uint64(n) {
			a := Access{Addr: 8 * i * i, Stride: 4, Count: 2, Size: 2, Stack: 1}
			want = append(want, a)
			require.NoError(t, w.Access(&a))
		}
		require.NoError(t, w.Close())
		r, err := NewReader(&out, "small")
		require.NoError(t, err)
		var b Batch
		r.ReadBatch(&b, 4000)
		var got []Access
		for i := range b.Items {
			got = slices.AppendSeq(got, InOrder(b.Items[i].Stretch.Rows))
		}
		require.Equal(t, want, got)
		require.Less(t, cap(b.rows), 3*(n+MaxStretch))
	}
}
