package mpi

import (
	"github.com/mcchk/mcchk/core"
)

// doThreads: the tracer's note of the first thread, or region or task of OpenMP, whose
// order it does not know, or of the first buffer that other strands may have accessed
// before, unseen.
func doThreads(m *Model, p *process, c *core.Call, _ *entry) {
	fn, text := "thread", "the program created threads"
	switch c.Int(argKind) {
	case 1:
		fn, text = "OpenMP", "the program ran OpenMP regions or tasks"
	case 2:
		fn, text = "buffer", "memory became the buffer of a call while other threads or tasks were at work, and not all that they had done with it before was recorded"
	}
	m.Report(core.Problem{Kind: core.Threads, Rank: p.Rank, Fn: fn, Call: p.Info(c), Text: text})
}
