package values

import (
	"fmt"
	"slices"
)

// A segment: data, words for atomics, sources; notifications are words elsewhere.
const (
	gaspiBase  = 0x1000
	gaspiSlots = 5    // of data, at the beginning
	gaspiWords = 128  // offsets
	gaspiOwn   = 64   // local parts of transfers
	gaspiNotes = 1000 // notifications, as words
)

type gaspi struct {
	*machine
	queues [][]*posted // by process
	come   []*event    // by process: the barrier that has timed out there, and goes on; or nil
}

// posted is an operation on a queue.
type posted struct {
	queue, target int
	local, remote *access
	read, waited  bool
}

var gaspiSteps = []func(*gaspi, *step){
	(*gaspi).loadOrStore, (*gaspi).loadOrStore, (*gaspi).loadOrStore, (*gaspi).localPart,
	(*gaspi).write, (*gaspi).write, (*gaspi).write, (*gaspi).writeNotify, (*gaspi).writeNotify,
	(*gaspi).notify, (*gaspi).notify, (*gaspi).notify, (*gaspi).read, (*gaspi).readNotify,
	(*gaspi).wait, (*gaspi).wait, (*gaspi).waitsome, (*gaspi).waitsome, (*gaspi).waitsome, (*gaspi).reset, (*gaspi).reset, (*gaspi).reset,
	(*gaspi).order, (*gaspi).order, (*gaspi).order,
	(*gaspi).atomic, (*gaspi).atomic, (*gaspi).atomic, (*gaspi).barrier, (*gaspi).timeOut, (*gaspi).passive, (*gaspi).wordLocally,
	(*gaspi).deliver, (*gaspi).deliver, (*gaspi).deliver, (*gaspi).deliver,
}

func runGaspi(p *Program) {
	g := &gaspi{machine: newMachine(p), queues: make([][]*posted, p.ranks), come: make([]*event, p.ranks)}
	g.now = 100
	g.meet(g.all(), "gaspi_segment_create", num("segment_id", 0), num("size", 256), num("group", 0), num("result", 0), addr("base", gaspiBase))
	g.fork()
	for i := range p.steps {
		g.now += 100
		g.current = p.steps[i]
		gaspiSteps[g.current.do](g, &g.current)
	}
	g.join()
	g.now += 100
	g.meetAll()
	for _, pe := range g.all() {
		g.event(pe, "gaspi_proc_term", num("result", 0))
	}
}

func (g *gaspi) loadOrStore(x *step) {
	g.local(x.pe, gaspiBase+8*int64(x.pick(0, gaspiSlots)), 8, x.pick(1, 2) == 0)
}

func (g *gaspi) localPart(x *step) {
	g.local(x.pe, gaspiBase+gaspiOwn+8*int64(x.pick(0, 3)), 8, x.pick(1, 2) == 0)
}

func (g *gaspi) wordLocally(x *step) {
	at, store := int64(gaspiWords+8*x.pick(0, 2)), x.pick(1, 2) == 0
	c := g.cell(x.pe, at)
	e := g.local(x.pe, gaspiBase+at, 8, store)
	if store {
		c.ops = append(c.ops, &op{by: e, update: func(value) value { return value{} }, done: []int{e.leave()}})
		c.set(g.next()+100, g.now)
	}
}

// transfer begins a transfer of one or two slots.
func (g *gaspi) transfer(x *step, fn string, read bool, args ...arg) (*event, *posted) {
	target, slot, own := x.pick(0, g.p.ranks), x.pick(1, gaspiSlots-1), x.pick(2, 2)
	n := int64(1 + x.pick(2, 5)/4)
	q := &posted{queue: x.pick(3, 2), target: target, read: read}
	e := g.event(x.pe, fn, append([]arg{
		num("segment_id_local", 0), num("offset_local", int64(gaspiOwn+8*own)), num("rank", int64(target)),
		num("segment_id_remote", 0), num("offset_remote", int64(8*slot)), num("size", 8*n), num("queue", int64(q.queue)),
	}, args...)...)
	here, there := reads, writes
	if read {
		here, there = there, here
	}
	q.local = g.touch(e, x.pe, gaspiBase+gaspiOwn+8*int64(own), 8*n, here)
	q.remote = g.touch(e, target, gaspiBase+8*int64(slot), 8*n, there)
	g.queues[x.pe] = append(g.queues[x.pe], q)
	return e, q
}

func (g *gaspi) write(x *step) { g.transfer(x, "gaspi_write", false) }
func (g *gaspi) read(x *step)  { g.transfer(x, "gaspi_read", true) }

// post sends a notification, which shows that accesses are complete.
func (g *gaspi) post(e *event, target int, id, v int64, shows []link) {
	stream := fmt.Sprint("note ", e.index) // they overtake one another
	c := g.cell(target, gaspiNotes+id)
	set := operand{apply: func(int64) int64 { return v }}
	y := &op{by: e, update: set.update, stream: stream, chain: shows}
	c.ops = append(c.ops, y)
	g.send(&flight{stream: stream, pe: e.pe, target: target, at: c, apply: set.apply})
}

// note returns an identifier, and a value: mostly one that no other has.
func (g *gaspi) note(x *step) (id, v int64) {
	if id, v = int64(x.pick(4, g.p.ids)), 1; x.pick(0, 8) != 0 {
		v = g.next() + 1
	}
	return id, v
}

func (g *gaspi) notify(x *step) {
	target, queue := x.pick(0, g.p.ranks), x.pick(3, 2)
	id, v := g.note(x)
	e := g.event(x.pe, "gaspi_notify", num("segment_id_remote", 0), num("rank", int64(target)), num("notification_id", id),
		num("notification_value", v), num("queue", int64(queue)))
	var shows []link
	for _, q := range g.queues[x.pe] {
		if !q.read && q.queue == queue && q.target == target {
			shows = append(shows, link{access: q.local, issued: true}, link{access: q.remote, issued: true})
		}
	}
	g.post(e, target, id, v, shows)
}

func (g *gaspi) writeNotify(x *step) {
	id, v := g.note(x)
	e, q := g.transfer(x, "gaspi_write_notify", false, num("notification_id", id), num("notification_value", v))
	g.post(e, q.target, id, v, own([]*access{q.local, q.remote}))
}

func (g *gaspi) readNotify(x *step) {
	id := int64(x.pick(4, g.p.ids))
	e, q := g.transfer(x, "gaspi_read_notify", true, num("notification_id", id))
	g.post(e, x.pe, id, 1, own([]*access{q.local, q.remote}))
}

func (g *gaspi) wait(x *step) {
	queue := x.pick(3, 2)
	e := g.event(x.pe, "gaspi_wait", num("queue", int64(queue)))
	for _, q := range g.queues[x.pe] {
		if q.queue != queue || q.waited {
			continue
		}
		q.waited = g.p.strands == 1 // otherwise only for strands that know of it
		q.local.done = append(q.local.done, e.enter())
		if q.read {
			q.remote.done = append(q.remote.done, e.enter())
		}
	}
}

// seen returns a notification of the process that is there; none: something arrives.
func (g *gaspi) seen(x *step) (id int64, c *cell) {
	for i := range 3 {
		id = int64((i + x.pick(0, 3)) % 3)
		if c = g.cell(x.pe, gaspiNotes+id); c.value != 0 {
			return id, c
		}
	}
	for _, f := range g.flying {
		if f.target == x.pe {
			g.arrive(f)
			break
		}
	}
	return 0, nil
}

func (g *gaspi) waitsome(x *step) {
	id, c := g.seen(x)
	if c == nil {
		return
	}
	e := g.event(x.pe, "gaspi_notify_waitsome", num("segment_id_local", 0), num("notification_begin", 0), num("num", 3), num("first_id", id))
	c.ops = append(c.ops, &op{by: e, meets: condition(2, 0), done: []int{e.leave()}})
}

func (g *gaspi) reset(x *step) {
	id, c := g.seen(x)
	if c == nil {
		return
	}
	e := g.event(x.pe, "gaspi_notify_reset", num("segment_id_local", 0), num("notification_id", id), num("old_notification_val", c.value))
	none := operand{apply: func(int64) int64 { return 0 }}
	c.ops = append(c.ops, &op{by: e, exact: true, found: c.value, update: none.update, done: []int{e.leave()}})
	c.set(0, g.now)
}

func (g *gaspi) atomic(x *step) {
	target, at := x.pick(0, g.p.ranks), int64(gaspiWords+8*x.pick(1, 2))
	c := g.cell(target, at)
	found := c.value
	args := []arg{num("segment_id", 0), num("offset", at), num("rank", int64(target))}
	n := int64(1)
	if x.pick(4, 4) == 0 { // it polls
		n = 0
	}
	o := operand{name: "gaspi_atomic_fetch_add", apply: func(v int64) int64 { return v + n }}
	more := []arg{num("val_add", n)}
	if x.pick(2, 3) == 0 {
		cond, to := found, g.next()+100
		if x.pick(3, 3) == 0 {
			cond++
		}
		o.name, more = "gaspi_atomic_compare_swap", []arg{num("comparator", cond), num("val_new", to)}
		o.apply = func(v int64) int64 {
			if v == cond {
				return to
			}
			return v
		}
	}
	args = append(append(args, more...), addr("val_old", private+int64(8*x.strand)), num("size", 8), num("old", found))
	e := g.event(x.pe, o.name, args...)
	a := g.touch(e, target, gaspiBase+at, 8, atomicWrites, e.leave())
	a.typ = "atomic"
	y := &op{by: e, exact: true, found: found, done: []int{e.leave()}, own: a}
	if o.apply(found) != found {
		y.update = o.update
		c.set(o.apply(found), g.now)
	}
	c.ops = append(c.ops, y)
}

func (g *gaspi) barrier(x *step) {
	if x.pick(0, 2) == 0 {
		g.meetAll()
	}
}

// meetAll is a barrier of all. Those that have called it before it succeeded came to it then.
func (g *gaspi) meetAll() {
	all := g.gather(g.all(), "gaspi_barrier", num("group", 0), num("result", 0))
	for pe, e := range g.come {
		if e == nil {
			g.come[pe] = all[pe]
		}
	}
	g.orders(g.come, all)
	clear(g.come)
}

// timeOut: the process comes to a barrier that times out.
func (g *gaspi) timeOut(x *step) {
	e := g.event(x.pe, "gaspi_barrier", num("group", 0), num("result", 1))
	if g.come[x.pe] == nil {
		g.come[x.pe] = e
	}
}

// passive is a send and its receive.
func (g *gaspi) passive(x *step) {
	to := x.pick(0, g.p.ranks)
	if to == x.pe {
		return
	}
	part := func(who int) []arg {
		return []arg{num("segment_id_local", 0), num("offset_local", int64(8*x.pick(1, gaspiSlots))), num("rank", int64(who)), num("size", 8)}
	}
	a := g.event(x.pe, "gaspi_passive_send", part(to)...)
	b := g.event(to, "gaspi_passive_receive", part(x.pe)...)
	g.p.edges = append(g.p.edges, [2]int{a.enter(), b.leave()}, [2]int{b.enter(), a.leave()})
	g.p.passive = append(g.p.passive, [2]*event{a, b})
	at := gaspiBase + 8*int64(x.pick(1, gaspiSlots))
	g.touch(a, x.pe, at, 8, reads, a.enter())
	w := g.touch(b, to, at, 8, writes, b.leave())
	w.start = b.leave()
}

func (g *gaspi) deliver(x *step) {
	if len(g.flying) > 0 {
		f := g.flying[x.pick(0, len(g.flying))]
		g.arrive(f)
		g.flying = slices.Clip(g.flying)
	}
}

func (g *gaspi) order(x *step) { g.machine.order(x) }
