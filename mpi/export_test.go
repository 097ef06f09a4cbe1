package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// CallOf returns a call with arguments of these names and values.
func CallOf(name string, values ...any) *trace.Call { return callOf(name, values...) }

// StreamOf returns a stream of calls, in a trace with one datatype.
func StreamOf(list []*trace.Call) core.Stream { return &calls{list} }

// HoldApart lets no operation become one with another.
func (m *Model) HoldApart() { m.apart = true }
