package mpi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// usageChecks says for each call that begins, ends or needs an epoch, or gives up
// a request, whether it may stand where it does (MPI 4.1, 12.5 and 12.3.5). They
// look at the epochs and requests of the caller only, so that what they find does
// not depend on the order of the run.
var usageChecks = map[string]func(*Model, *process, *core.Call){
	"MPI_Win_fence":           checkFence,
	"MPI_Win_start":           checkStart,
	"MPI_Win_complete":        checkComplete,
	"MPI_Win_post":            checkPost,
	"MPI_Win_wait":            checkWait,
	"MPI_Win_test":            checkWait,
	"MPI_Win_lock":            checkLock,
	"MPI_Win_lock_all":        checkLockAll,
	"MPI_Win_unlock":          checkUnlock,
	"MPI_Win_unlock_all":      checkUnlockAll,
	"MPI_Win_flush":           checkFlush,
	"MPI_Win_flush_all":       checkFlush,
	"MPI_Win_flush_local":     checkFlush,
	"MPI_Win_flush_local_all": checkFlush,
	"MPI_Win_free":            checkFree,
	"MPI_Finalize":            checkFinalize,
	"MPI_Request_free":        checkGivenUp,
	"MPI_Cancel":              checkGivenUp,
}

// fenced notes a fence. One that asserts MPI_MODE_NOPRECEDE completes nothing,
// so that the epoch goes on that has operations.
func (e *epochs) fenced(call *regions.CallInfo, assert int64) {
	e.last = call
	if assert&trace.AssertNoPrecede == 0 {
		e.fenceOp = nil
	}
	if e.fenceOp == nil {
		e.fenceCall = call
	}
}

// synchronized notes a synchronization of the window.
func (e *epochs) synchronized(call *regions.CallInfo, at moment) { e.last, e.since = call, at }

// lowestLock returns the open lock epoch of the lowest target, or nil.
func (e *epochs) lowestLock() (target int32, l *lockEpoch) {
	if e.locks.open == 0 {
		return -1, nil
	}
	target = e.locks.targets()[0]
	return target, e.locks.on(target)
}

// misused reports a call that is wrong by the epochs of its window.
func (m *Model) misused(p *process, c *core.Call, e *epochs, u core.Usage) {
	u.Call = p.InfoOn(c, e.exposer(), "")
	u.Last, u.Object = e.last, &e.win.Object
	u.Owner = p.Rank
	m.Misuse(u)
}

// checkEpoch says whether an access epoch covers the target of a one-sided
// operation (12.5), and one of the kind that it needs (12.3.5).
func (m *Model) checkEpoch(p *process, c *core.Call, e *epochs, op *operation, r *entry) {
	if !p.knows(e) {
		return
	}
	target := e.win.members[op.target]
	u := core.Usage{Rule: conflicts.RuleOutsideEpoch, Call: op.call, Last: e.last, As: r.op.role.Name, Writes: r.op.role != GetTarget, Concerned: core.Concerned{Owner: target, Object: &e.win.Object}}
	switch {
	case op.epoch == NoEpoch:
		u.Why, u.Other = e.whyNoEpoch(target)
		u.Fix = fmt.Sprintf("call %s between the calls that open and close an access epoch to rank %d: two MPI_Win_fence, MPI_Win_start and MPI_Win_complete, or MPI_Win_lock and MPI_Win_unlock", c.Fn.Name, target)
	case c.Has(argRequest) && (op.epoch == FenceEpoch || op.epoch == StartEpoch):
		u.Why = fmt.Sprintf("operations with a request may be called in lock epochs only, and this is a %s epoch", op.epoch)
		u.Fix = "call the form without a request, or lock the target"
	default:
		return
	}
	m.Misuse(u)
}

// whyNoEpoch says why no access epoch covers a target, and names the call that
// one might take for its opening.
func (e *epochs) whyNoEpoch(target int32) (why string, other *regions.CallInfo) {
	if held, l := e.lowestLock(); l != nil {
		return fmt.Sprintf("the open lock epoch covers rank %d, not rank %d", e.win.members[held], target), l.call
	}
	switch {
	case e.started != nil:
		return fmt.Sprintf("rank %d is not in the group of the open MPI_Win_start", target), e.startCall
	case e.last == nil:
		return "no earlier call opens an epoch on this window", nil
	case e.last.Fn == "MPI_Win_fence":
		return "the preceding fence asserts MPI_MODE_NOSUCCEED, so no epoch follows it", e.last
	}
	return fmt.Sprintf("no access epoch is open: the last synchronization of the window is %s", e.last.Fn), nil
}

// openAccess reports a call that begins an access epoch while another is open
// that it may not overlap: "distinct access epochs for win at the same process
// must be disjoint" (12.5). A fence opens one only if operations follow it.
func (m *Model) openAccess(p *process, c *core.Call, e *epochs, target int32) bool {
	u := core.Usage{Rule: conflicts.RuleMixedEpochs}
	held, l := e.lowestLock()
	switch {
	case e.locks.all() != nil:
		u.Other, u.Why = e.locks.all().call, "the epoch that MPI_Win_lock_all opened is not closed yet"
		u.Fix = "call MPI_Win_unlock_all first"
	case l != nil && target < 0:
		u.Other, u.Why = l.call, fmt.Sprintf("the lock epoch of rank %d is not closed yet", e.win.members[held])
		u.Fix = "call MPI_Win_unlock first"
	case target >= 0 && e.locks.on(target) != nil:
		u.Other, u.Why = e.locks.on(target).call, fmt.Sprintf("the process already holds a lock on rank %d, and lock epochs open at the same time must have different targets", e.win.members[target])
		u.Fix = "call MPI_Win_unlock first"
	case e.started != nil:
		u.Other, u.Why = e.startCall, "the epoch that MPI_Win_start opened is not closed yet"
		u.Fix = "call MPI_Win_complete first"
	case e.fenceOp != nil && c.Fn.Name != "MPI_Win_fence":
		u.Other, u.Via, u.Why = e.fenceCall, e.fenceOp, "the fence epoch has operations and is not closed by another fence yet"
		u.Fix = "call MPI_Win_fence first"
	default:
		return false
	}
	u.Why += "; access epochs of a process on one window must not overlap"
	m.misused(p, c, e, u)
	return true
}

// checkFence: a fence that neither completes nor opens anything stands in any
// epoch.
func checkFence(m *Model, p *process, c *core.Call) {
	e := m.certain(p, c)
	if e == nil {
		return
	}
	m.checkFenceAsserts(p, e, c)
	const neither = trace.AssertNoPrecede | trace.AssertNoSucceed
	if c.Int(argAssert)&neither != neither {
		m.openAccess(p, c, e, -1)
	}
}

func checkStart(m *Model, p *process, c *core.Call) {
	if e := m.certain(p, c); e != nil {
		m.openAccess(p, c, e, -1)
	}
}

// checkLock: an access epoch of its own for each target; and a window may not
// be locked and exposed at once (12.5.3). That is certain of the own window.
func checkLock(m *Model, p *process, c *core.Call) {
	e := m.certain(p, c)
	if e == nil || c.Int(argRank) == trace.ProcNull {
		return
	}
	target := e.win.target(c.Int(argRank))
	if target < 0 || m.openAccess(p, c, e, target) {
		return
	}
	if target == e.rank {
		m.exposed(p, c, e)
	}
}

func checkLockAll(m *Model, p *process, c *core.Call) {
	if e := m.certain(p, c); e != nil && !m.openAccess(p, c, e, -1) {
		m.exposed(p, c, e)
	}
}

func (m *Model) exposed(p *process, c *core.Call, e *epochs) {
	if e.posted != nil {
		m.misused(p, c, e, core.Usage{Rule: conflicts.RuleMixedEpochs, Other: e.postCall,
			Why: "the process's own part of the window is exposed by MPI_Win_post, and must not be locked before MPI_Win_wait", Fix: "call MPI_Win_wait first"})
	}
}

func checkPost(m *Model, p *process, c *core.Call) {
	e := m.certain(p, c)
	if e == nil {
		return
	}
	if c.Int(argAssert)&trace.AssertNoStore != 0 && !c.Failed {
		m.checkNoStore(p, e, c)
	}
	l := e.locks.covering(e.rank)
	switch {
	case e.posted != nil:
		m.misused(p, c, e, core.Usage{Rule: conflicts.RuleMixedEpochs, Other: e.postCall,
			Why: "the exposure epoch of the previous MPI_Win_post is not closed yet, and exposure epochs on one window must not overlap", Fix: "call MPI_Win_wait first"})
	case l != nil:
		m.misused(p, c, e, core.Usage{Rule: conflicts.RuleMixedEpochs, Other: l.call,
			Why: "the process holds a lock on its own part of the window, which must not be exposed before it is unlocked", Fix: "call MPI_Win_unlock or MPI_Win_unlock_all first"})
	}
}

// missing reports a call that ends, or needs, an epoch that is not open.
func (m *Model) missing(p *process, c *core.Call, e *epochs, why, fix string) {
	m.misused(p, c, e, core.Usage{Rule: conflicts.RuleNotOpened, Why: why, Fix: fix})
}

func checkComplete(m *Model, p *process, c *core.Call) {
	if e := m.certain(p, c); e != nil && e.started == nil {
		m.missing(p, c, e, "no MPI_Win_start of this process on this window is open", "call MPI_Win_start before the operations of the epoch")
	}
}

func checkWait(m *Model, p *process, c *core.Call) {
	if e := m.certain(p, c); e != nil && e.posted == nil {
		m.missing(p, c, e, "no MPI_Win_post of this process on this window is open", "call MPI_Win_post first")
	}
}

func checkUnlock(m *Model, p *process, c *core.Call) {
	e := m.certain(p, c)
	if e == nil || c.Int(argRank) == trace.ProcNull {
		return
	}
	target := e.win.target(c.Int(argRank))
	if target < 0 || e.locks.on(target) != nil {
		return
	}
	world := e.win.members[target]
	held, l := e.lowestLock()
	switch {
	case e.locks.all() != nil:
		m.misused(p, c, e, core.Usage{Rule: conflicts.RuleNotOpened, Other: e.locks.all().call,
			Why: "the targets were locked by MPI_Win_lock_all, which MPI_Win_unlock does not end", Fix: "call MPI_Win_unlock_all"})
	case l != nil:
		m.misused(p, c, e, core.Usage{Rule: conflicts.RuleNotOpened, Other: l.call,
			Why: fmt.Sprintf("the process holds a lock on rank %d, not on rank %d", e.win.members[held], world),
			Fix: "unlock the rank that was locked"})
	default:
		m.missing(p, c, e, fmt.Sprintf("the process holds no lock on rank %d on this window", world), "call MPI_Win_lock before the operations of the epoch")
	}
}

func checkUnlockAll(m *Model, p *process, c *core.Call) {
	e := m.certain(p, c)
	if e == nil || e.locks.all() != nil {
		return
	}
	if held, l := e.lowestLock(); l != nil {
		m.misused(p, c, e, core.Usage{Rule: conflicts.RuleNotOpened, Other: l.call,
			Why: fmt.Sprintf("rank %d was locked by MPI_Win_lock, which MPI_Win_unlock_all does not end", e.win.members[held]),
			Fix: "call MPI_Win_unlock for each target"})
		return
	}
	m.missing(p, c, e, "no MPI_Win_lock_all of this process on this window is open", "call MPI_Win_lock_all before the operations of the epoch")
}

// checkFlush: flushes "can be called only within passive target epochs"
// (12.5.4). One of a target that is not locked, beside locks of others, is let
// pass: it completes nothing, and does no harm.
func checkFlush(m *Model, p *process, c *core.Call) {
	if e := m.certain(p, c); e != nil && e.locks.all() == nil && e.locks.open == 0 && !(c.Has(argRank) && c.Int(argRank) == trace.ProcNull) {
		m.missing(p, c, e, "flushes may be called in lock epochs only, and none of this process is open on the window",
			"call it between MPI_Win_lock and MPI_Win_unlock, or close the epoch that is open")
	}
}

// checkFree: a process frees a window only after it has completed its part in
// what happens there (12.2.5).
func checkFree(m *Model, p *process, c *core.Call) {
	e := m.certain(p, c)
	if e == nil {
		return
	}
	pending := map[*regions.CallInfo]bool{} // calls whose epochs have operations pending
	for _, op := range e.ops.all() {
		opening := e.opening(op)
		if opening == nil {
			continue // in no epoch: a finding of its own
		}
		pending[opening] = true
		why := fmt.Sprintf("%s is not complete: nothing closed the %s epoch, or flushed it, before the window is freed", op.call.Fn, op.epoch)
		if e.last != nil && e.last.Thread != op.call.Thread {
			why += "; a call of another thread completes only what threads' own synchronization puts before it"
		}
		for range op.n {
			m.misused(p, c, e, core.Usage{Rule: conflicts.RuleFreedPending, Other: op.call,
				Why: why,
				Fix: "close the epoch before MPI_Win_free"})
		}
	}
	m.unclosed(p, c, e, func(opening *regions.CallInfo) bool { return pending[opening] })
}

// opening returns the call that opened the epoch of a pending operation, if
// that is open.
func (e *epochs) opening(op *operation) *regions.CallInfo {
	switch op.epoch {
	case FenceEpoch:
		return e.fenceCall
	case StartEpoch:
		return e.startCall
	case SharedLockEpoch, ExclusiveLockEpoch, TransferEpoch:
		if l := e.locks.on(op.target); l != nil {
			return l.call
		}
	case LockAllEpoch:
		if l := e.locks.all(); l != nil {
			return l.call
		}
	}
	return nil
}

// checkGivenUp: it is an error to free or cancel the request of a one-sided
// operation (12.3.5), which goes on as if it had not been.
func checkGivenUp(m *Model, p *process, c *core.Call) {
	r := p.requests.requests[c.Int(argRequest)]
	if p.unsure || r == nil || r.op == nil {
		return
	}
	m.misused(p, c, r.epoch, core.Usage{Rule: conflicts.RuleGivenUp, Other: r.op.call,
		Why: "the request of a one-sided operation can only be waited or tested for",
		Fix: "wait for the request, or use the form of the operation without one, which a flush or the end of the epoch completes"})
}

// checkFinalize: every epoch is closed before MPI_Finalize.
func checkFinalize(m *Model, p *process, c *core.Call) {
	if p.unsure {
		return
	}
	open := slices.SortedFunc(maps.Values(p.wins), func(a, b *epochs) int { return a.win.Number - b.win.Number })
	for _, e := range open {
		if !e.unsure {
			m.unclosed(p, c, e, func(*regions.CallInfo) bool { return false })
		}
	}
}

// unclosed reports the epochs that are open when a window ends.
func (m *Model) unclosed(p *process, c *core.Call, e *epochs, except func(*regions.CallInfo) bool) {
	end := p.Info(c)
	report := func(opening, via *regions.CallInfo, closing string) {
		if except(opening) {
			return
		}
		m.Misuse(core.Usage{Rule: conflicts.RuleNeverClosed, Call: opening, Other: end, Via: via, Concerned: core.Concerned{Owner: p.Rank, Object: &e.win.Object},
			Why: fmt.Sprintf("no %s closed the epoch before %s", closing, c.Fn.Name),
			Fix: fmt.Sprintf("call %s after the last operation of the epoch", closing)})
	}
	for _, target := range e.locks.targets() {
		report(e.locks.on(target).call, nil, "MPI_Win_unlock")
	}
	if l := e.locks.all(); l != nil {
		report(l.call, nil, "MPI_Win_unlock_all")
	}
	if e.started != nil {
		report(e.startCall, nil, "MPI_Win_complete")
	}
	if e.posted != nil {
		report(e.postCall, nil, "MPI_Win_wait")
	}
	if e.fenceOp != nil {
		report(e.fenceCall, e.fenceOp, "MPI_Win_fence")
	}
}
