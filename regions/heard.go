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

func (m *Landmark) info(rank int32) *CallInfo {
	return NewCallInfo(CallSite{Fn: m.Fn.Name, Rank: rank, Thread: m.Thread, Stack: m.Stack, Loose: m.Loose}, m.Pos)
}

// Around returns the last landmark before a moment and the first after
// it, within its separate region; nil where there is none, so that the region's
// own Bounds are the nearest.
func (r *Region) Around(p Point) (before, after *CallInfo) {
	s := r.Segment(p)
	if s == nil {
		return nil, nil
	}
	marks := s.Landmarks
	if n := len(marks); n > 0 && marks[n-1].Leaves {
		marks = marks[:n-1]
	}
	n := sort.Search(len(marks), func(i int) bool { return marks[i].Pos >= p.Pos })
	if n > 0 {
		before = marks[n-1].info(r.Process(p.Line))
	}
	if n < len(marks) && marks[n].Pos == p.Pos {
		n++
	}
	if n < len(marks) {
		after = marks[n].info(r.Process(p.Line))
	}
	return before, after
}

// Heard names the last call of a process that another had heard of at a moment:
// through messages, barriers, fences, values and whatever else orders processes. As long
// as the replay goes on, it belongs to the replay.
type Heard struct {
	bounds *Bounds
	end    bool
	left   *CallInfo // the call that left the value which was seen; nil: it was none
}

// Call returns the call; nil where nothing was heard since the start of the run.
func (h Heard) Call() *CallInfo {
	switch {
	case h.left != nil:
		return h.left
	case h.bounds == nil:
		return nil
	case h.end:
		return h.bounds.End
	}
	return h.bounds.Begin
}

// Heard returns what the strand of an access had heard of another line when
// the access started. It is nothing where that cannot be told any more: the
// access started in an earlier region or phase.
func (r *Region) Heard(a *Access, of int32) Heard {
	s := r.Segment(a.Start)
	segments := r.Segments[of]
	if s == nil || len(segments) == 0 {
		return Heard{}
	}
	n := sort.Search(len(segments), func(i int) bool {
		return !r.Clock.Knows(s.Stamp, int(of), uint32(r.First[of])+uint32(i)+1)
	})
	if n > 0 {
		h := Heard{bounds: segments[n-1].Bounds, end: true}
		if marks := segments[n-1].Landmarks; len(marks) > 0 && marks[len(marks)-1].Leaves {
			h.left = marks[len(marks)-1].info(r.Process(of))
		}
		return h
	}
	if r.First[of] > 0 {
		return Heard{} // of something before this phase, of which more is not kept
	}
	return Heard{bounds: segments[0].Bounds}
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
