package gaspi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// passiveChannel is the kind of the channels of passive communication.
const passiveChannel = 'g'

func (p *process) channel(from, to int32) *core.Channel {
	return p.m.Channel(core.ChannelKey{Kind: passiveChannel, On: firstObject, From: from, To: to})
}

// inTurn notes that the process sends to another one, or receives from it. Where another
// strand does so beside that, it is not known which send belongs to which receive.
func (p *process) inTurn(c *core.Call, sends bool, other int32) {
	if !p.Threaded() {
		return
	}
	key := passiveSide{sends, other}
	if before, ok := p.passive[key]; ok && !p.ComesAfter(before) {
		p.NotUnderstood(c, "another thread makes such a call beside it: which send belongs to which receive cannot be told")
	}
	p.passive[key] = p.Moment()
}

// passiveSide is one end of passive communication with a process.
type passiveSide struct {
	sends bool
	other int32
}

// touch accesses the part of a segment that passive communication sends or receives.
func (p *process) touch(c *core.Call, info *regions.CallInfo, kind regions.Kind, role *regions.Role) {
	size := uint64(c.Int(argSize))
	_, base, ok := p.within(c, p, c.Int(argSegmentLocal), c.Addr(argOffsetLocal), size)
	if !ok || size == 0 {
		return
	}
	p.Instant(regions.Access{
		Rank: p.Rank, Owner: p.Rank, Kind: kind, Role: role, Base: base,
		Layout: p.m.alike.Strided(1, size, size), Call: info,
	})
}

// passiveSend is over when the receive has been called.
func passiveSend(p *process, c *core.Call) {
	to := p.target(c)
	if to == nil {
		return
	}
	p.touch(c, p.Info(c), regions.Read, SendBuffer)
	p.inTurn(c, true, to.Rank)
	x := p.channel(p.Rank, to.Rank).Send()
	p.Synchronize(c, []*core.Signal{&x.Forth}, []core.Wait{{
		On: &x.Back, Soft: true, What: func() string { return "for the passive receive" },
	}}, nil)
}

func passiveReceive(p *process, c *core.Call) {
	from := p.target(c)
	if from == nil {
		return
	}
	p.inTurn(c, false, from.Rank)
	x, info := p.channel(from.Rank, p.Rank).Receive(), p.Info(c)
	kept := *c
	kept.Call = c.Copy()
	p.Synchronize(c, []*core.Signal{&x.Back}, []core.Wait{{
		On: &x.Forth, What: func() string { return "for the passive send" },
	}}, func() { p.touch(&kept, info, regions.Write, Received) })
}
