package regions

import "slices"

// Weak is that a strand has read what an atomic operation of another one's left, which puts it
// behind nothing: one of the two is relaxed (C11, 7.17.3).
type Weak struct {
	From, To Point // when the one had made the operation, and from when on the other had read it
	Wrote    *CallInfo
	Read     *CallInfo
	// RelaxedWrite and RelaxedRead say which of the two is relaxed; at least one is.
	RelaxedWrite, RelaxedRead bool
}

// WeakOrder returns the last operation of the strand of one access, behind that, of which the strand
// of another access had read the value before it made this one, and which orders nothing; nil: there
// is none among those that are noted.
func (r *Region) WeakOrder(first, second *Access) *Weak {
	for _, x := range slices.Backward(r.Weak) {
		if x.From.Line == first.End.Line && x.To.Line == second.Start.Line && r.Before(first.End, x.From) && r.Before(x.To, second.Start) {
			return x
		}
	}
	return nil
}
