package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

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
		{name: "a shared window", ranks: [][]*trace.Call{{calls.Of("MPI_Win_allocate_shared", "comm", 1, "baseptr", 100, "size", 8, "win", 1)}}, in: []int64{1, 2, 3, 4}},
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
				if f.in(win + 1) {
					in = append(in, win+1)
				}
			}
			require.Equal(t, c.in, in)
		})
	}
	var unknown *Fetched
	require.True(t, unknown.in(1))
}
