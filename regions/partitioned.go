package regions

import "github.com/mcchk/mcchk/evc"

// Partitioned communication (MPI 4.1, 4.2): a message whose parts become ready,
// and arrive, one by one. Sender and receiver are matched when they are made;
// each may have a number of partitions of its own, of the same data.

// partitioned is the pair of one MPI_Psend_init and one MPI_Precv_init.
type partitioned struct {
	known signal // the sender's partitions are
	n     int64  // how many the sender has
	bytes int64  // data in each of them
	ready map[partKey]*signal
}

type partKey struct {
	round uint64 // which start
	part  int64  // partition of the sender
}

func (x *partitioned) signal(round uint64, part int64) *signal {
	k := partKey{round, part}
	s := x.ready[k]
	if s == nil {
		s = &signal{}
		x.ready[k] = s
	}
	return s
}

// partitions are those of one side in one round.
type partitions struct {
	of      *partitioned // nil: with MPI_PROC_NULL
	round   uint64
	bytes   int64 // data in each
	buffer  func(part int64) (Access, bool)
	arrived []*span // at the receiver, by partition
}

func doPsendInit(m *Machine, p *proc, c *call, r *rule) {
	t := &persistent{rule: r, start: (*Machine).startPartitions}
	if s := m.partner(p, c, "dest"); s != nil {
		t.parts = s.parts
		t.parts.n, t.parts.bytes = c.num("partitions"), p.dataSize(c)
		m.give(&t.parts.known, evc.Time{})
	}
	p.persist(c, t)
}

func doPrecvInit(m *Machine, p *proc, c *call, r *rule) {
	t := &persistent{rule: r, start: (*Machine).startPartitions}
	if s := m.partner(p, c, "source"); s != nil {
		t.parts = s.parts
	}
	p.persist(c, t)
}

// partner matches the making of a partitioned request; nil with MPI_PROC_NULL.
func (m *Machine) partner(p *proc, c *call, arg string) *slot {
	g := m.group(p, c, "comm")
	if g == nil {
		return nil
	}
	other := g.peer(c.num(arg))
	if other < 0 {
		return nil
	}
	key := chanKey{kind: 'P', on: c.num("comm"), from: p.rank, to: other, tag: c.num("tag")}
	var s *slot
	if arg == "dest" {
		s = m.channel(key).nextSent()
	} else {
		key.from, key.to = key.to, key.from
		s = m.channel(key).nextReceived()
	}
	if s.parts == nil {
		s.parts = &partitioned{ready: map[partKey]*signal{}}
	}
	return s
}

// dataSize returns the bytes of data in one partition.
func (p *proc) dataSize(c *call) int64 {
	if def := p.stream.Type(c.num("datatype")); def != nil {
		return c.num("count") * def.Size
	}
	return 0
}

// startPartitions: the receiver's partitions are in use from the start on, the
// sender's each from its MPI_Pready on.
func (m *Machine) startPartitions(p *proc, c *call, t *persistent) {
	t.round++
	role, kind, receives := SendBuffer, Read, c.has("source")
	if receives {
		role, kind = ReceiveBuffer, Write
	}
	x := &partitions{of: t.parts, round: t.round, bytes: p.dataSize(c)}
	info := p.info(c)
	x.buffer = func(part int64) (Access, bool) {
		layout, typ, err := p.buffer(c.num("count"), c.num("datatype"))
		if err != nil {
			m.problems.notUnderstood(c.Fn.Name, info, err.Error())
			return Access{}, false
		}
		a := Access{Rank: p.rank, Kind: kind, Role: role, Base: c.addr("buf"), Call: info,
			Layout: layout.Shifted(part * c.num("count") * typ.extent)}
		return a, !layout.IsEmpty()
	}
	req := &request{part: x}
	if receives && x.of != nil {
		for i := range c.num("partitions") {
			if a, ok := x.buffer(i); ok {
				s := m.openBuffer(p, a)
				x.arrived = append(x.arrived, s)
				req.spans = append(req.spans, s)
			}
		}
		req.waits = x.waits(0, int64(len(x.arrived))*x.bytes)
		req.after = func(*CallInfo) {
			for i := range x.of.n {
				delete(x.of.ready, partKey{x.round, i})
			}
		}
	}
	m.addRequest(p, c, req)
}

// waits is what the receiver waits for to have the data [lo, hi).
func (x *partitions) waits(lo, hi int64) []wait {
	what := func() string { return "for the partitions of a message" }
	return []wait{{on: &x.of.known, what: what, then: func() []wait {
		var waits []wait
		for i := range x.of.n {
			if i*x.of.bytes < hi && lo < (i+1)*x.of.bytes {
				waits = append(waits, wait{on: x.of.signal(x.round, i), what: what})
			}
		}
		return waits
	}}}
}

// doPready: MPI_Pready and its range and list forms signal the receiver.
func doPready(m *Machine, p *proc, c *call, _ *rule) {
	var ready []int64
	switch {
	case c.has("array_of_partitions"):
		ready = c.list("array_of_partitions")
	case c.has("partition_low"):
		for i := c.num("partition_low"); i <= c.num("partition_high"); i++ {
			ready = append(ready, i)
		}
	default:
		ready = []int64{c.num("partition")}
	}
	r := p.requests[c.num("request")]
	if r == nil || r.part == nil || r.part.of == nil {
		return
	}
	var signals []*signal
	for _, i := range ready {
		if a, ok := r.part.buffer(i); ok {
			a.Call = p.info(c)
			s := m.openBuffer(p, a)
			s.request = c.num("request")
			r.spans = append(r.spans, s)
		}
		signals = append(signals, r.part.of.signal(r.part.round, i))
	}
	m.synchronize(p, c, signals, nil, nil)
}

// doParrived: one that says yes waits for the data of that partition.
func doParrived(m *Machine, p *proc, c *call, _ *rule) {
	r := p.requests[c.num("request")]
	i := c.num("partition")
	if c.num("flag") == 0 || r == nil || r.part == nil || r.part.of == nil || i < 0 || i >= int64(len(r.part.arrived)) {
		return
	}
	x := r.part
	m.synchronize(p, c, nil, x.waits(i*x.bytes, (i+1)*x.bytes), func() {
		x.arrived[i].close(p.here(), p.syncCall)
	})
}
