package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/internal/calls"
	"github.com/mcchk/mcchk/trace"
)

func TestFetched(t *testing.T) {
	made := func(win, base, size int) *trace.Call {
		return calls.Of("MPI_Win_create", "comm", int(trace.CommWorld), "base", base, "size", size, "win", win)
	}
	fetch := func(win, number int) *trace.Call {
		return calls.Of("MPI_Fetch_and_op", "result_addr", 1, "win", win, "number", number)
	}
	for _, c := range []struct {
		name  string
		ranks [][]*trace.Call
		in    []int64 // of the windows 1 to 4
	}{
		{name: "nothing", ranks: [][]*trace.Call{{made(1, 100, 8), calls.Of("MPI_Accumulate", "win", 1, "number", 1)}}},
		{name: "by one process", ranks: [][]*trace.Call{{made(1, 100, 8)}, {made(1, 100, 8), fetch(1, 1)}}, in: []int64{1}},
		{name: "without values", ranks: [][]*trace.Call{{made(1, 100, 8), fetch(1, 0)}}},
		{name: "windows side by side", ranks: [][]*trace.Call{{made(1, 100, 8), made(2, 108, 8), fetch(1, 1)}}, in: []int64{1}},
		{name: "memory in common in another process", ranks: [][]*trace.Call{{made(1, 100, 8), made(2, 200, 8), fetch(1, 1)}, {made(2, 104, 8), made(1, 100, 8)}}, in: []int64{1, 2}},
		{name: "a chain over two processes", ranks: [][]*trace.Call{{made(1, 100, 8), made(2, 104, 8), made(3, 200, 8)}, {made(2, 100, 8), made(3, 100, 1), fetch(1, 1)}}, in: []int64{1, 2, 3}},
		{name: "atomics of the language", ranks: [][]*trace.Call{{calls.Of("mcchk_Atomic", "addr", 100), made(1, 100, 8), made(2, 9000, 8)}}, in: []int64{1}},
		{name: "of another process", ranks: [][]*trace.Call{{made(1, 100, 8)}, {calls.Of("mcchk_Atomic", "addr", 100)}}},
		{name: "and in memory that processes share", ranks: [][]*trace.Call{{calls.Of("mcchk_Atomic", "addr", 100), calls.Of("MPI_Win_allocate_shared", "comm", 1, "baseptr", 9000, "size", 8, "win", 1)}}, in: []int64{1, 2, 3, 4}},
		{name: "a shared window", ranks: [][]*trace.Call{{calls.Of("MPI_Win_allocate_shared", "comm", 1, "baseptr", 100, "size", 8, "win", 1)}}},
		{name: "a shared window, and another one", ranks: [][]*trace.Call{{calls.Of("MPI_Win_allocate_shared", "comm", 1, "baseptr", 100, "size", 8, "win", 1)}, {fetch(2, 1)}}, in: []int64{1, 2, 3, 4}},
		{name: "another model", ranks: [][]*trace.Call{{calls.Of("shmem_long_atomic_fetch")}}, in: []int64{1, 2, 3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var scans []*FetchScan
			for _, calls := range c.ranks {
				s := NewFetchScan()
				for _, call := range calls {
					s.Call(call)
				}
				scans = append(scans, s)
			}
			f := FetchedBy(scans)
			var in []int64
			for win := range int64(4) {
				if f.all || f.wins[win+1] != nil {
					in = append(in, win+1)
				}
			}
			require.Equal(t, c.in, in)
		})
	}
}

// TestFetchedPlaces: of a window with memory of its own the places count from which is fetched, to a piece.
func TestFetchedPlaces(t *testing.T) {
	made := calls.Of("MPI_Win_allocate", "comm", int(trace.CommWorld), "baseptr", 0x1000, "size", 0x1000, "win", 1)
	at := func(fn string, rank, disp int) *trace.Call {
		return calls.Of(fn, "result_addr", 1, "result_count", 1, "target_rank", rank, "target_disp", disp, "win", 1, "number", 1)
	}
	fetch := calls.Of("MPI_Fetch_and_op", "result_addr", 1, "target_rank", 1, "target_disp", 62, "win", 1, "number", 1)
	fetched := func(more ...*trace.Call) func(member int32, addr uint64) bool {
		s := NewFetchScan()
		for _, c := range append(more, made, fetch) {
			s.Call(c)
		}
		m := &Model{fetched: FetchedBy([]*FetchScan{s})}
		w := &window{members: []int32{0, 1}, base: []uint64{0x1000, 0x2000}, unit: []uint64{8, 4}, known: []bool{true, true}}
		w.ID = 1
		return func(member int32, addr uint64) bool {
			return m.fetches(w, member, core.WordKey{Owner: w.members[member], Addr: addr, Bytes: 4})
		}
	}
	in := fetched() // 0x20f8 to 0x20ff
	require.True(t, in(1, 0x20fc))
	require.True(t, in(1, 0x2000))
	require.True(t, in(1, 0x20fe), "a word that reaches into the piece")
	require.False(t, in(1, 0x2100))
	require.False(t, in(0, 0x2000))
	require.True(t, fetched(at("MPI_Get_accumulate", 0, 0))(0, 0x1f00), "of any datatype")
	require.True(t, fetched(calls.Of("MPI_Win_create", "comm", int(trace.CommWorld), "base", 0x1800, "size", 8, "win", 2))(0, 0x1f00), "through another window too")
	var many []*trace.Call
	for i := range mostFetchedAt {
		many = append(many, calls.Of("MPI_Fetch_and_op", "result_addr", 1, "target_rank", 1, "target_disp", i+100, "win", 1, "number", 1))
	}
	require.True(t, fetched(many...)(0, 0x1f00), "too many places")
}
