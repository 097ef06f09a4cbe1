package regions

import (
	"sort"

	"github.com/mcchk/mcchk/trace"
)

// mark is a call on a window that opens or closes a lock epoch or completes
// operations, as explanations name it: not each of them begins a separate region.
type mark struct {
	pos           uint64
	fn            *trace.Fn
	stack, strand uint32
	loose         bool // CallInfo.Loose
}

// mark remembers a call in the present separate region.
func (p *proc) mark(c *call, loose bool) {
	s := &p.segs[len(p.segs)-1]
	const room = 256
	n := len(s.marks)
	if len(p.marks) == cap(p.marks) {
		p.marks = append(make([]mark, 0, room+2*n), s.marks...)
	}
	p.marks = append(p.marks, mark{p.pos, c.Fn, c.Stack, p.event.Strand, loose})
	all := len(p.marks)
	s.marks = p.marks[all-n-1 : all : all]
}

func (m *mark) info(rank int32) *CallInfo {
	return &CallInfo{Fn: m.fn.Name, Rank: rank, Strand: m.strand, Stack: m.stack, Pos: m.pos, Loose: m.loose}
}

// Around returns the last call on a window before a moment and the first after
// it, within its separate region; nil where there is none, so that the region's
// own Bounds are the nearest.
func (r *Region) Around(p Point) (before, after *CallInfo) {
	s := r.Segment(p)
	if s == nil {
		return nil, nil
	}
	n := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].pos >= p.Pos })
	if n > 0 {
		before = s.marks[n-1].info(p.Rank)
	}
	if n < len(s.marks) && s.marks[n].pos == p.Pos {
		n++
	}
	if n < len(s.marks) {
		after = s.marks[n].info(p.Rank)
	}
	return before, after
}

// Heard names the last call of a process that another had heard of at a moment:
// through messages, barriers, fences and whatever else orders processes. As long
// as the replay goes on, it belongs to the replay.
type Heard struct {
	bounds *Bounds
	end    bool
}

// Call returns the call; nil where nothing was heard since the start of the run.
func (h Heard) Call() *CallInfo {
	switch {
	case h.bounds == nil:
		return nil
	case h.end:
		return h.bounds.End
	}
	return h.bounds.Begin
}

// Heard returns what the process of an access had heard of another process when
// the access started. It is nothing where that cannot be told any more: the
// access started in an earlier region or phase.
func (r *Region) Heard(a *Access, of int32) Heard {
	s := r.Segment(a.Start)
	segments := r.Segments[of]
	if s == nil || len(segments) == 0 {
		return Heard{}
	}
	n := sort.Search(len(segments), func(i int) bool {
		return !r.Clock.Knows(s.Stamp, int(of), uint32(r.first[of])+uint32(i)+1)
	})
	if n > 0 {
		return Heard{bounds: segments[n-1].Calls, end: true}
	}
	if r.first[of] > 0 {
		return Heard{} // of something before this phase, of which more is not kept
	}
	return Heard{bounds: segments[0].Calls}
}

// StartsBefore reports whether access a starts before access b does, whatever
// the timing of the run.
func (r *Region) StartsBefore(a, b *Access) bool {
	if a.Start.Seg == before || b.Start.Seg == before {
		return b.Start.Seg != before
	}
	if a.Rank == b.Rank {
		return a.Start.Pos < b.Start.Pos
	}
	return r.Before(a.Start, b.Start)
}

// Lock is a lock that protects an access.
type Lock struct {
	Window    int64
	Target    int32 // world rank of the process whose memory is locked; -1: of all (MPI_Win_lock_all)
	Exclusive bool
}

// Held returns the locks of the set.
func (s *LockSet) Held() []Lock {
	if s == nil {
		return nil
	}
	var out []Lock
	for _, l := range s.locks {
		out = append(out, Lock{l.win, l.target, l.exclusive})
	}
	return out
}
