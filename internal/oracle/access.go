package oracle

import (
	"math/bits"
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

// never is a point that the run does not come to.
const never point = -1

// list returns the point as a list, without it where it is never.
func (a point) list() []point {
	if a == never {
		return nil
	}
	return []point{a}
}

// access is one access of a call to the memory of one process.
type access struct {
	call   int
	rank   int // who made it
	owner  int // whose memory
	kind   accessKind
	role   string
	op     string // of an atomic access
	bytes  byteSet
	elems  []element // of an atomic access: by offset, as bytes is
	starts []point   // it starts when all of these have happened
	dones  []point   // it is complete when all of these have; none: never
	any    bool      // when any of dones has
	remote bool      // made by a one-sided operation (its buffers or its target)
	target bool      // the target memory of a one-sided operation
	gone   bool      // memory that the call takes out of its window: no operation on that may be pending
}

// byteSet is a set of bytes of one process: a bit for each, by its offset from the
// process's Program.Base.
type byteSet []uint64

func (s byteSet) add(x int)      { s[x/64] |= 1 << (x % 64) }
func (s byteSet) has(x int) bool { return s[x/64]&(1<<(x%64)) != 0 }
func (s byteSet) empty() bool    { return !slices.ContainsFunc(s, func(w uint64) bool { return w != 0 }) }

// meets reports whether two sets of one process share a byte.
func (s byteSet) meets(t byteSet) bool {
	for i, w := range s {
		if w&t[i] != 0 {
			return true
		}
	}
	return false
}

// all visits the bytes, ascending.
func (s byteSet) all(visit func(x int) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !visit(64*i + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// newSet returns an empty set of bytes of a process.
func (o *order) newSet(owner int) byteSet {
	const many = 1 << 10
	n := (o.p.Size[owner] + 63) / 64
	if len(o.room) < n {
		o.room = make([]uint64, max(n, many))
	}
	set := o.room[:n:n]
	o.room = o.room[n:]
	return set
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
		if c.Fn == "MPI_Win_detach" {
			out = append(out, o.detach(i))
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
	return slices.DeleteFunc(out, func(a access) bool { return a.bytes.empty() })
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
			a.bytes.add(c.Off + k*c.Stride + b)
		}
	}
	return a
}

// detach is that of a call which takes memory out of a dynamic window.
func (o *order) detach(i int) access {
	c := &o.p.Calls[i]
	a := o.access(i, c.Rank, write, "detach")
	a.gone = true
	for j := i - 1; j >= 0; j-- {
		if d := &o.p.Calls[j]; d.Fn == "MPI_Win_attach" && d.Rank == c.Rank && d.Win == c.Win && d.Off == c.Off {
			for b := range d.Bytes {
				a.bytes.add(c.Off + b)
			}
			break
		}
	}
	return a
}

// access is one that starts and completes where a call begins.
func (o *order) access(i, owner int, kind accessKind, role string) access {
	return access{call: i, rank: o.p.Calls[i].Rank, owner: owner, kind: kind, role: role,
		bytes: o.newSet(owner), starts: []point{at(i, enter)}, dones: []point{at(i, enter)}}
}

// addBytes adds the bytes of a buffer; of the first limit bytes of data only,
// unless limit is negative.
func (o *order) addBytes(a *access, off, typ, count, limit int) {
	l := o.p.layout(typ)
	for k := range count {
		at := off + k*(l.ub-l.lb)
		for _, q := range l.parts {
			for b := range q.size {
				if limit == 0 {
					return
				}
				limit--
				a.bytes.add(at + q.off + b)
				if a.elems != nil {
					a.elems[at+q.off+b] = element{first: at + q.first, basic: q.basic}
				}
			}
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
		o.addBytes(&out[k], b.Off, b.Type, b.Count, limit)
	}
	return out
}

// callBuffers are the accesses of two-sided and collective calls: of blocking
// ones where they read at the beginning and where they write at the end, of
// others from the start to the completion. Where buffers of a blocking one overlap, what it
// reads is in use until it writes.
func (o *order) callBuffers(x *activation) []access {
	c := &o.p.Calls[x.call]
	if c.Partitions > 0 {
		return o.partitionAccesses(x)
	}
	var out []access
	aliased := c.form() == blocking && o.aliased(x)
	for _, u := range o.p.uses(c) {
		limit := -1
		if c.form() == blocking && !aliased && u.kind == write && (c.receives() || c.does() == "MPI_Mrecv") {
			limit = c.Statuses[0].Bytes
		}
		for _, a := range o.buffers(x, u, limit) {
			switch {
			case c.form() != blocking && x.done >= 0:
				a.dones = []point{at(x.done, leave)}
			case c.form() != blocking:
				a.dones = o.givenUp(x)
			case aliased && u.kind == write:
				a.starts, a.dones = []point{at(x.start, wait)}, []point{at(x.start, leave)}
			case aliased:
				a.dones = []point{at(x.start, leave)}
			case u.kind == write:
				a.starts, a.dones = []point{at(x.start, leave)}, []point{at(x.start, leave)}
			}
			out = append(out, a)
		}
	}
	return out
}

// aliased reports whether what a blocking call reads and what it writes by another
// argument overlap.
func (o *order) aliased(x *activation) bool {
	c := &o.p.Calls[x.call]
	if c.InPlace || c.does() == "MPI_Sendrecv_replace" {
		return false
	}
	var all []access
	for _, u := range o.p.uses(c) {
		all = append(all, o.buffers(x, u, -1)...)
	}
	for i := range all {
		if slices.ContainsFunc(all[i+1:], func(b access) bool {
			return all[i].owner == b.owner && all[i].kind != b.kind && all[i].bytes.meets(b.bytes)
		}) {
			return true
		}
	}
	return false
}

// givenUp returns where a send is complete whose request was freed: where that was
// done and the message was received, as a reply can tell (MPI standard, example of
// MPI_REQUEST_FREE in 3.7.4).
func (o *order) givenUp(x *activation) []point {
	for i := range o.m.acts {
		y := &o.m.acts[i]
		if y.sent < 0 || &o.m.acts[y.sent] != x || y.done < 0 {
			continue
		}
		for _, j := range o.after(x.start) {
			if d := &o.p.Calls[j]; d.Fn == "MPI_Request_free" && d.Reqs[0] == x.req {
				return []point{at(j, enter), at(y.done, leave)}
			}
		}
	}
	return nil
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
			a.dones, a.any, a.remote = buffers, true, true
			out = append(out, a)
		}
	}
	win := &o.p.Wins[c.Win]
	a := o.access(i, c.Peer, targetKind(c), "target")
	a.op, a.starts, a.dones, a.any, a.remote, a.target = c.Op, o.targetStarts(i), target, true, true, true
	if c.Fn == "MPI_Compare_and_swap" {
		a.op = c.Fn
	}
	if a.kind == atomicRead || a.kind == atomicWrite {
		a.elems = make([]element, 64*len(a.bytes))
	}
	o.addBytes(&a, win.Off[c.Peer]+c.Disp*win.Unit[c.Peer], c.TType, c.TCount, -1)
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

// completion returns where an operation's buffers and target memory complete, by the
// table of the model's section 2: at any of these, the first of several that come one
// after the other. A call completes what comes before it.
func (o *order) completion(x *activation) (buffers, target []point) {
	i := x.call
	c := &o.p.Calls[i]
	add := func(to *[]point, d point) {
		if d != never && !slices.ContainsFunc(*to, func(before point) bool { return o.before(before, d) }) {
			*to = append(*to, d)
		}
	}
	local := func(j, which int) {
		add(&buffers, at(j, which))
		if c.onlyReads() { // its data is here, so its read is done
			add(&target, at(j, which))
		}
	}
	threaded := o.p.isThreaded()
	for _, j := range o.after(i) {
		d := &o.p.Calls[j]
		switch {
		case d.isStrandEvent(), d.isLocal(), threaded && !o.before(at(i, leave), at(j, enter)):
			continue
		case x.req >= 0 && j == x.done:
			local(j, leave)
		case !d.onWindow() || d.Win != c.Win:
			continue
		}
		all := func(t point) {
			add(&target, t)
			add(&buffers, at(j, enter))
		}
		switch d.Fn {
		case "MPI_Win_fence":
			if d.Assert&trace.AssertNoPrecede == 0 {
				all(at(j, enter))
			}
		case "MPI_Win_unlock", "MPI_Win_flush":
			if d.Peer == c.Peer {
				all(at(j, enter))
			}
		case "MPI_Win_unlock_all", "MPI_Win_flush_all", "MPI_Win_free":
			all(at(j, enter))
		case "MPI_Win_flush_local":
			if d.Peer == c.Peer {
				local(j, enter)
			}
		case "MPI_Win_flush_local_all":
			local(j, enter)
		case "MPI_Win_complete":
			if o.startBefore(i) >= 0 {
				all(o.completeAt(i, j))
				return buffers, target
			}
		}
		if !threaded && len(target) > 0 {
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
	post := o.matchingPost(o.startBefore(i), c.Peer)
	if post < 0 {
		return never
	}
	if end := o.closes(post, "MPI_Win_wait"); end >= 0 {
		return at(end, leave)
	}
	return never
}

// startBefore returns the MPI_Win_start in whose epoch an operation is issued, or -1.
func (o *order) startBefore(i int) int {
	c := &o.p.Calls[i]
	start := -1
	for _, j := range o.of[c.Rank] {
		if j >= i {
			break
		}
		switch d := &o.p.Calls[j]; {
		case d.Win != c.Win:
		case d.Fn == "MPI_Win_start":
			start = j
		case d.Fn == "MPI_Win_complete":
			start = -1
		}
	}
	return start
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
