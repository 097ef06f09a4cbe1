package mpi

import (
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

// doMapped: the tracer's note that the program has mapped memory that it may share. What processes that
// do share some access there is not recorded.
func doMapped(m *Model, p *process, c *core.Call, _ *entry) {
	if m.mappings == nil {
		m.mappings = map[mapping]*mapped{}
	}
	key := mapping{c.Int(argHost), c.Int(argDevice), c.Int(argFile)}
	x := m.mappings[key]
	if x == nil {
		x = &mapped{}
		m.mappings[key] = x
	}
	report := func(by ...*regions.CallInfo) {
		for _, call := range by {
			m.Report(core.Problem{Kind: core.Unseen, Rank: call.Rank, Fn: "mmap", Call: call,
				Text: "loads and stores were not recorded of memory that processes share without a window, mapped"})
		}
	}
	own := true
	for _, by := range x.by {
		own = own && by.Rank != p.Rank
	}
	told := len(x.by) > 1 && x.writes
	if x.writes = x.writes || c.Int(argWrites) != 0; own {
		x.by = append(x.by, p.Info(c))
	}
	switch {
	case len(x.by) < 2 || !x.writes:
	case told && own:
		report(x.by[len(x.by)-1])
	case !told:
		report(x.by...)
	}
}
