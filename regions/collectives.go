package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// place says which processes of a collective call a touch is for.
type place uint8

const (
	everyone place = iota
	root
	others // all but the root
)

// touch is one buffer that a collective call reads, or writes. Bytes are read
// before what the call signals, and written after what it waits for.
type touch struct {
	buf    string
	count  string // a number, or a list with one for each process
	displs string // displacements, in extents, where count is a list
	typ    string
	at     place
	each   bool // count elements for each process of the communicator
	write  bool
	orElse string // the buffer that takes its place when it is MPI_IN_PLACE
}

func doCollective(m *Machine, p *proc, c *call, r *rule) {
	members, rootRank, ok := m.membersAndRoot(p, c)
	if !ok {
		return
	}
	read, written := m.touches(p, c, r, members, rootRank)
	for _, a := range read {
		m.instant(p, a)
	}
	m.collect(p, c, collKey{on: c.num("comm")}, members, r.order, rootRank, func() {
		for _, a := range written {
			m.instant(p, a)
		}
	})
}

// doStartCollective: a non-blocking collective call signals where it starts and
// waits where it is completed; its buffers are in use from one to the other.
func doStartCollective(m *Machine, p *proc, c *call, r *rule) {
	members, rootRank, ok := m.membersAndRoot(p, c)
	if !ok {
		return
	}
	req := &request{}
	read, written := m.touches(p, c, r, members, rootRank)
	for _, a := range append(read, written...) {
		a.Rank = p.rank
		req.spans = append(req.spans, m.openBuffer(p, a))
	}
	signals, waits, done := m.join(p, c, collKey{on: c.num("comm")}, members, r.order, rootRank)
	req.waits, req.after = waits, done
	m.addRequest(p, c, req)
	m.synchronize(p, c, signals, nil, nil)
}

// membersAndRoot returns the world ranks of a collective call's communicator
// and of its root, if it has one.
func (m *Machine) membersAndRoot(p *proc, c *call) (members []int32, rootRank int32, ok bool) {
	rootRank = -1
	if members = m.members(p, c); members == nil {
		return nil, rootRank, false
	}
	if c.has("root") {
		n := c.num("root")
		if n < 0 || n >= int64(len(members)) {
			m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("root %d is not in the communicator", n))
			return nil, rootRank, false
		}
		rootRank = members[n]
	}
	return members, rootRank, true
}

// touches returns what a collective call reads and what it writes.
func (m *Machine) touches(p *proc, c *call, r *rule, members []int32, rootRank int32) (read, written []Access) {
	for _, t := range r.touches {
		if t.at == root && p.rank != rootRank || t.at == others && p.rank == rootRank {
			continue
		}
		a, ok, err := p.touched(c, t, len(members))
		switch {
		case err != nil:
			m.problems.notUnderstood(c.Fn.Name, p.info(c), err.Error())
		case ok && t.write:
			written = append(written, a)
		case ok:
			read = append(read, a)
		}
	}
	return read, written
}

// touched returns the access of a touch, if it has any bytes.
func (p *proc) touched(c *call, t touch, members int) (Access, bool, error) {
	base := c.arg(t.buf).Int
	if base == trace.InPlace {
		if t.orElse == "" {
			return Access{}, false, nil
		}
		base = c.arg(t.orElse).Int
	}
	var layout *intervals.Layout
	var err error
	if t.displs != "" {
		layout, err = p.scattered(c, t)
	} else {
		n := c.num(t.count)
		if t.each {
			n *= int64(members)
		}
		layout, _, err = p.buffer(n, c.num(t.typ))
	}
	if err != nil || layout.IsEmpty() {
		return Access{}, false, err
	}
	a := Access{Kind: Read, Role: SendBuffer, Base: uint64(base), Layout: layout, Call: p.info(c)}
	if t.write {
		a.Kind, a.Role = Write, ReceiveBuffer
	}
	return a, true, nil
}

// scattered returns the bytes of a buffer with a count and a displacement for
// each process.
func (p *proc) scattered(c *call, t touch) (*intervals.Layout, error) {
	counts, displs := c.list(t.count), c.list(t.displs)
	if len(counts) != len(displs) {
		return nil, fmt.Errorf("%d counts and %d displacements", len(counts), len(displs))
	}
	var parts []*intervals.Layout
	for i, n := range counts {
		layout, typ, err := p.buffer(n, c.num(t.typ))
		if err != nil {
			return nil, err
		}
		parts = append(parts, layout.Shifted(displs[i]*typ.extent))
	}
	return intervals.Join(parts...), nil
}
