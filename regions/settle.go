package regions

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// settleLocks decides, where a phase or a region ends, which of the locks that
// protect buffers of pending requests will still be held when these complete.
// The others do not protect them: a lock excludes only what lies within its
// epoch.
func (m *Machine) settleLocks() {
	for _, p := range m.procs {
		for _, s := range p.locked {
			if s.done || s.request == 0 || s.settled {
				continue
			}
			s.settled = true
			if p.current.Call != nil { // reading ahead uses its storage again
				p.current.Call = keep(p.current.Call)
				p.event.Call = p.current.Call
			}
			for _, l := range s.access.Locks.locks {
				e := p.wins[l.win]
				if e == nil || !p.ahead.completes(s.request, l, e.win.group.rankOf(l.target)) {
					s.access.Locks = s.access.Locks.without(l.epoch)
				}
			}
		}
		p.locked = slices.DeleteFunc(p.locked, func(s *span) bool { return s.done || s.access.Locks == nil })
	}
}

// completes reports whether a request will be complete before a lock, that of
// a member of its window, is given up.
func (a *ahead) completes(request int64, l heldLock, member int32) bool {
	for i := 0; ; i++ {
		if i == len(a.queue) && (i >= maxAhead || !a.more()) {
			return false
		}
		if a.queue[i].Kind != trace.KindCall {
			continue
		}
		c := &call{Call: a.queue[i].Call}
		if done := completions[c.Fn.Name]; done != nil {
			if ids, _ := done(c); slices.Contains(ids, request) {
				return true
			}
		}
		switch {
		case c.Fn.Name == "MPI_Win_unlock_all" && l.target == anyTarget && c.num("win") == l.win,
			c.Fn.Name == "MPI_Win_unlock" && l.target != anyTarget && c.num("win") == l.win && c.num("rank") == int64(member):
			return false
		}
	}
}
