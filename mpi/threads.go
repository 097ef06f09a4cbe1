package mpi

import (
	"github.com/mcchk/mcchk/core"
)

// doThreads: the tracer's note of the first thing of a kind that it does not know the order
// of, or did not record: a thread, a region or task of OpenMP, a buffer that other strands may
// have accessed before, accesses of forked processes and of signal handlers, and objects of
// threads that processes share.
func doThreads(m *Model, p *process, c *core.Call, _ *entry) {
	kind, fn, text := core.Threads, core.FnThread, "the program created threads"
	switch c.Int(argKind) {
	case 1:
		fn, text = core.FnOpenMP, "the program ran OpenMP regions or tasks"
	case 2:
		fn, text = "buffer", "memory became the buffer of a call while other threads or tasks were at work, and not all that they had done with it before was recorded"
	case 3:
		kind, fn, text = core.Unseen, "fork", "loads and stores of a process that was made by fork, to memory that it shares with its parent, were not recorded"
	case 4:
		kind, fn, text = core.Unseen, "handler", "loads and stores of a signal handler that interrupted a call were not recorded"
	case 5:
		p.MayHaveOrdered("mutexes, barriers or semaphores that processes share")
		return
	}
	m.Report(core.Problem{Kind: kind, Rank: p.Rank, Fn: fn, Call: p.Info(c), Text: text})
}
