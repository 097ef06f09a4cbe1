package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// What a call asserts by MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE or MPI_MODE_NOCHECK an
// MPI library may rely on (MPI 4.1, 12.5.5). Two calls are compared when the second
// of them is replayed, so that what is found does not depend on which that is.

// voucher is a call that asserts something.
type voucher struct {
	call *regions.CallInfo
	last *regions.CallInfo // the caller's last synchronization of the window before
	when moment
}

func (m *Model) voucher(p *process, e *epochs, call *regions.CallInfo) *voucher {
	return &voucher{call: call, last: e.last, when: m.now(p)}
}

// untrue reports an assertion that another call shows to be false.
func (m *Model) untrue(e *epochs, v *voucher, owner int32, other *regions.CallInfo, assertion, why string) {
	m.Misuse(core.Usage{
		Rule: conflicts.RuleAssertion, Call: v.call, Last: v.last, Other: other,
		Concerned: core.Concerned{Owner: owner, Object: &e.win.Object},
		Why:       fmt.Sprintf("%s of rank %d asserts %s, but %s", v.call.Fn, v.call.Rank, assertion, why), Fix: "leave out " + assertion,
	})
}

// checkFenceAsserts takes what a fence asserts of the memory of its caller, and of its operations:
// that a fence completes none holds if the process has issued none since the one before (12.5.1).
func (m *Model) checkFenceAsserts(p *process, e *epochs, c *core.Call) {
	assert := c.Int(argAssert)
	if c.Failed || assert == 0 {
		return
	}
	if assert&trace.AssertNoStore != 0 {
		m.checkNoStore(p, e, c)
	}
	if assert&trace.AssertNoPrecede != 0 && e.fenceOp != nil {
		m.untrue(e, m.voucher(p, e, p.Info(c)), p.Rank, e.fenceOp, "MPI_MODE_NOPRECEDE",
			fmt.Sprintf("%s of the fence epoch precedes it, and stays pending", e.fenceOp.Fn))
	}
	if assert&trace.AssertNoPut == 0 {
		return
	}
	f := e.win.fence(e.rank, e.fences+1)
	f.noPut = m.voucher(p, e, p.Info(c))
	for _, op := range f.early {
		m.putDespite(e, f.noPut, op)
	}
}

// checkNoPut takes an operation of a fence epoch that updates its target. opened is
// the target's fence that opened the epoch, which may be to come where it does not
// synchronise.
func (m *Model) checkNoPut(b *opBuilder, opened *fenceCall) {
	switch {
	case !b.p.knows(b.e):
	case opened.noPut != nil:
		m.putDespite(b.e, opened.noPut, b.op.call)
	case b.e.loose && !opened.Passed():
		opened.early = append(opened.early, b.op.call)
	}
}

func (m *Model) putDespite(e *epochs, v *voucher, op *regions.CallInfo) {
	m.untrue(e, v, v.call.Rank, op, "MPI_MODE_NOPUT",
		fmt.Sprintf("%s of rank %d updates its memory in the epoch", op.Fn, op.Rank))
}

// checkExposed compares what a post asserts with what an origin did in the exposure
// epoch, now that it has ended.
func (m *Model) checkExposed(e *epochs, completed *core.Match) {
	if op, ok := completed.With.(*regions.CallInfo); ok && e.noPut != nil {
		m.putDespite(e, e.noPut, op)
	}
}

// vouch returns what a start or a post lets the matching calls know: a voucher where
// it asserts MPI_MODE_NOCHECK, otherwise the call; nil where nothing is certain.
func (m *Model) vouch(p *process, e *epochs, c *core.Call, call *regions.CallInfo) any {
	switch {
	case !p.knows(e):
		return nil
	case c.Int(argAssert)&trace.AssertNoCheck == 0:
		return call
	}
	return m.voucher(p, e, call)
}

// checkReady compares a start and a post that match: both assert MPI_MODE_NOCHECK or
// neither does, and if they do, the post comes first. What vouch returned for the one
// of them that is replayed first travels along with the match.
func (m *Model) checkReady(p *process, e *epochs, s *core.Match, own any) {
	if own == nil || s.With == nil {
		s.With = own
		return
	}
	mine, vouches := own.(*voucher)
	theirs, vouch := s.With.(*voucher)
	const noCheck = "MPI_MODE_NOCHECK"
	alone := func(v *voucher, other *regions.CallInfo) {
		m.untrue(e, v, p.Rank, other, noCheck, fmt.Sprintf("the matching %s of rank %d does not", other.Fn, other.Rank))
	}
	switch {
	case !vouches && !vouch:
	case !vouch:
		alone(mine, s.With.(*regions.CallInfo))
	case !vouches:
		alone(theirs, own.(*regions.CallInfo))
	default:
		start, post := mine, theirs
		if mine.call.Fn == "MPI_Win_post" {
			start, post = theirs, mine
		} else if m.isPast(post.when, p) {
			return
		}
		m.untrue(e, start, post.call.Rank, post.call, noCheck,
			fmt.Sprintf("nothing orders the matching %s of rank %d before it", post.call.Fn, post.call.Rank))
	}
}

// checkLocked compares a lock epoch that begins with those of other processes that
// began before it in the replay: no other process holds, or tries to get, a lock that
// conflicts with one that asserts MPI_MODE_NOCHECK. Where nobody does, it costs
// nothing.
func (m *Model) checkLocked(p *process, l *lockEpoch) {
	e := l.of
	if !p.knows(e) {
		return
	}
	compare := func(o *lockEpoch) {
		if o.of != e && o.process(m).knows(o.of) && (o.open || !m.isPast(o.ended, p)) {
			m.locksMeet(l, o)
		}
	}
	all := &e.win.lockers
	all.unchecked.against(l, compare)
	if l.noCheck {
		all.checked.against(l, compare)
	}
	all.list(l, m.Index())
}

// locksMeet reports two conflicting locks, at least one of which asserts
// MPI_MODE_NOCHECK, that may be held at one time.
func (m *Model) locksMeet(l, o *lockEpoch) {
	if !l.noCheck || o.noCheck && o.call.Rank < l.call.Rank {
		l, o = o, l
	}
	w, target := l.of.win, max(l.target, o.target) // anyTarget is the lowest
	m.Misuse(core.Usage{
		Rule: conflicts.RuleAssertion, Call: l.call, Last: l.before, Other: o.call, Either: o.noCheck,
		Concerned: core.Concerned{Owner: w.members[target], Object: &w.Object},
		Why: fmt.Sprintf("MPI_MODE_NOCHECK asserts that no other process holds or requests a conflicting lock meanwhile, but nothing orders the lock epochs of rank %d (%s) and rank %d (%s) for the memory of rank %d",
			l.call.Rank, l.kind(), o.call.Rank, o.kind(), w.members[target]),
		Fix: "leave out MPI_MODE_NOCHECK, or synchronize the processes between the two epochs",
	})
}

// checkNoStore looks for what the process itself did to its part of a window since
// its last synchronization of that: a call that asserts MPI_MODE_NOSTORE is an access
// that lasted from then until now, and conflicts with that. Of dynamic windows
// nothing is said.
func (m *Model) checkNoStore(p *process, e *epochs, c *core.Call) {
	if e.part.Lo == e.part.Hi {
		return
	}
	since := e.since.at
	if e.since.region != m.Index() {
		since = regions.BeforeRegion(p.Rank)
	}
	call := p.InfoOn(c, e.exposer(), "")
	a := m.NewAccess()
	*a = regions.Access{Owner: p.Rank, Rank: p.Rank, Kind: regions.Read, Role: Unchanged, Base: e.part.Lo, Layout: e.part.all(), Call: call}
	s := p.OpenSince(a, since, e.last)
	s.Complete(p.Now(), call)
	s.Drop()
}
