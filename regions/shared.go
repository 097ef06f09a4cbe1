package regions

import (
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// segment is the part of a shared-memory window that belongs to another
// process, as it lies in the address space of this one. What this process
// accesses there is the owner's memory (detection model, section 1).
type segment struct {
	lo, hi uint64 // addresses of this process, half-open
	shift  uint64 // added to them: addresses of the owner
	owner  int32
	win    int64
}

// doSegment: the tracer's note where the part of a member of a shared-memory
// window lies.
func doSegment(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	member := e.win.target(c.num("rank"))
	if member < 0 || !e.win.known[member] || e.win.members[member] == p.rank {
		return
	}
	lo := c.addr("base")
	p.shared = append(slices.Clip(p.shared), segment{
		lo: lo, hi: lo + c.addr("size"), shift: e.win.base[member] - lo,
		owner: e.win.members[member], win: e.win.ID,
	})
}

// foreign returns the segment of another process that holds any of [lo, hi).
func (p *proc) foreign(lo, hi uint64) *segment {
	for i := range p.shared {
		if s := &p.shared[i]; lo < s.hi && s.lo < hi {
			return s
		}
	}
	return nil
}

// sharedLocal takes a load or store of which some bytes may lie in the memory
// of other processes. What does becomes an access of its own, in the memory of
// its owner; it reports whether that was all.
func (m *Machine) sharedLocal(p *proc) bool {
	a := &p.event.Access
	all := intervals.NewLayout([]intervals.Run{intervals.Strided(0, uint64(a.Size), uint64(a.Stride), a.Count)})
	own := all
	for i := range p.shared {
		s := &p.shared[i]
		part := all.Within(a.Addr, s.lo, s.hi)
		if part.IsEmpty() {
			continue
		}
		own = own.Without(a.Addr, s.lo, s.hi)
		acc := loadOrStore(a)
		acc.Base, acc.Layout = a.Addr+s.shift, part
		acc.Call = &CallInfo{Rank: p.rank, Strand: p.event.Strand, Stack: a.Stack, Pos: p.pos, Object: s.win}
		m.instantAt(p, acc, s.owner, s.win)
	}
	if own.IsEmpty() {
		return true
	}
	if own != all {
		// The rest is in this process's own memory.
		acc := loadOrStore(a)
		acc.Base, acc.Layout = a.Addr, own
		acc.Call = &CallInfo{Rank: p.rank, Strand: p.event.Strand, Stack: a.Stack, Pos: p.pos}
		m.instantAt(p, acc, p.rank, 0)
		return true
	}
	return false
}

// loadOrStore returns what a run of loads or stores does.
func loadOrStore(a *trace.Access) Access {
	acc := Access{Kind: Read, Role: Load}
	if a.Store {
		acc.Kind, acc.Role = Write, Store
	}
	if a.Atomic {
		acc.Atomic = a.Size
	}
	return acc
}

// locate gives an access to a buffer of this process its owner: another process
// when the buffer lies in its part of a shared-memory window. A buffer that
// lies in several parts counts to that of its first byte. It returns the
// shared-memory window whose memory of another process that is, or 0.
func (p *proc) locate(a *Access) (shared int64) {
	a.Owner = p.rank
	if len(p.shared) == 0 {
		return 0
	}
	lo, hi := a.Layout.Bounds(a.Base)
	s := p.foreign(lo, hi)
	if s == nil || lo < s.lo {
		return 0
	}
	a.Owner = s.owner
	a.Base += s.shift
	return s.win
}

// holding returns the locks that cover what the process itself accesses in the
// memory of owner: its own memory, or a part of a shared-memory window, where
// only locks of that window count (MPI 4.1, 12.5.3).
func (p *proc) holding(owner int32, shared int64) *LockSet {
	if owner == p.rank {
		return p.own
	}
	if e := p.wins[shared]; e != nil {
		return e.lockOn(e.win.group.rankOf(owner))
	}
	return nil
}
