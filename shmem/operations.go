package shmem

import (
	"math"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// operation is an operation that is pending.
type operation struct {
	ctx     int64
	target  int32
	remote  *core.Pending // its access to the target; nil: complete
	local   *core.Pending // its buffer at the caller; nil: complete
	result  bool          // that buffer is for what it fetches: who sees its effect need not find that there
	role    *regions.Role // of the access to the target
	fence   *core.Moment  // since when it takes effect before what is issued; nil: it does not
	shown   *parts        // its accesses, where who sees a value sees that they are complete
	before  *core.Pending // of a PE with threads, remote up to the fence, of which who completes it need not know
	chained *core.Pending // remote since the fence, also when it is complete
	issued  core.Moment
	over    core.Moment    // when it was completed
	done    parts          // its accesses, once it is: of a PE with threads, which may see it elsewhere
	word    *core.WordOp   // what it does to the one word that it updates; nil: nothing
	covers  []*core.WordOp // what it does to words that it writes as a part of more
}

// transfer is an operation as its call tells of it.
type transfer struct {
	p        *pe
	c        *call
	x        *context
	info     *regions.CallInfo
	owner    int32
	n, size  uint64 // of elements, or of blocks of them
	dst, sst uint64 // strides, in bytes
}

// begin reads what all operations have in common; nil: it does nothing, or is not
// understood, which is reported.
func (p *pe) begin(c *call) *transfer {
	x := p.context(c)
	if x == nil {
		return nil
	}
	owner := x.team.member(c.Int(argPE))
	if owner < 0 {
		c.SetBad()
		return nil
	}
	t := &transfer{p: p, c: c, x: x, owner: owner, n: 1, size: uint64(c.Int(argSize))}
	t.dst, t.sst = t.size, t.size
	t.info = p.InfoOn(c.Call, core.Exposer{Object: symmetricMemory}, x.mode)
	if c.Has(argNelems) {
		t.n = uint64(c.Int(argNelems))
	}
	if c.Has(argDst) {
		t.dst, t.sst = uint64(c.Int(argDst))*t.size, uint64(c.Int(argSst))*t.size
	}
	if c.Has(argBlocks) {
		t.n = uint64(c.Int(argBlocks))
		t.size *= uint64(c.Int(argBlock))
	}
	if t.n == 0 && !c.Has(argSigAddr) || c.Has(argBlock) && t.size == 0 {
		return nil
	}
	if t.n > math.MaxInt32*uint64(256) || t.size == 0 || t.dst == 0 || t.sst == 0 {
		c.SetBad()
		return nil
	}
	p.m.operations++
	return t
}

// buffer begins the access to the caller's own buffer.
func (t *transfer) buffer(arg core.ArgName, stride uint64, kind regions.Kind, role *regions.Role) *core.Pending {
	a := t.p.m.NewAccess()
	*a = regions.Access{
		Rank: t.p.Rank, Owner: t.p.Rank, Kind: kind, Role: role, Base: t.c.Addr(arg),
		Layout: t.p.m.alike.Strided(t.n, t.size, stride), Call: t.info,
	}
	return t.p.OpenBuffer(a)
}

// remote begins the access to the target; nil: its address is not symmetric, which is
// reported.
func (t *transfer) remote(arg core.ArgName, stride uint64, kind regions.Kind, role *regions.Role, elem *regions.Element) (*core.Pending, place) {
	at, base, ok := t.p.at(t.c.Addr(arg), t.owner)
	if !ok {
		t.p.notSymmetric(t.c, arg, t.c.Addr(arg))
		return nil, place{}
	}
	a := t.p.m.NewAccess()
	*a = regions.Access{
		Rank: t.p.Rank, Owner: t.owner, Kind: kind, Role: role, Base: base,
		Layout: t.p.m.alike.Strided(t.n, t.size, stride), Elem: elem, Call: t.info, Unit: uint32(t.size),
	}
	if ctxOf(t.c.Call) == defaultContext { // what shmem_clear_lock completes
		a.Locks = t.p.heldLocks()
	}
	return t.p.Open(a), at
}

// done completes an access at once.
func (t *transfer) done(a *core.Pending) {
	if a != nil {
		a.Complete(t.p.Now(), t.info)
		a.Drop()
	}
}

// pending adds an operation to those that its context has to complete.
func (t *transfer) pending(remote, local *core.Pending, role *regions.Role) *operation {
	op := &operation{ctx: ctxOf(t.c.Call), target: t.owner, remote: remote, local: local, role: role, issued: t.p.Moment()}
	for _, a := range []*core.Pending{remote, local} {
		if a != nil {
			a.Of = op
		}
	}
	t.x.pending.add(op)
	if fenced[role] != nil {
		t.x.open.add(op)
	}
	return op
}

// fewRecent is how many operations merge looks at.
const fewRecent = 4

// merge makes an operation, the last that is pending, one with an earlier one to the same PE
// from which it differs in time and address only, where that is among the last. Of one that
// somebody may see it matters which it is.
func (p *pe) merge(x *context, op *operation) {
	if op.word != nil || op.covers != nil || op.shown != nil || p.m.apart {
		return
	}
	recent := x.recent[op.target]
	for _, before := range recent {
		if before.mayTake(op, p.Threaded()) {
			before.take(op)
			x.pending.takeBack(op)
			if fenced[op.role] != nil {
				x.open.takeBack(op)
			}
			return
		}
	}
	if len(recent) == fewRecent {
		recent = slices.Delete(recent, 0, 1)
	}
	if x.recent == nil {
		x.recent = map[int32][]*operation{}
	}
	x.recent[op.target] = append(recent, op)
}

// mayTake reports whether an operation, which was issued later, may become one with op; threaded: a
// call may complete the one and not the other, where only that comes before it.
func (op *operation) mayTake(later *operation, threaded bool) bool {
	may := func(a, b *core.Pending) bool { return a == b || a != nil && b != nil && a.MayTake(b) }
	return op.role == later.role && op.result == later.result && op.issued.Region == later.issued.Region &&
		(!threaded || op.issued.At.Seg == later.issued.At.Seg) && may(op.remote, later.remote) && may(op.local, later.local)
}

func (op *operation) take(later *operation) {
	op.issued = later.issued
	if op.remote != nil {
		op.remote.Take(later.remote)
	}
	if op.local != nil {
		op.local.Take(later.local)
	}
}

func put(p *pe, c *call)    { putWith(p, c, true) }
func putNBI(p *pe, c *call) { putWith(p, c, false) }

// putWith replays a put; blocking: its source is read when it returns.
func putWith(p *pe, c *call, blocking bool) {
	t := p.begin(c)
	if t == nil {
		return
	}
	var local *core.Pending
	if c.Has(argSource) {
		if local = t.buffer(argSource, t.sst, regions.Read, Source); blocking {
			t.done(local)
			local = nil
		}
	}
	remote, at := t.remote(argDest, t.dst, regions.Write, PutTarget, nil)
	op := t.pending(remote, local, PutTarget)
	if bytes, ok := c.word(); ok && remote != nil && t.dst == t.size {
		p.wrote(c, t, at, op, bytes, constant(c.Int(argValue), bytes), nil)
	} else if remote != nil {
		p.covers(t, op)
	}
	p.merge(t.x, op)
}

// word returns how many bytes a put writes, where that is one element of a known value.
func (c *call) word() (bytes uint64, known bool) {
	bytes = uint64(c.Int(argSize))
	switch {
	case strings.HasPrefix(c.family, "shmem_putmem"): // bytes that count as one element
		bytes *= uint64(c.Int(argNelems))
	case c.Has(argNelems) && c.Int(argNelems) != 1:
		return 0, false
	}
	return bytes, c.Has(argValue) && bytes > 0 && bytes <= 8 && bytes&(bytes-1) == 0
}

func get(p *pe, c *call) {
	t := p.begin(c)
	if t == nil {
		return
	}
	remote, _ := t.remote(argSource, t.sst, regions.Read, GetTarget, nil)
	t.done(remote)
	if c.Has(argDest) {
		t.done(t.buffer(argDest, t.dst, regions.Write, Dest))
	}
}

func getNBI(p *pe, c *call) {
	t := p.begin(c)
	if t == nil {
		return
	}
	remote, _ := t.remote(argSource, t.sst, regions.Read, GetLater, nil)
	p.merge(t.x, t.pending(remote, t.buffer(argDest, t.dst, regions.Write, Dest), GetLater))
}

// atomicDo replays an atomic operation: that of the family's name.
func atomicDo(o atomicOp) func(*pe, *call) {
	return func(p *pe, c *call) {
		t := p.begin(c)
		if t == nil {
			return
		}
		kind, role, arg := regions.AtomicWrite, AtomicTarget, argDest
		if o.op == "fetch" {
			kind, arg = regions.AtomicRead, argSource
		}
		if o.nbi && kind == regions.AtomicRead {
			role = FetchLater
		}
		elem := p.m.alike.Element(regions.Element{Type: c.element(t.size), Size: t.size, Op: o.op, Promises: t.x.team.domain})
		remote, at := t.remote(arg, t.size, kind, role, elem)
		if remote == nil {
			return
		}
		if o.fetches && !o.nbi {
			t.done(remote)
			remote = nil
		}
		if remote == nil && !c.Returned { // what it fetched is not known, and nothing follows it
			p.Issue(at.word(t.size), c.Begin, o.update(c, t.size), false)
			return
		}
		var local *core.Pending
		if o.nbi {
			local = t.buffer(argFetch, t.size, regions.Write, Dest)
		}
		var op *operation
		if remote != nil {
			op = t.pending(remote, local, role)
			op.result = o.nbi
		}
		var word *core.WordOp
		switch {
		case kind == regions.AtomicWrite:
			word = p.wrote(c, t, at, op, t.size, o.update(c, t.size), nil)
		case !o.nbi: // what others find is not recorded
			word = p.Issue(at.word(t.size), c.Begin, nil, true)
		}
		if op != nil {
			p.merge(t.x, op)
		}
		word.Commutes(o.commutes())
		if old, ok := c.found(); ok && !o.fetches {
			word.Tell(lowest(old, t.size), c.End)
		}
		switch {
		case o.fetches && o.nbi: // what it finds is not recorded
			p.MayHaveOrdered(c.Fn.Name)
		case o.fetches: // it has taken effect, behind what fences have put before it
			p.seeChains(p.Strand, t.x.before(p, t.owner))
			p.fetched(c, word, c.Int(argResult), t.size)
		}
	}
}

// foreseeAtomic returns what says what an atomic operation that is still to come will do.
func foreseeAtomic(o atomicOp) func(*pe, *call, *core.Foresight) {
	return func(p *pe, c *call, f *core.Foresight) {
		size, arg := uint64(c.Int(argSize)), argDest
		if o.op == "fetch" {
			arg = argSource
		}
		k, x := p.foreseen(c, arg, size)
		switch update := o.update(c, size); {
		case x == nil:
		case o.fetches && !o.nbi:
			f.Did(k, c.Call.Call, update, lowest(c.Int(argResult), size))
		case update != nil:
			f.Issue(k, c.Call.Call, update, 0, x)
			if old, ok := c.found(); ok {
				f.Tell(lowest(old, size), c.End)
			}
		}
	}
}

// found returns what an update that fetches nothing has found, where that is recorded.
func (c *call) found() (int64, bool) {
	if !c.Has(argOld) || c.Has(argTold) && c.Int(argTold) == 0 {
		return 0, false
	}
	return c.Int(argOld), true
}

// foreseePut says what a put of one element that is still to come will do.
func foreseePut(p *pe, c *call, f *core.Foresight) {
	if bytes, ok := c.word(); ok {
		p.foreseeWrite(c, f, argDest, bytes, constant(c.Int(argValue), bytes))
	}
}

// foreseeSignal says what the update of a signal that is still to come will do.
func foreseeSignal(op string) func(*pe, *call, *core.Foresight) {
	return func(p *pe, c *call, f *core.Foresight) {
		p.foreseeWrite(c, f, argSigAddr, 8, signalUpdate(op, c.Int(argSignal)))
	}
}

// foreseePutSignal is that of a put with a signal.
func foreseePutSignal(p *pe, c *call, f *core.Foresight) { foreseeSignal(c.signalOp())(p, c, f) }

// foreseeWrite says what a call that is still to come will do to a word.
func (p *pe) foreseeWrite(c *call, f *core.Foresight, arg core.ArgName, size uint64, update core.Update) {
	if k, x := p.foreseen(c, arg, size); x != nil {
		f.Issue(k, c.Call.Call, update, 0, x)
	}
}

// foreseen returns the word of a call that is still to come, and its context; nil: that is
// not made yet, the call will not be understood, or nobody can see what it does.
func (p *pe) foreseen(c *call, arg core.ArgName, size uint64) (core.WordKey, *context) {
	x := p.contexts[ctxOf(c.Call)]
	if x == nil || x.ended != nil {
		return core.WordKey{}, nil
	}
	owner := x.team.member(c.Int(argPE))
	if owner < 0 {
		return core.WordKey{}, nil
	}
	at, _, ok := p.at(c.Addr(arg), owner)
	if !ok || !p.m.seen(at, size) {
		return core.WordKey{}, nil
	}
	return at.word(size), x
}

// foreseeQuiet is of a call that is still to come.
func foreseeQuiet(p *pe, c *call, f *core.Foresight) {
	if x := p.contexts[ctxOf(c.Call)]; x != nil {
		f.Complete(c.Call.Call, func(of any) bool { return of == x })
	}
}

// fetched orders the PE after the update that left a value which an operation on a word
// has fetched, and those before it.
func (p *pe) fetched(c *call, word *core.WordOp, value int64, size uint64) {
	if word != nil {
		word.Complete(p.Now())
		p.Fetch(c.Call, []core.Fetched{{Op: word, Bits: lowest(value, size)}}, c.End)
	}
}

// update returns what an atomic operation makes of a value; nil: it writes nothing.
func (o atomicOp) update(c *call, size uint64) core.Update {
	if o.op == "fetch" {
		return nil
	}
	operand := int64(1) // of increments
	if c.Has(argValue) {
		operand = c.Int(argValue)
	}
	if o.op == "set" || o.op == "swap" {
		return constant(operand, size)
	}
	if o.op == "compare_swap" {
		return core.CompareAndSwap(lowest(c.Int(argCond), size), lowest(operand, size))
	}
	return func(v core.Value) (core.Value, bool) {
		if !v.Known {
			return v, true
		}
		return core.Value{Bits: lowest(o.apply(v.Bits, operand), size), Known: true}, true
	}
}

// commutes returns with which operations this one may be exchanged; "": with none.
func (o atomicOp) commutes() string {
	switch o.op {
	case "inc":
		return "add"
	case "add", "and", "or", "xor":
		return o.op
	}
	return ""
}

// apply computes what an operation leaves that depends on what was there.
func (o atomicOp) apply(old, operand int64) int64 {
	switch o.op {
	case "add":
		return old + operand
	case "and":
		return old & operand
	case "or":
		return old | operand
	}
	return old ^ operand
}

// constant is the update of a write of a known value.
func constant(value int64, size uint64) core.Update {
	after := core.Value{Bits: lowest(value, size), Known: true}
	return func(core.Value) (core.Value, bool) { return after, true }
}

func putSignal(p *pe, c *call)    { putSignalWith(p, c, true) }
func putSignalNBI(p *pe, c *call) { putSignalWith(p, c, false) }

// putSignalWith replays a put with a signal, which takes effect after the data.
func putSignalWith(p *pe, c *call, blocking bool) {
	t := p.begin(c)
	if t == nil {
		return
	}
	var data *operation
	if t.n > 0 { // the signal is updated in any case (OpenSHMEM 1.5, 9.8.1)
		local := t.buffer(argSource, t.size, regions.Read, Source)
		if blocking {
			t.done(local)
			local = nil
		}
		remote, _ := t.remote(argDest, t.size, regions.Write, PutTarget, nil)
		if data = t.pending(remote, local, PutTarget); remote != nil {
			p.covers(t, data)
		}
	}
	p.signal(t, c.signalOp(), c.Int(argSignal), data)
}

// signalOp returns what a put with a signal does to that.
func (c *call) signalOp() string {
	if c.Int(argSet) == 1 {
		return "set"
	}
	return "add"
}

// signalUpdate returns what that makes of a value.
func signalUpdate(op string, value int64) core.Update {
	if op == "set" {
		return constant(value, 8)
	}
	return func(v core.Value) (core.Value, bool) {
		return core.Value{Bits: v.Bits + value, Known: v.Known}, true
	}
}

// signalType is the type of what puts with signals update (OpenSHMEM 1.5, 9.8.1).
const signalType = "signal"

// signalDo replays an update of a signal without data.
func signalDo(op string) func(*pe, *call) {
	return func(p *pe, c *call) {
		t := p.begin(c)
		if t == nil {
			return
		}
		p.signal(t, op, c.Int(argSignal), nil)
	}
}

// signal begins the update of a signal, which takes effect after its data.
func (p *pe) signal(t *transfer, op string, value int64, data *operation) {
	t.n, t.size = 1, 8
	elem := p.m.alike.Element(regions.Element{Type: signalType, Size: 8, Op: op, Promises: t.x.team.domain})
	signal, at := t.remote(argSigAddr, t.size, regions.AtomicWrite, SignalTarget, elem)
	if signal == nil {
		return
	}
	w := p.wrote(t.c, t, at, t.pending(signal, nil, SignalTarget), 8, signalUpdate(op, value), data)
	if op == "add" {
		w.Unordered(addition{t.x, t.x.ordered, value})
	}
}

// addition is what the signals have in common that add the same to one word and may take
// effect in any order: no fence is between those of one context (OpenSHMEM 1.5, 9.8.1).
type addition struct {
	x       *context
	ordered int
	value   int64
}
