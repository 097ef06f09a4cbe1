package core

import (
	"slices"
	"sort"

	"github.com/mcchk/mcchk/regions"
)

// Words and strands: what a word knows of the updates of a strand that are not placed yet, and of
// the versions that it has seen.

// sighting is a moment from which on a strand knew that a version had been there.
type sighting struct {
	at      regions.Point
	version *version
}

// visitor is what a word knows of a strand.
type visitor struct {
	strand *Strand
	queue  []*WordOp    // its updates that are not placed yet, in the order of issue
	turns  int          // how many there were
	seen   [][]sighting // of each line at which something was seen, in order, each of a later version
	waited int          // the number of the last version that it waited for
	peers  *peers       // its last updates, if nothing puts them in order
	latest []*WordOp    // its last update by each operation (WordOp.Does)
	open   []openVersions
}

// push adds an update to those that are not placed.
func (v *visitor) push(op *WordOp) {
	v.turns++
	op.turn = v.turns
	v.queue = append(v.queue, op)
}

// drop takes updates off those that are not placed: they write nothing, or nobody will know.
func (v *visitor) drop(which func(*WordOp) bool) {
	kept := v.queue[:0]
	for _, op := range v.queue {
		if which(op) {
			op.update = nil
		} else {
			kept = append(kept, op)
		}
	}
	clear(v.queue[len(kept):])
	v.queue = kept
	v.number()
}

// number gives those that are not placed their turns.
func (v *visitor) number() {
	for i, op := range v.queue {
		op.turn = v.turns - len(v.queue) + 1 + i
	}
}

// known returns the last version that a strand knows the visitor to have seen; nil:
// none.
func (v *visitor) known(by *Strand) (last *version) {
	for _, seen := range v.seen { // threads need not know of what others of their process have seen
		n := sort.Search(len(seen), func(i int) bool { return !by.Knows(seen[i].at) })
		if n > 0 && (last == nil || seen[n-1].version.number > last.number) {
			last = seen[n-1].version
		}
	}
	return last
}

// effective returns the last of the visitor's updates that are not placed which took
// effect before whatever a strand issues now, or, look, before it reads its own memory; nil:
// none. Those of one process take effect in the order in which it issued them.
func (v *visitor) effective(by *Strand, look bool) *WordOp {
	n := len(v.queue)
	switch {
	case v.strand == by && !look:
	case v.strand == by, v.strand.team != nil:
		for n > 0 && !v.queue[n-1].effectiveFor(by, look) {
			n--
		}
	default:
		n = sort.Search(n, func(i int) bool { return !v.queue[i].complete || !by.Knows(v.queue[i].completed) })
	}
	if n == 0 {
		return nil
	}
	return v.queue[n-1]
}

// effectiveFor reports whether the update of a process with threads took effect before
// whatever a strand issues now, or will take effect before that.
func (op *WordOp) effectiveFor(by *Strand, look bool) bool {
	there := !look || op.found.Known
	if there && op.strand.Process == by.Process && (op.strand == by || op.from != op.word.m.index || by.Knows(op.issuedAt)) {
		return true
	}
	return op.completeFor(by)
}

// completeFor reports whether a strand knows that the update is complete.
func (op *WordOp) completeFor(by *Strand) bool {
	return op.complete && (by.Knows(op.completed) || slices.ContainsFunc(op.also, by.Knows))
}

// saw notes that the visitor knew of a version at a moment.
func (v *visitor) saw(at regions.Point, x *version) {
	i := slices.IndexFunc(v.seen, func(seen []sighting) bool { return seen[0].at.Line == at.Line })
	if i < 0 {
		v.seen = append(v.seen, []sighting{{at, x}})
		return
	}
	seen := v.seen[i]
	n := len(seen)
	for n > 0 && seen[n-1].at.Pos > at.Pos {
		n--
	}
	if n > 0 && seen[n-1].version.number >= x.number {
		return
	}
	behind := n // what was known later, and is no more
	for behind < len(seen) && seen[behind].version.number <= x.number {
		behind++
	}
	v.seen[i] = slices.Replace(seen, n, behind, sighting{at, x})
}
