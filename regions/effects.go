package regions

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Effects says in which order updates of a word took effect, and who has seen how many of them from
// when on: whatever comes after that comes after these updates at the word. What was there at first
// counts as update 0, which all have seen. It serves one search at a time.
type Effects struct {
	updates []tookEffect
	seen    []sawEffects
	sorted  bool
}

// tookEffect is an update, by the event that issued it.
type tookEffect struct {
	line   int32 // the strand; for one from before the region: the first of its process
	pos    uint64
	number int
}

type sawEffects struct {
	at     Point
	number int
}

// NewEffects returns Effects with room for so many updates and moments.
func NewEffects(updates, seen int) *Effects {
	return &Effects{updates: make([]tookEffect, 0, updates), seen: make([]sawEffects, 0, seen)}
}

// Took adds an update that took effect as number n, issued by a line at event pos of its process.
func (e *Effects) Took(line int32, pos uint64, n int) {
	e.updates = append(e.updates, tookEffect{line, pos, n})
}

// Saw adds that whatever comes after a moment comes after updates 0 to n.
func (e *Effects) Saw(at Point, n int) { e.seen = append(e.seen, sawEffects{at, n}) }

func (e *Effects) sort() {
	if e.sorted {
		return
	}
	e.sorted = true
	slices.SortStableFunc(e.updates, func(a, b tookEffect) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.pos, b.pos)) })
	slices.SortStableFunc(e.seen, func(a, b sawEffects) int {
		return cmp.Or(cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Pos, b.at.Pos))
	})
	for i := 1; i < len(e.seen); i++ {
		if before := e.seen[i-1]; before.at.Line == e.seen[i].at.Line {
			e.seen[i].number = max(e.seen[i].number, before.number)
		}
	}
}

// seenBy returns the last update that whatever starts at a moment comes after.
func (e *Effects) seenBy(r *Region, at Point) (number int) {
	for rest := e.seen; len(rest) > 0; {
		line := rest[0].at.Line
		n := sort.Search(len(rest), func(i int) bool { return rest[i].at.Line != line })
		if k := sort.Search(n, func(i int) bool { return !r.Before(rest[i].at, at) }); k > 0 {
			number = max(number, rest[k-1].number)
		}
		rest = rest[n:]
	}
	return number
}

// lastSeen returns the event that issued the last of a line's updates that whatever starts at a moment
// comes after; 0: there is none. Those of a line take effect in their order.
func (e *Effects) lastSeen(r *Region, line int32, at Point) uint64 {
	e.sort()
	first := sort.Search(len(e.updates), func(i int) bool { return e.updates[i].line >= line })
	rest := e.updates[first:]
	rest = rest[:sort.Search(len(rest), func(i int) bool { return rest[i].line > line })]
	if len(rest) == 0 {
		return 0
	}
	seen := e.seenBy(r, at)
	n := sort.Search(len(rest), func(i int) bool { return rest[i].number > seen })
	if n == 0 {
		return 0
	}
	return rest[n-1].pos
}

// LastSeen returns the event that issued the last of the updates like a that whatever starts at a moment
// comes after, in all words of a that lie between the bounds of what b accesses; 0: there is none, or
// nothing is known of them.
func (r *Region) LastSeen(a, b *Access, at Point) uint64 {
	if len(r.Effects) == 0 || a.Kind != AtomicWrite {
		return 0
	}
	w, n := a.words()
	if n == 0 {
		return 0
	}
	lo, hi := b.Layout.Bounds(b.Base)
	end := min(hi, w.Addr+n*w.Bytes)
	if lo > w.Addr {
		w.Addr += (lo - w.Addr) / w.Bytes * w.Bytes
	}
	last := uint64(math.MaxUint64)
	for ; w.Addr < end; w.Addr += w.Bytes {
		e := r.Effects[w]
		if e == nil {
			return 0
		}
		last = min(last, e.lastSeen(r, a.Start.Line, at))
	}
	return last
}

// SeenBefore reports whether a is an update of words of which it is known that b starts where it has been
// seen.
func (r *Region) SeenBefore(a, b *Access) bool { return a.Event() <= r.LastSeen(a, b, b.Start) }

// Event returns the number of the event that issued an access.
func (a *Access) Event() uint64 {
	if a.Start.Seg < 0 {
		return a.Call.Pos
	}
	return a.Start.Pos
}
