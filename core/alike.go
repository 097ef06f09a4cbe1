package core

import (
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// Alike gives models one value for equal layouts, and one for equal elements, so that
// accesses that differ in time only are kept as one.
type Alike struct {
	strided  map[intervals.Run]*intervals.Layout
	layouts  map[string]*intervals.Layout // by their Key
	elements map[regions.Element]*regions.Element
}

// NewAlike returns an Alike that has given nothing yet.
func NewAlike() Alike {
	return Alike{map[intervals.Run]*intervals.Layout{}, map[string]*intervals.Layout{}, map[regions.Element]*regions.Element{}}
}

// Strided returns the layout of n elements of a size, stride bytes apart.
func (a *Alike) Strided(n, size, stride uint64) *intervals.Layout {
	run := intervals.Strided(0, size, stride, n)
	l := a.strided[run]
	if l == nil {
		if len(a.strided) >= mostLayouts {
			clear(a.strided)
		}
		l = intervals.NewLayout([]intervals.Run{run})
		a.strided[run] = l
	}
	return l
}

// mostLayouts is how many layouts are remembered, and mostRuns of how many runs.
const mostLayouts, mostRuns = 1 << 14, 256

// Layout returns the one value for equal layouts, as long as they are not too many, or too
// large.
func (a *Alike) Layout(l *intervals.Layout) *intervals.Layout {
	if len(l.Runs()) > mostRuns {
		return l
	}
	key := l.Key()
	if known := a.layouts[key]; known != nil {
		return known
	}
	if len(a.layouts) >= mostLayouts {
		clear(a.layouts)
	}
	a.layouts[key] = l
	return l
}

// Element returns the one value for equal elements of atomic accesses.
func (a *Alike) Element(e regions.Element) *regions.Element {
	if a.elements[e] == nil {
		a.elements[e] = &e
	}
	return a.elements[e]
}

// Gatherings counts the collective calls of a strand: those of one name by one group
// come in the same order to all of its members.
type Gatherings map[gatheringOf]uint64

type gatheringOf struct{ name, group uint64 }

// Next names the meeting that the strand's next collective call of a name is, by a
// group of world ranks; on is of the model's own (MeetKey).
func (g Gatherings) Next(on int64, name string, group []int32) MeetKey {
	of := gatheringOf{name: hash([]byte(name)), group: hash(group)}
	g[of]++
	return MeetKey{On: on, Of: of.group, N: g[of], Round: of.name}
}

// hash is FNV-1a of numbers.
func hash[T byte | int32](numbers []T) uint64 {
	h := uint64(14695981039346656037)
	for _, n := range numbers {
		h = (h ^ uint64(n)) * 1099511628211
	}
	return h
}
