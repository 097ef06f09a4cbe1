package values

import (
	"math/bits"
	"slices"
)

// word is a place that processes update and read as a whole.
type word struct {
	ops []*op
}

// value is what a word holds.
type value struct {
	bits  int64
	known bool
}

// op is an operation on a word.
type op struct {
	by     *event
	update func(value) value // nil: it writes nothing
	exact  bool              // what it found is known
	silent bool              // to the trace only: the process learns nothing
	look   bool              // a read of the process's own memory
	found  int64
	meets  func(int64) bool // a wait: the first value that meets it
	behind *op              // and that was there after this one found what it did
	done   []int            // points of which each shows that the update has taken effect
	stream string           // those of one process and stream take effect in order
	own    *access          // nil: none, or one that is complete
	chain  []link           // complete where the update is seen

	adds bool // a signal that adds

	certain, possible uint64    // the updates that it comes after
	issued            uint64    // those of which the issue comes before it in any case
	shown             []*access // what is complete where it is over, in any case
}

// link is an access that is complete where an update is seen: one of its own, or
// (by) what a fence has put before it.
type link struct {
	*access
	by     *access // to the target, of the same operation
	issued bool    // it has to be issued before the update is
}

// holds reports whether that is so.
func (l link) holds(o order, x *op, first bool) bool {
	if l.issued && !o.before(l.start, x.by.enter()) {
		return false
	}
	return l.by == nil || l.by.before(o, x.by.enter(), first)
}

// before reports whether a fence puts an access before a moment of the same context;
// first: the first that does, of those of several strands that do so beside each other.
func (a *access) before(o order, at int, first bool) bool {
	for _, f := range a.fences {
		switch {
		case !o.before(a.start, 2*f):
		case o.before(2*f+1, at):
			return true
		case first:
			return false
		}
	}
	return false
}

// fencedBeside reports whether fences of several strands concern an access beside each
// other.
func (a *access) fencedBeside(o order) bool {
	first := -1
	for _, f := range a.fences {
		switch {
		case !o.before(a.start, 2*f):
		case first < 0:
			first = f
		case !o.before(2*first+1, 2*f):
			return true
		}
	}
	return false
}

func (x *op) reads() bool { return x.exact && !x.silent || x.meets != nil }

// returned reports whether it is an operation that has told its process what it found, and so has
// taken effect.
func (x *op) returned() bool { return x.exact && !x.silent && !x.look && x.by.fn != "" }

// most is of how many operations on one word all orders are tried.
const most, tries = 10, 20_000

// explain finds for all reads of a word what they come after, where the order of points
// is known; false: there are too many ways, or none.
func (w *word) explain(o order) bool {
	n := len(w.ops)
	if n > most {
		return false
	}
	before := make([]uint32, n) // what takes effect first
	for i, x := range w.ops {
		for j, y := range w.ops {
			if i != j && w.first(o, y, x) {
				before[i] |= 1 << j
			}
		}
	}
	for _, x := range w.ops {
		x.certain, x.possible, x.issued, x.shown = ^uint64(0), 0, ^uint64(0), nil
	}
	s := search{w: w, before: before, seen: make([]uint64, n), left: tries, issued: make([]uint64, n), shows: make([]uint64, n), shown: make([]uint64, n)}
	if !s.follows(o) {
		return false
	}
	s.from(0, 0, 0, value{known: true})
	for i, x := range w.ops {
		for k, a := range s.accesses {
			if x.reads() && s.shown[i]>>k&1 != 0 {
				x.shown = append(x.shown, a)
			}
		}
	}
	return s.found && s.left > 0
}

// follows finds what follows for those who see each update: which updates were issued, and
// what is complete. It reports whether there is room for that.
func (s *search) follows(o order) bool {
	for i, x := range s.w.ops {
		s.shown[i] = ^uint64(0)
		for k, y := range s.w.ops {
			if y.update != nil && o.before(y.by.enter(), x.by.enter()) {
				s.issued[i] |= 1 << k
			}
		}
		if x.by.fn == "" {
			continue
		}
		for _, l := range x.links() {
			if !l.holds(o, x, true) {
				continue
			}
			k := slices.Index(s.accesses, l.access)
			if k < 0 {
				k = len(s.accesses)
				s.accesses = append(s.accesses, l.access)
			}
			s.shows[i] |= 1 << k
		}
	}
	return len(s.accesses) <= 64
}

// links are the accesses that are complete where the update is seen.
func (x *op) links() []link {
	if x.own == nil {
		return x.chain
	}
	return append(slices.Clone(x.chain), link{access: x.own})
}

// all returns what follows from any of some updates.
func all(of []uint64, updates uint64) (union uint64) {
	for i, x := range of {
		if updates>>i&1 != 0 {
			union |= x
		}
	}
	return union
}

// first reports whether y takes effect before x for certain.
func (w *word) first(o order, y, x *op) bool {
	sent := x.look && y.update != nil && !y.exact // and perhaps not there yet
	if x.adds && y.adds && x.by.pe == y.by.pe && x.by.strand == y.by.strand && x.own.lane == y.own.lane && !y.own.before(o, x.by.enter(), false) {
		sent = true // nor before what is sent later
	}
	if x.behind == y || !sent && x.by.pe == y.by.pe && x.stream == y.stream && o.before(y.by.leave(), x.by.enter()) {
		return true
	}
	for _, d := range y.done {
		if o.before(y.by.enter(), d) && o.before(d, x.by.enter()) {
			return true
		}
	}
	return false
}

type search struct {
	w      *word
	before []uint32
	seen   []uint64 // of each read on the way
	left   int
	found  bool

	issued   []uint64  // by update: those of which whoever sees it comes after the issue
	shows    []uint64  // by update: what is complete
	shown    []uint64  // by read: that, on every way
	accesses []*access // the bits of these
}

// from goes on from what has taken effect, and which updates of that were; late are waits
// that are not called before what meets them is gone.
func (s *search) from(taken, late uint32, updates uint64, v value) {
	if s.left == 0 {
		return
	}
	s.left--
	ops := s.w.ops
	if bits.OnesCount32(taken) == len(ops) {
		s.found = true
		for i, x := range ops {
			if x.reads() {
				x.certain &= s.seen[i]
				x.possible |= s.seen[i]
				x.issued &= all(s.issued, s.seen[i])
				shown := all(s.shows, s.seen[i])
				if x.returned() { // what fences have put before it too
					shown |= s.shows[i]
				}
				s.shown[i] &= shown
			}
		}
		return
	}
	free := func(i int) bool { return taken>>i&1 == 0 && s.before[i]&^taken == 0 }
	for i, x := range ops { // waits are over as soon as they can be
		switch {
		case !free(i) || x.meets == nil || !v.known:
		case !x.meets(v.bits):
			late &^= 1 << i
		case late>>i&1 == 0:
			s.seen[i] = updates
			s.from(taken|1<<i, late, updates, v)
			if s.mayBeLate(i, taken) {
				s.from(taken, late|1<<i, updates, v)
			}
			return
		}
	}
	for i, x := range ops {
		if !free(i) {
			continue
		}
		after, with := v, updates
		switch {
		case x.meets != nil:
			if v.known {
				continue
			}
		case x.exact:
			if v.known && v.bits != x.found {
				continue
			}
			after = value{x.found, true}
		}
		s.seen[i] = updates
		if x.update != nil {
			after = x.update(after)
			with |= 1 << i
		}
		s.from(taken|1<<i, late, with, after)
	}
}

// mayBeLate reports whether a wait may have been called only when what meets it was gone
// again, which a strand that does not know of the wait takes away.
func (s *search) mayBeLate(wait int, taken uint32) bool {
	x := s.w.ops[wait]
	if x.behind != nil { // what was there when it was called is known
		return false
	}
	for i, y := range s.w.ops {
		if taken>>i&1 == 0 && s.before[i]>>wait&1 == 0 && y.exact && y.update != nil {
			if v := y.update(value{y.found, true}); v.known && !x.meets(v.bits) {
				return true
			}
		}
	}
	return false
}
