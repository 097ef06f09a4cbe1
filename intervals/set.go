package intervals

import (
	"cmp"
	"math"
	"slices"

	"github.com/rdleal/intervalst/interval"
)

// Set is byte ranges that come and go between questions. For ranges that are
// all known before the first question there is Index, which is faster.
//
// Ranges may touch, overlap and be equal: each entry is one of its own, and the
// answers to a question have all of them, in the order in which they were added.
// Questions and changes take O(log n) each, in the long run, and as much for each
// range found.
//
// The zero value is a set without ranges. A Set is for one goroutine at a time.
type Set[V any] struct {
	// Entries wait in a list. Once looking through it has taken as long as putting
	// them into the tree would, that is done: so those of a small set, and those
	// that go before anybody asks, cost next to nothing.
	waiting []*Entry[V] // in no order
	looked  int         // entries that questions have looked at while too many waited
	tree    *interval.SearchTree[*Entry[V], bound]
	planted int // entries in the tree
	added   uint64
	found   []*Entry[V]
}

// Entry is a range of a Set. Whoever has the Set has the room for its entries,
// which may be part of something larger, and does not change them while they are
// in the set.
type Entry[V any] struct {
	// Lo and Hi bound the range, half-open. With Hi ≤ Lo it has no bytes, and
	// overlaps nothing: only Starting finds it.
	Lo, Hi uint64
	Value  V

	number uint64 // in the order in which they were added, from 1; 0: it is in no set
	place  int    // among those that wait, or inTree
}

// maxWaiting is up to how many entries are looked at one by one: with so many,
// that takes about as long as a question to the tree (BenchmarkSet).
const maxWaiting = 32

// plantCost is how many entries are looked at in the time in which one is put into
// the tree.
const plantCost = 200

const inTree = -1

// bound is an end of a range in the tree, whose ranges are closed and differ from
// one another: addr comes first, then the numbers of the ranges that begin there.
type bound struct{ addr, number uint64 }

func compareBounds(a, b bound) int {
	if a.addr != b.addr {
		return cmp.Compare(a.addr, b.addr)
	}
	return cmp.Compare(a.number, b.number)
}

// bounds returns the ends of an entry's range in the tree. That of a range with
// bytes lies before all ranges that begin there.
func (e *Entry[V]) bounds() (start, end bound) {
	if e.Lo < e.Hi {
		return bound{e.Lo, e.number}, bound{e.Hi, 0}
	}
	return bound{e.Lo, e.number}, bound{e.Lo, math.MaxUint64}
}

// Len returns the number of entries.
func (s *Set[V]) Len() int { return len(s.waiting) + s.planted }

// Add adds an entry that is in no set.
func (s *Set[V]) Add(e *Entry[V]) {
	s.added++
	e.number, e.place = s.added, len(s.waiting)
	s.waiting = append(s.waiting, e)
}

// Remove takes out an entry. It does nothing where it is in no set.
func (s *Set[V]) Remove(e *Entry[V]) {
	switch {
	case e.number == 0:
		return
	case e.place == inTree:
		must(s.tree.Delete(e.bounds()))
		s.planted--
	default:
		n := len(s.waiting) - 1
		last := s.waiting[n]
		s.waiting[e.place], last.place = last, e.place
		s.waiting[n] = nil
		s.waiting = s.waiting[:n]
	}
	e.number = 0
}

// RemoveFunc takes out all entries for which remove returns true.
func (s *Set[V]) RemoveFunc(remove func(V) bool) {
	found := slices.Clone(s.waiting)
	if s.planted > 0 {
		planted, _ := s.tree.AllIntersections(bound{}, bound{math.MaxUint64, math.MaxUint64})
		found = append(found, planted...)
	}
	for _, e := range found {
		if remove(e.Value) {
			s.Remove(e)
		}
	}
}

// Overlapping returns the entries that share a byte with [lo, hi), in the order in
// which they were added. The slice is valid until the next question; entries may
// be added and removed before that.
func (s *Set[V]) Overlapping(lo, hi uint64) []*Entry[V] {
	if lo >= hi || s.Len() == 0 {
		return nil
	}
	return s.ask(bound{lo, 1}, bound{hi, 0}, func(e *Entry[V]) bool { return max(e.Lo, lo) < min(e.Hi, hi) })
}

// Starting returns the entries that begin at an address, as Overlapping does.
func (s *Set[V]) Starting(lo uint64) []*Entry[V] {
	return s.ask(bound{lo, 1}, bound{lo, math.MaxUint64}, func(e *Entry[V]) bool { return e.Lo == lo })
}

// ask returns the entries that are asked for. In the tree all of these lie between
// start and end.
func (s *Set[V]) ask(start, end bound, asked func(*Entry[V]) bool) []*Entry[V] {
	if n := len(s.waiting); n > maxWaiting {
		if s.looked += n; s.looked > plantCost*n {
			s.plant()
		}
	}
	clear(s.found)
	s.found = s.found[:0]
	for _, e := range s.waiting {
		if asked(e) {
			s.found = append(s.found, e)
		}
	}
	if s.planted > 0 {
		planted, _ := s.tree.AllIntersections(start, end)
		for _, e := range planted {
			if asked(e) {
				s.found = append(s.found, e)
			}
		}
	}
	if len(s.found) > 1 {
		slices.SortFunc(s.found, func(a, b *Entry[V]) int { return cmp.Compare(a.number, b.number) })
	}
	return s.found
}

// plant puts the entries that wait into the tree.
func (s *Set[V]) plant() {
	if s.tree == nil {
		s.tree = interval.NewSearchTree[*Entry[V]](compareBounds)
	}
	for _, e := range s.waiting {
		start, end := e.bounds()
		must(s.tree.Insert(start, end, e))
		e.place = inTree
	}
	s.planted += len(s.waiting)
	clear(s.waiting)
	s.waiting, s.looked = s.waiting[:0], 0
}

// must panics where the tree refuses a range because it ends before it starts,
// which none does.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
