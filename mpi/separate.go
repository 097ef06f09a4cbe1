package mpi

import (
	"math"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// Copies is the part of a window with the separate memory model that belongs
// to one process, in one region: the memory of which there is a private and a
// public copy, and the calls that bring the one into the other.
type Copies struct {
	Window int64
	Owner  int32 // world rank
	Memory []CopyMemory
	Syncs  []CopySync // in program order of the owner
}

// CopyMemory is memory [Lo, Hi) of the owner that is in the window from its event
// From to its event To, both excluded.
type CopyMemory struct {
	Lo, Hi   uint64
	From, To uint64
}

// CopySync is a call of the owner on the window that makes updates of the one
// copy visible in the other (MPI 4.1, 12.7, rules 5 and 6).
type CopySync struct {
	At        regions.Point
	Publishes bool // stores before it are in the public copy: post, fence, unlock, unlock_all, sync
	Refreshes bool // puts and accumulates before it are in the private copy: wait, fence, lock, lock_all, sync
}

// copies is a Copies under way; nil for windows of the unified model.
type copies struct {
	Copies // but for Memory
	memory []*CopyMemory
	gone   bool // the owner has freed the window
}

// separate reports whether a window has the separate memory model.
func (m *Model) separate(w *window) bool {
	return !w.shared && (m.memory == MemorySeparate || m.memory == MemoryAuto && !w.unified)
}

// expose begins to follow a process's part of a window that it has made.
func (m *Model) expose(p *process, e *epochs) {
	if !m.separate(e.win) {
		return
	}
	p.KeepAll()
	e.copies = &copies{Copies: Copies{Window: e.win.ID, Owner: p.Rank}}
	m.copies = append(m.copies, e.copies)
	if e.win.dynamic == nil {
		e.copies.attach(p, e.win.base[e.rank], e.win.size[e.rank])
	}
}

// attach adds memory to the part, and returns it; nil where none is followed.
func (s *copies) attach(p *process, lo, size uint64) *CopyMemory {
	if s == nil || size == 0 {
		return nil
	}
	x := &CopyMemory{Lo: lo, Hi: lo + size, From: p.Pos(), To: math.MaxUint64}
	s.memory = append(s.memory, x)
	return x
}

// end takes the memory out of the part, unless it is out.
func (x *CopyMemory) end(p *process) {
	if x != nil {
		x.To = min(x.To, p.Pos())
	}
}

// free ends the part.
func (s *copies) free(p *process) {
	if s == nil {
		return
	}
	s.gone = true
	for _, x := range s.memory {
		x.end(p)
	}
}

// publish notes that the process calls something that makes its stores visible
// in the public copy.
func (s *copies) publish(p *process) {
	if s != nil {
		s.Syncs = append(s.Syncs, CopySync{At: p.Now(), Publishes: true})
	}
}

// refresh notes that the process has called something that makes updates of the
// public copy visible to its loads.
func (s *copies) refresh(p *process) {
	if s != nil {
		s.Syncs = append(s.Syncs, CopySync{At: p.Now(), Refreshes: true})
	}
}

// doSync: MPI_Win_sync brings both copies together (12.5.4). It orders no
// processes.
func doSync(m *Model, p *process, c *core.Call, _ *entry) {
	if e := m.epochsOf(p, c); e != nil {
		e.copies.publish(p)
		e.copies.refresh(p)
		if e.win.shared {
			p.Fence(c, true, true)
		}
	}
}

// regionCopies returns the windows of the separate memory model as the region
// that ends saw them.
func (m *Model) regionCopies() []Copies {
	var out []Copies
	for _, s := range m.copies {
		c := s.Copies
		for _, x := range s.memory {
			c.Memory = append(c.Memory, *x)
		}
		out = append(out, c)
	}
	return out
}

// beginCopies forgets what was of the last region alone.
func (m *Model) beginCopies() {
	m.copies = slices.DeleteFunc(m.copies, func(s *copies) bool { return s.gone })
	for _, s := range m.copies {
		s.Syncs = nil
		s.memory = slices.DeleteFunc(s.memory, func(x *CopyMemory) bool { return x.To != math.MaxUint64 })
		for _, x := range s.memory {
			x.From = 0
		}
	}
}
