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
		if c.isLocal() {
			out = append(out, o.local(i))
		}
		for _, a := range o.m.starts[i] {
			x := &o.m.acts[a]
			if o.p.Calls[x.call].isOperation() {
				out = append(out, o.operation(x)...)
			} else {
				out = append(out, o.callBuffers(x)...)
			}
		}
	}
	return slices.DeleteFunc(out, func(a access) bool { return len(a.bytes) == 0 })
}

// local is the access of a load or store.
func (o *order) local(i int) access {
	c := &o.p.Calls[i]
	a := o.access(i, c.owner(c.Of), read, c.Fn)
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

// access is one that starts and completes where a call begins.
func (o *order) access(i, owner int, kind accessKind, role string) access {
	return access{call: i, rank: o.p.Calls[i].Rank, owner: owner, kind: kind, role: role,
		bytes: map[int]element{}, starts: []point{at(i, enter)}, done: at(i, enter)}
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

// buffers lists the accesses of a call to its buffers, one for each process
// whose memory a buffer lies in.
func (o *order) buffers(x *activation, u use, limit int) []access {
	c := &o.p.Calls[x.call]
	var out []access
	for _, b := range u.parts {
		owner := c.owner(b.Of)
		k := slices.IndexFunc(out, func(a access) bool { return a.owner == owner })
		if k < 0 {
			k = len(out)
			out = append(out, o.access(x.start, owner, u.kind, u.role))
		}
		o.addBytes(out[k].bytes, b.Off, b.Type, b.Count, limit)
	}
	return out
}

// callBuffers are the accesses of two-sided and collective calls: of blocking
// ones where they read at the beginning and where they write at the end, of
// others from the start to the completion.
func (o *order) callBuffers(x *activation) []access {
	c := &o.p.Calls[x.call]
	if c.Partitions > 0 {
		return o.partitionAccesses(x)
	}
	var out []access
	for _, u := range o.p.uses(c) {
		limit := -1
		if c.form() == blocking && u.kind == write && (c.receives() || c.does() == "MPI_Mrecv") {
			limit = c.Statuses[0].Bytes
		}
		for _, a := range o.buffers(x, u, limit) {
			switch {
			case c.form() != blocking && x.done >= 0:
				a.done = at(x.done, leave)
			case c.form() != blocking:
				a.done = o.receivedAt(x)
			case u.kind == write:
				a.starts, a.done = []point{at(x.start, leave)}, at(x.start, leave)
			}
			out = append(out, a)
		}
	}
	return out
}

// receivedAt returns where the message of a send was received whose request was
// freed: a reply can tell that (MPI standard, example of MPI_REQUEST_FREE in
// 3.7.4).
func (o *order) receivedAt(x *activation) point {
	for i := range o.m.acts {
		y := &o.m.acts[i]
		if y.sent >= 0 && &o.m.acts[y.sent] == x && y.done >= 0 {
			return at(y.done, leave)
		}
	}
	return never
}

// operation lists the accesses of a one-sided operation.
func (o *order) operation(x *activation) []access {
	i := x.call
	c := &o.p.Calls[i]
	if c.Peer == ProcNull {
		return nil
	}
	buffers, target := o.completion(x)
	var out []access
	for _, u := range o.p.uses(c) {
		for _, a := range o.buffers(x, u, -1) {
			a.done, a.remote = buffers, true
			out = append(out, a)
		}
	}
	win := &o.p.Wins[c.Win]
	a := o.access(i, c.Peer, targetKind(c), "target")
	a.op, a.starts, a.done, a.remote, a.target = c.Op, o.targetStarts(i), target, true, true
	if c.Fn == "MPI_Compare_and_swap" {
		a.op = c.Fn
	}
	o.addBytes(a.bytes, win.Off[c.Peer]+c.Disp*win.Unit[c.Peer], c.TType, c.TCount, -1)
	return append(out, a)
}

// targetKind says how an operation accesses its target.
func targetKind(c *Call) accessKind {
	switch {
	case c.does() == "MPI_Put":
		return write
	case c.does() == "MPI_Get":
		return read
	case c.Op == "MPI_NO_OP":
		return atomicRead
	}
	return atomicWrite
}

// completion returns where an operation's buffers and target memory complete,
// by the table of the model's section 2.
func (o *order) completion(x *activation) (buffers, target point) {
	i := x.call
	c := &o.p.Calls[i]
	buffers, target = never, never
	local := func(j, which int) {
		if buffers == never {
			buffers = at(j, which)
		}
		if c.onlyReads() { // its data is here, so its read is done
			target = at(j, which)
		}
	}
	for _, j := range o.after(i) {
		d := &o.p.Calls[j]
		switch {
		case x.req >= 0 && j == x.done:
			local(j, leave)
		case !d.onWindow() || d.Win != c.Win:
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
				local(j, enter)
			}
		case "MPI_Win_flush_local_all":
			local(j, enter)
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
	return targetKind(c) == read || targetKind(c) == atomicRead
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
