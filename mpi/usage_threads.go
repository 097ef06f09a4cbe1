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
	init  string // the call that
	level string // has provided this, of turnLevels; "": another, or not known
	last  core.Moment
	call  *regions.CallInfo // made then; nil: there was none yet
	by    *core.Strand
	on    uint32 // the thread
}

// doInitMPI: MPI_Init provides a level as MPI_Init_thread does; in older traces it does not say which.
func doInitMPI(_ *Model, p *process, c *core.Call, _ *entry) {
	if !c.Has(argProvided) {
		return
	}
	if n := c.Int(argProvided); n >= 0 && n < int64(len(turnLevels)) {
		p.turns.init, p.turns.level = c.Fn.Name, turnLevels[n]
	}
}

// allows says what threads may do at the level.
func (t *turns) allows() string {
	if t.level == turnLevels[0] {
		return "only one thread calls MPI"
	}
	return "one thread at a time may call MPI"
}

// takeTurn compares a call with the last one of the process: where less than MPI_THREAD_MULTIPLE
// was provided, calls of two threads come one after the other. Tasks and sections that one thread
// executes cannot but do so.
func (m *Model) takeTurn(p *process, c *core.Call) {
	t := &p.turns
	info := p.Info(c)
	if t.call != nil && t.by != p.Strand && t.on != p.Thread() && !p.ComesAfter(t.last) {
		m.Misuse(core.Usage{
			Rule: conflicts.RuleThreads, Call: info, Other: t.call, Either: true,
			Concerned: core.Concerned{Owner: p.Rank},
			Why:       fmt.Sprintf("%s has provided %s, with which %s, and nothing orders the two", t.init, t.level, t.allows()),
			Fix:       "ask MPI_Init_thread for MPI_THREAD_MULTIPLE, and see that it is provided, or let one call wait for the other (mutex or critical, barrier of the threads)",
		})
	}
	t.last, t.call, t.by, t.on = p.Moment(), info, p.Strand, p.Thread()
}
