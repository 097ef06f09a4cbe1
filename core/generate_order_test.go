package core_test

import (
	"maps"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// Events that order strands, and accesses that depend on order.

func (w *writer) channel(from, to int32, tag int) *channelState {
	name := channelName{from, to, tag}
	if w.channels[name] == nil {
		w.channels[name] = &channelState{}
	}
	return w.channels[name]
}

// signal signals another strand, perhaps with puts that are complete there.
func (w *writer) signal() {
	to, tag := int32(w.IntN(len(w.strands))), w.IntN(2)
	ch := w.channel(w.rank, to, tag)
	if w.IntN(3) == 0 {
		at, _ := w.call("other_send", int(to), tag)
		ch.sent, ch.carried, ch.awaited = append(ch.sent, at), append(ch.carried, nil), append(ch.awaited, true)
		return
	}
	number := 0
	if k := w.IntN(len(w.puts) + 1); k < len(w.puts) && w.puts[k].guard == nil {
		number = w.puts[k].number
	}
	at, _ := w.call("toy_signal", int(to), tag, number)
	var carried []int
	if number > 0 {
		for _, p := range w.take(number) {
			w.freed(p, at)
			carried = append(carried, p.target)
		}
	}
	ch.sent, ch.carried, ch.awaited = append(ch.sent, at), append(ch.carried, carried), append(ch.awaited, false)
}

// incoming returns a channel with a signal for the strand that was not waited for.
func (w *writer) incoming() (name channelName, ch *channelState) {
	var names []channelName
	for from := range w.strands {
		for tag := range 2 {
			name := channelName{int32(from), w.rank, tag}
			if ch := w.channels[name]; ch != nil && len(ch.received) < len(ch.sent) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return name, nil
	}
	name = names[w.IntN(len(names))]
	return name, w.channels[name]
}

func (w *writer) wait() {
	name, ch := w.incoming()
	if ch == nil {
		return
	}
	n := len(ch.received)
	before, after := w.call("toy_wait", int(name.from), name.tag)
	w.edge(ch.sent[n], after)
	for _, i := range ch.carried[n] {
		w.accesses[i].end = after
	}
	ch.received = append(ch.received, before)
}

func (w *writer) peek() {
	if name, ch := w.incoming(); ch != nil {
		_, after := w.call("other_peek", int(name.from), name.tag)
		w.edge(ch.sent[len(ch.received)], after)
	}
}

func (w *writer) undo() {
	if name, ch := w.incoming(); ch != nil {
		w.call("other_undo", int(name.from), name.tag)
	}
}

// sent waits for the receipt of the first signal of a tag that it can be waited
// for.
func (w *writer) sent() {
	tag := w.IntN(2)
	var first *channelState
	n := -1
	for to := range w.strands {
		ch := w.channels[channelName{w.rank, int32(to), tag}]
		if ch == nil {
			continue
		}
		if i := slices.Index(ch.awaited, true); i >= 0 && (first == nil || ch.sent[i] < first.sent[n]) {
			first, n = ch, i
		}
	}
	if first == nil || n >= len(first.received) {
		return
	}
	first.awaited[n] = false
	_, after := w.call("other_sent", tag)
	w.edge(first.received[n], after)
}

// counter names one of few counters, so that each has signals of several strands.
func (w *writer) counter() (name [2]int) { return [2]int{w.IntN(4) / 3, 0} }

func (w *writer) count() {
	name := w.counter()
	at, _ := w.call("other_count", name[0], name[1], len(w.counters[name]))
	w.counters[name] = append(w.counters[name], at)
}

func (w *writer) await() {
	name := w.counter()
	signals := w.counters[name]
	n := max(w.IntN(len(signals)+1), w.IntN(len(signals)+1))
	_, after := w.call("other_await", name[0], name[1], n)
	for _, s := range signals[:n] {
		w.edge(s, after)
	}
}

// putBehind adds a put that starts no earlier than its target has passed a guard.
func (w *writer) putBehind() {
	if len(w.guards) == 0 || w.IntN(3) == 0 {
		w.guards = append(w.guards, &guardState{number: len(w.guards), owner: int32(w.IntN(len(w.strands))), passed: never})
	}
	x := w.guards[w.IntN(len(w.guards))]
	n, addr := w.number(), w.address()
	if addr >= sharedMem {
		addr = memory
	}
	at, _ := w.call("other_behind", x.number, int(x.owner), int(addr), 8, n)
	i := w.expect(putTarget, x.owner, addr, at, never, span{addr, addr + 8})
	a := &w.accesses[i]
	a.gate, a.locks = &x.passed, nil
	w.puts = append(w.puts, &put{number: n, target: i, guard: x})
}

func (w *writer) pass() {
	for _, x := range w.guards {
		if x.owner == w.rank && x.passed == never {
			w.passGuard(x)
			return
		}
	}
}

func (w *writer) passGuard(x *guardState) { x.passed, _ = w.call("other_pass", x.number) }

// meeting is a meeting to which strands are due.
type meeting struct {
	id      int
	dir     core.Direction
	root    int32    // or core.NoRoot
	groups  [2][]int // the second: of a meeting of two groups
	split   bool     // its members join it, and wait later
	sources map[int32][]int
	came    map[int32]int // nodes
	waited  map[int32]int
}

// meeting has some strands meet.
func (w *writer) meeting() {
	m := newMeeting(core.Direction(w.IntN(int(core.Everybody)+1)), w.number())
	m.split = w.IntN(3) == 0
	members := w.Perm(len(w.strands))
	if w.IntN(3) > 0 {
		members = members[:1+w.IntN(len(members))]
	}
	m.groups[0] = members
	if k := len(members) / 2; k > 0 && w.IntN(3) == 0 {
		m.groups = [2][]int{members[:k], members[k:]}
	}
	switch m.dir {
	case core.OneToAll, core.AllToOne:
		m.root = int32(members[w.IntN(len(members))])
	case core.Neighbours:
		for _, r := range members {
			m.sources[int32(r)] = slices.Clone(members[:w.IntN(len(members)+1)])
		}
	}
	w.announce(m)
}

func newMeeting(dir core.Direction, id int) *meeting {
	return &meeting{
		id: id, dir: dir, root: core.NoRoot, sources: map[int32][]int{}, came: map[int32]int{}, waited: map[int32]int{},
	}
}

// announce has the members be due.
func (g *generator) announce(m *meeting) {
	for _, r := range slices.Concat(m.groups[0], m.groups[1]) {
		g.strands[r].due = append(g.strands[r].due, m)
	}
	g.meetings = append(g.meetings, m)
	if len(m.groups[0]) == len(g.strands) && !m.split && (m.dir == core.AllToAll || m.dir == core.Everybody) {
		g.regions++
	}
}

// together has all strands complete what they can and meet, in a way that does not
// end the concurrent region.
func (g *generator) together() {
	g.gather()
	for _, w := range g.strands {
		for range len(w.puts) {
			w.complete()
		}
	}
	m := newMeeting(core.Everybody, g.strands[0].number())
	all := g.Perm(len(g.strands))
	m.groups = [2][]int{all[:1], all[1:]}
	g.announce(m)
	g.gather()
}

// come lets the strand come to the meeting that it is due at.
func (w *writer) come() {
	m := w.due[0]
	w.due = w.due[1:]
	side := m.side(w.rank)
	name, root := "other_meet", m.root
	if m.split {
		name = "other_join"
	}
	if len(m.groups[1]) > 0 && m.side(root) == side && root != w.rank {
		root = core.NoRoot // of two groups, only the root of the own one takes part
	}
	before, after := w.call(name, m.id, int(m.dir), int(root), m.groups[side], m.groups[1-side], side, m.sources[w.rank])
	m.came[w.rank] = before
	if m.split {
		w.joined = append(w.joined, m)
		return
	}
	m.waited[w.rank] = after
	w.stands = m
}

func (w *writer) waitJoined() {
	for i, m := range w.joined {
		if m.over(w.rank) {
			w.joined = slices.Delete(w.joined, i, i+1)
			_, m.waited[w.rank] = w.call("other_joined", m.id)
			return
		}
	}
}

func (m *meeting) side(rank int32) int {
	if slices.Contains(m.groups[1], int(rank)) {
		return 1
	}
	return 0
}

// after returns those whom a member comes after.
func (m *meeting) after(rank int32) []int {
	own, other := m.groups[m.side(rank)], m.groups[1-m.side(rank)]
	two := len(m.groups[1]) > 0
	if !two {
		other = own
	}
	switch m.dir {
	case core.AllToAll:
		return other
	case core.Everybody:
		return slices.Concat(m.groups[0], m.groups[1])
	case core.OneToAll:
		if rank != m.root && !(two && m.side(m.root) == m.side(rank)) {
			return []int{int(m.root)}
		}
	case core.AllToOne:
		if rank == m.root {
			return other
		}
	case core.Prefix:
		return own[:slices.Index(own, int(rank))]
	case core.Neighbours:
		return m.sources[rank]
	}
	return nil
}

// over reports whether a member has waited for all that it waits for.
func (m *meeting) over(rank int32) bool {
	for _, r := range m.after(rank) {
		if _, came := m.came[int32(r)]; !came {
			return false
		}
	}
	return true
}

func (m *meeting) draw(p *program) {
	for _, rank := range slices.Sorted(maps.Keys(m.waited)) {
		for _, r := range m.after(rank) {
			p.edge(m.came[int32(r)], m.waited[rank])
		}
	}
}
