package shmem

import (
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// operation is an operation that is pending.
type operation struct {
	ctx    int64
	target int32
	remote *core.Pending // its access to the target; nil: complete
	local  *core.Pending // its buffer at the caller; nil: complete
	result bool          // that buffer is for what it fetches: who sees its effect need not find that there
	role   *regions.Role // of the access to the target
	fence  *core.Moment  // since when it takes effect before what is issued; nil: it does not
	shown  *parts        // its accesses, where who sees a value sees that they are complete
	before *core.Pending // of a PE with threads, remote up to the fence, of which who completes it need not know
	issued core.Moment
	over   core.Moment  // when it was completed
	done   parts        // its accesses, once it is: of a PE with threads, which may see it elsewhere
	word   *core.WordOp // what it does to the one word that it updates; nil: nothing
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
	if t.n == 0 || c.Has(argBlock) && t.size == 0 {
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
	t.x.pending = append(t.x.pending, op)
	if fenced[role] != nil {
		t.x.open = append(t.x.open, op)
	}
	return op
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
	if bytes, ok := word(int64(t.n * t.size)); ok && remote != nil && t.dst == t.size && c.Has(argValue) {
		p.wrote(c, t, at, op, bytes, constant(c.Int(argValue), bytes), nil)
	}
}

// word returns so many bytes, where one write of a known value may be of that many.
func word(bytes int64) (uint64, bool) {
	return uint64(bytes), bytes > 0 && bytes <= 8 && bytes&(bytes-1) == 0
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
	t.pending(remote, t.buffer(argDest, t.dst, regions.Write, Dest), GetLater)
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
		word.Commutes(o.commutes())
		if c.Has(argOld) && !o.fetches && (!c.Has(argTold) || c.Int(argTold) != 0) {
			word.Tell(lowest(c.Int(argOld), t.size), c.End)
		}
		switch {
		case o.fetches && o.nbi: // what it finds is not recorded
			p.MayHaveOrdered(c.Fn.Name)
		case o.fetches:
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
		}
	}
}

// foreseePut says what a put of one element that is still to come will do.
func foreseePut(p *pe, c *call, f *core.Foresight) {
	size := c.Int(argSize)
	if c.Has(argNelems) {
		size *= c.Int(argNelems)
	}
	if bytes, ok := word(size); ok && c.Has(argValue) {
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
// not made yet, or the call will not be understood.
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
	if !ok {
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
	local := t.buffer(argSource, t.size, regions.Read, Source)
	if blocking {
		t.done(local)
		local = nil
	}
	remote, _ := t.remote(argDest, t.size, regions.Write, PutTarget, nil)
	data := t.pending(remote, local, PutTarget)
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

// parts are the accesses of an operation, as they were when something was issued that
// takes effect after it.
type parts []*core.Pending

// parts returns the accesses of an operation that is pending.
func (op *operation) parts() parts {
	var list parts
	for _, a := range []*core.Pending{op.remote, op.local} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// shows returns those that are complete where the operation is seen to have taken effect.
func (op *operation) shows() parts {
	if op.result {
		return (&operation{remote: op.remote}).parts()
	}
	return op.parts()
}

// keep says that they may be seen to be complete.
func (l parts) keep() {
	for _, a := range l {
		a.Keep()
	}
}

// seen: whoever comes after a moment comes after them.
func (l parts) seen(at regions.Point) {
	for _, a := range l {
		a.Seen(at)
	}
}

// past: all that is to come comes after them.
func (l parts) past() bool {
	return !slices.ContainsFunc(l, func(a *core.Pending) bool { return !a.Past() })
}

// quiet completes all that is pending on a context.
func (p *pe) quiet(c *call, x *context) {
	p.quietFor(c, x, func(*operation) bool { return true })
	if !p.Threaded() {
		x.chains = nil
	}
}

// quietFor completes some of what is pending on a context. Of a PE with threads it also
// shows that complete which another thread has completed beside it.
func (p *pe) quietFor(c *call, x *context, of func(*operation) bool) {
	for op := range x.beside(p) {
		if of(op) {
			op.done.seen(p.Now())
			op.word.Complete(p.Now())
		}
	}
	kept := x.pending[:0]
	for _, op := range x.pending {
		if !of(op) || !p.ComesAfter(op.issued) {
			kept = append(kept, op)
			continue
		}
		if p.Threaded() {
			op.done, op.over = op.parts(), p.Moment()
			op.done.keep()
			switch {
			case op.fence == nil: // another thread may still put it before what comes, beside this call
				op.before = op.remote
			case op.before != nil:
				op.done = append(op.done, op.before)
				op.before.Seen(p.Now())
			}
			x.finish(op)
			p.m.waited = true
		}
		op.complete(p.Now(), p.Info(c.Call))
	}
	clear(x.pending[len(kept):])
	x.pending = kept
	x.open = slices.DeleteFunc(x.open, func(op *operation) bool { return op.remote == nil && op.local == nil })
}

// finished is operations to one PE that one strand has issued and one has completed, in the
// order of both.
type finished struct {
	issuer, completer int32 // their lines
	region            int   // in which they were issued
	target            int32
}

// finish adds an operation that a thread has completed.
func (x *context) finish(op *operation) {
	f := finished{op.issued.At.Line, op.over.At.Line, op.issued.Region, op.target}
	if x.done == nil {
		x.done = map[finished][]*operation{}
	}
	if x.done[f] == nil {
		x.order = append(x.order, f)
	}
	x.done[f] = append(x.done[f], op)
}

// beside visits the operations of which the strand of a PE comes after the issue, and which
// another one has completed beside it.
func (x *context) beside(p *pe) iter.Seq[*operation] {
	return func(yield func(*operation) bool) {
		for _, f := range x.order {
			ops := x.done[f]
			first := sort.Search(len(ops), func(i int) bool { return !p.ComesAfter(ops[i].over) })
			n := sort.Search(len(ops), func(i int) bool { return !p.ComesAfter(ops[i].issued) })
			for _, op := range ops[min(first, n):n] {
				if !yield(op) {
					return
				}
			}
		}
	}
}

// complete completes an operation.
func (op *operation) complete(at regions.Point, by *regions.CallInfo) {
	for _, a := range []**core.Pending{&op.remote, &op.local} {
		if *a != nil {
			(*a).Complete(at, by)
			if op.done == nil {
				(*a).Drop()
			}
			*a = nil
		}
	}
	op.word.Complete(at)
}

// quietTo completes what is pending to some PEs on a context.
func quietTo(p *pe, c *call) {
	x := p.context(c)
	if x == nil {
		return
	}
	p.quietFor(c, x, func(op *operation) bool {
		return slices.ContainsFunc(c.List(argTargets), func(number int64) bool { return x.team.member(number) == op.target })
	})
	for _, number := range c.List(argTargets) {
		if !p.Threaded() {
			delete(x.chains, x.team.member(number))
		}
	}
}

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
	p.wrote(t.c, t, at, t.pending(signal, nil, SignalTarget), 8, signalUpdate(op, value), data)
}

func quiet(p *pe, c *call) {
	if x := p.context(c); x != nil {
		p.quiet(c, x)
	}
}

// fence: what the context issued before takes effect at each target before what it
// issues later.
func fence(p *pe, c *call) {
	x := p.context(c)
	if x == nil {
		return
	}
	for op := range x.beside(p) {
		if op.fence == nil && fenced[op.role] != nil {
			x.fenceOne(p, op)
		}
	}
	x.open = slices.DeleteFunc(x.open, func(op *operation) bool { return x.fenceOne(p, op) })
	if x.metBeside(p) {
		p.m.Report(core.Problem{Kind: core.Threads, Rank: p.Rank, Fn: c.Fn.Name, Call: p.Info(c.Call),
			Text: "several threads put the same operation of one context before what comes, beside each other: only the first of these calls counts (all do where each thread has a context of its own)"})
	}
}

// metBy is who has issued operations to one PE and who has put them before what comes. They
// are in the order of both.
type metBy struct {
	issuer, fencer int32 // lines
	region         int   // in which they were issued
	target         int32
}

// metBeside reports whether a fence of another thread has put an operation before what comes
// beside the strand of a PE, which comes after the issue of it.
func (x *context) metBeside(p *pe) bool {
	for _, ops := range x.met {
		first := sort.Search(len(ops), func(i int) bool { return !p.ComesAfter(*ops[i].fence) })
		n := sort.Search(len(ops), func(i int) bool { return !p.ComesAfter(ops[i].issued) })
		for _, op := range ops[min(first, n):n] {
			if op.done == nil || !p.ComesAfter(op.over) {
				return true
			}
		}
	}
	return false
}

// fenceOne puts one operation before what its context issues later, if the fence comes after
// it: one that is pending, or that another thread has completed beside the fence. It reports
// whether it did.
func (x *context) fenceOne(p *pe, op *operation) bool {
	if !p.ComesAfter(op.issued) {
		return false
	}
	now := p.Moment()
	op.fence = &now
	part := op.remote
	switch {
	case part != nil:
		if p.Threaded() {
			op.before = part
			part.Keep()
		}
		part = part.Part(p.Strand, fenced[op.role])
		op.remote = part
	case op.before != nil:
		part = op.before.Part(p.Strand, fenced[op.role])
		op.done = append(op.done, part)
	}
	if part != nil && op.shown != nil {
		*op.shown = append(*op.shown, part)
	}
	shows := op.shows()
	shows.keep()
	switch {
	case part == op.remote: // pending
	case op.result:
		shows = parts{part}
	default:
		shows = op.done
	}
	x.chain(p, op, shows)
	if p.Threaded() {
		if x.met == nil {
			x.met = map[metBy][]*operation{}
		}
		by := metBy{op.issued.At.Line, now.At.Line, op.issued.Region, op.target}
		x.met[by] = append(x.met[by], op)
	}
	return true
}

// chain is what a context's fences have put before what it issues later to one PE: those of
// one strand, in their order.
type chain struct {
	by    *core.Strand
	links []link
	seen  map[viewer]int // how many a strand has seen to be complete
	over  int            // how many of links, the first, are past
}

// chained is the first links of a chain: what comes before something that was issued.
type chained struct {
	*chain
	n int
}

// link is an operation that a fence has put before others.
type link struct {
	parts
	op    *operation
	fence core.Moment
}

// viewer is a strand in a concurrent region.
type viewer struct {
	*core.Strand
	region int
}

// chain adds an operation to those that take effect before what comes next, as a fence of the
// PE says, which shows that some of its accesses are complete.
func (x *context) chain(p *pe, op *operation, shows parts) {
	if x.chains == nil {
		x.chains = map[int32][]*chain{}
	}
	all := x.chains[op.target]
	i := slices.IndexFunc(all, func(c *chain) bool { return c.by == p.Strand })
	if i < 0 {
		i = len(all)
		all = append(all, &chain{by: p.Strand, seen: map[viewer]int{}})
		x.chains[op.target] = all
	}
	c := all[i]
	c.links = append(c.links, link{shows, op, *op.fence})
}

// settle forgets, where a region begins, what is known to all threads: what is complete.
func (x *context) settle(p *pe) {
	x.done, x.order, x.met = nil, nil, nil
	if !p.Threaded() {
		return
	}
	for target, all := range x.chains {
		var left []*chain // others than before, of which what was issued counts the links
		for _, c := range all {
			again := &chain{by: c.by, seen: map[viewer]int{}}
			for _, l := range c.links {
				if l.op.remote != nil || l.op.local != nil {
					again.links = append(again.links, l)
				}
			}
			if len(again.links) > 0 {
				left = append(left, again)
			}
		}
		x.chains[target] = left
	}
}

// before returns what comes before what the PE issues now to another one.
func (x *context) before(p *pe, target int32) (list []chained) {
	for _, c := range x.chains[target] {
		n := len(c.links)
		if p.Threaded() { // who comes after a fence of a strand comes after those before it
			n = sort.Search(n, func(i int) bool { return !p.ComesAfter(c.links[i].fence) })
		}
		if n > 0 {
			list = append(list, chained{c, n})
		}
	}
	return list
}

// past reports whether the operations are complete for all that is to come.
func (c chained) past() bool {
	for c.over < c.n && c.links[c.over].past() {
		c.over++
	}
	return c.over >= c.n
}

// see: a strand has seen that the operations are complete, at a moment.
func (c chained) see(by *core.Strand, region int, at regions.Point) {
	v := viewer{by, region}
	c.past() // which moves over: what is past, nobody need see any more
	for _, l := range c.links[min(max(c.seen[v], c.over), c.n):c.n] {
		l.seen(at)
	}
	c.seen[v] = max(c.seen[v], c.n)
}
