package mpi

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// epochs are the access and exposure epochs of one process on one window, and
// the operations that it has pending there.
type epochs struct {
	win    *window
	rank   int32 // own rank in the window's communicator
	part   piece // what the process exposes; not of a dynamic window
	fence  bool
	fences uint64 // calls of MPI_Win_fence so far
	loose  bool   // the last of them did not synchronise
	// afterFence is what is to do when the process leaves a fence that
	// synchronises; nil before the first.
	afterFence func()
	started    []int32  // world ranks of the start group; nil outside of start–complete
	posted     []int32  // world ranks of the post group
	noPut      *voucher // the post asserts MPI_MODE_NOPUT; otherwise nil
	locks      lockEpochs
	ops        pendingOps
	beside     besideOps
	completers []completer // of a process with threads, the last call of each that completes operations
	made       uint32      // stack identifier of the process's call that made the window
	copies     *copies     // nil unless the window has the separate memory model

	// Calls that findings name.
	last      *regions.CallInfo // the last synchronization of the window; nil: its creation
	since     moment            // when that was
	startCall *regions.CallInfo
	postCall  *regions.CallInfo
	fenceCall *regions.CallInfo // that the fence epoch began with
	fenceOp   *regions.CallInfo // the first operation in the fence epoch, without which there is none
	unsure    bool              // a call on the window returned an error: which epochs are open is not known
}

// operation is a one-sided operation that is pending, or several that differ in time
// and address only, and that the same calls complete.
type operation struct {
	n      uint64 // operations
	target int32  // rank in the window
	epoch  regions.Mode
	call   *regions.CallInfo // the first
	issued moment            // the last
	id     int64             // of its request; 0: it has none
	reads  bool              // it changes nothing at its target
	held   bool              // not only its window refers to it
	local  []*core.Pending   // its buffers at the origin; none once complete
	remote *core.Pending     // its access to the target; nil once complete
	apart  []*core.Pending   // more of these, where memory of other processes lies in the target's part
	words  []*core.WordOp    // what they write to words without fetching
	shared *shared           // what others may complete too, once some of it is complete; or nil

	fetches []*fetch // what they fetch of words, where the process has several strands

	number        uint64  // of the first, in the order of issue, of those on the window
	list          *opList // that it is on; nil: none
	before, after *operation
}

// pending reports whether any access of the operation is not complete.
func (op *operation) pending() bool { return len(op.local) > 0 || op.remote != nil }

// newOperation returns an operation that is about to begin.
func (m *Model) newOperation() *operation {
	n := len(m.spare)
	if n == 0 {
		return &operation{n: 1}
	}
	op := m.spare[n-1]
	m.spare = m.spare[:n-1]
	*op = operation{n: 1, local: op.local[:0]}
	return op
}

// operationRole says what an operation's call does at its target.
type operationRole struct {
	role *regions.Role
	kind regions.Kind
	op   string // of a call without an op argument
}

// epochsOn are the epochs of a process on its windows.
type epochsOn struct {
	wins map[int64]*epochs
	last *epochs // of those, the last that was asked for; or nil
}

// window returns the process's epochs on a window, or nil.
func (o *epochsOn) window(id int64) *epochs {
	if e := o.last; e != nil && e.win.ID == id {
		return e
	}
	o.last = o.wins[id]
	return o.last
}

func (m *Model) epochsOf(p *process, c *core.Call) *epochs {
	id := c.Int(argWin)
	if e := p.window(id); e != nil {
		return e
	}
	if !c.Bad() && !c.Failed && !trace.IsNote(c.Fn.Name) { // calls of the program on it are named
		p.NotUnderstood(c, "it names a window whose creation was not understood")
	}
	return nil
}

// oneSided replays the call of a one-sided operation and returns it, or nil
// when it does nothing.
func (m *Model) oneSided(p *process, c *core.Call, r *entry) *operation {
	e := m.epochsOf(p, c)
	rank := c.Int(argTargetRank)
	if e == nil || rank == trace.ProcNull {
		return nil
	}
	target := e.win.target(rank)
	if target < 0 || !e.win.known[target] && !m.Absent(e.win.members[target]) {
		if !c.Failed { // that may be why
			p.NotUnderstood(c, fmt.Sprintf("target rank %d has no memory in the window", rank))
		}
		return nil
	}
	info := p.InfoOn(c, e.exposer(), e.epochTo(target))
	op := m.newOperation()
	op.target, op.call = target, info
	op.epoch, op.issued = info.Mode, m.now(p)
	m.checkEpoch(p, c, e, op, r)
	b := opBuilder{m: m, p: p, c: c, e: e, op: op, info: info}
	err := b.build(r.op)
	if c.Failed {
		return nil
	}
	if err != nil {
		p.NotUnderstood(c, err.Error())
	}
	// An operation that nothing orders with the fence, of another thread, may come before it.
	if op.epoch == FenceEpoch && e.fenceOp == nil && m.isPast(e.since, p) {
		e.fenceOp = info
	}
	m.operations++
	if c.Has(argRequest) {
		op.held, op.id = true, c.Int(argRequest)
	}
	if op.pending() {
		m.addPending(e, op)
		e.notCompleted(m, p, op)
	}
	return op
}

// epochTo returns the kind of access epoch that covers a target.
func (e *epochs) epochTo(target int32) regions.Mode {
	switch l := e.locks.on(target); {
	case l != nil:
		return l.kind()
	case e.locks.all() != nil:
		return LockAllEpoch
	case slices.Contains(e.started, e.win.members[target]):
		return StartEpoch
	case e.fence:
		return FenceEpoch
	}
	return NoEpoch
}

// lockOn returns the lock under which an operation of a process accesses a target.
func (e *epochs) lockOn(p *process, target int32) *regions.LockSet {
	if l := e.locks.covering(target); l != nil && l.hold != nil {
		return l.hold.Locks(p.Strand)
	}
	return nil
}

// opBuilder makes the accesses of one operation (detection model, "Accesses").
type opBuilder struct {
	m      *Model
	p      *process
	c      *core.Call
	e      *epochs
	op     *operation
	info   *regions.CallInfo
	single bool // its buffers are of one element
}

// Buffers of one-sided operations. That of the target has no address, and that to
// compare with is always of one element.
var (
	originArgs  = bufferArgs{argOriginAddr, argOriginCount, argOriginDatatype}
	resultArgs  = bufferArgs{argResultAddr, argResultCount, argResultDatatype}
	compareArgs = bufferArgs{buf: argCompareAddr}
	targetArgs  = bufferArgs{count: argTargetCount, typ: argTargetDatatype}
)

// single reports whether the buffers of a call are of one element.
func (r operationRole) single(c *core.Call) bool {
	return r.role == SwapTarget || r.role == FetchTarget && !c.Has(argResultCount)
}

func (b *opBuilder) build(role operationRole) error {
	b.single = role.single(b.c)
	kind := regions.Read
	if role.role == GetTarget {
		kind = regions.Write
	}
	b.checkData(role)
	if role.role != FetchTarget || b.operationName() != noOp {
		if err := b.buffer(originArgs, kind, OriginBuffer); err != nil {
			return err
		}
	}
	if role.role == SwapTarget {
		if err := b.buffer(compareArgs, regions.Read, CompareBuffer); err != nil {
			return err
		}
	}
	if role.role == SwapTarget || role.role == FetchTarget {
		if err := b.buffer(resultArgs, regions.Write, ResultBuffer); err != nil {
			return err
		}
	}
	return b.target(role)
}

const noOp = "MPI_NO_OP"

// CompareAndSwap is the operation of MPI_Compare_and_swap, which MPI gives no name.
const CompareAndSwap = "compare-and-swap"

func (b *opBuilder) operationName() string {
	return b.p.defs.Op(b.c.Int(argOp))
}

// elements returns the number of elements in a buffer, and their datatype.
func (b *opBuilder) elements(at bufferArgs) (count, typ int64) {
	if b.single {
		return 1, b.c.Int(argDatatype)
	}
	return b.c.Int(at.count), b.c.Int(at.typ)
}

// buffer adds the access to one of the operation's buffers at the origin.
func (b *opBuilder) buffer(at bufferArgs, kind regions.Kind, role *regions.Role) error {
	layout, _, err := b.p.buffer(b.elements(at))
	if err != nil {
		return err
	}
	if layout.IsEmpty() || b.c.Failed {
		return nil
	}
	a := b.m.NewAccess()
	*a = regions.Access{
		Rank: b.p.Rank, Kind: kind, Role: role, Base: b.c.Addr(at.buf), Layout: layout, Call: b.info,
	}
	s := b.p.OpenUnder(a, b.e.lockOn(b.p, b.op.target))
	s.Of = b.op
	b.op.local = append(b.op.local, s)
	return nil
}

// target adds the access to the target's memory.
func (b *opBuilder) target(role operationRole) error {
	w, i := b.e.win, b.op.target
	made, t, err := b.access(role)
	if err != nil || !w.known[i] { // its process has no trace
		return err
	}
	a := b.m.NewAccess()
	*a = made
	a.Call, a.Locks = b.info, b.e.lockOn(b.p, i)
	b.op.reads = a.Kind == regions.Read || a.Kind == regions.AtomicRead
	if w.gone != nil {
		b.m.checkGone(b, a)
	}
	b.m.checkRange(b, a)
	if a.Layout.IsEmpty() || b.c.Failed {
		b.m.Unused(a)
		return nil
	}
	others := b.m.Place(a)
	if len(others) == 0 {
		b.onWords(a, t)
	}
	f := b.openedBy()
	if f != nil && !b.op.reads {
		b.m.checkNoPut(b, f)
	}
	b.op.remote = b.openTarget(a, f)
	for i := range others {
		part := b.m.NewAccess()
		*part = others[i]
		b.op.apart = append(b.op.apart, b.openTarget(part, f))
	}
	return nil
}

// openTarget begins an access to the target's memory; f is its fence that opened the epoch, or nil.
func (b *opBuilder) openTarget(a *regions.Access, f *fenceCall) *core.Pending {
	if b.e.loose && f != nil {
		// The operation accesses its target only after the target's call of the
		// fence that opened the epoch and did not synchronise (MPI 4.1, 12.5.1).
		return b.p.OpenBehind(a, &f.Guard)
	}
	return b.p.Open(a)
}

// access returns what the operation does at its target, and its datatype there.
func (b *opBuilder) access(role operationRole) (regions.Access, *datatype, error) {
	count, typ := b.elements(targetArgs)
	layout, t, err := b.p.buffer(count, typ)
	if err != nil {
		return regions.Access{}, nil, err
	}
	w, i := b.e.win, b.op.target
	a := regions.Access{
		Owner: w.members[i], Rank: b.p.Rank, Kind: role.kind, Role: role.role, Layout: layout,
		Base: w.base[i] + w.unit[i]*b.c.Addr(argTargetDisp),
	}
	if t.basic != "" {
		a.Unit = uint32(t.size)
	}
	if role.kind == regions.AtomicWrite {
		grid, err := b.p.grid(count, typ, t)
		if err != nil {
			return regions.Access{}, nil, err
		}
		elem := regions.Element{Grid: grid, Type: t.basic, Size: t.size, Op: role.op, Promises: Promises(w.order, w.sameOp)}
		if b.op.epoch == TransferEpoch {
			elem.Promises |= promiseAnyOp
		}
		if role.op == "" {
			elem.Op = b.operationName()
		}
		a.Elem = b.p.element(elem)
		if elem.Op == noOp {
			a.Kind = regions.AtomicRead
		}
	}
	return a, t, nil
}

// openedBy returns the target's fence that opened the epoch of an operation; nil
// where there is none, or nothing depends on it.
func (b *opBuilder) openedBy() *fenceCall {
	switch w := b.e.win; {
	case b.op.epoch != FenceEpoch:
		return nil
	case b.e.loose:
		return w.fence(b.op.target, b.e.fences)
	case len(w.fences) > 0:
		return w.fences[fenceKey{b.op.target, b.e.fences}]
	}
	return nil
}

// element returns the last element of the process again, where it is equal.
func (p *process) element(e regions.Element) *regions.Element {
	if p.lastElem == nil || *p.lastElem != e {
		p.lastElem = &e
	}
	return p.lastElem
}

func doOperation(m *Model, p *process, c *core.Call, r *entry) {
	op := m.oneSided(p, c, r)
	if op != nil && c.Has(argRequest) {
		m.addRequest(p, c, &request{op: op, epoch: p.window(c.Int(argWin))})
	}
}
