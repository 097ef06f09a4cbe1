package regions

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// epochs are the access and exposure epochs of one process on one window, and
// the operations that it has pending there.
type epochs struct {
	win     *window
	rank    int32 // own rank in the window's communicator
	fence   bool
	fences  uint64  // calls of MPI_Win_fence so far
	loose   bool    // the last of them did not synchronise
	started []int32 // world ranks of the start group; nil outside of start–complete
	posted  []int32 // world ranks of the post group
	locks   map[int32]*lockEpoch
	lockAll *lockEpoch
	ops     []*operation
	copies  *copies // nil unless the window has the separate memory model

	// Calls that findings name.
	last      *CallInfo // the last synchronization of the window
	startCall *CallInfo
	postCall  *CallInfo
	fenceCall *CallInfo // that the fence epoch began with
	fenceOp   *CallInfo // the first operation in the fence epoch, without which there is none
	unsure    bool      // a call on the window returned an error: which epochs are open is not known
}

type lockEpoch struct {
	id        uint64
	call      *CallInfo
	exclusive bool
	set       *LockSet // the lock itself; nil when none is really taken (MPI_MODE_NOCHECK)
	tickets   []*lockTicket
	spans     []*lockSpan // instead of tickets when the order of locks is left out
}

// kind is that of an epoch of one lock.
func (l *lockEpoch) kind() Mode {
	if l.exclusive {
		return ExclusiveLockEpoch
	}
	return SharedLockEpoch
}

// operation is a one-sided operation that is pending.
type operation struct {
	target int32 // rank in the window
	epoch  Mode
	call   *CallInfo
	reads  bool    // it changes nothing at its target
	held   bool    // not only its window refers to it
	local  []*span // its buffers at the origin; none once complete
	remote *span   // its access to the target; nil once complete

	// What of these is left out.
	localOut  []bufferOut
	remoteOut bool
}

// bufferOut is a buffer [lo, hi) that is left out.
type bufferOut struct {
	lo, hi uint64
	ended  bool // before the operation: the memory was given up
}

// pending reports whether any access of the operation is not complete.
func (op *operation) pending() bool {
	return len(op.local) > 0 || op.remote != nil || len(op.localOut) > 0 || op.remoteOut
}

// newOperation returns an operation that is about to begin.
func (m *Machine) newOperation() *operation {
	n := len(m.spareOps)
	if n == 0 {
		return &operation{}
	}
	op := m.spareOps[n-1]
	m.spareOps = m.spareOps[:n-1]
	*op = operation{local: op.local[:0], localOut: op.localOut[:0]}
	return op
}

// operationRole says what an operation's call does at its target.
type operationRole struct {
	role *Role
	kind Kind
	op   string // of a call without an op argument
}

// window returns the process's epochs on a window, or nil.
func (p *proc) window(id int64) *epochs {
	if e := p.lastWin; e != nil && e.win.ID == id {
		return e
	}
	p.lastWin = p.wins[id]
	return p.lastWin
}

// operationArgs is where the arguments of a one-sided operation are in its calls.
type operationArgs struct {
	rank, disp, op, request         int
	origin, compare, result, target bufferArgsAt
}

// bufferArgsAt is where those are that tell a buffer. That of the target has no
// address.
type bufferArgsAt struct{ addr, count, typ int }

// oneElement stands for a count that is 1 in each call.
const oneElement = -2

func newOperationArgs(fn *trace.Fn, role *Role) operationArgs {
	at := operationArgs{rank: fn.Arg("target_rank"), disp: fn.Arg("target_disp"), op: fn.Arg("op"), request: fn.Arg("request")}
	single := role == SwapTarget || role == FetchTarget && fn.Arg("result_count") < 0
	buffer := func(which string) bufferArgsAt {
		if single {
			return bufferArgsAt{fn.Arg(which + "_addr"), oneElement, fn.Arg("datatype")}
		}
		return bufferArgsAt{fn.Arg(which + "_addr"), fn.Arg(which + "_count"), fn.Arg(which + "_datatype")}
	}
	at.origin, at.compare, at.result, at.target = buffer("origin"), buffer("compare"), buffer("result"), buffer("target")
	return at
}

func (m *Machine) epochsOf(p *proc, c *call) *epochs {
	id := c.num("win")
	if e := p.window(id); e != nil {
		return e
	}
	if !c.bad && !(isNote(c.Fn.Name) && !c.Returned) { // a note is filled in before it returns
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("it names window %d, whose creation was not understood", id))
	}
	return nil
}

// oneSided replays the call of a one-sided operation and returns it, or nil
// when it does nothing.
func (m *Machine) oneSided(p *proc, c *call, role operationRole) *operation {
	e := m.epochsOf(p, c)
	rank := c.argAt(c.function.op.rank).Int
	if e == nil || rank == trace.ProcNull {
		return nil
	}
	target := e.win.target(rank)
	if target < 0 || !e.win.known[target] {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("target rank %d has no memory in the window", rank))
		return nil
	}
	info := p.newInfo(c)
	op := m.newOperation()
	op.target, op.call = target, info
	info.Object = e.win.ID
	info.Mode = e.epochTo(target)
	op.epoch = info.Mode
	m.checkEpoch(p, c, e, op, role)
	b := opBuilder{m: m, p: p, c: c, e: e, op: op, info: info}
	err := b.build(role)
	if c.Failed {
		return nil
	}
	if err != nil {
		m.problems.notUnderstood(c.Fn.Name, info, err.Error())
	}
	if op.epoch == FenceEpoch && e.fenceOp == nil {
		e.fenceOp = info
	}
	m.stats.Operations++
	if op.pending() {
		e.ops = append(e.ops, op)
	}
	return op
}

// epochTo returns the kind of access epoch that covers a target.
func (e *epochs) epochTo(target int32) Mode {
	switch l := e.locks[target]; {
	case l != nil && l.exclusive:
		return ExclusiveLockEpoch
	case l != nil:
		return SharedLockEpoch
	case e.lockAll != nil:
		return LockAllEpoch
	case slices.Contains(e.started, e.win.members[target]):
		return StartEpoch
	case e.fence:
		return FenceEpoch
	}
	return NoEpoch
}

// lockOn returns the lock under which an operation accesses a target.
func (e *epochs) lockOn(target int32) *LockSet {
	if l := e.locks[target]; l != nil {
		return l.set
	}
	if e.lockAll != nil {
		return e.lockAll.set
	}
	return nil
}

// opBuilder makes the accesses of one operation (detection model, section 2).
type opBuilder struct {
	m    *Machine
	p    *proc
	c    *call
	e    *epochs
	op   *operation
	info *CallInfo
}

func (b *opBuilder) build(role operationRole) error {
	at := &b.c.function.op
	kind := Read
	if role.role == GetTarget {
		kind = Write
	}
	if role.role != FetchTarget || b.operationName() != noOp {
		if err := b.buffer(at.origin, kind, OriginBuffer); err != nil {
			return err
		}
	}
	if role.role == SwapTarget {
		if err := b.buffer(at.compare, Read, CompareBuffer); err != nil {
			return err
		}
	}
	if role.role == SwapTarget || role.role == FetchTarget {
		if err := b.buffer(at.result, Write, ResultBuffer); err != nil {
			return err
		}
	}
	return b.target(role)
}

const (
	noOp           = "MPI_NO_OP"
	compareAndSwap = "compare-and-swap"
)

func (b *opBuilder) operationName() string {
	return b.p.stream.Op(b.c.argAt(b.c.function.op.op).Int)
}

// elements returns the number of elements in a buffer, and their datatype.
func (b *opBuilder) elements(at bufferArgsAt) (count, typ int64) {
	if count = 1; at.count != oneElement {
		count = b.c.argAt(at.count).Int
	}
	return count, b.c.argAt(at.typ).Int
}

// buffer adds the access to one of the operation's buffers at the origin.
func (b *opBuilder) buffer(at bufferArgsAt, kind Kind, role *Role) error {
	layout, _, err := b.p.buffer(b.elements(at))
	if err != nil {
		return err
	}
	addr := uint64(b.c.argAt(at.addr).Int)
	if layout.IsEmpty() || b.c.Failed {
		return nil
	}
	if lo, hi := layout.Bounds(addr); !b.m.part.Wants(b.p.rank, lo, hi) && b.p.foreign(lo, hi) == nil {
		b.op.localOut = append(b.op.localOut, bufferOut{lo: lo, hi: hi})
		b.m.leaveOut()
		return nil
	}
	a := b.m.accessRoom()
	*a = Access{Rank: b.p.rank, Kind: kind, Role: role, Base: addr, Layout: layout, Call: b.info}
	shared := b.p.locate(a)
	if shared == 0 {
		a.Locks = b.e.lockOn(b.op.target).at(a.Owner)
	} else {
		a.Locks = b.p.holding(a.Owner, shared)
	}
	s := b.m.open(b.p, a)
	b.op.local = append(b.op.local, s)
	if shared != 0 && a.Locks != nil {
		b.p.lock(s)
	}
	return nil
}

// target adds the access to the target's memory.
func (b *opBuilder) target(role operationRole) error {
	count, typ := b.elements(b.c.function.op.target)
	layout, t, err := b.p.buffer(count, typ)
	if err != nil {
		return err
	}
	w, i := b.e.win, b.op.target
	a := b.m.accessRoom()
	*a = Access{
		Owner: w.members[i], Rank: b.p.rank, Kind: role.kind, Role: role.role, Layout: layout, Call: b.info,
		Base: w.base[i] + w.unit[i]*uint64(b.c.argAt(b.c.function.op.disp).Int), Locks: b.e.lockOn(i),
	}
	if t.basic != "" {
		a.Unit = uint32(t.size)
	}
	if role.kind == AtomicWrite {
		grid, err := b.p.grid(count, typ, t)
		if err != nil {
			return err
		}
		elem := Element{Grid: grid, Type: t.basic, Size: t.size, Op: role.op, Promises: Promises(w.order, w.sameOp)}
		if role.op == "" {
			elem.Op = b.operationName()
		}
		a.Elem = b.p.element(elem)
		if elem.Op == noOp {
			a.Kind = AtomicRead
		}
	}
	b.op.reads = a.Kind == Read || a.Kind == AtomicRead
	if len(w.gone) > 0 {
		b.m.checkGone(b, a)
	}
	b.m.checkRange(b, a)
	if a.Layout.IsEmpty() || b.c.Failed {
		b.m.again = append(b.m.again, a)
		return nil
	}
	gated := b.op.epoch == FenceEpoch && b.e.loose
	if !gated && !b.m.mineAtTarget(w, a) {
		b.m.again = append(b.m.again, a)
		b.op.remoteOut = true
		b.m.leaveOut()
		return nil
	}
	b.op.remote = b.m.open(b.p, a)
	if gated {
		b.m.gate(b.e, b.op)
	}
	return nil
}

// element returns the last element of the process again, where it is equal.
func (p *proc) element(e Element) *Element {
	if p.lastElem == nil || *p.lastElem != e {
		p.lastElem = &e
	}
	return p.lastElem
}

// gate makes the target access of an operation start after the target's call
// of the fence that opened the epoch, where that did not synchronise: the
// operation accesses the target only after that (MPI 4.1, 12.5.1).
func (m *Machine) gate(e *epochs, op *operation) {
	g := e.win.gate(op.target, e.fences)
	a := op.remote.access
	switch {
	case !g.passed:
		g.spans = append(g.spans, op.remote)
		op.remote.gated = true
		a.Gated, a.Gate = true, Point{Rank: a.Owner, Seg: later}
		op.remote.list()
	case g.region == m.index:
		a.Gated, a.Gate = true, g.at
	}
}

// pass notes that a process calls a fence that does not synchronise.
func (m *Machine) pass(p *proc, e *epochs) {
	g := e.win.gate(e.rank, e.fences)
	g.passed, g.region, g.at = true, m.index, p.here()
	for _, s := range g.spans {
		s.gated = false
		s.access.Gated, s.access.Gate = true, g.at
	}
	g.spans = nil
}

// openBuffer begins an access to a buffer of a request. The locks that the
// process holds there protect the buffer as long as it holds them.
func (m *Machine) openBuffer(p *proc, a Access) *span {
	shared := p.locate(&a)
	a.Locks = p.holding(a.Owner, shared)
	s := m.open(p, m.newAccess(a))
	if a.Locks != nil {
		p.lock(s)
	}
	return s
}

// unlocked takes a lock epoch that ends from the pending buffers that it
// protected: they outlast it.
func (p *proc) unlocked(epoch uint64) {
	open := p.locked[:0]
	for _, s := range p.locked {
		if s.done {
			continue
		}
		if s.access.Locks = s.access.Locks.without(epoch); s.access.Locks != nil {
			open = append(open, s)
		}
	}
	clear(p.locked[len(open):])
	p.locked = open
}

// instant adds an access of a blocking call to its process's own memory, that
// starts and completes now.
func (m *Machine) instant(p *proc, a Access) {
	shared := p.locate(&a)
	m.instantAt(p, a, a.Owner, shared)
}

// instantAt adds an access to the memory of owner, in the shared-memory window
// where that is another process, that starts and completes now.
func (m *Machine) instantAt(p *proc, a Access, owner int32, shared int64) {
	a.Start = p.here()
	a.End = a.Start
	if lo, hi := a.Layout.Bounds(a.Base); owner == p.rank && !m.mine(p, lo, hi) || owner != p.rank && !m.part.Touches(owner, lo, hi) {
		m.leaveOut()
		m.endLeftOut(p, 1)
		return
	}
	a.Rank, a.Owner, a.Locks, a.Within = p.rank, owner, p.holding(owner, shared), p.within()
	m.grown++
	if !m.settle(p, &a, nil) {
		m.calls = append(m.calls, m.newAccess(a))
	}
}

// part says which accesses of an operation a call completes.
type part uint8

const (
	buffers part = 1 << iota // at the origin
	targets                  // at the target
)

// finish completes the operations on a window that which selects: their
// buffers, their accesses to the target, or both.
func (m *Machine) finish(p *proc, e *epochs, by *CallInfo, parts part, which func(*operation) bool) {
	at := p.here()
	kept := e.ops[:0]
	for _, op := range e.ops {
		if which == nil || which(op) {
			m.finishOperation(p, op, at, by, parts)
		}
		switch {
		case op.pending():
			kept = append(kept, op)
		case !op.held:
			m.spareOps = append(m.spareOps, op)
		}
	}
	clear(e.ops[len(kept):])
	e.ops = kept
}

func (m *Machine) finishOperation(p *proc, op *operation, at Point, by *CallInfo, parts part) {
	if parts&buffers != 0 {
		if op.reads { // its data is here, so its read is done
			parts |= targets
		}
		for _, s := range op.local {
			s.close(at, by)
			m.drop(s)
		}
		for _, b := range op.localOut {
			if !b.ended {
				m.endLeftOut(p, 1)
			}
		}
		if parts&targets == 0 && (op.remote != nil || op.remoteOut) && op.call.Local == nil {
			op.call.Local = by
		}
		op.local, op.localOut = op.local[:0], op.localOut[:0]
	}
	if parts&targets == 0 {
		return
	}
	if op.remote != nil {
		op.remote.close(at, by)
		m.drop(op.remote)
		op.remote = nil
	}
	if op.remoteOut {
		m.endLeftOut(p, 1)
		op.remoteOut = false
	}
}

func toTarget(target int32) func(*operation) bool {
	return func(op *operation) bool { return op.target == target }
}
