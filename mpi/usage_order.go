package mpi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// callOrder compares the collective calls that the processes make on each
// communicator and window: all members make the same calls in the same order
// (MPI 4.1, 6.14 and 12.5.1).
type callOrder struct {
	open openCalls
	lost map[core.MeetKey]bool // communicators and windows (by sequence) on which the order is lost
	any  bool                  // on some it is

	first   *process // that came to the synchronization of all processes at which some stand
	arrived int      // who stand there
}

// processOrder is the collective calls of one process.
type processOrder struct {
	taken   map[core.MeetKey]*taken // by sequence
	last    *taken                  // the last of these that was asked for; or nil
	callers []uint32                // threads that made some
	lost    bool                    // which it made is not known
	at      core.MeetKey            // its last blocking one
	closing *regions.CallInfo       // the last synchronization of all processes that it came to
	stuck   *orderedCall            // the one that it never returned from
	end     *regions.CallInfo       // its call of MPI_Finalize
}

// taken counts the calls that a process has made in a sequence.
type taken struct {
	of    core.MeetKey
	calls uint64
}

// sequence returns the calls that the process has made in a sequence.
func (o *processOrder) sequence(of core.MeetKey) *taken {
	if o.last != nil && o.last.of == of {
		return o.last
	}
	if o.last = o.taken[of]; o.last == nil {
		o.last = &taken{of: of}
		o.taken[of] = o.last
	}
	return o.last
}

// orderedCall is a collective call, as the first process made it.
type orderedCall struct {
	key     core.MeetKey
	fn      string
	root    int64
	assert  int64
	call    *regions.CallInfo
	members *core.Group
	left    int // members that have yet to call
}

// openCalls are the collective calls that some members have yet to make.
type openCalls struct {
	recent *orderedCall // the one that was added last; or nil
	others map[core.MeetKey]*orderedCall
	spare  *orderedCall // room for the next; or nil
}

// find returns the call with that key, or nil.
func (o *openCalls) find(key core.MeetKey) *orderedCall {
	if o.recent != nil && o.recent.key == key {
		return o.recent
	}
	return o.others[key]
}

// add adds a copy of a call.
func (o *openCalls) add(c *orderedCall) {
	if o.recent != nil {
		if o.others == nil {
			o.others = map[core.MeetKey]*orderedCall{}
		}
		o.others[o.recent.key] = o.recent
	}
	if o.recent, o.spare = o.spare, nil; o.recent == nil {
		o.recent = &orderedCall{}
	}
	*o.recent = *c
}

// remove takes out a call that all members have made. It stays as it is until the
// next is added.
func (o *openCalls) remove(c *orderedCall) {
	if o.spare = c; c == o.recent {
		o.recent = nil
	} else {
		delete(o.others, c.key)
	}
}

// noRank stands for the root of a call that names none.
const noRank int64 = -100

// inOrder notes the collective call that a process has taken a number for, and
// compares it with those of the other members that should be the same one.
func (m *Model) inOrder(p *process, c *core.Call, key core.MeetKey, g *core.Group) {
	p.order.at = key
	if s := p.Thread(); !slices.Contains(p.order.callers, s) {
		p.order.callers = append(p.order.callers, s)
	}
	if m.Present(g.Local)+m.Present(g.Remote) == 1 {
		return
	}
	own := orderedCall{key: key, fn: c.Fn.Name, root: noRank, call: p.Info(c), members: g}
	if c.Has(argRoot) && c.Int(argRoot) >= 0 {
		own.root = c.Int(argRoot)
	}
	if c.Has(argAssert) {
		own.assert = c.Int(argAssert) & (trace.AssertNoPrecede | trace.AssertNoSucceed)
	}
	if !c.Returned {
		stuck := own
		p.order.stuck = &stuck
	}
	first := m.order.open.find(key)
	if first == nil {
		own.left = m.Present(g.Local) + m.Present(g.Remote) - 1
		m.order.open.add(&own)
		return
	}
	if first.left--; first.left == 0 {
		m.order.open.remove(first)
	}
	if !own.agrees(first) {
		m.compare(p, &own, first)
	}
}

// agrees reports whether two processes make the same call.
func (c *orderedCall) agrees(d *orderedCall) bool {
	return c.alike(d) && (c.root == d.root || c.root == noRank || d.root == noRank) && c.assert == d.assert
}

// alike reports whether two calls are to the same procedure.
func (c *orderedCall) alike(d *orderedCall) bool {
	return c.fn == d.fn || sameCall(c.fn) == sameCall(d.fn)
}

// compare reports a call that does not agree with the one that another process
// made.
func (m *Model) compare(p *process, own, first *orderedCall) {
	seq := sequence(own.key)
	if m.order.lost[seq] || m.disordered(p) || m.disordered(m.procs[first.call.Rank]) {
		return
	}
	u := core.Usage{Fix: "let all members make the same collective calls in the same order"}
	switch {
	case !own.alike(first):
		m.order.lost[seq], m.order.any = true, true
		u.Why = fmt.Sprintf("rank %d calls %s where rank %d calls %s on the same %s", first.call.Rank, first.call.Fn, p.Rank, own.call.Fn, groupKind(seq))
		m.mismatch(p, own, first, u.Why)
	case own.root != first.root && own.root != noRank && first.root != noRank:
		u.Why = fmt.Sprintf("rank %d gives root %d where rank %d gives root %d", first.call.Rank, first.root, p.Rank, own.root)
		u.Fix = "let all members give the same root"
		m.mismatch(p, own, first, u.Why)
	default:
		if (own.assert^first.assert)&trace.AssertNoPrecede != 0 {
			// Some wait for all and some do not: what meets what is lost.
			m.order.lost[seq], m.order.any = true, true
		}
		u.Why = fmt.Sprintf("rank %d asserts %s where rank %d asserts %s, and these must be given by all members or by none",
			first.call.Rank, assertion(first.assert), p.Rank, assertion(own.assert))
		u.Fix = "let all members give the same assertions"
	}
	m.outOfOrder(own, first, u)
}

func (m *Model) outOfOrder(a, b *orderedCall, u core.Usage) {
	if b.call.Rank < a.call.Rank {
		a, b = b, a
	}
	u.Rule, u.Call, u.Other, u.Owner, u.Either = conflicts.RuleCallOrder, a.call, b.call, a.call.Rank, true
	if w := m.windows.byID[a.key.On]; w != nil && a.key.Of == onWindow {
		u.Object = &w.Object
	}
	m.Misuse(u)
}

// mismatch notes that what follows the calls may be ordered otherwise.
func (m *Model) mismatch(p *process, own, first *orderedCall, text string) {
	m.Report(core.Problem{Kind: core.Mismatch, Rank: p.Rank, Fn: own.call.Fn, Call: first.call, Text: text})
}

// disordered reports whether the collective calls of a process are not known
// for sure to be in the order of its trace.
func (m *Model) disordered(p *process) bool { return p.order.lost || len(p.order.callers) > 1 }

// sameCall gives calls that belong together one name: the large-count form of
// a call is the same procedure (MPI 4.1, 19.2), MPI_Comm_dup a special case of
// MPI_Comm_dup_with_info.
func sameCall(fn string) string {
	return strings.TrimSuffix(strings.TrimSuffix(fn, "_c"), "_with_info")
}

func groupKind(k core.MeetKey) string {
	if k.Of == onWindow {
		return "window"
	}
	return "communicator"
}

func assertion(bits int64) string {
	var names []string
	if bits&trace.AssertNoPrecede != 0 {
		names = append(names, "MPI_MODE_NOPRECEDE")
	}
	if bits&trace.AssertNoSucceed != 0 {
		names = append(names, "MPI_MODE_NOSUCCEED")
	}
	if names == nil {
		return "neither MPI_MODE_NOPRECEDE nor MPI_MODE_NOSUCCEED"
	}
	return strings.Join(names, " and ")
}

// meets compares the call at which a process stands, a synchronization of all
// processes, with that of the first that came to one: calls on different
// communicators or windows must come in one order too (6.14).
func (m *Model) meets(p *process, closing *regions.CallInfo) {
	p.order.closing = closing
	if m.order.arrived++; m.order.arrived == 1 {
		m.order.first = p
	}
	q := m.order.first
	if m.order.arrived == m.present {
		m.order.arrived = 0 // the next one is another
	}
	if p.order.at == q.order.at || m.Threaded() { // several strands may stand at several
		return
	}
	first := q.order.closing
	text := fmt.Sprintf("rank %d calls %s where rank %d calls %s", p.Rank, closing.Fn, q.Rank, first.Fn)
	if closing.Fn == first.Fn {
		text += ", on different communicators or windows"
	}
	m.Report(core.Problem{Kind: core.Mismatch, Rank: p.Rank, Fn: closing.Fn, Call: closing, Text: text})
	none := core.MeetKey{}
	if m.order.any || p.order.at == none || q.order.at == none || m.disordered(p) || m.disordered(q) {
		return
	}
	m.order.any = true
	m.outOfOrder(&orderedCall{key: p.order.at, call: closing}, &orderedCall{key: q.order.at, call: first}, core.Usage{Why: text,
		Fix: "let all processes make these calls in the same order"})
}

// checkDeadlock reports, of a run that did not end, two collective calls that
// wait for each other: each process stands in one that the other has not
// called. A correct program does not deadlock even where all collective calls
// wait for all members (6.14).
func (m *Model) checkDeadlock() {
	if m.order.any {
		return
	}
	for _, p := range m.procs {
		a := p.order.stuck
		if a == nil || m.disordered(p) {
			continue
		}
		for _, r := range slices.Concat(a.members.Local, a.members.Remote) {
			q := m.procs[r]
			b := q.order.stuck
			switch {
			case q == p || m.disordered(q) || q.called(a.key):
			case q.order.end != nil:
				m.outOfOrder(a, &orderedCall{call: q.order.end, key: a.key}, core.Usage{
					Why: fmt.Sprintf("rank %d waits in %s, which rank %d never calls before MPI_Finalize", p.Rank, a.call.Fn, q.Rank),
					Fix: "let all members make the same collective calls"})
				return
			case b != nil && holds(b.members, p.Rank) && !p.called(b.key):
				m.outOfOrder(a, b, core.Usage{
					Why: fmt.Sprintf("rank %d waits in %s for rank %d, which waits for it in %s on another communicator or window",
						p.Rank, a.call.Fn, q.Rank, b.call.Fn),
					Fix: "let all processes make these calls in the same order"})
				return
			}
		}
	}
}

// called reports whether the process has made that collective call.
func (p *process) called(k core.MeetKey) bool { return p.order.sequence(sequence(k)).calls >= k.N }
