package core

import (
	"slices"
)

// Which of the versions of a word that are there an operation may have fetched.

// oldest returns the oldest version that the operation may have fetched; nil where
// updates that it comes after are not placed.
func (op *WordOp) oldest() *version {
	v := op.floor
	for _, x := range op.after {
		switch {
		case x.made != nil && x.made.number > v.number:
			v = x.made
		case x.made == nil && x.update != nil:
			return nil
		}
	}
	return v
}

// find returns a version that an operation that writes nothing may have fetched: of the
// last of those with its value that follow one another, the first; nil: there is none.
func (w *word) find(op *WordOp, how manner) *version {
	oldest := op.oldest()
	if oldest == nil || how.timely && w.overdue(op) {
		return nil
	}
	all := w.versions[max(0, oldest.number-w.versions[0].number):]
	if op.meets != nil {
		if b := op.behind; b != nil && b.saw == nil {
			return nil
		} else if b != nil {
			all = w.after(b.saw.number, w.last())
		}
		return op.first(all, how)
	}
	if how.other || len(all) <= manyReads {
		v, _ := op.lastRun(all, how)
		return v
	}
	if op.looked == nil || op.looked.revised != w.revised {
		op.looked = &looked{revised: w.revised}
	}
	seen := op.looked.of(how)
	fresh := all[min(len(all), max(0, seen.behind-all[0].number)):]
	v, decided := op.lastRun(fresh, how)
	if !decided {
		v = seen.found
	}
	if v != nil && (decided && v == fresh[0] || v.number < all[0].number) { // what follows one another may begin elsewhere
		v, _ = op.lastRun(all, how)
	}
	seen.behind, seen.found = w.last().number+1, v
	return v
}

// lastRun returns, of the last versions that a read may have fetched and that follow one another,
// the first; nil: there are none. It also reports whether versions before these make no
// difference.
func (op *WordOp) lastRun(all []*version, how manner) (found *version, decided bool) {
	for _, v := range slices.Backward(all) {
		switch {
		case v.value == op.found || how.unknown && !v.value.Known:
			found = v
		case found != nil && !how.other:
			return found, true
		}
		if how.timely && v.by != nil && v.by.precedes(op) {
			return found, true
		}
	}
	return found, found != nil
}

// looked is what a read has found among many versions, those before some number: it is not
// looked for there again, unless versions were revised since.
type looked struct {
	revised int
	by      [4]lookedSo
}

// lookedSo is what was found in one manner.
type lookedSo struct {
	behind int
	found  *version
}

// of returns what was found in a manner.
func (l *looked) of(how manner) *lookedSo {
	kind := 0
	if how.unknown {
		kind++
	}
	if how.timely {
		kind += 2
	}
	return &l.by[kind]
}

// hold says what a version's value is.
func (w *word) hold(x *version, v Value) {
	if x.value != v {
		x.value = v
		w.revised++
	}
}

// first returns the first of some versions that ended a wait; nil: none did.
func (op *WordOp) first(all []*version, how manner) *version {
	if how.timely {
		for i, v := range slices.Backward(all) {
			if v.by != nil && v.by.precedes(op) {
				all = all[i:]
				break
			}
		}
	}
	if i := slices.IndexFunc(all, func(v *version) bool { return op.fits(v.value, how) }); i >= 0 {
		return all[i]
	}
	return nil
}

// fits reports whether the operation can have fetched a value.
func (op *WordOp) fits(v Value, how manner) bool {
	switch {
	case !v.Known:
		return how.unknown || op.meets == nil && !(op.found.Known && op.blocked)
	case op.meets != nil:
		return op.meets(v.Bits)
	}
	return !op.found.Known || op.found == v
}

// overdue reports whether an update that is not placed was over before the operation
// began, by the times of their calls.
func (w *word) overdue(op *WordOp) bool {
	return slices.ContainsFunc(w.visitors, func(v *visitor) bool {
		return endOfFirst(v.queue) < op.began
	})
}
