package main

import (
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Patterns of OpenSHMEM: each PE has static data of windowBytes at windowBase. What an
// operation is to lies at its beginning, then come flags, and a lock.
const (
	flagsBase = windowBase + 3<<30
	lockBase  = flagsBase + 1<<20
)

// How operations of OpenSHMEM and GASPI are completed, and what orders processes.
const (
	byQuiet      = "quiet"
	byRareQuiet  = "quiet every 100 steps"
	byShmemFence = "fence" // which completes nothing, but puts before what comes
	bySync       = "sync of all"
	byFlags      = "flags in a ring"
	byLock       = "a lock"
)

// Arguments of OpenSHMEM's functions, as traces have them.
const (
	shmemPutArgs    = "dest:p source:p nelems:i pe:i size:i value:i"
	shmemSignalArgs = "dest:p source:p nelems:i sig_addr:p signal:i sig_op:i pe:i size:i set:i"
)

var openSHMEM = &bookends{
	name: "OpenSHMEM",
	functions: map[string]string{
		"mcchk_Symmetric_data": "base:p size:i offset:i module:i", "shmem_init": "", "shmem_finalize": "",
		"shmem_long_put": shmemPutArgs, "shmem_long_put_nbi": shmemPutArgs,
		"shmem_long_get": "dest:p source:p nelems:i pe:i size:i", "shmem_long_get_nbi": "dest:p source:p nelems:i pe:i size:i",
		"shmem_long_p": "dest:p value:i pe:i size:i", "shmem_long_g": "source:p pe:i size:i",
		"shmem_long_put_signal": shmemSignalArgs, "shmem_long_put_signal_nbi": shmemSignalArgs,
		"shmem_long_atomic_add": "dest:p value:i pe:i size:i old:i", "shmem_long_atomic_set": "dest:p value:i pe:i size:i old:i",
		"shmem_long_atomic_fetch": "source:p pe:i size:i result:i", "shmem_long_atomic_fetch_add": "dest:p value:i pe:i size:i result:i",
		"shmem_long_atomic_compare_swap": "dest:p cond:i value:i pe:i size:i result:i",
		"shmem_long_atomic_fetch_inc":    "dest:p pe:i size:i result:i", "shmem_long_atomic_inc": "dest:p pe:i size:i old:i",
		"shmem_long_wait_until": "ivar:p cmp:i cmp_value:i size:i before:i",
		"shmem_quiet":           "", "shmem_fence": "", "shmem_barrier_all": "", "shmem_sync_all": "",
		"shmem_barrier":  "PE_start:i logPE_stride:i PE_size:i pSync:p",
		"shmem_set_lock": "lock:p ticket:i", "shmem_clear_lock": "lock:p",
	},
	begin: func(s *script) error {
		s.w.Info("program", "synthetic")
		s.w.Comm(&trace.Comm{ID: trace.CommWorld, Rank: s.rank, Size: s.ranks, Ranks: []trace.RankRun{{First: 0, Stride: 1, Count: int64(s.ranks)}}})
		s.call(1, "mcchk_Symmetric_data", trace.Args{"base": windowBase, "size": windowBytes, "module": 1})
		return s.call(2, "shmem_init", nil)
	},
	end: func(s *script) error {
		s.call(5, "shmem_finalize", nil)
		return s.close()
	},
}

// shmemMatrix returns the patterns of OpenSHMEM. Atomic operations on shared bytes are in
// those where what they find is known: of one process.
func shmemMatrix() (all []modelPattern) {
	operations := []string{"put", "put_nbi", "get", "get_nbi", "p", "g", "atomic_add", "atomic_set", "atomic_fetch", "atomic_fetch_add", "put_signal", "put_signal_nbi"}
	done := []string{byQuiet, byRareQuiet, byShmemFence, byNothing}
	orders := []string{noOrder, byFlags, byPart, bySync, byBarrier, byRareOnes, byLock}
	for _, p := range combine(openSHMEM, shmemKernel, operations, done, orders, []string{oneStrand, poolOfOne, twoStrands}) {
		atomic := strings.HasPrefix(p.operation, "atomic")
		if p.order == byLock && p.strands == twoStrands || atomic && p.bytes == sharedBytes {
			continue
		}
		all = append(all, p)
	}
	return all
}

func shmemKernel(p modelPattern, n int) func(*script) error {
	return func(s *script) error {
		p.steps(s, n, func(step, strand int) {
			if p.order == byLock && p.active(s) {
				ticket := step
				if p.all {
					ticket = step*s.ranks + s.rank
				}
				s.call(20, "shmem_set_lock", trace.Args{"lock": lockBase, "ticket": ticket})
			}
			if p.active(s) {
				p.shmemWork(s, step, strand)
			}
			if p.order == byLock && p.active(s) {
				s.call(27, "shmem_clear_lock", trace.Args{"lock": lockBase})
			}
		}, func(step, _ int) { p.shmemOrder(s, step) })
		return nil
	}
}

// shmemWork makes the operation of a step, and completes it.
func (p modelPattern) shmemWork(s *script, step, strand int) {
	slot := uint64(p.slot(s, step, strand))
	there, own := windowBase+slot*element, buffersBase+slot*element
	a := trace.Args{"pe": p.target(s), "size": element}
	switch name, found := p.operation, p.found(step); name {
	case "put", "put_nbi":
		a["dest"], a["source"], a["nelems"], a["value"] = there, own, 1, 1
	case "get", "get_nbi":
		a["dest"], a["source"], a["nelems"] = own, there, 1
	case "p":
		a["dest"], a["value"] = there, 1
	case "g":
		a["source"] = there
	case "put_signal", "put_signal_nbi":
		a["dest"], a["source"], a["nelems"] = there, own, 1
		a["sig_addr"], a["signal"], a["set"] = flagsBase+4096+uint64(2*s.rank+strand)*element, step+1, 1
	case "atomic_add":
		a["dest"], a["value"], a["old"] = there, 1, found
	case "atomic_set":
		a["dest"], a["value"], a["old"] = there, 1, min(found, 1)
	case "atomic_fetch":
		a["source"], a["result"] = there, 0
	case "atomic_fetch_add":
		a["dest"], a["value"], a["result"] = there, 1, found
	}
	s.call(23, "shmem_long_"+p.operation, a)
	switch {
	case p.done == byQuiet, p.done == byRareQuiet && rare(step):
		s.call(24, "shmem_quiet", nil)
	case p.done == byShmemFence:
		s.call(24, "shmem_fence", nil)
	}
}

// found returns what an addition of 1 finds.
func (p modelPattern) found(step int) int {
	if p.bytes == movingBytes {
		return 0
	}
	return step
}

// shmemOrder orders the PEs behind a step.
func (p modelPattern) shmemOrder(s *script, step int) {
	switch {
	case p.order == byFlags:
		flag := func(rank int) uint64 { return flagsBase + uint64(rank)*element }
		right := (s.rank + 1) % s.ranks
		s.call(30, "shmem_long_p", trace.Args{"dest": flag(right), "value": step + 1, "pe": right, "size": element})
		s.call(31, "shmem_long_wait_until", trace.Args{"ivar": flag(s.rank), "cmp": 1, "cmp_value": step + 1, "size": element, "before": step})
	case p.order == byPart && s.rank < 2:
		s.call(32, "shmem_barrier", trace.Args{"PE_size": 2, "pSync": lockBase + 4096})
	case p.order == bySync:
		s.call(33, "shmem_sync_all", nil)
	case p.order == byBarrier, p.order == byRareOnes && rare(step):
		s.call(34, "shmem_barrier_all", nil)
	}
}
