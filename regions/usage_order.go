package regions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// callOrder compares the collective calls that the processes make on each
// communicator and window: all members make the same calls in the same order
// (MPI 4.1, 6.14 and 12.5.1).
type callOrder struct {
	open map[collKey]*orderedCall
	lost map[collKey]bool // communicators and windows (collKey.sequence) on which the order is lost
	any  bool             // on some it is
}

// orderedCall is a collective call, as the first process made it.
type orderedCall struct {
	key     collKey
	fn      string
	root    int64
	assert  int64
	call    *CallInfo
	members *group
	left    int // members that have yet to call
}

// noRank stands for the root of a call that names none.
const noRank int64 = -100

// inOrder notes the collective call that a process has taken a number for, and
// compares it with those of the other members that should be the same one.
func (m *Machine) inOrder(p *proc, c *call, key collKey, g *group) {
	p.at = key
	if s := p.event.Strand; !slices.Contains(p.callers, s) {
		p.callers = append(p.callers, s)
	}
	if g.size() == 1 {
		return
	}
	own := orderedCall{key: key, fn: sameCall(c.Fn.Name), root: noRank, call: p.info(c), members: g}
	if c.has("root") && c.num("root") >= 0 {
		own.root = c.num("root")
	}
	if c.has("assert") {
		own.assert = c.num("assert") & (trace.AssertNoPrecede | trace.AssertNoSucceed)
	}
	if !c.Returned {
		stuck := own
		p.stuck = &stuck
	}
	first := m.order.open[key]
	if first == nil {
		if m.order.open == nil {
			m.order.open, m.order.lost = map[collKey]*orderedCall{}, map[collKey]bool{}
		}
		first := own
		first.left = g.size() - 1
		m.order.open[key] = &first
		return
	}
	if first.left--; first.left == 0 {
		delete(m.order.open, key)
	}
	m.compare(p, &own, first)
}

// compare reports a call that is not the one that another process made.
func (m *Machine) compare(p *proc, own, first *orderedCall) {
	seq := own.key.sequence()
	if m.order.lost[seq] || m.disordered(p) || m.disordered(m.procs[first.call.Rank]) {
		return
	}
	u := Usage{Mend: "let all members make the same collective calls in the same order"}
	switch {
	case own.fn != first.fn:
		m.order.lost[seq], m.order.any = true, true
		u.Why = fmt.Sprintf("rank %d calls %s where rank %d calls %s on the same %s", first.call.Rank, first.call.Fn, p.rank, own.call.Fn, seq.what())
		m.mismatch(p, own, first, u.Why)
	case own.root != first.root && own.root != noRank && first.root != noRank:
		u.Why = fmt.Sprintf("rank %d gives root %d where rank %d gives root %d", first.call.Rank, first.root, p.rank, own.root)
		u.Mend = "let all members give the same root"
		m.mismatch(p, own, first, u.Why)
	case own.assert != first.assert:
		if (own.assert^first.assert)&trace.AssertNoPrecede != 0 {
			// Some wait for all and some do not: what meets what is lost.
			m.order.lost[seq], m.order.any = true, true
		}
		u.Why = fmt.Sprintf("rank %d asserts %s where rank %d asserts %s, and these must be given by all members or by none",
			first.call.Rank, assertion(first.assert), p.rank, assertion(own.assert))
		u.Mend = "let all members give the same assertions"
	default:
		return
	}
	m.outOfOrder(own, first, u)
}

func (m *Machine) outOfOrder(a, b *orderedCall, u Usage) {
	if b.call.Rank < a.call.Rank {
		a, b = b, a
	}
	u.Kind, u.Call, u.Other, u.Owner = CallOrder, a.call, b.call, a.call.Rank
	if w := m.windows.byID[a.key.on]; w != nil && a.key.of == onWindow {
		u.Object = &w.Object
	}
	m.misuse(u)
}

// mismatch notes that what follows the calls may be ordered otherwise.
func (m *Machine) mismatch(p *proc, own, first *orderedCall, text string) {
	m.problems.add(Problem{Kind: Mismatch, Rank: p.rank, Fn: own.call.Fn, Call: first.call, Text: text})
}

// disordered reports whether the collective calls of a process are not known
// for sure to be in the order of its trace.
func (m *Machine) disordered(p *proc) bool { return p.disorder || len(p.callers) > 1 }

// sameCall gives calls that belong together one name: the large-count form of
// a call is the same procedure (MPI 4.1, 19.2), MPI_Comm_dup a special case of
// MPI_Comm_dup_with_info.
func sameCall(fn string) string {
	return strings.TrimSuffix(strings.TrimSuffix(fn, "_c"), "_with_info")
}

func (k collKey) what() string {
	if k.of == onWindow {
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
func (m *Machine) meets(p *proc) {
	if m.arrived == 1 {
		m.closer = p
		return
	}
	q := m.closer
	if p.at == q.at {
		return
	}
	text := fmt.Sprintf("rank %d calls %s where rank %d calls %s", p.rank, p.closing.Fn, q.rank, q.closing.Fn)
	if p.closing.Fn == q.closing.Fn {
		text += ", on different communicators or windows"
	}
	m.problems.add(Problem{Kind: Mismatch, Rank: p.rank, Fn: p.closing.Fn, Call: p.closing, Text: text})
	none := collKey{}
	if m.order.any || p.at == none || q.at == none || m.disordered(p) || m.disordered(q) {
		return
	}
	m.order.any = true
	m.outOfOrder(&orderedCall{key: p.at, call: p.closing}, &orderedCall{key: q.at, call: q.closing}, Usage{Why: text,
		Mend: "let all processes make these calls in the same order"})
}

// checkDeadlock reports, of a run that did not end, two collective calls that
// wait for each other: each process stands in one that the other has not
// called. A correct program does not deadlock even where all collective calls
// wait for all members (6.14).
func (m *Machine) checkDeadlock() {
	if m.order.any {
		return
	}
	for _, p := range m.procs {
		a := p.stuck
		if a == nil || m.disordered(p) {
			continue
		}
		for _, r := range slices.Concat(a.members.local, a.members.remote) {
			q := m.procs[r]
			b := q.stuck
			switch {
			case q == p || m.disordered(q) || q.called(a.key):
			case q.last != nil:
				m.outOfOrder(a, &orderedCall{call: q.last, key: a.key}, Usage{
					Why:  fmt.Sprintf("rank %d waits in %s, which rank %d never calls before MPI_Finalize", p.rank, a.call.Fn, q.rank),
					Mend: "let all members make the same collective calls"})
				return
			case b != nil && b.members.holds(p.rank) && !p.called(b.key):
				m.outOfOrder(a, b, Usage{
					Why: fmt.Sprintf("rank %d waits in %s for rank %d, which waits for it in %s on another communicator or window",
						p.rank, a.call.Fn, q.rank, b.call.Fn),
					Mend: "let all processes make these calls in the same order"})
				return
			}
		}
	}
}

// called reports whether the process has made that collective call.
func (p *proc) called(k collKey) bool { return p.collSeq[k.sequence()] >= k.n }

func (g *group) holds(rank int32) bool {
	return slices.Contains(g.local, rank) || slices.Contains(g.remote, rank)
}
