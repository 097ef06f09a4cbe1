package regions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
)

// TestStorageAgainstLists: what a region has after any sequence of what may be done
// to a Storage is what plain lists have, in memory or in files, and stays so until
// it is released, whatever becomes of other regions.
func TestStorageAgainstLists(t *testing.T) {
	for _, limit := range []int64{0, 1 << 11, 1 << 13} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			seen := tally{}
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, uint64(limit)))
				x := newExercise(t, rng, limit)
				for i := range 12 {
					x.phase()
					x.handOver(i == 11)
					for len(x.held) > 3 || len(x.held) > 0 && rng.IntN(3) == 0 {
						x.release(rng.IntN(len(x.held)))
					}
				}
				for len(x.held) > 0 {
					x.release(0)
				}
				require.NoError(t, x.s.Err())
				require.Zero(t, x.s.pool.held)
				seen.add(x)
			}
			t.Logf("%+v", seen)
			require.Equal(t, limit > 0, seen.spilled > 0)
			for _, n := range []int{seen.old, seen.series, seen.waiting, seen.locked, seen.dropped} {
				require.Greater(t, n, 100)
			}
		})
	}
}

// tally shows that the exercises were worth their time.
type tally struct {
	old, waiting, locked int // accesses of regions
	series               int // with several accesses
	dropped              int // accesses that are past
	spilled              uint64
}

func (y *tally) add(x *exercise) {
	y.old += x.seen.old
	y.waiting += x.seen.waiting
	y.locked += x.seen.locked
	y.series += x.seen.series
	y.dropped += x.seen.dropped
	y.spilled += x.s.Spilled().Accesses
}

// release compares a region with the lists, and gives it back.
func (x *exercise) release(i int) {
	h := x.held[i]
	x.held = slices.Delete(x.held, i, i+1)
	var room Scratch
	calls, err := h.AllCalls(&room)
	require.NoError(x, err)
	x.equal(h.calls, calls)
	require.Equal(x, len(h.calls), h.CallCount())
	x.compareSeries(&h, &room)
	var locals []*Access
	n := 0
	for rank := range int32(len(x.strands)) {
		locals = append(locals, h.localsIn(x, rank, 0, math.MaxUint64, &room)...)
		n += h.LocalCount(rank)
	}
	x.equal(h.locals, locals)
	require.Equal(x, len(h.locals), n)
	x.compareRange(&h, &room)
	h.Release()
}

// equal compares accesses with what they have to tell.
func (x *exercise) equal(want []fact, all []*Access) {
	x.Helper()
	var facts []fact
	for _, a := range all {
		facts = append(facts, factOf(a))
		if a.Old {
			x.seen.old++
		}
		if a.Locks != nil {
			x.seen.locked++
		}
	}
	slices.SortFunc(facts, inOrder)
	if !slices.Equal(want, facts) {
		for i := range min(len(want), len(facts)) {
			require.Equal(x, want[i], facts[i], "access %d", i)
		}
		require.Equal(x, len(want), len(facts))
	}
}

// localsIn returns the loads and stores of rooms that may come near [lo, hi).
func (h *heldRegion) localsIn(t require.TestingT, rank int32, lo, hi uint64, room *Scratch) (all []*Access) {
	var err error
	for stretches, old := range h.Stretches(rank, lo, hi, room, &err) {
		for i := range stretches {
			st := &stretches[i]
			for k := range st.Rows {
				for n := range int(st.Rows[k].N) {
					a := h.LocalAccess(rank, st, k, n)
					a.Old = old
					all = append(all, a)
				}
			}
		}
	}
	require.NoError(t, err)
	return all
}

// compareRange: what is in a range of addresses is never left out.
func (x *exercise) compareRange(h *heldRegion, room *Scratch) {
	lo := 1000 + 8*uint64(x.IntN(100))
	hi := lo + 16
	for rank := range int32(len(x.strands)) {
		near := map[uint64]bool{}
		for _, a := range h.localsIn(x, rank, lo, hi, room) {
			near[a.Call.Pos] = true
		}
		for _, f := range h.locals {
			if f.Rank == rank && f.Base < hi && lo < f.Base+f.Bytes {
				require.True(x, near[f.Pos])
			}
		}
	}
}

// compareSeries: series are in order of start and of end, and have the accesses that
// are not in Calls.
func (x *exercise) compareSeries(h *heldRegion, room *Scratch) {
	all := slices.Clone(h.Calls)
	for owner := range int32(len(x.strands)) {
		list, err := h.Series(owner, Slice{}, room)
		require.NoError(x, err)
		for i := range list {
			s := &list[i]
			if s.Len() > 1 {
				x.seen.series++
			}
			for k := range s.Len() {
				a := s.Access(k)
				var at Access
				s.Times(k, &at)
				require.Equal(x, []Point{a.Start, a.End}, []Point{at.Start, at.End})
				require.Equal(x, a.End.Line, s.EndLine())
				if k > 0 {
					b := s.Access(k - 1)
					require.True(x, b.Start.NotAfter(a.Start) && b.End.NotAfter(a.End))
				}
				all = append(all, a)
			}
		}
	}
	x.equal(h.calls, all)
}

// TestReleasedIsUsedAgain: what a released region took holds the next one, and what
// a region that is still held takes does not.
func TestReleasedIsUsedAgain(t *testing.T) {
	s := NewStorage(1, 0)
	region := func() (r *Region, room *room, call *Access, first *moment) {
		s.Begin()
		addLoads(s, 10)
		call = s.NewAccess()
		*call = Access{End: Point{Seg: Never}, Call: NewCallInfo(CallSite{}, 0)}
		s.Add(call)
		p := Point{Pos: 20}
		require.True(t, s.Settle(&Access{Role: testBuffer, Start: p, End: p, Call: NewCallInfo(CallSite{}, 20)}, nil))
		r = s.HandOver(true)
		r.First[0], r.Segments[0] = 0, []Segment{{}}
		return r, r.locals[0], call, &r.moments[0].chunks[0].moments[0]
	}
	first, room1, call1, moment1 := region()
	second, room2, call2, moment2 := region()
	require.NotSame(t, room1, room2)
	require.NotSame(t, call1, call2)
	require.NotSame(t, moment1, moment2)
	first.Release()
	s.slab = nil // what is given back comes before new room
	third, room3, call3, moment3 := region()
	require.Same(t, room1, room3)
	require.Same(t, call1, call3)
	require.Same(t, moment1, moment3)
	require.Equal(t, 10, third.LocalCount(0))
	require.Equal(t, 2, third.CallCount())
	require.Equal(t, 2, second.CallCount())
}

// TestReleasedOfManyIsUsedAgain: of a region of thousands of processes all is used again,
// too, though each has something in it.
func TestReleasedOfManyIsUsedAgain(t *testing.T) {
	const processes, segments = 8192, 16
	s := NewStorage(processes, 0)
	region := func() *Region {
		s.Begin()
		for rank := range int32(processes) {
			for range 5 {
				a := s.NewAccess()
				*a = Access{Owner: rank, Rank: rank, End: Point{Seg: Never}, Call: NewCallInfo(CallSite{}, 0)}
				s.Add(a)
			}
			p := Point{Line: rank, Pos: 20}
			require.True(t, s.Settle(&Access{Owner: rank, Rank: rank, Role: testBuffer, Start: p, End: p, Call: NewCallInfo(CallSite{}, 20)}, nil))
		}
		r := s.HandOver(true)
		for rank := range r.Segments {
			r.Segments[rank] = append(r.Segments[rank], make([]Segment, segments)...)
		}
		return r
	}
	first := region()
	first.Release()
	require.Len(t, s.pool.calls, 5*processes)
	require.Len(t, s.pool.moments, processes)
	require.Same(t, first, region())
	require.Empty(t, s.pool.moments)
}

// TestFewAccessesTakeLittle: what is set aside for accesses grows with them.
func TestFewAccessesTakeLittle(t *testing.T) {
	s := NewStorage(1, 0)
	s.Begin()
	s.NewAccess()
	require.Less(t, len(s.slab), 10)
	require.Len(t, s.series.last, fewLast)
	layout := intervals.NewLayout([]intervals.Run{intervals.Solid(0, 8)})
	site := CallSite{Fn: "f"}
	const places, rounds = 100, 500
	for pos := range uint64(places * rounds) {
		p := Point{Pos: pos}
		require.True(t, s.Settle(&Access{
			Role: testBuffer, Base: pos % places * 8, Layout: layout, Start: p, End: p, Call: &CallInfo{CallSite: &site, Pos: pos},
		}, nil))
	}
	require.Len(t, s.series.last, mostLast)
	require.Less(t, s.series.moments[0].len(), places*rounds/4)
}
