package regions

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// exercise does random things to a Storage, and to lists.
type exercise struct {
	*testing.T
	*rand.Rand
	s       *Storage
	strands []strand
	locals  []fact  // of the phase
	calls   []*made // of the phase
	first   bool    // the phase is the first of its region
	held    []heldRegion
	layouts []*intervals.Layout
	sets    []*LockSet // nil among them
	seen    tally
}

// strand is where a process stands.
type strand struct {
	pos   uint64
	segs  []Segment // of the phase
	first int32     // number of segs[0]
	locks *LockSet
}

func (s *strand) seg() int32 { return s.first + int32(len(s.segs)) - 1 }

// made is an access of a call in the lists.
type made struct {
	fact
	room   *Access // where the Storage has it, of one that is not complete, or waits; otherwise nil
	span   *Completion
	listed bool
}

// fact is what a region has to tell of an access.
type fact struct {
	Owner, Rank  int32
	Kind         Kind
	Role         *Role
	Base, Bytes  uint64
	Start, End   Point
	Gate         Point
	Gated, Old   bool
	Locks        string
	Pos          uint64 // of its call or event
	Stack        uint32
	Within       *Bounds
	Spans        bool
	By           string // what completed it; of one that is complete
	ByPos        uint64
	Strand, Unit uint32
}

// factOf is what an access of a region tells.
func factOf(a *Access) fact {
	f := fact{
		Owner: a.Owner, Rank: a.Rank, Kind: a.Kind, Role: a.Role, Base: a.Base, Bytes: a.Layout.Bytes(), Start: a.Start, End: a.End,
		Gate: a.Gate, Gated: a.Gated, Old: a.Old, Locks: a.Locks.Key(), Pos: a.Call.Pos, Stack: a.Call.Stack, Within: a.Bounds,
		Spans: a.Span != nil, Strand: a.Call.Thread, Unit: a.Unit,
	}
	if a.Span != nil && a.Span.By != nil && a.End.Within() {
		f.By, f.ByPos = a.Span.By.Fn, a.Span.By.Pos
	}
	return f
}

// gateOpen reports whether the access waits for its gate.
func (f *fact) gateOpen() bool { return f.Gated && f.Gate.Seg == Later }

func (f *fact) past(past Past) bool { return f.End.Seg >= 0 && f.End.Seg < past[f.End.Line] }

func inOrder(a, b fact) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Role.Name, b.Role.Name), cmp.Compare(a.Base, b.Base))
}

// heldRegion is a region with what it has to have.
type heldRegion struct {
	*Region
	locals, calls []fact
}

var (
	testTarget = &Role{Name: "target", Class: Target}
	testBuffer = &Role{Name: "buffer", Class: CallBuffer}
)

func newExercise(t *testing.T, rng *rand.Rand, limit int64) *exercise {
	x := &exercise{T: t, Rand: rng, strands: make([]strand, 1+rng.IntN(3)), sets: []*LockSet{nil, nil}}
	x.s = NewStorage(len(x.strands), limit)
	var made LockSets
	for n := range uint64(3) {
		x.layouts = append(x.layouts, intervals.NewLayout([]intervals.Run{intervals.Solid(0, 4+4*n)}))
		x.sets = append(x.sets, x.sets[n].With(made.Only(Lock{Object: 1, Target: int32(n), Exclusive: n == 1})))
	}
	x.begin()
	return x
}

// begin begins a region: accesses that are not complete began earlier there.
func (x *exercise) begin() {
	x.s.Begin()
	x.first, x.locals = true, nil
	for rank := range x.strands {
		p := &x.strands[rank]
		p.segs, p.first = nil, 0
		x.newSegment(p)
		x.s.SetLocks(int32(rank), p.locks)
	}
	x.calls = slices.DeleteFunc(x.calls, func(m *made) bool { return m.End.Seg != Never })
	for _, m := range x.calls {
		a := x.s.Copy(m.room)
		a.Start, a.Old = Point{Line: a.Rank, Seg: Earlier}, true
		if a.Gated = m.gateOpen(); a.Gated {
			a.Old = false
		}
		m.room, m.listed = a, true
		m.Start, m.Old, m.Gated = a.Start, a.Old, a.Gated
		x.s.Add(a)
	}
}

func (x *exercise) newSegment(p *strand) { p.segs = append(p.segs, Segment{Bounds: &Bounds{}}) }

// phase does random things.
func (x *exercise) phase() {
	steps := [...]func(int32, *strand){x.addLocals, x.addLocals, x.instant, x.instants, x.open, x.open, x.complete, x.complete, x.synchronize, x.setLocks, x.openGate}
	for range 10 + x.IntN(60) {
		rank := x.IntN(len(x.strands))
		steps[x.IntN(len(steps))](int32(rank), &x.strands[rank])
	}
}

func (x *exercise) synchronize(_ int32, p *strand) {
	p.pos++
	x.newSegment(p)
}

func (x *exercise) setLocks(rank int32, p *strand) {
	p.locks = x.sets[x.IntN(len(x.sets))]
	x.s.SetLocks(rank, p.locks)
}

// addLocals adds a stretch, sometimes without some of its rows.
func (x *exercise) addLocals(rank int32, p *strand) {
	for range 1 + x.IntN(3) {
		st := x.stretch()
		from, to := 0, len(st.Rows)
		if x.IntN(4) == 0 {
			from = x.IntN(to)
			to = from + 1 + x.IntN(to-from)
		}
		thread := uint32(x.IntN(5) / 4)
		x.s.AddLocals(rank, NewStretch(&st, st.Rows[from:to], p.pos+1, p.seg(), thread))
		for i := from; i < to; i++ {
			r := &st.Rows[i]
			for k := range int(r.N) {
				a := r.Access(k)
				f := fact{
					Owner: rank, Rank: rank, Role: Load, Base: a.Addr, Bytes: uint64(a.Size) * a.Count, Locks: p.locks.Key(),
					Pos: p.pos + 1 + uint64(r.Number(k)), Stack: a.Stack, Within: p.segs[len(p.segs)-1].Bounds, Strand: thread,
				}
				if a.Store {
					f.Role, f.Kind = Store, Write
				}
				f.Start = Point{Line: rank, Seg: p.seg(), Pos: f.Pos}
				f.End = f.Start
				x.locals = append(x.locals, f)
			}
		}
		p.pos += uint64(st.Len)
	}
}

// stretch returns some rows: single accesses, and loops with two accesses.
func (x *exercise) stretch() (st trace.Stretch) {
	row := func(n, every int) trace.Rows {
		a := trace.Access{Addr: 1000 + 8*uint64(x.IntN(100)), Size: 4, Count: 1, Stack: uint32(x.IntN(3)), Store: x.IntN(2) == 0}
		r := trace.RowsOf(&a, st.Len)
		if n > 1 {
			r.N, r.Every, r.Pitch = uint16(n), uint8(every), int64(8*x.IntN(9)-32)
		}
		return r
	}
	for range 1 + x.IntN(6) {
		if x.IntN(3) > 0 {
			st.Rows = append(st.Rows, row(1, 0))
			st.Len++
			continue
		}
		n := 2 + x.IntN(4)
		a, b := row(n, 2), row(n, 2)
		b.At++
		st.Rows = append(st.Rows, a, b)
		st.Len += 2 * n
	}
	st.Lo = math.MaxUint64
	for i := range st.Rows {
		r := &st.Rows[i]
		lo, hi := r.Bounds()
		st.Lo, st.Hi = min(st.Lo, lo), max(st.Hi, hi)
		if r.Store {
			st.Stores += uint64(r.N)
		} else {
			st.Loads += uint64(r.N)
		}
	}
	return st
}

// access returns what a call of a process does now.
func (x *exercise) access(rank int32, p *strand, role *Role) Access {
	p.pos++
	layout := x.layouts[x.IntN(len(x.layouts))]
	return Access{
		Owner: int32(x.IntN(len(x.strands))), Rank: rank, Kind: Write, Role: role, Base: 1000 + 8*uint64(x.IntN(4)), Layout: layout,
		Start: Point{Line: rank, Seg: p.seg(), Pos: p.pos}, End: Point{Line: rank, Seg: Never}, Locks: x.sets[x.IntN(len(x.sets))],
		Call: NewCallInfo(CallSite{Fn: "begin", Rank: rank, Stack: uint32(x.IntN(2))}, p.pos), Bounds: p.segs[len(p.segs)-1].Bounds, Unit: 4,
	}
}

func (x *exercise) note(a *Access, m *made) {
	m.fact = factOf(a)
	x.calls = append(x.calls, m)
}

func (x *exercise) instant(rank int32, p *strand) { x.addInstant(x.access(rank, p, testBuffer)) }

func (x *exercise) addInstant(a Access) {
	a.End = a.Start
	x.note(&a, &made{listed: true})
	if !x.s.Settle(&a, nil) {
		x.s.Add(x.s.Copy(&a))
	}
}

// instants adds a loop: accesses that differ in time only.
func (x *exercise) instants(rank int32, p *strand) {
	a := x.access(rank, p, testBuffer)
	for range 1 + x.IntN(20) {
		x.addInstant(a)
		p.pos += uint64(1 + x.IntN(8)/7)
		call := *a.Call
		call.Pos, a.Start.Pos = p.pos, p.pos
		a.Call = &call
	}
}

// open begins an access, which perhaps waits for its gate.
func (x *exercise) open(rank int32, p *strand) {
	a := x.s.NewAccess()
	*a = x.access(rank, p, testTarget)
	m := &made{room: a, span: &Completion{}}
	a.Span = m.span
	if x.IntN(4) == 0 {
		a.Gated, a.Gate, m.listed = true, Point{Line: a.Owner, Seg: Later}, true
		x.s.Add(a)
	}
	x.note(a, m)
}

// openGate says when an access starts that waits for it.
func (x *exercise) openGate(int32, *strand) {
	for _, m := range x.calls {
		if m.gateOpen() && x.IntN(2) == 0 {
			p := &x.strands[m.Owner]
			p.pos++
			m.Gate = Point{Line: m.Owner, Seg: p.seg(), Pos: p.pos}
			m.room.Gate = m.Gate
			return
		}
	}
}

// complete completes an access, perhaps at another process.
func (x *exercise) complete(rank int32, p *strand) {
	var open []*made
	for _, m := range x.calls {
		if m.End.Seg == Never && (m.Rank == rank || x.IntN(3) == 0) {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		return
	}
	p.pos++
	m, by := open[x.IntN(len(open))], NewCallInfo(CallSite{Fn: fmt.Sprint("end ", x.IntN(2)), Rank: rank, Stack: 5}, p.pos)
	m.End, m.By, m.ByPos = Point{Line: rank, Seg: p.seg(), Pos: p.pos}, by.Fn, by.Pos
	m.room.End, m.span.By = m.End, by
	switch {
	case m.listed:
	case x.s.Settle(m.room, by):
		x.s.GiveBack(m.room)
		m.room = nil
	default:
		x.s.Add(m.room)
	}
	m.listed = true
}

// handOver ends the phase, and begins the next one, or the next region.
func (x *exercise) handOver(last bool) {
	for _, m := range x.calls {
		if !m.listed {
			m.listed = true
			x.s.Add(m.room)
		}
	}
	past := x.limit()
	x.counts(past)
	r := x.s.HandOver(x.IntN(2) == 0)
	for rank := range x.strands {
		r.Segments[rank], r.First[rank] = x.strands[rank].segs, x.strands[rank].first
	}
	goOn := !last && x.IntN(3) > 0
	switch {
	case goOn:
		x.s.GoOn(r, past, func(int32) uint64 { return 0 }, func(carry func(*Access) *Access) {
			for _, m := range x.calls {
				if m.End.Seg == Never {
					m.room = carry(m.room)
				}
			}
		})
	case !last:
		x.s.PutOff(r)
	}
	x.hold(r, func(m *made) bool { return m.gateOpen() && (goOn || !last && m.End.Seg == Never) })
	switch {
	case goOn:
		x.goOn(past)
	case !last:
		x.begin()
	}
}

// hold keeps a region with what it has to have: all but some accesses of calls.
func (x *exercise) hold(r *Region, waits func(*made) bool) {
	h := heldRegion{Region: r, locals: slices.Clone(x.locals)}
	for _, m := range x.calls {
		if waits(m) {
			x.seen.waiting++
		} else {
			h.calls = append(h.calls, m.fact)
		}
	}
	slices.SortFunc(h.locals, inOrder)
	slices.SortFunc(h.calls, inOrder)
	x.held = append(x.held, h)
}

// limit returns random separate regions to be past; the present ones are not.
func (x *exercise) limit() (past Past) {
	for i := range x.strands {
		p := &x.strands[i]
		past = append(past, p.first+int32(x.IntN(len(p.segs))))
	}
	return past
}

// counts compares what the Storage counts.
func (x *exercise) counts(past Past) {
	added, kept := 0, 0
	for _, m := range x.calls {
		if x.first || !m.Old {
			added++
		}
		if !m.past(past) {
			kept++
		}
	}
	require.Equal(x, added, x.s.NewCalls())
	require.Equal(x, kept, x.s.Remaining(past))
}

// goOn takes the lists into the next phase.
func (x *exercise) goOn(past Past) {
	n := len(x.locals) + len(x.calls)
	x.first = false
	x.locals = slices.DeleteFunc(x.locals, func(f fact) bool { return f.past(past) })
	for i := range x.locals {
		x.locals[i].Old = true
	}
	x.calls = slices.DeleteFunc(x.calls, func(m *made) bool { return !m.gateOpen() && m.past(past) })
	for _, m := range x.calls {
		m.Old = !m.gateOpen()
	}
	x.seen.dropped += n - len(x.locals) - len(x.calls)
	for i := range x.strands {
		p := &x.strands[i]
		p.segs, p.first = slices.Clone(p.segs[past[i]-p.first:]), past[i]
	}
}
