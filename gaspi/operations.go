package gaspi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// operation is one transfer of a call: that of a list is several.
type operation struct {
	remote *core.Pending // in the segment of the target; nil: complete there
	local  *core.Pending // in that of the caller; nil: complete, and nothing else will show it
	kept   bool          // a notification may show that the local part is complete
	free   bool          // gaspi_wait has completed that part
	shared *shared       // where processes have threads; otherwise nil
}

// shared is what is known of an operation where processes have threads: each strand, of its
// process or its target, may see for itself that it is complete, beside others that have.
type shared struct {
	issued     core.Moment
	gone, free *core.Moment // when it was complete at its target, and at its source; nil: it is not
}

// share returns what is known of an operation where processes have threads. One that was
// issued before any had is known to all of them.
func (p *process) share(op *operation) *shared {
	if op.shared == nil {
		before := core.Moment{Region: -1}
		op.shared = &shared{issued: before}
		if op.remote == nil {
			op.shared.gone = &before
		}
		if op.local == nil {
			op.shared.free = &before
		}
	}
	return op.shared
}

// knowsOf reports whether an operation of the process was issued before what the strand
// does now: calls that complete, and notifications, concern no other.
func (p *process) knowsOf(op *operation) bool {
	return op.shared == nil || p.ComesAfter(op.shared.issued)
}

// show says that an access of a shared operation is complete for whatever comes after
// a moment; done is when it was complete first.
func show(a *core.Pending, done **core.Moment, at core.Moment, by *regions.CallInfo) {
	if a == nil {
		return
	}
	if *done != nil {
		a.Seen(at.At)
		return
	}
	a.Keep()
	a.Complete(at.At, by)
	*done = &at
}

// transfer is what a call says of one operation.
type transfer struct {
	local, remote   int64 // segments
	fromLocal, from uint64
	size            uint64
}

// transfers reads the operations of a call.
func transfers(c *core.Call) []transfer {
	if !c.IsList(argSegmentLocal) {
		return []transfer{{
			local: c.Int(argSegmentLocal), remote: c.Int(argSegmentRemote),
			fromLocal: c.Addr(argOffsetLocal), from: c.Addr(argOffsetRemote), size: uint64(c.Int(argSize)),
		}}
	}
	var list []transfer
	local, remote := c.List(argSegmentLocal), c.List(argSegmentRemote)
	fromLocal, from, size := c.List(argOffsetLocal), c.List(argOffsetRemote), c.List(argSize)
	for i := range local {
		list = append(list, transfer{local[i], remote[i], uint64(fromLocal[i]), uint64(from[i]), uint64(size[i])})
	}
	return list
}

// direction is what an operation does to the two segments.
type direction struct {
	remote, local         regions.Kind
	remoteRole, localRole *regions.Role
}

var (
	writing = direction{regions.Write, regions.Read, WriteTarget, Source}
	reading = direction{regions.Read, regions.Write, ReadTarget, Dest}
)

// target returns the process that a call names; nil: there is none, which is reported.
func (p *process) target(c *core.Call) *process {
	rank := c.Int(argRank)
	if rank < 0 || rank >= int64(len(p.m.processes)) {
		c.SetBad()
		return nil
	}
	return p.m.processes[rank]
}

// issue begins the operations of a call, and gives them to then.
func (p *process) issue(c *core.Call, d direction, then func(c *core.Call, to *process, ops []*operation)) {
	to := p.target(c)
	if to == nil {
		return
	}
	list := transfers(c)
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].remote
	}
	p.use(c, to, ids, func(c *core.Call) {
		var ops []*operation
		for _, t := range list {
			if op := p.begin(c, to, d, t); op != nil {
				ops = append(ops, op)
			}
		}
		then(c, to, ops)
	})
}

// begin begins one operation; nil: it accesses nothing, or outside a segment.
func (p *process) begin(c *core.Call, to *process, d direction, t transfer) *operation {
	p.m.operations++
	if t.size == 0 {
		return nil
	}
	x, remote, ok := p.within(c, to, t.remote, t.from, t.size)
	if !ok {
		return nil
	}
	_, local, ok := p.within(c, p, t.local, t.fromLocal, t.size)
	if !ok {
		return nil
	}
	info := p.InfoOn(c, core.Exposer{Object: x.ID}, "")
	layout := p.m.alike.Strided(1, t.size, t.size)
	op := &operation{}
	if p.m.Threaded() {
		p.share(op).issued = p.Moment()
		op.shared.gone, op.shared.free = nil, nil
	}
	a := p.m.NewAccess()
	*a = regions.Access{Rank: p.Rank, Owner: to.Rank, Kind: d.remote, Role: d.remoteRole, Base: remote, Layout: layout, Call: info, Unit: 1}
	op.remote = p.Open(a)
	b := p.m.NewAccess()
	*b = regions.Access{Rank: p.Rank, Owner: p.Rank, Kind: d.local, Role: d.localRole, Base: local, Layout: layout, Call: info}
	op.local = p.OpenBuffer(b)
	op.remote.Of, op.local.Of = op, op
	return op
}

// finish completes an access, which nothing needs any more.
func finish(a **core.Pending, at regions.Point, by *regions.CallInfo) {
	if *a != nil {
		(*a).Complete(at, by)
		(*a).Drop()
		*a = nil
	}
}

// waited: gaspi_wait has completed what is complete at the caller then: a write at its
// source, a read everywhere.
func (op *operation) waited(read bool, now core.Moment, by *regions.CallInfo) {
	at := now.At
	switch {
	case op.shared != nil:
		if read {
			show(op.remote, &op.shared.gone, now, by)
		}
		show(op.local, &op.shared.free, now, by)
	case read:
		finish(&op.remote, at, by)
		finish(&op.local, at, by)
	case op.kept && op.remote != nil:
		op.local.Complete(at, by)
		op.free = true
	default:
		finish(&op.local, at, by)
	}
}

// keep says that a notification may show that the source is free.
func (op *operation) keep() {
	if op.local != nil && op.remote != nil && !op.kept {
		op.local.Keep()
		op.kept = true
	}
}

// arrived: a notification that is chained after a write has been seen at a moment of
// the target. Whoever comes after that comes after the write, and its source is free.
func (op *operation) arrived(now core.Moment, by *regions.CallInfo) {
	if op.shared != nil {
		show(op.remote, &op.shared.gone, now, by)
	} else {
		finish(&op.remote, now.At, by)
	}
	if op.local != nil {
		op.local.Seen(now.At)
	}
	if op.free {
		op.local = nil // its target has seen all that others may learn of it
	}
}

func write(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	p.issue(c, writing, func(_ *core.Call, to *process, ops []*operation) { q.write(p, to.Rank, ops) })
}

func read(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	p.issue(c, reading, func(_ *core.Call, _ *process, ops []*operation) { q.read(p, ops) })
}

// notifySegment is the segment that a call's notification is bound to.
func notifySegment(c *core.Call) int64 {
	switch {
	case c.Has(argSegmentNotify):
		return c.Int(argSegmentNotify)
	case c.Has(argNotificationValue):
		return c.Int(argSegmentRemote)
	}
	return c.Int(argSegmentLocal) // of a read
}

func writeNotify(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	p.issue(c, writing, func(c *core.Call, to *process, ops []*operation) {
		q.write(p, to.Rank, ops)
		p.post(c, to, notifySegment(c), &notification{value: c.Int(argNotificationValue), own: ops})
	})
}

// readNotify: the notification comes to the caller when the data has, with the value 1.
func readNotify(p *process, c *core.Call) {
	q := p.queue(c.Int(argQueue))
	p.issue(c, reading, func(c *core.Call, _ *process, ops []*operation) {
		q.read(p, ops)
		p.post(c, p, notifySegment(c), &notification{value: 1, own: ops, read: true})
	})
}

// atomic replays a global atomic, which is done when it returns.
func atomic(p *process, c *core.Call) {
	to := p.target(c)
	if to == nil {
		return
	}
	p.use(c, to, []int64{c.Int(argSegment)}, func(c *core.Call) {
		size := uint64(c.Int(argSize))
		p.m.operations++
		x, base, ok := p.within(c, to, c.Int(argSegment), c.Addr(argOffset), size)
		if !ok {
			return
		}
		layout := p.m.alike.Strided(1, size, size)
		p.InstantAt(regions.Access{
			Rank: p.Rank, Owner: to.Rank, Kind: regions.AtomicWrite, Role: AtomicTarget, Base: base, Layout: layout,
			Elem: p.m.alike.Element(regions.Element{Type: "gaspi_atomic_value_t", Size: size, Op: atomicOp}),
			Call: p.InfoOn(c, core.Exposer{Object: x.ID}, ""), Unit: uint32(size),
		}, to.Rank, x.ID)
		p.Instant(regions.Access{
			Rank: p.Rank, Owner: p.Rank, Kind: regions.Write, Role: OldValue, Base: c.Addr(argValOld), Layout: layout, Call: p.Info(c),
		})
		if !c.Has(argOld) || !c.Returned {
			return
		}
		word := p.Issue(core.WordKey{Owner: to.Rank, Addr: base, Bytes: size}, c.Begin, update(c), true)
		if word == nil {
			return
		}
		word.Complete(p.Now())
		p.Fetch(c, []core.Fetched{{Op: word, Bits: c.Int(argOld)}}, c.End)
	})
}

// foreseeAtomic says what a global atomic that is still to come will do.
func foreseeAtomic(p *process, c *core.Call, f *core.Foresight) {
	rank, size := c.Int(argRank), uint64(c.Int(argSize))
	if rank < 0 || rank >= int64(len(p.m.processes)) || !c.Has(argOld) {
		return
	}
	owner := p.m.processes[rank]
	if x, offset := owner.segments[c.Int(argSegment)], c.Addr(argOffset); x != nil && offset <= x.hi-x.lo && size <= x.hi-x.lo-offset {
		f.Did(core.WordKey{Owner: owner.Rank, Addr: x.lo + offset, Bytes: size}, c.Call, update(c), c.Int(argOld))
	}
}

// atomics are the global atomics.
var atomics = map[string]bool{"gaspi_atomic_fetch_add": true, "gaspi_atomic_compare_swap": true}

// polls is core.Meaning.Polls: global atomics that change nothing.
func polls(round []*trace.Call) uint64 {
	for _, call := range round {
		c := core.NewCall(call)
		if !atomics[call.Fn.Name] || !c.Returned || c.Failed || !c.Has(argOld) {
			return 0
		}
		if u := update(c); u != nil {
			if _, writes := u(core.Value{Bits: c.Int(argOld), Known: true}); writes {
				return 0
			}
		}
	}
	return uint64(len(round))
}

// update returns what a global atomic makes of a value; nil: nothing, as far as anybody can tell.
func update(c *core.Call) core.Update {
	if c.Has(argValAdd) {
		operand := c.Int(argValAdd)
		if operand == 0 {
			return nil
		}
		return func(v core.Value) (core.Value, bool) {
			return core.Value{Bits: v.Bits + operand, Known: v.Known}, true
		}
	}
	return core.CompareAndSwap(c.Int(argComparator), c.Int(argValNew))
}

// atomicOp is what both global atomics are: they may meet.
const atomicOp = "global atomic"

// IsOp reports whether an operation of an atomic access is one of GASPI's.
func IsOp(op string) bool { return op == atomicOp }
