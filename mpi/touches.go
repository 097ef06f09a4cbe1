package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// place says which processes of a collective call a touch is for.
type place uint8

const (
	everyone place = iota
	atRoot
	others    // all but the root
	notFirst  // all but rank 0
	havingOne // who has a neighbour to send to
)

// each says for whom a buffer has a part.
type each uint8

const (
	itself      each = iota // one part
	perPeer                 // one for each process, in an intercommunicator of the other group
	perMember               // one for each process of the own group
	perSource               // one for each neighbour that sends
	perNeighbor             // one for each neighbour that receives
)

// inPlace says what becomes of a touch when the argument `placed` is
// MPI_IN_PLACE. A buffer that is itself MPI_IN_PLACE is not touched.
type inPlace uint8

const (
	asEver     inPlace = iota
	ownLeftOut         // the process's own part is left out
	onlyThen           // the touch is made only then
	ownOnly            // only then, and of the process's own part
)

// touch is one buffer that a call reads or writes. Bytes are read before what
// the call signals, and written after what it waits for.
type touch struct {
	buf    core.ArgName
	count  core.ArgName // a number of elements of one part, or a list with one for each part
	typ    core.ArgName // datatype; a list where each part has its own
	displs core.ArgName // where each part begins, in extents (bytes where typ is a list); none: one behind the other
	at     place
	each   each
	list   bool // count is a list
	sum    bool // count is a list of numbers to add up
	own    bool // count is a list, of which the process's own entry counts
	bytes  bool // count is in bytes, there is no datatype
	write  bool

	placed core.ArgName
	then   inPlace
}

// touched returns the access of a touch, if it has any bytes. A pending call has
// all of its buffers until it is complete.
func (p *process) touched(c *core.Call, t touch, g *core.Group, pending bool) (regions.Access, bool, error) {
	inPlace := t.placed != 0 && c.Int(t.placed) == trace.InPlace
	base := c.Int(t.buf)
	if base == trace.InPlace || !inPlace && (t.then == onlyThen || t.then == ownOnly) {
		return regions.Access{}, false, nil
	}
	var layout *intervals.Layout
	var err error
	own := rankIn(g, p.Rank)
	switch {
	case t.bytes:
		layout = p.bytes(c.Int(t.count))
	case t.sum:
		n := int64(0)
		for _, k := range c.List(t.count) {
			n += k
		}
		layout, _, err = p.buffer(n, c.Int(t.typ))
	case t.own:
		counts := c.List(t.count)
		if own < 0 || int(own) >= len(counts) {
			return regions.Access{}, false, fmt.Errorf("%d counts for rank %d", len(counts), own)
		}
		layout, _, err = p.buffer(counts[own], c.Int(t.typ))
	case t.each == itself:
		layout, _, err = p.buffer(c.Int(t.count), c.Int(t.typ))
	default:
		layout, err = p.parts(c, t, g, func(i int) bool {
			switch {
			case inPlace && t.then == ownLeftOut && !pending:
				return i != int(own)
			case t.then == ownOnly:
				return i == int(own)
			}
			return true
		})
	}
	if err != nil || layout.IsEmpty() {
		return regions.Access{}, false, err
	}
	a := regions.Access{Rank: p.Rank, Kind: regions.Read, Role: SendBuffer, Base: uint64(base), Layout: layout, Call: p.Info(c)}
	if t.write {
		a.Kind, a.Role = regions.Write, ReceiveBuffer
	}
	return a, true, nil
}

// aliased begins the accesses of a blocking call in case that some that it reads and
// writes by different arguments overlap, which it may not have (MPI 4.1, 2.3): so they
// are made at the same time: it writes, as ever, when it has everything it waits for, and
// reads from its beginning until then. A call that never returned, which may be for that,
// begins both. It returns what writes, and ends them; nil: none overlap, and nothing was
// begun.
func (p *process) aliased(c *core.Call, read, written []regions.Access) (end func()) {
	if c.Has(argSendbuf) && c.Int(argSendbuf) == trace.InPlace || !anyMeet(read, written) {
		return nil
	}
	var open []*core.Pending
	begin := func(accesses []regions.Access) {
		for _, a := range accesses {
			open = append(open, p.openBuffer(a))
		}
	}
	begin(read)
	if !c.Returned {
		begin(written)
	}
	return func() {
		begin(written)
		at := p.Now()
		at.Pos++ // they last as long as the call
		for _, s := range open {
			s.Complete(at, p.Info(c))
		}
	}
}

// anyMeet reports whether one of these accesses shares a byte with one of those.
func anyMeet(these, those []regions.Access) bool {
	for i := range these {
		for k := range those {
			if _, _, meet := intervals.MeetLayouts(these[i].Base, these[i].Layout, those[k].Base, those[k].Layout); meet {
				return true
			}
		}
	}
	return false
}

func (p *process) bytes(n int64) *intervals.Layout {
	if n <= 0 {
		return intervals.Empty
	}
	return p.alike.Strided(1, uint64(n), uint64(n))
}

// parts returns the bytes of a buffer with a part for each of several
// processes, of the parts that with selects.
func (p *process) parts(c *core.Call, t touch, g *core.Group, with func(int) bool) (*intervals.Layout, error) {
	n, absent := p.partners(c, t.each, g)
	if !t.list {
		one, typ, err := p.buffer(c.Int(t.count), c.Int(t.typ))
		if err != nil {
			return nil, err
		}
		step := c.Int(t.count) * typ.extent
		return eachPart(n, func(i int) bool { return !absent(i) && with(i) }, one, step), nil
	}
	counts, displs := c.List(t.count), c.List(t.displs)
	if len(counts) != n || len(displs) != n {
		return nil, fmt.Errorf("%d counts and %d displacements for %d processes", len(counts), len(displs), n)
	}
	typeOf := func(int) int64 { return c.Int(t.typ) }
	if types := c.List(t.typ); len(types) > 0 {
		if len(types) != n {
			return nil, fmt.Errorf("%d datatypes for %d processes", len(types), n)
		}
		typeOf = func(i int) int64 { return types[i] }
	}
	typed := c.IsList(t.typ)
	var all []*intervals.Layout
	for i, count := range counts {
		if absent(i) || !with(i) || count == 0 {
			continue
		}
		layout, typ, err := p.buffer(count, typeOf(i))
		if err != nil {
			return nil, err
		}
		at := displs[i]
		if !typed {
			at *= typ.extent
		}
		all = append(all, layout.Shifted(at))
	}
	return intervals.Join(all...), nil
}

// eachPart returns copies of one part, step bytes apart, of those of n that
// with selects.
func eachPart(n int, with func(int) bool, one *intervals.Layout, step int64) *intervals.Layout {
	var all []*intervals.Layout
	for i := 0; i < n; i++ {
		from := i
		for i < n && with(i) {
			i++
		}
		if i > from {
			all = append(all, one.Repeat(uint64(i-from), step).Shifted(int64(from)*step))
		}
	}
	return intervals.Join(all...)
}

// partners returns how many parts a buffer has, and which of them no process
// sends or receives (MPI_PROC_NULL among neighbours).
func (p *process) partners(c *core.Call, e each, g *core.Group) (n int, absent func(int) bool) {
	none := func(int) bool { return false }
	switch e {
	case perPeer:
		return len(peers(g)), none
	case perMember:
		return len(g.Local), none
	}
	around := p.neighbours[c.Int(argComm)].sources
	if e == perNeighbor {
		around = p.neighbours[c.Int(argComm)].destinations
	}
	return len(around), func(i int) bool { return around[i] < 0 }
}
