package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// Partitioned communication (MPI 4.1, 4.2): a message whose parts become ready,
// and arrive, one by one. Sender and receiver are matched when they are made;
// each may have a number of partitions of its own, of the same data.

// partitioned is the pair of one MPI_Psend_init and one MPI_Precv_init.
type partitioned struct {
	known core.Signal // the sender's partitions are
	n     int64       // how many the sender has
	bytes int64       // data in each of them
	ready map[partKey]*core.Signal
}

type partKey struct {
	round uint64 // which start
	part  int64  // partition of the sender
}

func (x *partitioned) signal(round uint64, part int64) *core.Signal {
	k := partKey{round, part}
	s := x.ready[k]
	if s == nil {
		s = &core.Signal{}
		x.ready[k] = s
	}
	return s
}

// partitions are those of one side in one round.
type partitions struct {
	of      *partitioned // nil: with MPI_PROC_NULL
	round   uint64
	bytes   int64 // data in each
	buffer  func(part int64) (regions.Access, bool)
	arrived []*core.Pending // at the receiver, by partition
}

func doPsendInit(m *Model, p *process, c *core.Call, r *entry) {
	t := &persistent{entry: r, start: (*Model).startPartitions}
	if s := m.partner(p, c, argDest); s != nil {
		t.parts = partsOf(s)
		t.parts.n, t.parts.bytes = c.Int(argPartitions), p.dataSize(c)
		m.Announce(&t.parts.known)
	}
	p.persist(c, t)
}

func doPrecvInit(m *Model, p *process, c *core.Call, r *entry) {
	t := &persistent{entry: r, start: (*Model).startPartitions}
	if s := m.partner(p, c, argSource); s != nil {
		t.parts = partsOf(s)
	}
	p.persist(c, t)
}

// partner matches the making of a partitioned request; nil with MPI_PROC_NULL.
func (m *Model) partner(p *process, c *core.Call, arg core.ArgName) *core.Match {
	g := m.group(p, c, argComm)
	if g == nil {
		return nil
	}
	other := peer(g, c.Int(arg))
	if other < 0 {
		return nil
	}
	key := core.ChannelKey{Kind: 'P', On: c.Int(argComm), From: p.Rank, To: other, Tag: c.Int(argTag)}
	var s *core.Match
	if arg == argDest {
		s = m.Channel(key).Send()
	} else {
		key.From, key.To = key.To, key.From
		s = m.Channel(key).Receive()
	}
	return s
}

// partsOf returns what travels along with the making of a pair.
func partsOf(s *core.Match) *partitioned {
	x, ok := s.With.(*partitioned)
	if !ok {
		x = &partitioned{ready: map[partKey]*core.Signal{}}
		s.With = x
	}
	return x
}

// dataSize returns the bytes of data in one partition.
func (p *process) dataSize(c *core.Call) int64 {
	if def := p.defs.Type(c.Int(argDatatype)); def != nil {
		return c.Int(argCount) * def.Size
	}
	return 0
}

// startPartitions: the receiver's partitions are in use from the start on, the
// sender's each from its MPI_Pready on.
func (m *Model) startPartitions(p *process, c *core.Call, t *persistent) {
	t.round++
	role, kind, receives := SendBuffer, regions.Read, c.Has(argSource)
	if receives {
		role, kind = ReceiveBuffer, regions.Write
	}
	x := &partitions{of: t.parts, round: t.round, bytes: p.dataSize(c)}
	info := p.Info(c)
	x.buffer = func(part int64) (regions.Access, bool) {
		layout, typ, err := p.buffer(c.Int(argCount), c.Int(argDatatype))
		if err != nil {
			p.NotUnderstood(c, err.Error())
			return regions.Access{}, false
		}
		a := regions.Access{Rank: p.Rank, Kind: kind, Role: role, Base: c.Addr(argBuf), Call: info,
			Layout: layout.Shifted(part * c.Int(argCount) * typ.extent)}
		return a, !layout.IsEmpty()
	}
	req := &request{part: x}
	if receives && x.of != nil {
		for i := range c.Int(argPartitions) {
			if a, ok := x.buffer(i); ok {
				s := p.openBuffer(a)
				x.arrived = append(x.arrived, s)
				req.spans = append(req.spans, s)
			}
		}
		req.waits = x.waits(0, int64(len(x.arrived))*x.bytes)
		req.after = func(*regions.CallInfo) {
			for i := range x.of.n {
				delete(x.of.ready, partKey{x.round, i})
			}
		}
	}
	m.addRequest(p, c, req)
}

// waits is what the receiver waits for to have the data [lo, hi).
func (x *partitions) waits(lo, hi int64) []core.Wait {
	what := func() string { return "for the partitions of a message" }
	return []core.Wait{{On: &x.of.known, What: what, Then: func() []core.Wait {
		var waits []core.Wait
		for i := range x.of.n {
			if i*x.of.bytes < hi && lo < (i+1)*x.of.bytes {
				waits = append(waits, core.Wait{On: x.of.signal(x.round, i), What: what})
			}
		}
		return waits
	}}}
}

// doPready: MPI_Pready and its range and list forms signal the receiver.
func doPready(m *Model, p *process, c *core.Call, _ *entry) {
	var ready []int64
	switch {
	case c.Has(argArrayOfPartitions):
		ready = c.List(argArrayOfPartitions)
	case c.Has(argPartitionLow):
		for i := c.Int(argPartitionLow); i <= c.Int(argPartitionHigh); i++ {
			ready = append(ready, i)
		}
	default:
		ready = []int64{c.Int(argPartition)}
	}
	r := p.requests.requests[c.Int(argRequest)]
	if r == nil || r.part == nil || r.part.of == nil {
		return
	}
	var signals []*core.Signal
	for _, i := range ready {
		if a, ok := r.part.buffer(i); ok {
			a.Call = p.Info(c)
			s := p.openBuffer(a)
			s.Of = r
			r.spans = append(r.spans, s)
		}
		signals = append(signals, r.part.of.signal(r.part.round, i))
	}
	p.Synchronize(c, signals, nil, nil)
}

// doParrived: one that says yes waits for the data of that partition.
func doParrived(m *Model, p *process, c *core.Call, _ *entry) {
	r := p.requests.requests[c.Int(argRequest)]
	i := c.Int(argPartition)
	if c.Int(argFlag) == 0 || r == nil || r.part == nil || r.part.of == nil || i < 0 || i >= int64(len(r.part.arrived)) {
		return
	}
	x := r.part
	p.Synchronize(c, nil, x.waits(i*x.bytes, (i+1)*x.bytes), func() {
		x.arrived[i].Complete(p.Now(), p.Synchronizing())
	})
}
