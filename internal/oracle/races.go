package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Kind is how grave a conflict is.
type Kind string

// Kinds of conflicts: a warning is a pair of atomic accesses with different
// operations, everything else an error.
const (
	Error   Kind = "error"
	Warning Kind = "warning"
)

// Pair is two source places whose accesses conflict, with nothing to order
// them. A is not after B; they are equal when the accesses of one operation
// conflict with each other.
type Pair struct {
	A, B Place
	Kind Kind
}

// String returns the pair as text.
func (q Pair) String() string { return fmt.Sprintf("%s: %s and %s", q.Kind, q.A, q.B) }

// Conflict is one pair of accesses behind a Pair.
type Conflict struct {
	Pair
	CallA, CallB int    // indices in Program.Calls
	RoleA, RoleB string // "load", "origin buffer", "target", …
	Owner        int    // world rank whose memory it is
	Bytes        []int  // shared bytes, ascending offsets from Program.Base of the owner
}

// String returns the conflict as text.
func (q Conflict) String() string {
	return fmt.Sprintf("%s (%s / %s, process %d bytes %v)", q.Pair, q.RoleA, q.RoleB, q.Owner, q.Bytes)
}

// Races returns the set of conflicting pairs of places, sorted. It normalizes
// the program first, and returns an error when that is not possible.
func (p *Program) Races() ([]Pair, error) {
	all, err := p.Conflicts()
	if err != nil {
		return nil, err
	}
	seen := map[Pair]bool{}
	out := []Pair{}
	for _, q := range all {
		if !seen[q.Pair] {
			seen[q.Pair] = true
			out = append(out, q.Pair)
		}
	}
	slices.SortFunc(out, comparePairs)
	return out, nil
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Line, b.Line))
}

func comparePairs(a, b Pair) int {
	return cmp.Or(comparePlaces(a.A, b.A), comparePlaces(a.B, b.B), cmp.Compare(a.Kind, b.Kind))
}

// Conflicts returns every conflicting pair of accesses. Errors are those of
// Races.
func (p *Program) Conflicts() ([]Conflict, error) {
	if err := p.Normalize(); err != nil {
		return nil, err
	}
	o, err := newOrder(p)
	if err != nil {
		return nil, err
	}
	return o.conflicts(), nil
}

// conflicts looks at every pair of accesses.
func (o *order) conflicts() []Conflict {
	p := o.p
	all := o.accesses()
	held := make([][]holding, p.Ranks)
	for r := range held {
		held[r] = o.holdings(r)
	}
	var out []Conflict
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			a, b := &all[i], &all[j]
			if a.owner != b.owner || !a.bytes.meets(b.bytes) || o.ordered(a, b) || o.ordered(b, a) {
				continue
			}
			if a.rank == b.rank && p.Calls[a.call].isLocal() && p.Calls[b.call].isLocal() {
				continue // strands of one process: that is what thread sanitizers look for
			}
			kind, conflict := o.conflict(a, b)
			if !conflict || o.excluded(a, b, held) {
				continue
			}
			out = append(out, o.report(a, b, kind))
		}
	}
	return out
}

func (o *order) report(a, b *access, kind Kind) Conflict {
	ca, cb := &o.p.Calls[a.call], &o.p.Calls[b.call]
	if comparePlaces(ca.Place(), cb.Place()) > 0 {
		a, b, ca, cb = b, a, cb, ca
	}
	return Conflict{
		Pair:  Pair{ca.Place(), cb.Place(), kind},
		CallA: a.call, CallB: b.call, RoleA: a.role, RoleB: b.role, Owner: a.owner, Bytes: common(a, b),
	}
}

// common returns the bytes that two accesses to the memory of one process share,
// ascending.
func common(a, b *access) []int {
	var out []int
	for x := range a.bytes.all {
		if b.bytes.has(x) {
			out = append(out, x)
		}
	}
	return out
}

// ordered reports whether a completes before b starts.
func (o *order) ordered(a, b *access) bool {
	return a.done(func(d point) bool {
		return slices.ContainsFunc(b.starts, func(s point) bool { return o.before(d, s) })
	})
}

// done reports whether an access is complete, by what has happened.
func (a *access) done(happened func(point) bool) bool {
	if a.any {
		return slices.ContainsFunc(a.dones, happened)
	}
	return len(a.dones) > 0 && !slices.ContainsFunc(a.dones, func(d point) bool { return !happened(d) })
}

// completeBefore reports whether an access is complete at a point.
func (o *order) completeBefore(a *access, at point) bool {
	return a.done(func(d point) bool { return o.before(d, at) })
}

// over reports whether an access is complete before a call, in the order in which
// calls began.
func (a *access) over(call int) bool {
	return a.done(func(d point) bool { return int(d)/points < call })
}

// conflict is the table of the model's section 4.
func (o *order) conflict(a, b *access) (Kind, bool) {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.gone || b.gone:
		return Error, (a.target || b.target) && o.p.Calls[a.call].Win == o.p.Calls[b.call].Win
	case a.kind == read:
		return Error, b.kind == write || b.kind == atomicWrite
	case a.kind == write:
		return Error, true
	case b.kind == atomicRead:
		return Error, false
	}
	return o.atomics(a, b)
}

// atomics decides on two atomic accesses of which at least one writes.
func (o *order) atomics(a, b *access) (Kind, bool) {
	ca, cb := &o.p.Calls[a.call], &o.p.Calls[b.call]
	if ca.Win != cb.Win {
		return Error, true
	}
	for x := range a.bytes.all {
		if b.bytes.has(x) && a.elems[x] != b.elems[x] {
			return Error, true
		}
	}
	win := &o.p.Wins[ca.Win]
	noOp := (a.op == "MPI_NO_OP" || b.op == "MPI_NO_OP") && !win.SameOp
	if a.rank == b.rank && o.inTurn(a, b) && win.keepsOrder(a, b) || a.op == b.op || noOp {
		return Error, false
	}
	return Warning, true
}

// inTurn reports whether two operations are issued one after the other.
func (o *order) inTurn(a, b *access) bool {
	x, y := at(a.call, enter), at(b.call, enter)
	return o.before(x, y) || o.before(y, x)
}

// keepsOrder reports whether accumulate_ordering puts two accumulates of one
// origin in order: whatever the first does, what the second does comes after it
// (MPI standard, 12.7.2).
func (w *Window) keepsOrder(a, b *access) bool {
	if a.call > b.call {
		a, b = b, a
	}
	for _, bit := range []struct {
		order  int64
		needed bool
	}{
		{trace.OrderRAR, a.fetches() && b.fetches()},
		{trace.OrderRAW, a.changes() && b.fetches()},
		{trace.OrderWAR, a.fetches() && b.changes()},
		{trace.OrderWAW, a.changes() && b.changes()},
	} {
		if bit.needed && w.Unorder&bit.order != 0 {
			return false
		}
	}
	return true
}

// fetches and changes report whether an atomic access reads or writes: all but
// MPI_REPLACE and MPI_NO_OP do both.
func (a *access) fetches() bool { return a.op != "MPI_REPLACE" || a.role != "target" }
func (a *access) changes() bool { return a.kind == atomicWrite }

// excluded reports whether locks keep two accesses apart.
func (o *order) excluded(a, b *access, held [][]holding) bool {
	if a.rank == b.rank {
		return false
	}
	for _, h := range held[a.rank] {
		for _, k := range held[b.rank] {
			if h.lockKey == k.lockKey && (h.kind == trace.LockExclusive || k.kind == trace.LockExclusive) &&
				o.protects(h, a) && o.protects(k, b) {
				return true
			}
		}
	}
	return false
}

// shares reports whether an access lies in another process's part of a shared
// window.
func (w *Window) shares(a *access) bool {
	if w.Make != "MPI_Win_allocate_shared" {
		return false
	}
	part := w.part(a.owner)
	for x := range a.bytes.all {
		if x < part.lo || x >= part.hi {
			return false
		}
	}
	return true
}

// protects reports whether an access of the holder lies inside a lock epoch,
// and is of a kind that the lock protects.
func (o *order) protects(h holding, a *access) bool {
	c := &o.p.Calls[a.call]
	switch {
	case a.target:
		if c.Win != h.win || c.Peer != h.target {
			return false
		}
	case h.target != a.owner:
		return false
	case a.owner != a.rank && !o.p.Wins[h.win].shares(a):
		return false
	case a.remote && a.owner == a.rank && (c.Win != h.win || c.Peer != a.rank && o.p.Calls[h.begin].Fn != "MPI_Win_lock_all"):
		return false
	}
	starts := a.starts // what a blocking call writes to a buffer it writes when it has waited
	if a.remote {
		starts = []point{at(a.call, enter)}
	}
	return h.end >= 0 && o.completeBefore(a, at(h.end, enter)) &&
		slices.ContainsFunc(starts, func(s point) bool { return o.before(at(h.begin, leave), s) })
}
