package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// turnLevels are the levels of thread support with which threads take turns (11.6.2), as both MPI
// libraries number them: MPI_THREAD_MULTIPLE is the next.
var turnLevels = []string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"}

// turns is what is known of the calls of a process whose threads may not call MPI at the same
// time.
type turns struct {
	level string // that was provided by MPI_Init_thread, of turnLevels; "": another, or not known
	last  core.Moment
	call  *regions.CallInfo // made then; nil: there was none yet
	by    *core.Strand
}

// doInitThread: what MPI_Init leaves open, MPI_Init_thread says.
func doInitThread(_ *Model, p *process, c *core.Call, _ *entry) {
	if n := c.Int(argProvided); c.Has(argProvided) && n >= 0 && n < int64(len(turnLevels)) {
		p.turns.level = turnLevels[n]
	}
}

// takeTurn compares a call with the last one of the process: where less than MPI_THREAD_MULTIPLE
// was provided, calls of two threads come one after the other.
func (m *Model) takeTurn(p *process, c *core.Call) {
	t := &p.turns
	info := p.Info(c)
	if t.call != nil && t.by != p.Strand && !p.ComesAfter(t.last) {
		m.Misuse(core.Usage{
			Rule: conflicts.RuleThreads, Call: info, Other: t.call, Either: true,
			Concerned: core.Concerned{Owner: p.Rank},
			Why:       fmt.Sprintf("MPI_Init_thread has provided %s, with which one thread at a time may call MPI, and nothing orders the two", t.level),
			Fix:       "ask MPI_Init_thread for MPI_THREAD_MULTIPLE, and see that it is provided, or let one call wait for the other (mutex or critical, barrier of the threads)",
		})
	}
	t.last, t.call, t.by = p.Moment(), info, p.Strand
}
