package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
)

// Order that the program declares, where its processes agree by polling (section
// 4.6 of the paper that core/signals.go names): signals and waits on a resource of a window, and on a
// process.

// resource returns the counter that stands for the resource that a call names;
// nil, and a problem noted, when it names none.
func (m *Model) resource(p *process, c *core.Call) *core.Counter {
	e := m.epochsOf(p, c)
	if e == nil {
		return nil
	}
	member, number := e.win.target(c.Int(argRank)), c.Int(argResource)
	switch {
	case c.Bad():
		return nil
	case member < 0:
		p.NotUnderstood(c, fmt.Sprintf("rank %d is not in the window's group", c.Int(argRank)))
		return nil
	case c.Int(argCount) < 0:
		p.NotUnderstood(c, fmt.Sprintf("signals on resource %d could not be counted: resources are numbers from 0 to 62", number))
		return nil
	}
	return m.Counter(core.CounterKey{Object: e.win.ID, Owner: e.win.members[member], Number: number})
}

// doDeclaredSignal: signals whoever waits for the resource from then on.
func doDeclaredSignal(m *Model, p *process, c *core.Call, _ *entry) {
	if o := m.resource(p, c); o != nil && !p.Count(c, o, c.Int(argCount)) {
		p.NotUnderstood(c, "a signal on a resource was counted twice")
	}
}

// doDeclaredWait: waits for the signals on the resource so far.
func doDeclaredWait(m *Model, p *process, c *core.Call, _ *entry) {
	if o := m.resource(p, c); o != nil {
		p.Await(c, o, c.Int(argCount), func() string { return fmt.Sprintf("for a signal on resource %d", c.Int(argResource)) })
	}
}

// declared returns the channel of the signals from one process to another.
func (m *Model) declared(p *process, c *core.Call, arg core.ArgName, sent bool) *core.Channel {
	g := m.group(p, c, argComm)
	if g == nil {
		return nil
	}
	other := peer(g, c.Int(arg))
	if other < 0 {
		p.NotUnderstood(c, fmt.Sprintf("rank %d is not in the communicator", c.Int(arg)))
		return nil
	}
	key := core.ChannelKey{Kind: 'd', On: c.Int(argComm), Tag: c.Int(argTag), From: other, To: p.Rank}
	if sent {
		key.From, key.To = p.Rank, other
	}
	return m.Channel(key)
}

// doProcessSignal: signals another process.
func doProcessSignal(m *Model, p *process, c *core.Call, _ *entry) {
	if ch := m.declared(p, c, argDest, true); ch != nil {
		p.Synchronize(c, []*core.Signal{&ch.Send().Forth}, nil, nil)
	}
}

// doProcessWait: waits for the signal of another process that it matches.
func doProcessWait(m *Model, p *process, c *core.Call, _ *entry) {
	ch := m.declared(p, c, argSource, false)
	if ch == nil {
		return
	}
	from := c.Int(argSource)
	what := func() string { return fmt.Sprintf("for rank %d to call mcchk_signal_process", from) }
	p.Synchronize(c, nil, []core.Wait{{On: &ch.Receive().Forth, Soft: true, What: what}}, nil)
}
