package mpi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// lockEpoch is a lock epoch of a process on a window, from MPI_Win_lock or
// MPI_Win_lock_all on. It stays as the last one from its source place when it has
// ended, and serves the next from there.
type lockEpoch struct {
	of        *epochs
	target    int32 // rank in the window; anyTarget: MPI_Win_lock_all
	call      *regions.CallInfo
	before    *regions.CallInfo // the process's last synchronization of the window before it
	exclusive bool
	noCheck   bool       // MPI_MODE_NOCHECK: no lock is really taken
	transfer  bool       // taken by a coarray library, which keeps nobody away by it
	hold      *core.Hold // void then; nil of a transfer
	grants    []*core.Grant

	open   bool
	ended  moment     // unless it is open
	listed bool       // among the lockers of its window
	older  *lockEpoch // the last from another place, of the same process and target
}

// kind is that of an epoch of one lock.
func (l *lockEpoch) kind() regions.Mode {
	switch {
	case l.transfer:
		return TransferEpoch
	case l.exclusive:
		return ExclusiveLockEpoch
	}
	return SharedLockEpoch
}

// process returns the process whose epoch it is.
func (l *lockEpoch) process(m *Model) *process { return m.procs[l.of.win.members[l.of.rank]] }

// like reports whether two lock epochs of a process and target are from one source
// place, with the same arguments.
func (l *lockEpoch) like(o *lockEpoch) bool {
	return l.exclusive == o.exclusive && l.noCheck == o.noCheck && l.transfer == o.transfer &&
		(l.call.CallSite == o.call.CallSite || *l.call.CallSite == *o.call.CallSite)
}

// lockEpochs are those of one process on one window.
type lockEpochs struct {
	last  map[int32]*lockEpoch // of MPI_Win_lock, by target
	whole *lockEpoch           // the last of MPI_Win_lock_all; or nil
	open  int                  // of MPI_Win_lock
}

// on returns the open epoch of MPI_Win_lock of a target, or nil.
func (x *lockEpochs) on(target int32) *lockEpoch {
	if x.open == 0 {
		return nil
	}
	if l := x.last[target]; l != nil && l.open {
		return l
	}
	return nil
}

// all returns the open epoch of MPI_Win_lock_all, or nil.
func (x *lockEpochs) all() *lockEpoch {
	if l := x.whole; l != nil && l.open {
		return l
	}
	return nil
}

// covering returns the open epoch of a target, whichever call began it, or nil.
func (x *lockEpochs) covering(target int32) *lockEpoch {
	if l := x.on(target); l != nil {
		return l
	}
	return x.all()
}

// targets returns the targets of open epochs of MPI_Win_lock, ascending.
func (x *lockEpochs) targets() []int32 {
	var out []int32
	for target, l := range x.last {
		if l.open {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return out
}

func (x *lockEpochs) lastOf(target int32) *lockEpoch {
	if target == anyTarget {
		return x.whole
	}
	return x.last[target]
}

// setLast makes an epoch the last one of a target; nil: there is none.
func (x *lockEpochs) setLast(target int32, l *lockEpoch) {
	switch {
	case target == anyTarget:
		x.whole = l
	case l == nil:
		delete(x.last, target)
	default:
		x.last[target] = l
	}
}

// begin opens an epoch, as of now.
func (x *lockEpochs) begin(l lockEpoch, now moment) *lockEpoch {
	last := x.lastOf(l.target)
	if last != nil && last.open {
		x.end(last, now) // a usage error; the lock is held by the call that comes last
	}
	if l.target != anyTarget {
		x.open++
	}
	l.open = true
	if last != nil && last.like(&l) {
		l.listed, l.older, l.grants = last.listed, last.older, last.grants[:0]
		*last = l
		return last
	}
	var own *lockEpoch
	for at := &last; *at != nil; {
		switch o := *at; {
		case o.like(&l):
			l.listed, l.grants = o.listed, o.grants[:0]
			own, *at = o, o.older
			continue
		case o.ended.region != now.region:
			*at = o.older
			continue
		}
		at = &(*at).older
	}
	if own == nil {
		own = &lockEpoch{}
	}
	*own = l
	own.older = last
	x.setLast(l.target, own)
	return own
}

// end closes an epoch.
func (x *lockEpochs) end(l *lockEpoch, now moment) {
	if l.target != anyTarget {
		x.open--
	}
	l.open, l.ended = false, now
}

// lockers are the lock epochs of all processes on a window: the last of each from
// each source place, in this concurrent region and some of earlier ones.
type lockers struct {
	checked, unchecked lockerSet // without and with MPI_MODE_NOCHECK
	sweepAt            int       // how many there are when those of earlier regions are looked for
}

// lockerSet is some of them.
type lockerSet struct {
	n         int
	ofTarget  map[int32][]*lockEpoch
	exclusive []*lockEpoch // of any target
	whole     []*lockEpoch // of MPI_Win_lock_all
}

// fewLockers is how many of a window may be of earlier regions.
const fewLockers = 256

// list adds an epoch that began.
func (x *lockers) list(l *lockEpoch, region int) {
	if l.listed {
		return
	}
	l.listed = true
	s := &x.checked
	if l.noCheck {
		s = &x.unchecked
	}
	s.add(l)
	if n := x.checked.n + x.unchecked.n; n > max(x.sweepAt, fewLockers) {
		x.checked.sweep(region)
		x.unchecked.sweep(region)
		x.sweepAt = 2 * (x.checked.n + x.unchecked.n)
	}
}

func (s *lockerSet) add(l *lockEpoch) {
	s.n++
	if l.exclusive {
		s.exclusive = append(s.exclusive, l)
	}
	if l.target == anyTarget {
		s.whole = append(s.whole, l)
		return
	}
	if s.ofTarget == nil {
		s.ofTarget = map[int32][]*lockEpoch{}
	}
	s.ofTarget[l.target] = append(s.ofTarget[l.target], l)
}

// sweep lets go of what ended in earlier regions.
func (s *lockerSet) sweep(region int) {
	gone := func(l *lockEpoch) bool { return !l.open && l.ended.region != region }
	letGo := func(l *lockEpoch) bool {
		if !gone(l) {
			return false
		}
		s.n--
		l.listed = false
		if own := &l.of.locks; own.lastOf(l.target) == l {
			own.setLast(l.target, nil)
		}
		return true
	}
	s.exclusive = slices.DeleteFunc(s.exclusive, gone)
	s.whole = slices.DeleteFunc(s.whole, letGo)
	for target, all := range s.ofTarget {
		if all = slices.DeleteFunc(all, letGo); len(all) > 0 {
			s.ofTarget[target] = all
		} else {
			delete(s.ofTarget, target)
		}
	}
}

// against visits those whose lock a lock would conflict with, were they held at one
// time: of the same target, and one of the two exclusive.
func (s *lockerSet) against(l *lockEpoch, visit func(*lockEpoch)) {
	if s.n == 0 {
		return
	}
	all := s.ofTarget[l.target]
	if l.target == anyTarget {
		all = s.exclusive
	}
	for _, o := range all {
		if o.exclusive || l.exclusive {
			visit(o)
		}
	}
	if l.exclusive {
		for _, o := range s.whole {
			visit(o)
		}
	}
}
