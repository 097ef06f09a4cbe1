package mpi

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// persistent is a persistent request: the call that made it, to be done again
// at each start (MPI 4.1, 3.9).
type persistent struct {
	call *trace.Call
	*entry
	start func(*Model, *process, *core.Call, *persistent)
	key   core.MeetKey // of a collective call
	parts *partitioned // of a partitioned message
	round uint64       // of a partitioned message: starts so far
}

func doInit(_ *Model, p *process, c *core.Call, r *entry) {
	p.persist(c, &persistent{entry: r, start: (*Model).startMessage})
}

func (p *process) persist(c *core.Call, t *persistent) {
	if id := c.Int(argRequest); id != 0 {
		t.call = c.Copy()
		p.persistent[id] = t
	}
}

func (m *Model) startMessage(p *process, c *core.Call, t *persistent) {
	if c.Has(argSource) {
		doIrecv(m, p, c, t.entry)
	} else {
		doIsend(m, p, c, t.entry)
	}
}

// doStartRequests begins what persistent requests stand for.
func doStartRequests(m *Model, p *process, c *core.Call, _ *entry) {
	var ids []int64
	if c.Has(argRequests) {
		ids = slices.Clone(c.List(argRequests)) // a wildcard receive reads ahead
	} else {
		ids = []int64{c.Int(argRequest)}
	}
	for _, id := range ids {
		t := p.persistent[id]
		if t == nil {
			p.NotUnderstood(c, fmt.Sprintf("request %d was made by a call that is not understood", id))
			continue
		}
		again, fn := *t.call, *t.call.Fn
		fn.Name = c.Fn.Name
		again.Fn, again.Stack, again.Returned = &fn, c.Stack, c.Returned
		t.start(m, p, core.NewCall(&again), t)
	}
}
