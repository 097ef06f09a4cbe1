package oracle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// point is a place in the graph of events. Every call has four, one after the
// other.
type point int

// The four points of a call.
const (
	enter  = iota // reads its buffers, completes operations
	signal        // orders others after itself
	wait          // is ordered after others
	leave         // writes its buffers
	points
)

// at names a point of the call with that index.
func at(call int, which int) point { return point(call*points + which) }

// order is the happens-before relation of a program.
type order struct {
	p     *Program
	m     *matching
	of    [][]int // indices of the calls of each process, in program order
	place []int   // of each call among those of its process
	next  [][]point
	reach [][]uint64 // bit set of the points that each point reaches, itself included
	room  []uint64   // for sets of bytes
}

// before reports whether a happens before b, or is b.
func (o *order) before(a, b point) bool { return o.reach[a][b/64]&(1<<(b%64)) != 0 }

func (o *order) edge(a, b point) { o.next[a] = append(o.next[a], b) }

// orders has call a's signal waited for by call b.
func (o *order) orders(a, b int) { o.edge(at(a, signal), at(b, wait)) }

// newOrder builds the graph of a normalized program and its transitive closure.
func newOrder(p *Program) (*order, error) { return buildOrder(p, true) }

// buildOrder builds the graph with or without the order in which locks were
// granted.
func buildOrder(p *Program, locks bool) (*order, error) {
	o := &order{p: p, m: p.match(), of: make([][]int, p.Ranks), place: make([]int, len(p.Calls)), next: make([][]point, len(p.Calls)*points)}
	room := make([]point, 2*len(o.next)) // most have one or two
	for i := range o.next {
		o.next[i] = room[2*i : 2*i : 2*i+2]
	}
	last := map[strandKey]int{}
	for i := range p.Calls {
		r := p.Calls[i].Rank
		k := strandKey{r, p.Calls[i].Strand}
		if before, ok := last[k]; ok {
			o.edge(at(before, leave), at(i, enter))
		}
		last[k] = i
		o.place[i] = len(o.of[r])
		o.of[r] = append(o.of[r], i)
		for k := range points - 1 {
			o.edge(at(i, k), at(i, k+1))
		}
	}
	o.strands()
	o.collectives()
	o.messages()
	o.partitions()
	o.exposures()
	if locks {
		o.locks()
	}
	return o, o.close()
}

// instance names a collective operation: the n-th of its sequence, and of a
// persistent one which start.
type instance struct {
	key    collKey
	n, run int
}

// collectives: the n-th collective call of each member on one communicator or
// window belong together; of a persistent one the n-th initialization, and then
// the starts one by one.
func (o *order) collectives() {
	groups := map[instance][]int{}
	place := map[int]instance{}
	seen := make([]map[collKey]int, o.p.Ranks)
	for i := range o.p.Calls {
		c := &o.p.Calls[i]
		if !c.isCollective() {
			continue
		}
		if seen[c.Rank] == nil {
			seen[c.Rank] = map[collKey]int{}
		}
		k := o.p.collKey(c)
		place[i] = instance{key: k, n: seen[c.Rank][k]}
		seen[c.Rank][k]++
	}
	for a := range o.m.acts {
		x := &o.m.acts[a]
		if at, ok := place[x.call]; ok {
			at.run = x.run
			groups[at] = append(groups[at], a)
		}
	}
	for _, g := range groups {
		for _, a := range g {
			for _, b := range g {
				x, y := &o.m.acts[a], &o.m.acts[b]
				cx, cy := &o.p.Calls[x.call], &o.p.Calls[y.call]
				if a != b && y.done >= 0 && o.p.signals(cx, cx.Rank, cy.Rank) {
					o.orders(x.start, y.done)
				}
			}
		}
	}
}

// messages: a send comes before the end of its receive and of a probe that saw
// it; the receive of a synchronous send before that send's end.
func (o *order) messages() {
	for a := range o.m.acts {
		x := &o.m.acts[a]
		if x.sent < 0 {
			continue
		}
		s := &o.m.acts[x.sent]
		if x.done >= 0 {
			o.orders(s.start, x.done)
		}
		if o.p.Calls[s.call].does() == "MPI_Ssend" && s.done >= 0 {
			o.orders(x.start, s.done)
		}
	}
	for i, q := range o.m.probed {
		o.orders(o.m.acts[q.wire.sent[q.index]].start, i)
	}
}

// after returns the calls of the same process that follow a call.
func (o *order) after(i int) []int {
	return o.of[o.p.Calls[i].Rank][o.place[i]+1:]
}

// exposures: the n-th start towards a target matches its n-th post towards the
// origin, the n-th complete the n-th wait.
func (o *order) exposures() {
	for i := range o.p.Calls {
		c := &o.p.Calls[i]
		if c.Fn != "MPI_Win_start" {
			continue
		}
		for _, t := range c.Group {
			post := o.matchingPost(i, t)
			if post < 0 {
				continue
			}
			if c.Assert&trace.AssertNoCheck == 0 {
				o.orders(post, i)
			}
			if done, end := o.closes(i, "MPI_Win_complete"), o.closes(post, "MPI_Win_wait"); done >= 0 && end >= 0 {
				o.orders(done, end)
			}
		}
	}
}

// matchingPost returns the target's post that a start of the origin matches.
func (o *order) matchingPost(start, target int) int {
	c := &o.p.Calls[start]
	n := 0
	for _, j := range o.of[c.Rank] {
		if j == start {
			break
		}
		if d := &o.p.Calls[j]; d.Fn == "MPI_Win_start" && d.Win == c.Win && slices.Contains(d.Group, target) {
			n++
		}
	}
	for _, j := range o.of[target] {
		if d := &o.p.Calls[j]; d.Fn == "MPI_Win_post" && d.Win == c.Win && slices.Contains(d.Group, c.Rank) {
			if n == 0 {
				return j
			}
			n--
		}
	}
	return -1
}

// closes returns the first call after i of its process on its window with that
// name; a successful test counts as a wait. -1 when there is none.
func (o *order) closes(i int, fn string) int {
	for _, j := range o.after(i) {
		d := &o.p.Calls[j]
		if d.Win == o.p.Calls[i].Win && (d.Fn == fn || fn == "MPI_Win_wait" && d.Fn == "MPI_Win_test" && d.Flag) {
			return j
		}
	}
	return -1
}

// holding is one lock epoch of a process on one target.
type holding struct {
	lockKey
	kind   int64
	ticket int // -1: a target of MPI_Win_lock_all without operations
	got    int // the call that acquired it, or before which it was
	begin  int // the call that opened the epoch
	end    int // the unlock; -1 none
}

// holdings returns all lock epochs of a process.
func (o *order) holdings(rank int) []holding {
	var out []holding
	for _, i := range o.of[rank] {
		c := &o.p.Calls[i]
		if c.Assert&trace.AssertNoCheck != 0 {
			continue // takes no lock
		}
		switch c.Fn {
		case "MPI_Win_lock":
			h := holding{lockKey: lockKey{c.Win, c.Peer}, kind: c.Lock, ticket: c.Ticket, got: i, begin: i, end: -1}
			for _, j := range o.after(i) {
				if d := &o.p.Calls[j]; d.Fn == "MPI_Win_unlock" && d.Win == c.Win && d.Peer == c.Peer {
					h.end = j
					break
				}
			}
			out = append(out, h)
		case "MPI_Win_lock_all":
			end := o.closes(i, "MPI_Win_unlock_all")
			for _, t := range o.p.Comms[o.p.Wins[c.Win].Comm].Ranks {
				h := holding{lockKey: lockKey{c.Win, t}, kind: trace.LockShared, ticket: -1, got: -1, begin: i, end: end}
				for _, j := range o.after(i) {
					if j == end {
						break
					}
					if d := &o.p.Calls[j]; d.isOperation() && d.Win == c.Win && d.Peer == t && d.Ticket >= 0 {
						h.got, h.ticket = j, d.Ticket
						break
					}
				}
				out = append(out, h)
			}
		}
	}
	return out
}

// locks: an acquisition waits for all earlier ones that it excludes.
func (o *order) locks() {
	var all []holding
	for r := range o.p.Ranks {
		all = append(all, o.holdings(r)...)
	}
	for _, a := range all {
		for _, b := range all {
			if a.lockKey != b.lockKey || a.ticket < 0 || b.ticket < 0 || a.ticket >= b.ticket || a.end < 0 ||
				a.kind == trace.LockShared && b.kind == trace.LockShared {
				continue
			}
			to := at(b.got, wait)
			if o.p.Calls[b.got].isOperation() {
				to = at(b.got, enter) // the ticket is drawn before the operation
			}
			o.edge(at(a.end, signal), to)
		}
	}
}

var errCycle = errors.New("events wait for each other in a circle")

// close works out the transitive closure, in reverse topological order.
func (o *order) close() error {
	sorted, err := o.sort()
	if err != nil {
		return err
	}
	words := (len(o.next) + 63) / 64
	o.reach = make([][]uint64, len(o.next))
	room := make([]uint64, words*len(o.next))
	for _, a := range slices.Backward(sorted) {
		set := room[:words:words]
		room = room[words:]
		set[a/64] |= 1 << (a % 64)
		for _, b := range o.next[a] {
			for w, v := range o.reach[b] {
				set[w] |= v
			}
		}
		o.reach[a] = set
	}
	return nil
}

func (o *order) sort() ([]point, error) {
	in := make([]int, len(o.next))
	for _, to := range o.next {
		for _, b := range to {
			in[b]++
		}
	}
	var sorted []point
	for a, n := range in {
		if n == 0 {
			sorted = append(sorted, point(a))
		}
	}
	for k := 0; k < len(sorted); k++ {
		for _, b := range o.next[sorted[k]] {
			if in[b]--; in[b] == 0 {
				sorted = append(sorted, b)
			}
		}
	}
	if len(sorted) < len(o.next) {
		return nil, fmt.Errorf("%d of %d events: %w", len(o.next)-len(sorted), len(o.next), errCycle)
	}
	return sorted, nil
}
