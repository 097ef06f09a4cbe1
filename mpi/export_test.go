package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// StreamOf returns a stream of calls, in a trace with one datatype.
func StreamOf(list []*trace.Call) core.Stream { return ints(list) }

// HoldApart lets no operation become one with another.
func (m *Model) HoldApart() { m.apart = true }
