package regions

import (
	"slices"
	"sort"
)

// access fills in access i of a moment, but for the calls that made and
// completed it.
func (r *Region) access(m *moment, i uint64, a *Access) {
	*a = r.shapes[m.shape].access
	a.Base = m.base
	a.Start, a.End = m.startOf(i, a.Start.Line), m.endOf(i)
	if a.Start.Seg == Earlier {
		a.Bounds = r.began[firstEarlier-m.startSeg]
	} else {
		a.Bounds = r.Segment(a.Start).Bounds
	}
}

// accessWithCalls returns access i of a moment.
func (r *Region) accessWithCalls(m *moment, i uint64) *Access {
	a := &Access{}
	r.fullAccess(m, i, a)
	return a
}

// fullAccess fills in access i of a moment, with its calls.
func (r *Region) fullAccess(m *moment, i uint64, a *Access) {
	r.access(m, i, a)
	call := *a.Call
	call.Pos = m.start + i*m.step
	a.Call = &call
	if m.by == instantaneous {
		return
	}
	if m.by&spanned != 0 {
		a.Span = r.spans[m.by&^spanned]
		return
	}
	a.Span = &Completion{Beside: r.shapes[m.shape].access.Span.Beside}
	if m.by != nobody {
		a.Span.By = &CallInfo{CallSite: r.enders[m.by], Pos: a.End.Pos}
	}
}

// Series is accesses of calls to the memory of one process that differ only in
// time, in program order of their start and of their completion.
type Series struct {
	region  *Region
	like    Access
	moments []moment
	before  []int // accesses of the moments before each
	n       int
	near    [2]int // moments where Concurrent looked last: the next time it looks there first
}

// Len returns the number of accesses.
func (s *Series) Len() int { return s.n }

// Like returns an access that differs from those of the series in time only.
func (s *Series) Like() *Access { return &s.like }

// Old reports whether the accesses were in the phase before as well.
func (s *Series) Old() bool { return s.like.Old }

// EndLine returns the line at whose moments the accesses end.
func (s *Series) EndLine() int32 { return s.moments[0].endLine }

func (s *Series) at(i int) (*moment, uint64) {
	k, ok := slices.BinarySearch(s.before, i)
	if !ok {
		k--
	}
	return &s.moments[k], uint64(i - s.before[k])
}

// Access returns access i.
func (s *Series) Access(i int) *Access {
	m, k := s.at(i)
	a := s.region.accessWithCalls(m, k)
	a.Old = s.like.Old
	return a
}

// Concurrent returns the accesses from index from on that nothing orders with a,
// as a range of indices; it is empty when both are equal.
func (s *Series) Concurrent(a *Access, from int) (lo, hi int) {
	r, line := s.region, s.Like().Start.Line
	lo = s.first(&s.near[0], from, func(m *moment, i uint64) bool { return r.mayOutlast(m.endOf(i), a) })
	hi = s.first(&s.near[1], lo, func(m *moment, i uint64) bool {
		return r.over(a, m.startOf(i, line))
	})
	return lo, hi
}

// first returns the first access from index from on that is behind, which all
// after it are then too. near is a moment to look at first, and becomes the one
// that was found.
func (s *Series) first(near *int, from int, behind func(m *moment, i uint64) bool) int {
	k := searchFrom(*near, len(s.moments), func(k int) bool { return behind(&s.moments[k], uint64(s.moments[k].count)-1) })
	*near = k
	if k == len(s.moments) {
		return s.n
	}
	m := &s.moments[k]
	if m.count == 1 {
		return max(from, s.before[k])
	}
	return max(from, s.before[k]+sort.Search(int(m.count)-1, func(i int) bool { return behind(m, uint64(i)) }))
}

// searchFrom is sort.Search, and takes a time that grows with the logarithm of the
// distance between what it finds and near.
func searchFrom(near, n int, is func(int) bool) int {
	lo, hi := near, near // it is of all from hi on, and of none below lo
	if near < n && !is(near) {
		lo, hi = near+1, near+1
		for step := 1; hi < n && !is(hi); step *= 2 {
			lo, hi = hi+1, min(n, hi+step)
		}
	} else {
		for step := 1; lo > 0 && is(lo-1); step *= 2 {
			hi, lo = lo-1, max(0, lo-1-step)
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return is(lo + i) })
}

// fewTogether is how many accesses at equal distances Each visits one by one: any two are such.
const fewTogether = 16

// Each visits when accesses start and end; of many that follow one another at equal distances, when the
// first does and the last.
func (s *Series) Each(visit func(start, end Point, many bool)) {
	line := s.like.Start.Line
	for i := range s.moments {
		m := &s.moments[i]
		n := uint64(m.count)
		if n > fewTogether {
			visit(m.startOf(0, line), m.endOf(n-1), true)
			continue
		}
		for k := range n {
			visit(m.startOf(k, line), m.endOf(k), false)
		}
	}
}

// Times fills in when access i starts and ends.
func (s *Series) Times(i int, a *Access) {
	m, k := s.at(i)
	a.Start, a.End = m.startOf(k, s.Like().Start.Line), m.endOf(k)
}

// Series returns the accesses of calls to the memory of a process that are not
// among Calls and touch the slice. They stay valid until the next use of s. The error
// is that of reading what did not fit into memory.
func (r *Region) Series(owner int32, slice Slice, s *Scratch) ([]Series, error) {
	s.series = s.series[:0]
	if len(r.moments[owner].chunks) == 0 {
		return nil, nil
	}
	s.sorter.begin()
	s.seriesOf = s.seriesOf[:0]
	err := r.each(owner, slice, s, func(m *moment, old bool) { // find the series of each, and count
		s.seriesOf = append(s.seriesOf, s.sorter.sort(m, old))
	})
	if err != nil {
		return nil, err
	}
	n := len(s.seriesOf)
	s.moments, s.before = slices.Grow(s.moments[:0], n)[:n], slices.Grow(s.before[:0], n)[:n]
	at := 0
	for i := range s.sorter.lines {
		l := &s.sorter.lines[i]
		s.series = append(s.series, Series{
			region: r, like: r.shapes[l.last.shape].access,
			moments: s.moments[at : at : at+l.moments], before: s.before[at : at : at+l.moments],
		})
		like := &s.series[i].like
		like.Base, like.Old = l.last.base, l.old
		at += l.moments
	}
	next := 0
	err = r.each(owner, slice, s, func(m *moment, _ bool) {
		t := &s.series[s.seriesOf[next]]
		t.moments, t.before = append(t.moments, *m), append(t.before, t.n)
		t.n += int(m.count)
		next++
	})
	return s.series, err
}

// seriesSorter finds out which moments belong to one series: those of one shape and
// address, as long as they are in order.
type seriesSorter struct {
	lines []seriesLine
	table []int32 // of lines by shape and address, from 1; 0: none. Its length is a power of two
	bits  int     // of its length
}

// seriesLine is a series as far as it was read.
type seriesLine struct {
	last    moment
	old     bool
	moments int
	next    int32 // another one with the same place in the table, from 1; or 0
}

func (x *seriesSorter) begin() {
	if x.bits == 0 || x.bits > 8 {
		x.bits = 4
		x.table = make([]int32, 1<<x.bits)
	} else {
		clear(x.table)
	}
	x.lines = x.lines[:0]
}

func (x *seriesSorter) place(shape uint32, base uint64) *int32 {
	return &x.table[hash(base^uint64(shape)<<44)>>(64-x.bits)]
}

// sort adds a moment to a series, and returns its number.
func (x *seriesSorter) sort(m *moment, old bool) int32 {
	at := x.place(m.shape, m.base)
	for i := *at; i > 0; i = x.lines[i-1].next {
		if l := &x.lines[i-1]; l.last.base == m.base && l.last.shape == m.shape && l.old == old && l.last.precedes(m) {
			l.last = *m
			l.moments++
			return i - 1
		}
	}
	if len(x.lines) == len(x.table) {
		x.grow()
		at = x.place(m.shape, m.base)
	}
	x.lines = append(x.lines, seriesLine{last: *m, old: old, moments: 1, next: *at})
	*at = int32(len(x.lines))
	return *at - 1
}

func (x *seriesSorter) grow() {
	x.bits++
	x.table = make([]int32, 1<<x.bits)
	for i := range x.lines {
		l := &x.lines[i]
		at := x.place(l.last.shape, l.last.base)
		l.next, *at = *at, int32(i+1)
	}
}

// each visits the moments of accesses to the memory of a process that touch a slice,
// those in a file included, with whether they were in the phase before as well.
func (r *Region) each(owner int32, slice Slice, s *Scratch, visit func(m *moment, old bool)) error {
	all := &r.moments[owner]
	for i := range all.chunks {
		c := &all.chunks[i]
		list := c.moments
		if c.stored != nil {
			if err := r.spill.readMoments(c.stored, slice, s); err != nil {
				return err
			}
			list = s.chunk
		}
		for k := range list {
			m := &list[k]
			if slice.Whole() || slice.Touches(r.shapes[m.shape].access.Layout.Bounds(m.base)) {
				visit(m, c.old)
			}
		}
	}
	return nil
}

// EachCall visits what calls access, one by one: Calls, and those of all series, but
// for what is carried. An access of a series is valid until the next one is visited.
// The error is that of reading what did not fit into memory.
func (r *Region) EachCall(s *Scratch, visit func(*Access)) error {
	for _, a := range r.Calls {
		visit(a)
	}
	var room Access
	for owner := range r.moments {
		err := r.each(int32(owner), Slice{}, s, func(m *moment, old bool) {
			for i := range uint64(m.count) {
				r.fullAccess(m, i, &room)
				room.Old = old
				visit(&room)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AllCalls returns what EachCall visits.
func (r *Region) AllCalls(s *Scratch) ([]*Access, error) {
	if r.settled+r.given == 0 {
		return r.Calls, nil
	}
	all := make([]*Access, 0, len(r.Calls)+r.settled+r.given)
	err := r.EachCall(s, func(a *Access) {
		if len(all) >= len(r.Calls) {
			b := *a
			a = &b
		}
		all = append(all, a)
	})
	return all, err
}

// CallCount returns the number of accesses of calls, all that are carried included.
func (r *Region) CallCount() int { return len(r.Calls) + r.settled + r.carried }
