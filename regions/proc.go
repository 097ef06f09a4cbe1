package regions

import (
	"strings"

	"github.com/mcchk/mcchk/trace"
)

type state uint8

const (
	running state = iota
	waiting       // for the first of waits
	arrived       // stands at a synchronization of all processes
	ended
)

// proc is one process of the replay.
type proc struct {
	rank   int32
	stream Stream
	ahead  ahead
	event  trace.Event
	state  state
	pos    uint64 // events so far

	segs    []Segment // those that are not past
	first   int32     // the number of segs[0] in the concurrent region
	locals  locals
	taken   int          // loads and stores of the phase that are new in it, those of other parts included
	rows    []trace.Rows // room for those of one part
	copied  bool         // it had a part of a window of the separate memory model
	closing *CallInfo    // the global synchronization at which it stands
	left    bool         // and from which it never returned

	recentFunctions [8]*function // some of the last called
	recent          recentShapes
	recentBuffers   [8]*buffer // some of the last asked for
	infos           []CallInfo // room for the next
	bounds          []Bounds   // room for the next
	marks           []mark     // of several separate regions, those of the present one last
	current         call       // the call under way
	room            []wait     // storage of waits
	waits           []wait
	syncCall        *CallInfo // the call whose waits these are
	after           func()    // to do once they are over

	functions  map[*trace.Fn]*function
	types      map[int64]*datatype
	buffers    map[bufferKey]*buffer
	requests   map[int64]*request
	persistent map[int64]*persistent
	messages   map[int64]*slot // found by matched probes, by handle
	wins       map[int64]*epochs
	lastWin    *epochs   // of those, the last that was asked for; or nil
	shared     []segment // parts of shared-memory windows that belong to others
	collSeq    map[collKey]uint64
	neighbours map[int64]neighbours // by communicator
	files      map[int64]*span      // buffers of split collective calls, by file
	lastElem   *Element             // of the last atomic access
	locked     []*span              // pending buffers that locks on the process itself protect
	own        *LockSet             // locks held that cover the process's own memory
	ownIndex   uint32               // of own in the region's lock sets

	strands  map[uint32]bool
	callers  []uint32     // threads that made collective calls
	unsure   bool         // calls were lost: which epochs are open is not known
	disorder bool         // nor which collective calls it made
	at       collKey      // its last blocking collective call
	stuck    *orderedCall // the collective call that it never returned from
	last     *CallInfo    // its call of MPI_Finalize
	finished bool         // passed its finalize call
}

func newProc(rank int, s Stream) *proc {
	p := &proc{
		rank: int32(rank), stream: s, room: make([]wait, 0, 4), ahead: ahead{stream: s},
		functions:  map[*trace.Fn]*function{},
		types:      map[int64]*datatype{},
		buffers:    map[bufferKey]*buffer{},
		requests:   map[int64]*request{},
		persistent: map[int64]*persistent{},
		messages:   map[int64]*slot{},
		wins:       map[int64]*epochs{},
		collSeq:    map[collKey]uint64{},
		neighbours: map[int64]neighbours{},
		files:      map[int64]*span{},
		strands:    map[uint32]bool{},
	}
	if s == nil {
		p.state = ended
	}
	p.ahead.many, _ = s.(accessStream)
	return p
}

func (p *proc) beginRegion(m *Machine) {
	p.segs, p.first = nil, 0
	p.beginSegment(m, p.closing)
	p.locals = locals{}
	p.ownIndex = m.lockIndex(p.own)
	p.closing = nil
	if p.state == arrived {
		p.state = running
		if p.left {
			p.state = ended
		}
	}
}

// segment returns the number of the present separate region.
func (p *proc) segment() int32 { return p.first + int32(len(p.segs)) - 1 }

// within returns the bounds of the present separate region.
func (p *proc) within() *Bounds { return p.segs[len(p.segs)-1].Calls }

// isNote reports whether a recorded call is the tracer's own, and none of the
// program, which declares order by calls in small letters.
func isNote(fn string) bool {
	name, ok := strings.CutPrefix(fn, "mcchk_")
	return ok && name != "" && name[0] >= 'A' && name[0] <= 'Z'
}

// beginSegment begins a separate region with a synchronization event, which
// ends the one before.
func (p *proc) beginSegment(m *Machine, by *CallInfo) {
	n := len(p.segs)
	if n > 0 && by != nil && isNote(by.Fn) {
		// The tracer's own notes are no calls that a user knows.
		p.addSegment(m, p.segs[n-1].Calls)
		return
	}
	if n > 0 {
		p.segs[n-1].Calls.End = by
	}
	if len(p.bounds) == 0 {
		p.bounds = make([]Bounds, 64)
	}
	p.bounds[0].Begin = by
	p.addSegment(m, &p.bounds[0])
	p.bounds = p.bounds[1:]
}

func (p *proc) addSegment(m *Machine, calls *Bounds) {
	s := Segment{Stamp: m.clock.Now(int(p.rank)), Calls: calls}
	p.segs = append(p.segs, s)
	m.grown += m.weight(s.Stamp)
}

// here returns the present moment of the process.
func (p *proc) here() Point {
	return Point{Rank: p.rank, Seg: p.segment(), Pos: p.pos}
}

// setOwn changes the locks that cover the process's own memory.
func (p *proc) setOwn(m *Machine, s *LockSet) {
	p.own = s
	p.ownIndex = m.lockIndex(s)
}

// info returns what findings tell of a call of the process. It is the call's, and
// stays as it is.
func (p *proc) info(c *call) *CallInfo {
	if c.info == nil {
		c.info = p.newInfo(c)
	}
	return c.info
}

// newInfo returns one of its own, to add to.
func (p *proc) newInfo(c *call) *CallInfo {
	if len(p.infos) == 0 {
		p.infos = make([]CallInfo, 64)
	}
	i := &p.infos[0]
	p.infos = p.infos[1:]
	*i = CallInfo{Fn: c.Fn.Name, Rank: p.rank, Strand: p.event.Strand, Stack: c.Stack, Pos: p.pos}
	return i
}
