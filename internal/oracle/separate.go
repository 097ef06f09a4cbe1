package oracle

import "slices"

// Calls of a window's owner that make its stores visible in the public copy, and
// those that make updates of the public copy visible in the private one (S,
// 12.7, rules 5 and 6). A successful MPI_Win_test counts as MPI_Win_wait.
var (
	publishes = []string{"MPI_Win_post", "MPI_Win_fence", "MPI_Win_unlock", "MPI_Win_unlock_all", "MPI_Win_sync"}
	refreshes = []string{"MPI_Win_wait", "MPI_Win_test", "MPI_Win_fence", "MPI_Win_lock", "MPI_Win_lock_all", "MPI_Win_sync"}
)

// SeparatePairs are pairs of places that break a rule of the separate memory model and
// no other: those whose accesses share bytes, and those whose accesses need not.
type SeparatePairs struct{ Overlapping, Disjoint []Pair }

// Separate returns what the program does wrong in addition to Races when its
// windows have the separate memory model: all, or those that say so. The rules
// are those of S, 12.7, for every local access of a window's owner and every
// operation on that window there:
//
//   - a location that an operation has updated must not be loaded or stored
//     until the update is visible in the private copy;
//   - a location that was stored must not be accessed by an operation until
//     the store is visible in the public copy;
//   - the same for a store and an updating operation at different locations.
//
// Shared windows are always unified.
func (p *Program) Separate(all bool) (SeparatePairs, error) {
	var out SeparatePairs
	races, err := p.Races()
	if err != nil {
		return out, err
	}
	o, err := newOrder(p)
	if err != nil {
		return out, err
	}
	errors := map[Pair]bool{}
	for _, q := range races {
		errors[q] = q.Kind == Error
	}
	overlapping, disjoint := o.separate(all)
	for q := range overlapping {
		if !errors[q] {
			out.Overlapping = append(out.Overlapping, q)
		}
	}
	for q := range disjoint {
		if !errors[q] && !overlapping[q] {
			out.Disjoint = append(out.Disjoint, q)
		}
	}
	slices.SortFunc(out.Overlapping, comparePairs)
	slices.SortFunc(out.Disjoint, comparePairs)
	return out, nil
}

func (o *order) separate(all bool) (overlapping, disjoint map[Pair]bool) {
	overlapping, disjoint = map[Pair]bool{}, map[Pair]bool{}
	accesses := o.accesses()
	held := make([][]holding, o.p.Ranks)
	for r := range held {
		held[r] = o.holdings(r)
	}
	for i := range accesses {
		l := &accesses[i]
		if l.target || l.gone || l.rank != l.owner {
			continue
		}
		for j := range accesses {
			r := &accesses[j]
			if !r.target || r.owner != l.owner {
				continue
			}
			w := o.p.Calls[r.call].Win
			if !all && !o.p.Wins[w].Separate || o.p.Wins[w].Make == "MPI_Win_allocate_shared" {
				continue
			}
			shared, inside := o.inWindow(l, w, r)
			stores, updates := l.kind == write, r.kind == write || r.kind == atomicWrite
			if !inside || !stores && !updates || !shared && !(stores && updates) {
				continue
			}
			if o.visibleToOperation(l, r, w) || o.visibleToOwner(r, l, w) || o.excluded(l, r, held) {
				continue
			}
			q := o.report(l, r, Error).Pair
			switch {
			case !shared:
				disjoint[q] = true
			case o.ordered(l, r) || o.ordered(r, l):
				overlapping[q] = true
			}
		}
	}
	return overlapping, disjoint
}

// inWindow reports whether a local access touches the memory of a window while
// that exists, and whether it shares bytes with an operation.
func (o *order) inWindow(l *access, w int, r *access) (shared, inside bool) {
	for x := range l.bytes.all {
		if o.exposed(l, w, x) {
			inside = true
			shared = shared || r.bytes.has(x)
		}
	}
	return shared, inside
}

// exposed reports whether a byte of the owner is in a window at some time
// during a local access.
func (o *order) exposed(l *access, w, x int) bool {
	win := &o.p.Wins[w]
	var parts [][2]int // of the owner's memory that are in the window
	in := func() bool {
		return slices.ContainsFunc(parts, func(p [2]int) bool { return p[0] <= x && x < p[1] })
	}
	for _, i := range o.of[l.owner] {
		if l.over(i + 1) {
			break
		}
		if i >= l.call && in() {
			return true
		}
		c := &o.p.Calls[i]
		if !c.onWindow() || c.Win != w {
			continue
		}
		switch c.Fn {
		case "MPI_Win_create", "MPI_Win_allocate":
			parts = append(parts, [2]int{win.Off[l.owner], win.Off[l.owner] + win.Size[l.owner]})
		case "MPI_Win_attach":
			parts = append(parts, [2]int{c.Off, c.Off + c.Bytes})
		case "MPI_Win_detach":
			parts = slices.DeleteFunc(parts, func(p [2]int) bool { return p[0] == c.Off })
		case "MPI_Win_free":
			parts = nil
		}
	}
	return in()
}

// visibleToOperation reports whether a local access is over, and what it stores
// is in the public copy, when an operation starts.
func (o *order) visibleToOperation(l, r *access, w int) bool {
	if l.kind != write {
		return o.ordered(l, r)
	}
	return slices.ContainsFunc(o.of[l.owner], func(j int) bool {
		return o.synchronizes(j, w, publishes) && o.completeBefore(l, at(j, enter)) &&
			slices.ContainsFunc(r.starts, func(s point) bool { return o.before(at(j, enter), s) })
	})
}

// visibleToOwner reports whether an operation is complete, and what it updates
// is in the private copy, when a local access starts.
func (o *order) visibleToOwner(r, l *access, w int) bool {
	if r.kind != write && r.kind != atomicWrite {
		return o.ordered(r, l)
	}
	return slices.ContainsFunc(o.of[l.owner], func(j int) bool {
		return o.synchronizes(j, w, refreshes) && o.completeBefore(r, at(j, leave)) &&
			slices.ContainsFunc(l.starts, func(s point) bool { return o.before(at(j, leave), s) })
	})
}

// synchronizes reports whether a call is one of those and concerns the window.
func (o *order) synchronizes(i, w int, fns []string) bool {
	c := &o.p.Calls[i]
	return slices.Contains(fns, c.Fn) && c.Win == w && (c.Fn != "MPI_Win_test" || c.Flag)
}
