package mpi

import (
	"github.com/mcchk/mcchk/core"
)

// doThreads: the tracer's note that the process has other threads than the first,
// or tasks of OpenMP, for the first time. A strand is a process so far.
func doThreads(m *Model, p *process, c *core.Call, _ *entry) {
	fn, text := "thread", "the program created threads"
	if c.Int(argKind) != 0 {
		fn, text = "OpenMP", "the program ran OpenMP regions or tasks"
	}
	m.Report(core.Problem{Kind: core.Threads, Rank: p.Rank, Fn: fn, Call: p.Info(c), Text: text})
}
