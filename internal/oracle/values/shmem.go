package values

import (
	"fmt"
	"slices"
)

// Symmetric memory: data, words, signals, a lock; and private memory.
const (
	shmemData, shmemSlots = 0x1000, 5
	shmemWords            = 0x1100 // one that is set, one that is counted, one that is both
	shmemSignals          = 0x1200
	shmemLock             = 0x1300
	private               = 0x9000
)

// shmem is a run of a program of OpenSHMEM.
type shmem struct {
	*machine
	pending [][]*pending // by PE
	holder  int          // of the lock; -1: nobody
	ticket  int64
	cleared []int // points
}

// pending is an operation that no quiet has completed.
type pending struct {
	ctx, target int
	issued      int
	accesses    []*access
	remote      *access
	op          *op
	flight      *flight
	fences      bool // a fence orders it before what comes
}

// shmemOneStrand are the steps of processes with one strand.
var shmemOneStrand = []func(*shmem, *step){
	(*shmem).loadOrStore, (*shmem).loadOrStore, (*shmem).loadOrStore,
	(*shmem).put, (*shmem).put, (*shmem).put, (*shmem).get,
	(*shmem).update, (*shmem).update, (*shmem).update, (*shmem).fetching, (*shmem).fetching, (*shmem).fetching,
	(*shmem).fetchLater, (*shmem).putWord, (*shmem).signal, (*shmem).signal,
	(*shmem).wait, (*shmem).wait, (*shmem).wait, (*shmem).wait, (*shmem).waitSome, (*shmem).signalFetch,
	(*shmem).fence, (*shmem).fence, (*shmem).quiet, (*shmem).quiet,
	(*shmem).order, (*shmem).order, (*shmem).order, (*shmem).barrier, (*shmem).sync, (*shmem).lock, (*shmem).lock, (*shmem).wordLocally,
	(*shmem).deliver, (*shmem).deliver, (*shmem).deliver, (*shmem).deliver, (*shmem).deliver,
	(*shmem).relay,
}

// shmemSteps are those of processes with several strands, which do more beside each other.
var shmemSteps = append(slices.Clip(shmemOneStrand),
	(*shmem).fence, (*shmem).fence, (*shmem).quiet, (*shmem).order, (*shmem).order, (*shmem).order)

func runShmem(p *Program) {
	s := &shmem{machine: newMachine(p), pending: make([][]*pending, p.ranks), holder: -1}
	for _, pe := range s.all() {
		s.event(pe, "mcchk_Symmetric_data", addr("base", 0x1000), num("size", 0x1000), num("offset", 0), num("module", 1))
	}
	s.now = 100
	s.meet(s.all(), "shmem_init")
	for _, pe := range s.all() {
		s.event(pe, "shmem_ctx_create", num("options", 0), num("ctx", 7))
	}
	s.fork()
	for i := range p.steps {
		s.now += 100
		s.current = p.steps[i]
		shmemSteps[s.current.do](s, &s.current)
	}
	s.now += 100
	if s.holder >= 0 {
		s.clearLock(s.holder)
		s.now += 100
	}
	s.join()
	for _, pe := range s.all() {
		s.complete(pe, len(p.events)+pe, func(*pending) bool { return true })
	}
	s.meet(s.all(), "shmem_finalize")
}

func (s *shmem) loadOrStore(x *step) {
	s.local(x.pe, shmemData+8*int64(x.pick(0, shmemSlots)), 8, x.pick(1, 2) == 0)
}

func ctxName(name string, ctx int, args []arg) (string, []arg) {
	if ctx == 0 {
		return name, args
	}
	return "shmem_ctx" + name[len("shmem"):], append([]arg{num("ctx", int64(ctx))}, args...)
}

func (x *step) ctx() int { return []int{0, 0, 0, 7}[x.r[3]%4] }

func (s *shmem) operation(x *step, name string, args ...arg) (*event, *pending) {
	name, args = ctxName(name, x.ctx(), args)
	e := s.event(x.pe, name, args...)
	q := &pending{ctx: x.ctx(), issued: e.index}
	return e, q
}

func (s *shmem) add(e *event, q *pending) {
	s.pending[e.pe] = append(s.pending[e.pe], q)
}

func lane(pe, ctx, target int) string { return fmt.Sprint(pe, ctx, target) }

// remote touches memory of the target.
func (s *shmem) remote(e *event, ctx, target int, at, size int64, k kind, done ...int) *access {
	a := s.touch(e, target, at, size, k, done...)
	a.lane = lane(e.pe, ctx, target)
	return a
}

// chained are the accesses that fences have put before what a context issues now.
func (s *shmem) chained(pe, ctx, target int) (all []link, flights []*flight) {
	for _, q := range s.pending[pe] {
		if q.ctx == ctx && q.target == target && q.fences && len(q.remote.fences) > 0 {
			for _, a := range q.accesses {
				all = append(all, link{access: a, by: q.remote})
			}
			if q.flight != nil {
				flights = append(flights, q.flight)
			}
		}
	}
	return all, flights
}

func (s *shmem) put(x *step) {
	target, slot, n := x.pick(0, s.p.ranks), x.pick(1, shmemSlots), 1+x.pick(2, 2)
	n = min(n, shmemSlots-slot)
	nbi, dest, source := x.pick(4, 2) == 0, int64(shmemData+8*slot), int64(private+8*(x.pick(2, 3)))
	name := "shmem_long_put"
	if nbi {
		name += "_nbi"
	}
	e, q := s.operation(x, name, addr("dest", dest), addr("source", source), num("nelems", int64(n)), num("pe", int64(target)), num("size", 8))
	q.target, q.fences = target, true
	local := s.touch(e, x.pe, source, 8*int64(n), reads)
	q.remote = s.remote(e, q.ctx, target, dest, 8*int64(n), writes)
	q.accesses = []*access{q.remote}
	if nbi {
		q.accesses = append(q.accesses, local)
	} else {
		local.done = []int{e.leave()}
	}
	s.add(e, q)
}

func (s *shmem) get(x *step) {
	target, slot := x.pick(0, s.p.ranks), x.pick(1, shmemSlots)
	nbi, source, dest := x.pick(4, 2) == 0, int64(shmemData+8*slot), int64(private+8*(x.pick(2, 3)))
	name := "shmem_long_get"
	if nbi {
		name += "_nbi"
	}
	e, q := s.operation(x, name, addr("dest", dest), addr("source", source), num("nelems", 1), num("pe", int64(target)), num("size", 8))
	q.target = target
	local := s.touch(e, x.pe, dest, 8, writes)
	q.remote = s.remote(e, q.ctx, target, source, 8, reads)
	q.accesses = []*access{q.remote, local}
	if !nbi {
		local.done, q.remote.done = []int{e.leave()}, []int{e.leave()}
		return
	}
	q.remote.unchained = true
	s.add(e, q)
}

// operand decides on what an update does to a word.
type operand struct {
	name  string
	args  []arg
	apply func(int64) int64
}

func (o operand) update(v value) value {
	if !v.known {
		if a, b := o.apply(1), o.apply(2); a == b {
			return value{a, true}
		}
		return v
	}
	return value{o.apply(v.bits), true}
}

// operandFor: the first word is set to values that nothing else has; the second is
// counted; the third is both.
func (s *shmem) operandFor(w, choice int) operand {
	set := func() operand {
		v := s.next() + 100
		return operand{"set", []arg{num("value", v)}, func(int64) int64 { return v }}
	}
	switch {
	case w == 0, w == 2 && choice%4 == 0:
		return set()
	case choice%3 == 0:
		return operand{"inc", nil, func(v int64) int64 { return v + 1 }}
	case w == 2 && choice%3 == 1:
		bit := int64(1) << (choice % 4)
		return operand{"or", []arg{num("value", bit)}, func(v int64) int64 { return v | bit }}
	}
	n := int64(1 + choice%2)
	return operand{"add", []arg{num("value", n)}, func(v int64) int64 { return v + n }}
}

// update is an atomic operation without a result. Of some programs the trace tells what
// it found.
func (s *shmem) update(x *step) {
	target, w := x.pick(0, s.p.ranks), x.pick(1, 3)
	o, at := s.operandFor(w, x.pick(2, 12)), int64(shmemWords+8*w)
	c := s.cell(target, at)
	told := s.p.told
	if s.p.real && o.name == "or" && target == x.pe { // not fetched there
		told = false
	}
	args := append([]arg{addr("dest", at)}, o.args...)
	args = append(args, num("pe", int64(target)), num("size", 8))
	if told {
		s.before(x, target, c)
		args = append(args, num("old", c.value))
	}
	e, q := s.operation(x, "shmem_long_atomic_"+o.name, args...)
	s.issue(e, q, target, at, "long", &op{update: o.update, exact: told, found: c.value, silent: true}, o.apply, told)
}

// before lets what the PE has sent to a word arrive, since an operation finds it there.
func (s *shmem) before(x *step, target int, c *cell) {
	for _, f := range s.flightsBefore(x.pe, x.ctx(), target) {
		s.arrive(f)
	}
	s.arriveAll(func(f *flight) bool { return f.pe == x.pe && f.at == c })
}

// issue begins an atomic update, or a put of a word where typ is "".
func (s *shmem) issue(e *event, q *pending, target int, at int64, typ string, o *op, apply func(int64) int64, now bool) {
	q.target, q.fences = target, true
	k := atomicWrites
	if typ == "" {
		k = writes
	}
	q.remote = s.remote(e, q.ctx, target, at, 8, k)
	q.remote.typ = typ
	q.accesses = []*access{q.remote}
	c := s.cell(target, at)
	o.by, o.own, e.updates = e, q.remote, true
	chain, flights := s.chained(e.pe, q.ctx, target)
	o.chain = append(o.chain, chain...)
	c.ops = append(c.ops, o)
	q.op = o
	q.flight = s.send(&flight{pe: e.pe, target: target, at: c, apply: apply})
	q.flight.after = append(q.flight.after, flights...)
	if now {
		s.arrive(q.flight)
	}
	s.add(e, q)
}

// fetching is an atomic operation with a result.
func (s *shmem) fetching(x *step) {
	target, w := x.pick(0, s.p.ranks), x.pick(1, 3)
	at := int64(shmemWords + 8*w)
	c := s.cell(target, at)
	s.before(x, target, c)
	found := c.value
	o, name, args := s.operandFor(w, x.pick(2, 12)), "", []arg{addr("dest", at)}
	switch {
	case x.pick(4, 3) == 0:
		o, name, args = operand{}, "fetch", []arg{addr("source", at)}
	case o.name == "set":
		name = "swap"
		if x.pick(4, 3) == 1 {
			name = "compare_swap"
			cond, to := found, o.apply(0)
			if x.pick(2, 4) == 0 {
				cond++
			}
			args = append(args, num("cond", cond))
			o.apply = func(v int64) int64 {
				if v == cond {
					return to
				}
				return v
			}
			if cond != found {
				o.name = ""
			}
		}
	default:
		name = "fetch_" + o.name
	}
	if s.p.real && o.name == "or" && target == x.pe {
		return // Open MPI 4.1 does nothing then
	}
	args = append(append(args, o.args...), num("pe", int64(target)), num("size", 8), num("result", found))
	full, args := ctxName("shmem_long_atomic_"+name, x.ctx(), args)
	e := s.event(x.pe, full, args...)
	k := atomicWrites
	if name == "fetch" {
		k = atomicReads
	}
	a := s.remote(e, x.ctx(), target, at, 8, k, e.leave())
	a.typ = "long"
	chain, _ := s.chained(x.pe, x.ctx(), target)
	y := &op{by: e, exact: true, found: found, done: []int{e.leave()}, own: a, chain: chain}
	if o.name != "" {
		y.update = o.update
		c.set(o.apply(found), s.now)
	}
	c.ops = append(c.ops, y)
}

// fetchLater is an atomic operation whose result is there after a quiet, and in no trace.
func (s *shmem) fetchLater(x *step) {
	if s.p.real && !s.p.later {
		return
	}
	target, w := x.pick(0, s.p.ranks), x.pick(1, 3)
	at, result := int64(shmemWords+8*w), int64(private+8*(x.pick(2, 3)))
	c := s.cell(target, at)
	o, name, to := s.operandFor(w, x.pick(2, 12)), "", addr("dest", at)
	switch {
	case x.pick(4, 4) == 0:
		o, name, to = operand{}, "fetch", addr("source", at)
	case o.name != "set":
		name = "fetch_" + o.name
	case x.pick(4, 4) == 1:
		name = "compare_swap"
		cond, v := c.value, o.apply(0)
		o.args = append([]arg{num("cond", cond)}, o.args...)
		o.apply = func(a int64) int64 {
			if a == cond {
				return v
			}
			return a
		}
	default:
		name = "swap"
	}
	name = "shmem_long_atomic_" + name + "_nbi"
	args := append([]arg{addr("fetch", result), to}, o.args...)
	e, q := s.operation(x, name, append(args, num("pe", int64(target)), num("size", 8))...)
	s.p.untold = append(s.p.untold, e.fn)
	fetched := &pending{ctx: q.ctx, target: target, issued: e.index, accesses: []*access{s.touch(e, x.pe, result, 8, writes)}}
	s.add(e, fetched) // which no fence puts before anything
	if o.apply != nil {
		s.issue(e, q, target, at, "long", &op{update: o.update}, o.apply, false)
		return
	}
	a := s.remote(e, q.ctx, target, at, 8, atomicReads)
	a.typ, a.unchained = "long", true
	fetched.accesses = append(fetched.accesses, a)
}

// relay has a PE send data to another and count that, a third one find so and tell the
// second at once, in another word, and that one look at the data.
func (s *shmem) relay(x *step) {
	ranks := s.p.ranks
	at, by, to := x.pe, (x.pe+1)%ranks, (x.pe+2)%ranks
	owner, counted, slot := x.pick(0, ranks), 1+x.pick(1, 2), x.pick(2, shmemSlots)
	do := func(pe int, act func(*shmem, *step), r ...int) {
		y := *x
		y.pe, y.strand = pe, x.strand%s.p.strandsOf(pe)
		copy(y.r[:], r)
		s.current = y
		act(s, &y)
		s.now += 100
	}
	do(at, (*shmem).put, to, slot, 0)
	if x.pick(4, 8) != 0 {
		do(at, (*shmem).quiet)
	}
	do(at, (*shmem).fetching, owner, counted, x.r[2], x.r[3], 1)
	do(by, (*shmem).fetching, owner, counted, x.r[2], x.r[3], 1)
	do(by, (*shmem).update, to, 0)
	s.arriveAll(func(f *flight) bool { return f.pe == by })
	do(to, (*shmem).wait, 0, x.r[1], x.r[2], 1)
	do(to, (*shmem).loadOrStore, slot, x.r[1])
}

func (s *shmem) flightsBefore(pe, ctx, target int) []*flight {
	_, flights := s.chained(pe, ctx, target)
	return flights
}

func (s *shmem) putWord(x *step) {
	target, w, v := x.pick(0, s.p.ranks), []int{0, 0, 2}[x.pick(1, 3)], s.next()+100
	at := int64(shmemWords + 8*w)
	e, q := s.operation(x, "shmem_long_p", addr("dest", at), num("value", v), num("pe", int64(target)), num("size", 8))
	set := operand{apply: func(int64) int64 { return v }}
	s.issue(e, q, target, at, "", &op{update: set.update}, set.apply, false)
}

// signal is a put with a signal: the first signal is set, the second counted.
func (s *shmem) signal(x *step) {
	if s.p.real {
		return
	}
	target, slot, which := x.pick(0, s.p.ranks), x.pick(1, shmemSlots), x.pick(2, 2)
	dest, source, at := int64(shmemData+8*slot), int64(private+8*x.pick(2, 3)), int64(shmemSignals+8*which)
	v, set := int64(1), int64(0)
	o := operand{apply: func(a int64) int64 { return a + 1 }}
	if which == 0 {
		v, set = s.next()+100, 1
		o.apply = func(int64) int64 { return v }
	}
	nbi, name := x.pick(4, 2) == 0, "shmem_long_put_signal"
	if nbi {
		name += "_nbi"
	}
	e, q := s.operation(x, name, addr("dest", dest), addr("source", source), num("nelems", 1), addr("sig_addr", at),
		num("signal", v), num("sig_op", set), num("pe", int64(target)), num("size", 8), num("set", set))
	data := &pending{ctx: q.ctx, target: target, issued: e.index, fences: true}
	local := s.touch(e, x.pe, source, 8, reads)
	data.remote = s.remote(e, q.ctx, target, dest, 8, writes)
	data.accesses = []*access{data.remote}
	if nbi {
		data.accesses = append(data.accesses, local)
	} else {
		local.done = []int{e.leave()}
	}
	shown := own([]*access{data.remote, local}) // the source was read before the signal arrived
	s.issue(e, q, target, at, "signal", &op{update: o.update, chain: shown, adds: which == 1}, o.apply, false)
	s.add(e, data)
}

func (s *shmem) fence(x *step) {
	name, args := ctxName("shmem_fence", x.ctx(), nil)
	e := s.event(x.pe, name, args...)
	for _, q := range s.pending[x.pe] {
		if q.ctx == x.ctx() && q.fences {
			q.remote.fences = append(q.remote.fences, e.index)
		}
	}
}

// complete completes what is pending at the entry of an event.
func (s *shmem) complete(pe, index int, of func(*pending) bool) {
	s.pending[pe] = slices.DeleteFunc(s.pending[pe], func(q *pending) bool {
		if !of(q) {
			return false
		}
		completed := s.p.strands == 1 // otherwise only of strands that know of it
		if q.flight != nil {
			s.arrive(q.flight)
		}
		for _, a := range q.accesses {
			a.done = append(a.done, 2*index)
		}
		if q.op != nil {
			q.op.done = append(q.op.done, 2*index)
		}
		return completed
	})
}

func onDefault(q *pending) bool { return q.ctx == 0 }

func (s *shmem) quiet(x *step) {
	name, args := ctxName("shmem_quiet", x.ctx(), nil)
	e := s.event(x.pe, name, args...)
	s.complete(x.pe, e.index, func(q *pending) bool { return q.ctx == x.ctx() })
}

func (s *shmem) barrier(x *step) {
	fn, args, pes := "shmem_barrier_all", []arg(nil), s.all()
	if x.pick(0, 3) == 0 {
		pes = pes[:2]
		fn, args = "shmem_barrier", []arg{num("PE_start", 0), num("logPE_stride", 0), num("PE_size", 2)}
	} else if x.pick(0, 3) == 1 && x.pick(1, 2) == 0 {
		return
	}
	for i, pe := range pes {
		s.complete(pe, len(s.p.events)+i, onDefault)
	}
	s.meet(pes, fn, args...)
}

func (s *shmem) sync(x *step) {
	if x.pick(0, 2) == 0 {
		s.meet(s.all(), "shmem_sync_all")
		return
	}
	s.meet(s.all()[:2], "shmem_sync", num("PE_start", 0), num("logPE_stride", 0), num("PE_size", 2))
}

// lock takes the lock, or gives it up.
func (s *shmem) lock(x *step) {
	if s.p.strands > 1 { // a lock protects those who know of it
		return
	}
	switch s.holder {
	case -1:
		fn, args := "shmem_set_lock", []arg{addr("lock", shmemLock), num("ticket", s.ticket)}
		if x.pick(0, 2) == 0 {
			fn, args = "shmem_test_lock", append(args, num("result", 0))
		}
		e := s.event(x.pe, fn, args...)
		s.ticket++
		s.holder = x.pe
		for _, c := range s.cleared {
			s.p.edges = append(s.p.edges, [2]int{c, e.leave()})
		}
	default:
		s.clearLock(s.holder)
	}
}

func (s *shmem) clearLock(pe int) {
	s.complete(pe, len(s.p.events), onDefault)
	e := s.event(pe, "shmem_clear_lock", addr("lock", shmemLock))
	s.cleared = append(s.cleared, e.enter())
	s.holder = -1
}

// wordLocally loads a word of the PE's own, or stores to it.
func (s *shmem) wordLocally(x *step) {
	w := x.pick(0, 3)
	at := int64(shmemWords + 8*w)
	store := x.pick(1, 2) == 0
	c := s.cell(x.pe, at)
	if store {
		s.arriveAll(func(f *flight) bool { return f.pe == x.pe && f.at == c })
	}
	e := s.local(x.pe, at, 8, store)
	if store {
		c.ops = append(c.ops, &op{by: e, update: func(value) value { return value{} }, done: []int{e.leave()}})
		e.stored = s.next() + 100
		c.set(e.stored, s.now)
	}
}

// deliver lets something arrive.
func (s *shmem) deliver(x *step) {
	if len(s.flying) > 0 {
		s.arrive(s.flying[x.pick(0, len(s.flying))])
	}
}

func (s *shmem) order(x *step) { s.machine.order(x) }

// own are accesses that an update shows to be complete in any case.
func own(list []*access) (all []link) {
	for _, a := range list {
		all = append(all, link{access: a})
	}
	return all
}
