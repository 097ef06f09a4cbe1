package trial

import (
	"math"
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// Values finds out, from the concurrent regions of the run as it was, of which moves a
// value would be another one: where something between the old place and the new one
// accesses the same bytes, and either of the two writes.
type Values struct {
	moves   []moves
	owns    func(created *regions.CallInfo) bool
	scratch regions.Scratch
	work    int // comparisons so far
}

// mostWork is how many comparisons are made: some tenths of a second.
const mostWork = 1 << 26

// moves are those of one plan.
type moves struct {
	all     []Moved
	own     map[at]int // which of all an event belongs to
	sums    []touched
	changes bool
}

type at struct {
	rank int32
	pos  uint64
}

// touched is an access of something that is moved.
type touched struct {
	*Moved
	regions.Access
	region int
}

// NewValues returns the Values of some plans. owns reports whether memory goes with the
// object that a call made: what is moved behind the end of that finds nothing there.
func NewValues(plans []*Plan, owns func(created *regions.CallInfo) bool) *Values {
	v := &Values{owns: owns}
	for _, p := range plans {
		m := moves{all: p.moved, own: map[at]int{}}
		for i := range p.moved {
			for _, pos := range p.moved[i].Events {
				m.own[at{int32(p.moved[i].Rank), pos}] = i
			}
		}
		v.moves = append(v.moves, m)
	}
	return v
}

// Changes reports whether a plan changes values. The regions of the run must have been
// added.
func (v *Values) Changes(plan int) bool { return v.moves[plan].changes }

// Enough reports whether there was too much to compare: then it is not known which plans
// change values.
func (v *Values) Enough() bool { return v.work > mostWork }

// Add takes the next concurrent region, or phase of one. The error is that of reading
// what did not fit into memory.
func (v *Values) Add(r *regions.Region) error {
	var all []*regions.Access
	err := r.EachCall(&v.scratch, func(a *regions.Access) {
		if !a.Old && a.Start.Within() && !a.Role.Class.Gone() && a.Role.Class != regions.Vouched {
			b := *a
			all = append(all, &b)
		}
	})
	for line := range r.Segments {
		for stretches, old := range r.Stretches(int32(line), 0, math.MaxUint64, &v.scratch, &err) {
			for i := range stretches {
				if s := &stretches[i]; !old {
					for row := range s.Rows {
						for k := range int(s.Rows[row].N) {
							all = append(all, r.LocalAccess(int32(line), s, row, k))
						}
					}
				}
			}
		}
	}
	if err != nil {
		return err
	}
	for i := range v.moves {
		m := &v.moves[i]
		m.sums = slices.DeleteFunc(m.sums, func(t touched) bool { return t.Regions[1] < r.Index })
		v.note(m, all, r)
		if v.work += len(m.sums) * len(all); v.Enough() {
			return nil
		}
		m.compare(all, r)
	}
	return nil
}

// note notes what moved statements access.
func (v *Values) note(m *moves, all []*regions.Access, r *regions.Region) {
	for _, a := range all {
		i, ok := m.own[at{a.Rank, a.Start.Pos}]
		if !ok {
			continue
		}
		moved := &m.all[i]
		m.sums = append(m.sums, touched{moved, *a, r.Index})
		if !moved.Forward && moved.Regions[0] < r.Index { // what it passes there is not at hand any more
			m.changes = true
		}
		if e, ok := regions.ExposedAt(r.Exposures, a.Owner, a.Base, 0); ok && moved.outlives(e.ID) && e.Created != nil && v.owns(e.Created) {
			m.changes = true
		}
	}
}

// outlives reports whether the move leads behind the end of an object: the last call on it.
func (m *Moved) outlives(object int64) bool {
	end, ok := m.last[object]
	return m.Forward && ok && end <= m.To
}

// compare looks for accesses that a moved one passes.
func (m *moves) compare(all []*regions.Access, r *regions.Region) {
	for i := range m.sums {
		t := &m.sums[i]
		for _, a := range all {
			if m.changes {
				return
			}
			if t.Owner != a.Owner || !writes(t.Kind) && !writes(a.Kind) {
				continue
			}
			if _, own := m.own[at{a.Rank, a.Start.Pos}]; own {
				continue
			}
			if _, _, ok := intervals.MeetLayouts(t.Base, t.Layout, a.Base, a.Layout); ok && t.passes(a, r) {
				m.changes = true
			}
		}
	}
}

func writes(k regions.Kind) bool { return k == regions.Write || k == regions.AtomicWrite }

// passes reports whether a moved access and another one, which come in an order in the run
// as it was, come in the other order where the program is changed. Where that is not
// known, they do.
func (t *touched) passes(a *regions.Access, r *regions.Region) bool {
	switch {
	case a.Rank == t.Access.Rank:
		return t.From <= a.Start.Pos && a.Start.Pos <= t.To
	case !t.Forward:
		return r.Index == t.region && r.Before(a.End, t.Start) && !r.Before(a.End, moment(r, t.Access.Rank, t.From))
	case r.Index > t.Regions[1] || r.Index == t.Regions[1] && r.Before(moment(r, t.Access.Rank, t.To), a.Start):
		return false // it comes behind both
	}
	return r.Index > t.region || r.Before(t.End, a.Start)
}

// moment returns an event of a process as a moment of a region.
func moment(r *regions.Region, rank int32, pos uint64) regions.Point {
	all := r.Segments[rank]
	i := len(all) - 1
	for i > 0 && all[i].Bounds.Begin != nil && all[i].Bounds.Begin.Pos > pos {
		i--
	}
	return regions.Point{Line: rank, Seg: r.First[rank] + int32(i), Pos: pos}
}
