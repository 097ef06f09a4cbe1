package intervals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// listSet is a Set as a list, in the order of adding.
type listSet []*Entry[int]

func (l listSet) where(has func(*Entry[int]) bool) []int {
	out := []int{}
	for _, e := range l {
		if has(e) {
			out = append(out, e.Value)
		}
	}
	return out
}

func (l listSet) overlapping(lo, hi uint64) []int {
	return l.where(func(e *Entry[int]) bool { return max(e.Lo, lo) < min(e.Hi, hi) })
}

func values(found []*Entry[int]) []int {
	out := []int{}
	for _, e := range found {
		out = append(out, e.Value)
	}
	return out
}

// TestSetAgainstList: whatever comes and goes, answers are those of a list. The
// addresses are few, so that ranges touch, overlap and are equal, or have no
// bytes; in every third set they end where addresses do.
func TestSetAgainstList(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	trees, equal, empty, found := 0, 0, 0, 0
	for round := range 150 {
		var s Set[int]
		var all listSet
		space := 1 + rng.Uint64N(300)
		base := uint64(0)
		if round%3 == 0 {
			base = math.MaxUint64 - space
		}
		most := 1 + rng.IntN(4*maxWaiting)
		adds := 1 + rng.IntN(9)
		for range 3_000 {
			lo := base + rng.Uint64N(space+1)
			hi := lo + rng.Uint64N(min(math.MaxUint64-lo, 1+rng.Uint64N(40))+1)
			switch action := rng.IntN(14); {
			case action < adds && len(all) < most:
				e := &Entry[int]{Lo: lo, Hi: hi, Value: rng.Int()}
				if rng.IntN(50) == 0 {
					e.Lo, e.Hi = hi, lo // no bytes either
				}
				if e.Lo >= e.Hi {
					empty++
				}
				if slices.ContainsFunc(all, func(x *Entry[int]) bool { return x.Lo == e.Lo && x.Hi == e.Hi }) {
					equal++
				}
				s.Add(e)
				all = append(all, e)
			case action < 9 && len(all) > 0:
				i := rng.IntN(len(all))
				e := all[i]
				all = slices.Delete(all, i, i+1)
				s.Remove(e)
				s.Remove(e) // is not there any more
				if rng.IntN(2) == 0 {
					s.Add(e)
					all = append(all, e)
				}
			case action == 9 && rng.IntN(10) == 0:
				odd := func(v int) bool { return v%5 == 0 }
				s.RemoveFunc(odd)
				all = slices.DeleteFunc(all, func(e *Entry[int]) bool { return odd(e.Value) })
			case action == 10:
				require.Equal(t, all.where(func(e *Entry[int]) bool { return e.Lo == lo }), values(s.Starting(lo)))
			case action > 10:
				want := all.overlapping(lo, hi)
				require.Equal(t, want, values(s.Overlapping(lo, hi)), "[%d, %d)", lo, hi)
				found += len(want)
				if s.planted > 0 && len(s.waiting) > 0 {
					trees++
				}
			}
			require.Equal(t, len(all), s.Len())
		}
		require.Equal(t, all.where(func(e *Entry[int]) bool { return e.Lo < e.Hi }), values(s.Overlapping(0, math.MaxUint64)))
	}
	require.Greater(t, trees, 10_000, "questions to sets with entries in the tree and others that wait")
	require.Greater(t, equal, 1_000)
	require.Greater(t, empty, 1_000)
	require.Greater(t, found, 100_000)
}

// TestSetKeepsWhatIsFound: what was found may be taken out while it is looked at.
func TestSetKeepsWhatIsFound(t *testing.T) {
	for _, n := range []int{3, 3 * maxWaiting} {
		var s Set[int]
		for i := range n {
			s.Add(&Entry[int]{Lo: 8, Hi: 16, Value: i})
			if i == n/2 {
				s.plant()
			}
		}
		next := 0
		for _, e := range s.Overlapping(15, 16) {
			require.Equal(t, next, e.Value)
			next++
			s.Remove(e)
		}
		require.Equal(t, n, next)
		require.Zero(t, s.Len())
		require.Empty(t, s.Overlapping(0, math.MaxUint64))
	}
}

// BenchmarkSet compares a Set, its tree alone, an Index and a list: a question
// for bytes that one range holds, and for some that none holds; a range that
// goes and comes back between two questions; and all ranges of a set that is new.
func BenchmarkSet(b *testing.B) {
	for _, n := range []int{1, 8, 32, 64, 512, 4096} {
		const each = 128 // bytes from one range to the next, of which half are in it
		var set, tree Set[int]
		var list []*Entry[int]
		for i := range n {
			lo := uint64(i) * each
			set.Add(&Entry[int]{Lo: lo, Hi: lo + each/2, Value: i})
			tree.Add(&Entry[int]{Lo: lo, Hi: lo + each/2, Value: i})
			list = append(list, &Entry[int]{Lo: lo, Hi: lo + each/2, Value: i})
		}
		tree.plant()
		ranges := make([]Range, n)
		build := func(index *Index) {
			for i, e := range list {
				ranges[i] = Range{e.Lo, e.Hi, int32(i)}
			}
			index.Build(ranges)
		}
		var index Index
		build(&index)
		inIndex := func(lo, hi uint64) (found int) {
			index.Overlapping(lo, hi, func(int32) bool { found++; return true })
			return found
		}
		scan := func(lo, hi uint64) (found int) {
			for _, e := range list {
				if e.Lo < hi && lo < e.Hi {
					found++
				}
			}
			return found
		}
		rng := rand.New(rand.NewPCG(11, 12))
		ask := func(name string, past uint64, question func(lo, hi uint64) int) {
			want := 1
			if past > 0 {
				want = 0
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					lo := uint64(rng.IntN(n))*each + past
					if question(lo, lo+8) != want {
						b.Fatal("not what is there")
					}
				}
			})
		}
		inSet := func(s *Set[int]) func(lo, hi uint64) int {
			return func(lo, hi uint64) int { return len(s.Overlapping(lo, hi)) }
		}
		ask("hit/list", 0, scan)
		ask("hit/set", 0, inSet(&set))
		ask("hit/tree", 0, inSet(&tree))
		ask("hit/index", 0, inIndex)
		ask("miss/list", each/2, scan)
		ask("miss/set", each/2, inSet(&set))
		ask("miss/tree", each/2, inSet(&tree))
		ask("miss/index", each/2, inIndex)
		b.Run(fmt.Sprintf("change/list/%d", n), func(b *testing.B) {
			for b.Loop() {
				i := rng.IntN(n)
				e := list[i]
				list = append(slices.Delete(list, i, i+1), e)
				scan(e.Lo, e.Hi)
			}
		})
		change := func(s *Set[int]) func(b *testing.B) {
			return func(b *testing.B) {
				for b.Loop() {
					lo := uint64(rng.IntN(n)) * each
					e := s.Overlapping(lo, lo+8)[0]
					s.Remove(e)
					s.Add(e)
				}
			}
		}
		b.Run(fmt.Sprintf("change/set/%d", n), change(&set))
		b.Run(fmt.Sprintf("build/tree/%d", n), func(b *testing.B) {
			entries := make([]Entry[int], n)
			for b.Loop() {
				var s Set[int]
				for i := range entries {
					entries[i] = Entry[int]{Lo: uint64(i) * each, Hi: uint64(i)*each + each/2}
					s.Add(&entries[i])
				}
				s.plant()
			}
		})
		b.Run(fmt.Sprintf("build/index/%d", n), func(b *testing.B) {
			for b.Loop() {
				build(&index)
			}
		})
	}
}
