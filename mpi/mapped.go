package mpi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// mapping is memory that processes may map without MPI: a file of a machine, or a segment of System V.
type mapping struct{ host, device, file int64 }

// mapped is who maps it.
type mapped struct {
	by     []*regions.CallInfo // the first call of each process
	writes bool                // one of them may store to it
}

// shared reports whether what one process stores to it others may access.
func (x *mapped) shared() bool { return len(x.by) > 1 && x.writes }

// doMapped: the tracer's note that the program has mapped memory that it may share. What processes that
// do share some access there is not recorded; nor what a process accesses through one of two mappings
// of its own, where the other one is a window or a buffer.
func doMapped(m *Model, p *process, c *core.Call, _ *entry) {
	if c.Has(argTwice) && c.Int(argTwice) != 0 {
		m.Report(core.Problem{Kind: core.Unseen, Rank: p.Rank, Fn: "mmap", Call: p.Info(c),
			Text: "loads and stores through one of two mappings of the same memory count as to that one only, mapped a second time"})
	}
	key := mapping{c.Int(argHost), c.Int(argDevice), c.Int(argFile)}
	x := m.mappings[key]
	if x == nil {
		x = &mapped{}
		m.mappings[key] = x
	}
	told := 0
	if x.shared() {
		told = len(x.by)
	}
	x.writes = x.writes || c.Int(argWrites) != 0
	if !slices.ContainsFunc(x.by, func(by *regions.CallInfo) bool { return by.Rank == p.Rank }) {
		x.by = append(x.by, p.Info(c))
	}
	if !x.shared() {
		return
	}
	for _, by := range x.by[told:] {
		m.Report(core.Problem{Kind: core.Unseen, Rank: by.Rank, Fn: "mmap", Call: by,
			Text: "loads and stores were not recorded of memory that processes share without a window, mapped"})
	}
}
