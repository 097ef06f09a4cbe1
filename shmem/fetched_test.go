package shmem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/internal/calls"
	"github.com/mcchk/mcchk/trace"
)

func TestFetched(t *testing.T) {
	call := calls.Of
	made := func(size, at int) *trace.Call { return call("shmem_malloc", "size", size, "result", at) }
	changed := func(ptr, size, at int) *trace.Call {
		return call("shmem_realloc", "ptr", ptr, "size", size, "result", at)
	}
	freed := func(at int) *trace.Call { return call("shmem_free", "ptr", at) }
	fetch := func(at int) *trace.Call {
		return call("shmem_long_atomic_fetch_add", "dest", at, "value", 1, "pe", 1, "size", 8)
	}
	wait := func(at int) *trace.Call {
		return call("shmem_long_wait_until", "ivar", at, "cmp", 1, "size", 8)
	}
	several := func(at, n int) *trace.Call {
		return call("shmem_int_wait_until_any", "ivars", at, "nelems", n, "size", 4)
	}
	data := func(at, size int) *trace.Call {
		return call("mcchk_Symmetric_data", "base", at, "size", size, "offset", 64, "module", 1)
	}
	shown := func(at int) *trace.Call { return call("shmem_ptr", "dest", 1000, "pe", 1, "result", at) }
	static := blockKey{data: dataKey{1, 64}}
	heap := func(n int) blockKey { return blockKey{heap: n} }
	type at struct {
		key    blockKey
		offset uint64
	}
	for _, c := range []struct {
		name string
		pes  [][]*trace.Call
		in   []at
		out  []at
	}{
		{name: "updates alone", pes: [][]*trace.Call{{made(80, 1000), call("shmem_long_atomic_add", "dest", 1000, "value", 1, "pe", 1, "size", 8)}}, out: []at{{heap(1), 0}}},
		{name: "by another PE, at its own address", pes: [][]*trace.Call{{made(80, 1000), made(80, 2000)}, {made(80, 5000), made(80, 7000), fetch(7008)}}, in: []at{{heap(2), 8}}, out: []at{{heap(1), 8}}},
		{name: "far away in a block", pes: [][]*trace.Call{{made(8000, 1000), wait(1000)}}, in: []at{{heap(1), 0}}, out: []at{{heap(1), 512}}},
		{name: "over the end of a piece", pes: [][]*trace.Call{{made(8000, 1000), wait(1000 + 252)}}, in: []at{{heap(1), 0}, {heap(1), 256}, {heap(1), 508}}, out: []at{{heap(1), 512}}},
		{name: "several", pes: [][]*trace.Call{{made(8000, 1000), several(1256, 65)}}, in: []at{{heap(1), 256}, {heap(1), 512}}, out: []at{{heap(1), 0}, {heap(1), 768}}},
		{name: "static data", pes: [][]*trace.Call{{data(400, 800), fetch(400)}}, in: []at{{static, 0}}, out: []at{{heap(1), 0}, {static, 512}}},
		{name: "a signal", pes: [][]*trace.Call{{made(80, 1000), call("shmem_signal_fetch", "sig_addr", 1008, "result", 1)}}, in: []at{{heap(1), 8}}},
		{name: "an address that is used again", pes: [][]*trace.Call{{made(80, 1000), freed(1000), made(80, 1000), fetch(1000)}}, in: []at{{heap(2), 0}}, out: []at{{heap(1), 0}}},
		{name: "of no size, and none", pes: [][]*trace.Call{{made(0, 0), made(80, 0), made(80, 1000), fetch(1000)}}, in: []at{{heap(2), 0}}, out: []at{{heap(1), 0}}},
		{name: "another size", pes: [][]*trace.Call{{changed(0, 80, 1000), changed(1000, 160, 2000), fetch(2000)}}, in: []at{{heap(2), 0}}, out: []at{{heap(1), 0}}},
		{name: "atomics of the language elsewhere", pes: [][]*trace.Call{{made(80, 1000), call("mcchk_Atomic", "addr", 100, "size", 8)}}, out: []at{{heap(1), 0}}},
		{name: "in symmetric memory", pes: [][]*trace.Call{{made(8000, 1000), shown(9000), call("mcchk_Atomic", "addr", 1000, "size", 8)}}, in: []at{{heap(1), 0}}, out: []at{{heap(1), 256}}},
		{name: "in that of another PE, perhaps", pes: [][]*trace.Call{{made(80, 1000), shown(9000), call("mcchk_Atomic", "addr", 9000, "size", 8)}}, in: []at{{heap(1), 0}}},
		{name: "of which there is none", pes: [][]*trace.Call{{made(80, 1000), shown(0), call("mcchk_Atomic", "addr", 9000, "size", 8)}}, out: []at{{heap(1), 0}}},
		{name: "MPI that fetches", pes: [][]*trace.Call{{call("MPI_Fetch_and_op", "result_addr", 100, "win", 1)}}, in: []at{{heap(1), 0}}},
		{name: "MPI that does not", pes: [][]*trace.Call{{call("MPI_Put", "win", 1), call("mcchk_Strand", "id", 1)}}, out: []at{{heap(1), 0}}},
		{name: "another model", pes: [][]*trace.Call{{call("gaspi_atomic_fetch_add")}}, in: []at{{heap(1), 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var scans []*FetchScan
			for _, calls := range c.pes {
				s := NewFetchScan()
				for _, call := range calls {
					s.Call(call)
				}
				scans = append(scans, s)
			}
			f := FetchedBy(scans)
			in := func(x at) bool { return f.in(place{block: &block{key: x.key}, offset: x.offset}, 8) }
			for _, x := range c.in {
				require.True(t, in(x), x)
			}
			for _, x := range c.out {
				require.False(t, in(x), x)
			}
		})
	}
	waits := func(calls ...*trace.Call) map[waited]bool {
		s := NewFetchScan()
		for _, c := range calls {
			if !s.Done() {
				s.Call(c)
			}
		}
		all := FetchedBy([]*FetchScan{nil, s}).waited
		require.Len(t, all, 2)
		require.Nil(t, all[0])
		return all[1]
	}
	require.Equal(t, map[waited]bool{{1000, 8}: true, {1256, 4}: true, {1260, 4}: true}, waits(made(8000, 1000), wait(1000), fetch(1008), several(1256, 2)))
	require.Nil(t, waits(call("MPI_Fetch_and_op", "result_addr", 100, "win", 1), made(8000, 1000), wait(1000)), "nobody has read on")
	require.Equal(t, map[waited]bool{{1000, 8}: true}, waits(made(8000, 1000), call("gaspi_atomic_fetch_add"), wait(1000)))
	require.Nil(t, waits(made(8000, 1000), call("gaspi_atomic_fetch_add"), several(1000, mostWaits+1)), "too many")
	var unknown *Fetched
	require.True(t, unknown.in(place{}, 8))
}
