package regions

import (
	"sort"

	"github.com/mcchk/mcchk/trace"
)

// Landmark is a call that explanations name though it need not begin a separate
// region: one that takes or gives up a lock, or completes operations.
type Landmark struct {
	Pos           uint64
	Fn            *trace.Fn
	Stack, Thread uint32
	Loose         bool // CallInfo.Loose
	Leaves        bool // it leaves a value that others may see, and only Heard names it; the separate region ends there
}

// Info returns the call, of a process.
func (m *Landmark) Info(rank int32) *CallInfo {
	return NewCallInfo(CallSite{Fn: m.Fn.Name, Rank: rank, Thread: m.Thread, Stack: m.Stack, Loose: m.Loose}, m.Pos)
}

// Around returns the last landmark before a moment and the first after it, between the
// synchronization calls of its Bounds: nil where there is none, so that those are the nearest.
// Where values begin separate regions between these calls is of no account.
func (r *Region) Around(p Point) (before, after *CallInfo) {
	if r.Segment(p) == nil {
		return nil, nil
	}
	all, at := r.Segments[p.Line], int(p.Seg-r.First[p.Line])
	bounds, rank := all[at].Bounds, r.Process(p.Line)
	for i := at; i >= 0 && all[i].Bounds == bounds && before == nil; i-- {
		marks := all[i].named()
		if n := sort.Search(len(marks), func(k int) bool { return marks[k].Pos >= p.Pos }); n > 0 {
			before = marks[n-1].Info(rank)
		}
	}
	for i := at; i < len(all) && all[i].Bounds == bounds && after == nil; i++ {
		marks := all[i].named()
		if n := sort.Search(len(marks), func(k int) bool { return marks[k].Pos > p.Pos }); n < len(marks) {
			after = marks[n].Info(rank)
		}
	}
	return before, after
}

// mostBack is how many separate regions back Left looks.
const mostBack = 64

// Left returns the last call before a moment, of its strand, that left a value which others may see;
// nil: there is none near it.
func (r *Region) Left(p Point) *CallInfo {
	if r.Segment(p) == nil {
		return nil
	}
	all, at := r.Segments[p.Line], int(p.Seg-r.First[p.Line])
	for i := at - 1; i >= max(0, at-mostBack); i-- {
		if n := len(all[i].Landmarks); n > 0 && all[i].Landmarks[n-1].Leaves {
			return all[i].Landmarks[n-1].Info(r.Process(p.Line))
		}
	}
	return nil
}

// named are the landmarks of a separate region that explanations name.
func (s *Segment) named() []Landmark {
	if n := len(s.Landmarks); n > 0 && s.Landmarks[n-1].Leaves {
		return s.Landmarks[:n-1]
	}
	return s.Landmarks
}

// Heard names the last call of a process that another had heard of at a moment:
// through messages, barriers, fences, values and whatever else orders processes. As long
// as the replay goes on, it belongs to the replay.
type Heard struct {
	call *CallInfo
	ends *Bounds // it is the call that ends these, under way then; otherwise nil
}

// Call returns the call; nil where nothing was heard since the start of the run.
func (h Heard) Call() *CallInfo {
	if h.ends != nil {
		return h.ends.End
	}
	return h.call
}

// Heard returns what the strand of an access had heard of the process of another one when
// it started: of several strands of that a call behind the other access, where there is
// one, and of those the last in the trace. It is nothing where that cannot be told any
// more: the access started in an earlier region or phase.
func (r *Region) Heard(a, other *Access) Heard {
	s := r.Segment(a.Start)
	if s == nil {
		return Heard{}
	}
	var last *CallInfo
	behind, some := false, false
	for line := range r.Lines(other.Rank) {
		n := r.heard(s, line)
		if n == 0 {
			some = some || r.First[line] > 0 // of something before this phase, of which more is not kept
			continue
		}
		some = true
		call, over := r.lastCall(line, n-1)
		if !over && !r.Threaded(other.Rank) {
			return Heard{ends: r.Segments[line][n-1].Bounds}
		}
		if call == nil {
			continue
		}
		after := r.Before(other.Start, Point{Line: line, Seg: r.First[line] + int32(n) - 1, Pos: call.Pos})
		if last == nil || after && !behind || after == behind && call.Pos > last.Pos {
			last, behind = call, after
		}
	}
	if first := r.Segments[other.Rank]; !some && len(first) > 0 {
		last = first[0].Bounds.Begin
	}
	return Heard{call: last}
}

// Passed returns the call with which another strand of an access's process has come to know,
// before the access in the trace, that another access is complete, and behind which nothing
// has put the access; nil where there is none. Of several it is the first in the trace.
func (r *Region) Passed(a, other *Access) *CallInfo {
	if !r.Threaded(a.Rank) || !other.End.Within() {
		return nil
	}
	var first *CallInfo
	for line := range r.Lines(a.Rank) {
		all := r.Segments[line]
		i := sort.Search(len(all), func(i int) bool {
			return r.Clock.Knows(all[i].Stamp, int(other.End.Line), other.End.Number())
		})
		if i == 0 || i == len(all) || all[i].Bounds == all[i-1].Bounds || all[i].Bounds.Begin != all[i-1].Bounds.End {
			continue // it knows from another strand, or from the one that began it
		}
		if call := all[i].Bounds.Begin; call != nil && call.Pos < a.Start.Pos && (first == nil || call.Pos < first.Pos) {
			first = call
		}
	}
	return first
}

// heard returns how many separate regions of a line, in the phase, come before one of
// another.
func (r *Region) heard(s *Segment, line int32) int {
	return sort.Search(len(r.Segments[line]), func(i int) bool {
		return !r.Clock.Knows(s.Stamp, int(line), uint32(r.First[line])+uint32(i)+1)
	})
}

// lastCall returns the last call up to the end of a separate region of a line: that which
// ends it, or where it ends with something else, such as what orders threads, the last
// before that; nil: there was none since the start of the run. Where no other one follows
// yet, it is not over what ends it.
func (r *Region) lastCall(line int32, segment int) (call *CallInfo, over bool) {
	all := r.Segments[line]
	bounds := all[segment].Bounds
	if marks := all[segment].Landmarks; len(marks) > 0 && marks[len(marks)-1].Leaves {
		return marks[len(marks)-1].Info(r.Process(line)), true
	}
	if over = segment+1 < len(all); over && all[segment+1].Bounds != bounds {
		return bounds.End, true
	}
	for ; segment >= 0 && all[segment].Bounds == bounds; segment-- {
		if marks := all[segment].Landmarks; len(marks) > 0 {
			return marks[len(marks)-1].Info(r.Process(line)), over
		}
	}
	return bounds.Begin, over
}

// StartsBefore reports whether access a starts before access b does, whatever
// the timing of the run.
func (r *Region) StartsBefore(a, b *Access) bool {
	if a.Start.Seg == Earlier || b.Start.Seg == Earlier {
		return b.Start.Seg != Earlier
	}
	if a.Start.Line == b.Start.Line {
		return a.Start.Pos < b.Start.Pos
	}
	return r.Before(a.Start, b.Start)
}
