package mpi

import (
	"slices"
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// lasting is what accesses to buffers of a process are part of (core.Pending.Of).
type lasting interface {
	// endsBuffers reports whether a call of the process completes those accesses.
	endsBuffers(c *core.Call) bool
}

func (r *request) endsBuffers(c *core.Call) bool { return completesRequest(c, r.id) }

func completesRequest(c *core.Call, id int64) bool {
	done := completions[c.Fn.Name]
	if done == nil || id == 0 {
		return false
	}
	ids, _ := done(c)
	return slices.Contains(ids, id)
}

func (op *operation) endsBuffers(c *core.Call) bool {
	return completesRequest(c, op.id) || c.Has(argWin) && c.Int(argWin) == op.call.Object && covered(c).has(op)
}

// splitFile is a split collective read or write, by the handle of its file
// (14.4.5).
type splitFile int64

func (f splitFile) endsBuffers(c *core.Call) bool {
	return strings.HasPrefix(c.Fn.Name, "MPI_File_") && strings.HasSuffix(c.Fn.Name, "_end") && c.Int(argFh) == int64(f)
}

// coverage is some of the operations that a process issued on a window.
type coverage struct {
	none   bool
	target int32        // or anyTarget
	epoch  regions.Mode // of which they are; "": any
}

func (x coverage) has(op *operation) bool {
	return !x.none && (x.target == anyTarget || x.target == op.target) && (x.epoch == "" || x.epoch == op.epoch)
}

// covered returns which operations that the caller issued on a window a
// synchronization call on it completes, at their origin at least (12.5).
func covered(c *core.Call) coverage {
	switch c.Fn.Name {
	case "MPI_Win_unlock", "MPI_Win_flush", "MPI_Win_flush_local":
		return coverage{target: int32(c.Int(argRank))}
	case "MPI_Win_unlock_all", "MPI_Win_flush_all", "MPI_Win_flush_local_all", "MPI_Win_free":
		return coverage{target: anyTarget}
	case "MPI_Win_fence":
		return coverage{target: anyTarget, none: c.Int(argAssert)&trace.AssertNoPrecede != 0}
	case "MPI_Win_complete":
		return coverage{target: anyTarget, epoch: StartEpoch}
	}
	return coverage{none: true}
}

// HeldUntil is that of core.Model: it reads the calls ahead up to the one that
// completes the accesses, or the one that gives the lock up.
func (m *Model) HeldUntil(s *core.Strand, of any, l regions.Lock) bool {
	e := m.procs[s.Rank].wins[l.Object]
	if e != nil && of == nil { // a blocking call is under way, and ends before the next one
		return true
	}
	x, ok := of.(lasting)
	if e == nil || !ok {
		return false
	}
	member := int64(rankIn(e.win.group, l.Target))
	ahead := s.Ahead()
	for {
		next := ahead.Call()
		if next == nil {
			return false
		}
		c := core.NewCall(next)
		switch {
		case c.Failed:
		case x.endsBuffers(c):
			return true
		case c.Fn.Name == "MPI_Win_unlock_all" && l.Target == regions.AnyTarget && c.Int(argWin) == l.Object,
			c.Fn.Name == "MPI_Win_unlock" && l.Target != regions.AnyTarget && c.Int(argWin) == l.Object && c.Int(argRank) == member:
			return false
		}
	}
}
