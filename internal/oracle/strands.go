package oracle

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Events of the strands of a process, as calls that the program does not make: what
// orders them, by objects of the process (docs/trace-format.md). A release and a fork
// come before every later acquire of their object; strands begin where they acquire
// what was forked.
const (
	strandFork    = "strand_fork"
	strandRelease = "strand_release"
	strandAcquire = "strand_acquire"
	strandEnd     = "strand_end"
)

// isStrandEvent reports whether the call is no call, but an event of strands.
func (c *Call) isStrandEvent() bool { return strings.HasPrefix(c.Fn, "strand_") }

// isThreaded reports whether any process of the program has several strands.
func (p *Program) isThreaded() bool {
	return slices.ContainsFunc(p.Calls, func(c Call) bool { return c.isStrandEvent() })
}

// strandKey names a strand, and objectKey an object.
type (
	strandKey struct{ rank, strand int }
	objectKey struct{ rank, object int }
)

// strands: a release or fork of an object comes before all later acquires of it.
func (o *order) strands() {
	released := map[objectKey][]int{}
	for i := range o.p.Calls {
		c := &o.p.Calls[i]
		k := objectKey{c.Rank, c.Object}
		switch c.Fn {
		case strandFork, strandRelease:
			released[k] = append(released[k], i)
		case strandAcquire:
			for _, j := range released[k] {
				o.orders(j, i)
			}
			if c.Last {
				delete(released, k)
			}
		}
	}
}

// team is the strands of a process while a program is simulated: where they begin and
// end, and what each of them knows of the others by what orders them, messages left out.
// A program has to order calls of several strands that use one thing; those that use
// it without such an order could not happen here.
type team struct {
	strands map[int]*strandState
	objects map[int]*strandObject
	last    map[resource]strandMoment
	issued  map[int][]strandMoment // operations and flushes on each window since it began
	whole   strandMoment           // the last call that all others come before or after
}

// resource is a thing that strands use one after the other: a request, the epochs of a
// window, one side of a channel of messages, …
type resource struct {
	of string
	id int
	ch channel
}

type strandState struct {
	events int
	called int         // the last of them that is a call, or an access
	knows  map[int]int // how many events of other strands
	ended  bool
}

type strandObject struct {
	fork  bool
	knows map[int]int
}

// strandMoment is an event of a strand by its number there, from 1; the zero moment
// is none.
type strandMoment struct{ strand, event int }

func newTeam() *team {
	return &team{
		strands: map[int]*strandState{0: {knows: map[int]int{}}}, objects: map[int]*strandObject{},
		last: map[resource]strandMoment{}, issued: map[int][]strandMoment{},
	}
}

var errNoStrand = errors.New("the strand is not there")

// event makes an event of a strand.
func (t *team) event(c *Call) error {
	s := t.strands[c.Strand]
	if s == nil && c.Fn == strandAcquire && t.objects[c.Object] != nil && t.objects[c.Object].fork {
		s = &strandState{knows: map[int]int{}}
		t.strands[c.Strand] = s
	}
	if s == nil || s.ended {
		return errNoStrand
	}
	if c.Fn != strandEnd {
		s.events++
	}
	switch c.Fn {
	case strandFork, strandRelease:
		o := t.objects[c.Object]
		if o == nil {
			o = &strandObject{knows: map[int]int{}}
			t.objects[c.Object] = o
		}
		o.fork = o.fork || c.Fn == strandFork
		learn(o.knows, s.knows)
		o.knows[c.Strand] = max(o.knows[c.Strand], s.events)
	case strandAcquire:
		if o := t.objects[c.Object]; o != nil {
			learn(s.knows, o.knows)
		}
		if c.Last {
			delete(t.objects, c.Object)
		}
	case strandEnd:
		if c.Strand == 0 {
			return errNoStrand
		}
		s.ended = true
	}
	return nil
}

func learn(knows, more map[int]int) {
	for k, n := range more {
		knows[k] = max(knows[k], n)
	}
}

// unknown returns the strands of which a call has to come after something that its
// strand does not know of, ascending.
func (t *team) unknown(c *Call, uses []resource) []int {
	s := t.strands[c.Strand]
	missing := map[int]bool{}
	need := func(m strandMoment) {
		if m.event > 0 && m.strand != c.Strand && s.knows[m.strand] < m.event {
			missing[m.strand] = true
		}
	}
	need(t.whole)
	for _, r := range uses {
		need(t.last[r])
	}
	if c.needsIssued() {
		for _, m := range t.issued[c.Win] {
			need(m)
		}
	}
	if c.isWhole() {
		for k, other := range t.strands {
			need(strandMoment{k, other.events})
		}
	}
	if c.Fn == "MPI_Win_unlock" || c.Fn == "MPI_Win_unlock_all" { // whatever is done under the lock
		for k, other := range t.strands {
			need(strandMoment{k, other.called})
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// beside returns the strands of which the first does not know all calls: MPI_Finalize has
// to come after these. Ascending.
func (t *team) beside() []int {
	var out []int
	for k, s := range t.strands {
		if k != 0 && t.strands[0].knows[k] < s.called {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// call makes a call of a strand, which then has what it uses.
func (t *team) call(c *Call, uses []resource) {
	s := t.strands[c.Strand]
	s.events++
	s.called = s.events
	now := strandMoment{c.Strand, s.events}
	if c.isWhole() {
		t.whole = now
	}
	if c.isOperation() || c.isFlush() {
		t.issued[c.Win] = append(t.issued[c.Win], now)
		if c.isOperation() && c.form() == blocking {
			return
		}
	}
	for _, r := range uses {
		if r.of != "epoch" || !c.isOperation() && !c.isFlush() {
			t.last[r] = now
		}
	}
}

// isWhole reports whether all that a process does comes before or after the call: what
// makes and frees windows, memory and communicators.
func (c *Call) isWhole() bool {
	return c.makesWindow() || c.makesComm() || c.Fn == "MPI_Win_free" || c.Fn == "MPI_Comm_free" ||
		c.Fn == "MPI_Win_attach" || c.Fn == "MPI_Win_detach"
}

// isFlush reports whether the call completes operations within an epoch.
func (c *Call) isFlush() bool { return strings.HasPrefix(c.Fn, "MPI_Win_flush") }

// needsIssued reports whether a call has to come after the operations that it closes
// the epoch of. After an unlock or a fence others may be issued beside it: those it does
// not complete for certain.
func (c *Call) needsIssued() bool {
	return c.Fn == "MPI_Win_complete" || c.Fn == "MPI_Win_start"
}

// resources lists what a call uses.
func (c *Call) resources() []resource {
	var out []resource
	add := func(of string, id int) { out = append(out, resource{of: of, id: id}) }
	for _, r := range c.Reqs {
		if r >= 0 {
			add("request", r)
		}
	}
	switch {
	case c.isLocal(), c.isStrandEvent():
		return nil
	case c.onWindow():
		add("epoch", c.Win)
	case c.isCollective():
		add("collective", c.Comm)
	}
	if c.Msg > 0 {
		add("message", c.Msg)
	}
	if c.sends() || c.partitionedSend() {
		out = append(out, resource{of: "send", ch: c.sendChannel()})
	}
	if c.receives() || c.family() == probeCall || c.does() == "MPI_Precv" {
		out = append(out, resource{of: "receive", id: c.Comm}) // wildcards may meet any
	}
	return out
}
