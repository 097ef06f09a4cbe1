package values

import "slices"

// machine carries the steps of a program out.
type machine struct {
	p       *Program
	now     int64
	last    map[[2]int]int64 // when the last event of each strand was over
	objects map[[2]int][]int // by process and object: points at which it was released
	memory  map[wordAt]*cell
	flying  []*flight
	unique  int64
	current step
}

type wordAt struct {
	pe int
	at int64
}

// cell is a word of memory.
type cell struct {
	*word
	value   int64
	history []moment
}

// moment is a value that was there from a time on.
type moment struct {
	since, value int64
}

// flight is an update that has not arrived.
type flight struct {
	pe, target int
	stream     string
	at         *cell
	apply      func(int64) int64
	after      []*flight
	arrived    bool
}

func newMachine(p *Program) *machine {
	return &machine{p: p, last: map[[2]int]int64{}, objects: map[[2]int][]int{}, memory: map[wordAt]*cell{}}
}

func (m *machine) cell(pe int, at int64) *cell {
	k := wordAt{pe, at}
	c := m.memory[k]
	if c == nil {
		c = &cell{word: &word{}, history: []moment{{}}}
		m.memory[k] = c
		m.p.words = append(m.p.words, c.word)
	}
	return c
}

func (m *machine) next() int64 {
	m.unique++
	return m.unique
}

func (c *cell) set(v, now int64) {
	c.value = v
	c.history = append(c.history, moment{now, v})
}

// since returns a value that was there at some time since, and when.
func (c *cell) since(t int64, choice int) (value, when int64) {
	var some []moment
	for i, x := range c.history {
		if i+1 < len(c.history) && c.history[i+1].since <= t {
			continue
		}
		some = append(some, moment{max(x.since, t), x.value})
	}
	x := some[choice%len(some)]
	return x.value, x.since
}

// event adds what a process does now. It begins at some time since its last.
func (m *machine) event(pe int, fn string, args ...arg) *event {
	e := &event{pe: pe, strand: m.strand(pe), fn: fn, args: args, index: len(m.p.events), begin: m.now, end: m.now + 40}
	e.line = e.index + 1
	if m.p.loops && fn != "" {
		if i := slices.IndexFunc(m.p.events, func(x *event) bool { return x.pe == pe && x.fn == fn }); i >= 0 {
			e.line = m.p.events[i].line
		}
	}
	if m.current.pick(4, 2) == 0 {
		e.begin = m.lastOf(pe) + 1
	}
	m.last[[2]int{pe, e.strand}] = e.end
	m.p.events = append(m.p.events, e)
	return e
}

// strand is the strand that makes events of a process: that of the present step, and in
// other processes the first.
func (m *machine) strand(pe int) int {
	if pe == m.current.pe {
		return m.current.strand
	}
	return 0
}

// lastOf returns when the last event of a strand was over.
func (m *machine) lastOf(pe int) int64 {
	if end := m.last[[2]int{pe, m.strand(pe)}]; end > 0 {
		return end
	}
	return 1
}

// object has the present strand release an object of its process, or acquire it, behind or
// before a load that does not matter.
func (m *machine) object(pe, object int, name string) {
	e := m.event(pe, "")
	e.at, e.size = private+0x1000+8*int64(e.index), 8
	k, acquire := [2]int{pe, object}, name == "mcchk_Acquire"
	m.p.notes[e.index] = append(m.p.notes[e.index], note{name, object, acquire})
	if !acquire {
		m.objects[k] = append(m.objects[k], e.leave())
		return
	}
	for _, x := range m.objects[k] {
		m.p.edges = append(m.p.edges, [2]int{x, e.enter()})
	}
}

// fork begins the strands of all processes, and join ends them.
func (m *machine) fork() {
	for pe := range m.p.ranks {
		for s := 1; s < m.p.strandsOf(pe); s++ {
			m.current = step{pe: pe}
			m.object(pe, 100+s, "mcchk_Fork")
			m.current.strand = s
			m.object(pe, 100+s, "mcchk_Acquire")
		}
	}
	m.current = step{}
}

func (m *machine) join() {
	for pe := range m.p.ranks {
		for s := 1; s < m.p.strandsOf(pe); s++ {
			m.current = step{pe: pe, strand: s}
			m.object(pe, 200+s, "mcchk_Release")
			last := len(m.p.events) - 1
			m.p.notes[last] = append(m.p.notes[last], note{"mcchk_Strand_end", s, false})
			m.current.strand = 0
			m.object(pe, 200+s, "mcchk_Acquire")
		}
	}
	m.current = step{}
}

// order has a strand release the one object that strands share, or acquire it.
func (m *machine) order(x *step) {
	if m.p.strandsOf(x.pe) > 1 {
		m.object(x.pe, 1, []string{"mcchk_Release", "mcchk_Acquire"}[x.pick(0, 2)])
	}
}

func (m *machine) local(pe int, at, size int64, store bool) *event {
	e := m.event(pe, "")
	e.at, e.size, e.store = at, size, store
	k := reads
	if store {
		k = writes
	}
	m.touch(e, pe, at, size, k, e.leave())
	return e
}

func (m *machine) touch(e *event, owner int, at, size int64, k kind, done ...int) *access {
	a := &access{by: e, owner: owner, lo: at, hi: at + size, kind: k, start: e.enter(), done: done}
	m.p.accesses = append(m.p.accesses, a)
	return a
}

// send lets an update begin that arrives later.
func (m *machine) send(f *flight) *flight {
	for _, x := range m.flying {
		if x.pe == f.pe && x.at == f.at && x.stream == f.stream {
			f.after = append(f.after, x)
		}
	}
	m.flying = append(m.flying, f)
	if m.p.real {
		m.arrive(f)
	}
	return f
}

func (m *machine) arrive(f *flight) {
	if f.arrived {
		return
	}
	for _, x := range f.after {
		m.arrive(x)
	}
	f.arrived = true
	f.at.set(f.apply(f.at.value), m.now)
	m.flying = slices.DeleteFunc(m.flying, func(x *flight) bool { return x == f })
}

// arriveAll lets all arrive of which that holds.
func (m *machine) arriveAll(of func(*flight) bool) {
	for _, f := range slices.Clone(m.flying) {
		if of(f) {
			m.arrive(f)
		}
	}
}

// meet lets processes come to a collective call.
func (m *machine) meet(pes []int, fn string, args ...arg) []*event {
	all := m.gather(pes, fn, args...)
	m.orders(all, all)
	return all
}

// gather has the first strands of processes make a call.
func (m *machine) gather(pes []int, fn string, args ...arg) (all []*event) {
	m.current.strand = 0
	for _, pe := range pes {
		all = append(all, m.event(pe, fn, args...))
	}
	return all
}

// orders has no call of the second list end before all of the first have begun.
func (m *machine) orders(first, second []*event) {
	for _, a := range first {
		for _, b := range second {
			m.p.edges = append(m.p.edges, [2]int{a.enter(), b.leave()})
		}
	}
}

func (m *machine) all() []int {
	var list []int
	for i := range m.p.ranks {
		list = append(list, i)
	}
	return list
}
