package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// accessKind is a column of the model's conflict table.
type accessKind int

const (
	read accessKind = iota
	write
	atomicRead
	atomicWrite
)

// never is the completion of an access that nothing completes.
const never point = -1

// access is one access of a call to the memory of one process.
type access struct {
	call   int
	rank   int // who made it
	owner  int // whose memory
	kind   accessKind
	role   string
	op     string          // of an atomic access
	bytes  map[int]element // by offset from the owner's Program.Base
	starts []point         // it starts when all of these have happened
	done   point
	remote bool // made by a one-sided operation (its buffers or its target)
	target bool // the target memory of a one-sided operation
}

// element is the basic element that a byte belongs to.
type element struct {
	first int // offset of its first byte
	basic int // index of its predefined type
}

// accesses lists what all calls of the program access.
func (o *order) accesses() []access {
	var out []access
	for i := range o.p.Calls {
		c := &o.p.Calls[i]
		switch {
		case c.isLocal():
			out = append(out, o.local(i))
		case c.isOperation():
			out = append(out, o.operation(i)...)
		default:
			out = append(out, o.callBuffers(i)...)
		}
	}
	return slices.DeleteFunc(out, func(a access) bool { return len(a.bytes) == 0 })
}

// local is the access of a load or store.
func (o *order) local(i int) access {
	c := &o.p.Calls[i]
	a := o.buffer(i, read, c.Fn, nil, enter)
	if c.Fn == "store" {
		a.kind = write
	}
	for k := range c.Count {
		for b := range c.Elem {
			a.bytes[c.Off+k*c.Stride+b] = element{}
		}
	}
	return a
}

// buffer is an access of a call to its own process's memory that starts and
// completes at one point of the call.
func (o *order) buffer(i int, kind accessKind, role string, b *Buf, which int) access {
	c := &o.p.Calls[i]
	a := access{call: i, rank: c.Rank, owner: c.Rank, kind: kind, role: role,
		bytes: map[int]element{}, starts: []point{at(i, which)}, done: at(i, which)}
	if b != nil {
		o.addBytes(a.bytes, b.Off, b.Type, b.Count, -1)
	}
	return a
}

// addBytes adds the bytes of a buffer; of the first limit bytes of data only,
// unless limit is negative.
func (o *order) addBytes(set map[int]element, off, typ, count, limit int) {
	l := o.p.elements(typ, count)
	for _, q := range l.parts {
		for b := range q.size {
			if limit == 0 {
				return
			}
			limit--
			set[off+q.off+b] = element{first: off + q.first, basic: q.basic}
		}
	}
}

// callBuffers are the accesses of two-sided and collective calls.
func (o *order) callBuffers(i int) []access {
	c := &o.p.Calls[i]
	switch c.Fn {
	case "MPI_Send", "MPI_Ssend":
		return []access{o.buffer(i, read, "send buffer", &c.Origin, enter)}
	case "MPI_Isend":
		a := o.buffer(i, read, "send buffer", &c.Origin, enter)
		a.done = o.requestDone(i)
		return []access{a}
	case "MPI_Irecv":
		a := o.buffer(i, write, "receive buffer", &c.Result, enter)
		a.done = o.requestDone(i)
		return []access{a}
	case "MPI_Recv":
		return []access{o.received(i)}
	case "MPI_Sendrecv":
		return []access{o.buffer(i, read, "send buffer", &c.Origin, enter), o.received(i)}
	case "MPI_Bcast":
		if c.Rank == c.Peer {
			return []access{o.buffer(i, read, "broadcast buffer", &c.Origin, enter)}
		}
		return []access{o.buffer(i, write, "broadcast buffer", &c.Origin, leave)}
	case "MPI_Reduce", "MPI_Allreduce":
		return o.reduction(i)
	}
	return nil
}

func (o *order) reduction(i int) []access {
	c := &o.p.Calls[i]
	root := c.Fn == "MPI_Allreduce" || c.Rank == c.Peer
	in := &c.Origin
	if c.InPlace && root {
		in = &c.Result
	}
	out := []access{o.buffer(i, read, "send buffer", in, enter)}
	if root {
		out = append(out, o.buffer(i, write, "receive buffer", &c.Result, leave))
	}
	return out
}

// received is what a blocking receive writes.
func (o *order) received(i int) access {
	c := &o.p.Calls[i]
	a := o.buffer(i, write, "receive buffer", nil, leave)
	o.addBytes(a.bytes, c.Result.Off, c.Result.Type, c.Result.Count, c.Received)
	return a
}

func (o *order) requestDone(i int) point {
	if j := o.doneBy(i); j >= 0 {
		return at(j, leave)
	}
	return never
}

// operation lists the accesses of a one-sided operation.
func (o *order) operation(i int) []access {
	c := &o.p.Calls[i]
	buffers, target := o.completion(i)
	var out []access
	add := func(kind accessKind, role string, b *Buf) {
		a := o.buffer(i, kind, role, b, enter)
		a.done, a.remote = buffers, true
		out = append(out, a)
	}
	origin, result, compare := o.p.buffers(c)
	if origin != nil {
		add(read, "origin buffer", origin)
	}
	if result != nil {
		role := "result buffer"
		if c.Fn == "MPI_Get" {
			role = "origin buffer"
		}
		add(write, role, result)
	}
	if compare != nil {
		add(read, "compare buffer", compare)
	}
	win := &o.p.Wins[c.Win]
	a := access{call: i, rank: c.Rank, owner: c.Peer, role: "target", op: c.Op, bytes: map[int]element{},
		starts: o.targetStarts(i), done: target, remote: true, target: true}
	a.kind = targetKind(c)
	if c.Fn == "MPI_Compare_and_swap" {
		a.op = c.Fn
	}
	o.addBytes(a.bytes, win.Off[c.Peer]+c.Disp*win.Unit[c.Peer], c.TType, c.TCount, -1)
	return append(out, a)
}

// targetKind says how an operation accesses its target.
func targetKind(c *Call) accessKind {
	switch {
	case c.Fn == "MPI_Put":
		return write
	case c.Fn == "MPI_Get":
		return read
	case c.Op == "MPI_NO_OP":
		return atomicRead
	}
	return atomicWrite
}

// completion returns where an operation's buffers and target memory complete,
// by the table of the model's section 2.
func (o *order) completion(i int) (buffers, target point) {
	c := &o.p.Calls[i]
	buffers, target = never, never
	local := func(j int) {
		if buffers == never {
			buffers = at(j, enter)
		}
		if c.onlyReads() { // its data is here, so its read is done
			target = at(j, enter)
		}
	}
	for _, j := range o.after(i) {
		d := &o.p.Calls[j]
		if d.Win != c.Win {
			continue
		}
		switch d.Fn {
		case "MPI_Win_fence":
			if d.Assert&trace.AssertNoPrecede == 0 {
				target = at(j, enter)
			}
		case "MPI_Win_unlock", "MPI_Win_flush":
			if d.Peer == c.Peer {
				target = at(j, enter)
			}
		case "MPI_Win_unlock_all", "MPI_Win_flush_all":
			target = at(j, enter)
		case "MPI_Win_flush_local":
			if d.Peer == c.Peer {
				local(j)
			}
		case "MPI_Win_flush_local_all":
			local(j)
		case "MPI_Win_complete":
			return at(j, enter), o.completeAt(i, j)
		}
		if target != never {
			if buffers == never {
				buffers = target
			}
			break
		}
	}
	return buffers, target
}

// onlyReads reports whether an operation changes nothing at its target: what
// completes it at its origin then completes it there too.
func (c *Call) onlyReads() bool {
	return c.Fn == "MPI_Get" || (c.Fn == "MPI_Get_accumulate" || c.Fn == "MPI_Fetch_and_op") && c.Op == "MPI_NO_OP"
}

// completeAt returns where the target memory of an operation completes that an
// MPI_Win_complete closes: there for a get, otherwise at the target's wait.
func (o *order) completeAt(i, complete int) point {
	c := &o.p.Calls[i]
	if c.onlyReads() {
		return at(complete, enter)
	}
	start := -1
	for _, j := range o.of[c.Rank] {
		if j >= i {
			break
		}
		if d := &o.p.Calls[j]; d.Fn == "MPI_Win_start" && d.Win == c.Win {
			start = j
		}
	}
	if start < 0 {
		return never
	}
	post := o.matchingPost(start, c.Peer)
	if post < 0 {
		return never
	}
	if end := o.closes(post, "MPI_Win_wait"); end >= 0 {
		return at(end, leave)
	}
	return never
}

// targetStarts returns when an operation's access to its target starts: where
// it is issued, but after a fence that need not synchronize no sooner than the
// target's own matching fence.
func (o *order) targetStarts(i int) []point {
	c := &o.p.Calls[i]
	starts := []point{at(i, enter)}
	n, fence := 0, -1
	for _, j := range o.of[c.Rank] {
		d := &o.p.Calls[j]
		if j >= i {
			break
		}
		if !d.onWindow() || d.Win != c.Win {
			continue
		}
		switch d.Fn {
		case "MPI_Win_fence":
			n, fence = n+1, j
		case "MPI_Win_lock", "MPI_Win_lock_all", "MPI_Win_start":
			fence = -1
		}
	}
	if fence < 0 || o.p.Calls[fence].Assert&trace.AssertNoPrecede == 0 {
		return starts
	}
	for _, j := range o.of[c.Peer] {
		if d := &o.p.Calls[j]; d.Fn == "MPI_Win_fence" && d.Win == c.Win {
			if n--; n == 0 {
				return append(starts, at(j, enter))
			}
		}
	}
	return starts
}
