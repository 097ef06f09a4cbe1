package explain

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
)

// Sides returns the two accesses of a finding in the order in which a report
// speaks of them: where one uses the buffer of the other, the one that uses it
// first, because that is the line to change.
func Sides(f *conflicts.Finding) (lead, other *conflicts.Side) {
	lead, other = &f.First, &f.Second
	if f.Class == conflicts.Usage {
		return lead, other
	}
	if holds(lead) && !holds(other) {
		lead, other = other, lead
	}
	return lead, other
}

// holds reports whether an access keeps the buffer of a call from other use.
func holds(s *conflicts.Side) bool { return s.Class.Buffer() && s.Pending }

// Message says in one line what the finding is, without places.
func (w *Wording) Message() string {
	f := w.Finding
	lead, other := Sides(f)
	switch {
	case f.Rule == conflicts.RuleMemoryGone:
		return w.lost()
	case f.Class == conflicts.Usage:
		return w.model.Message(w)
	case lead.Rank != other.Rank || !holds(other):
	case oneCall(lead, other) && part(lead) == part(other):
		return fmt.Sprintf("parts of the %s of %s overlap", part(lead), lead.Call)
	case oneCall(lead, other):
		return fmt.Sprintf("%s and %s of %s overlap", part(lead), part(other), lead.Call)
	case holds(lead) && lead.Call == other.Call:
		return fmt.Sprintf("%s and another %s use the same buffer before the first completes", lead.Call, other.Call)
	case holds(lead):
		return fmt.Sprintf("%s and %s use the same buffer before the first completes", lead.Call, other.Call)
	default:
		return fmt.Sprintf("%s the %s of %s before it completes", touches(lead), other.Role, other.Call)
	}
	switch f.Rule {
	case conflicts.RuleSameOrigin:
		return w.Conflict(" before the first completes")
	case conflicts.RuleAtomicType:
		return w.Conflict(typesOf(lead, other))
	case conflicts.RuleAtomicOp:
		return w.Conflict(" with different operations")
	case conflicts.RuleLockOrder:
		return w.Conflict(" if locks are granted in another order")
	}
	if own := w.model.Message(w); own != "" {
		return own
	}
	return w.Conflict(", and nothing orders them")
}

// Conflict says which accesses conflict where, and how.
func (w *Wording) Conflict(how string) string {
	lead, other := Sides(w.Finding)
	if lead.Rank == other.Rank && w.who(lead) == w.who(other) {
		return fmt.Sprintf("%s and %s, both by %s, conflict in %s%s", What(w.model, lead), What(w.model, other), w.who(lead), w.Where(), how)
	}
	return fmt.Sprintf("%s and %s conflict in %s%s", w.By(lead), w.By(other), w.Where(), how)
}

// Where names the memory that the finding is about.
func (w *Wording) Where() string {
	kind := "memory"
	if w.Finding.Window != 0 {
		kind = w.model.Terms().Object
	}
	return fmt.Sprintf("the %s of %s", kind, w.rank(w.Finding.Owner))
}

// By names an access and its process: "MPI_Put by rank 1".
func (w *Wording) By(s *conflicts.Side) string { return What(w.model, s) + " by " + w.who(s) }

// typesOf says in what the elements of two atomic accesses do not agree.
func typesOf(a, b *conflicts.Side) string {
	switch {
	case a.Type == "" || b.Type == "":
		return " with different datatypes or partly overlapping elements"
	case a.Type == b.Type:
		return " with elements that partly overlap"
	}
	return " with datatypes " + a.Type + " and " + b.Type
}

// lost says that memory was given up that an operation uses.
func (w *Wording) lost() string {
	a, b := &w.Finding.First, &w.Finding.Second
	memory := "the target memory of "
	switch {
	case a.Class.Buffer():
		memory = "" // what names it
	case a.Call == "":
		memory = "memory of the "
	}
	return fmt.Sprintf("%s%s %s", memory, w.By(a), w.goes(a, b))
}

// goes says how memory goes.
func (w *Wording) goes(a, b *conflicts.Side) string {
	gone := "freed"
	if b.Class == regions.Withdrawn {
		gone = "detached"
	}
	switch {
	case w.copied(a, b):
		return "is a copy that the compiler made for the call, freed before the operation completes"
	case w.model.OutOfScope(b):
		return "goes out of scope before the operation completes"
	case a.Rank == b.Rank && a.Pending:
		return fmt.Sprintf("is %s before the operation completes", gone)
	case a.Pending:
		return fmt.Sprintf("is %s by %s, and nothing orders the two", gone, w.who(b))
	}
	return fmt.Sprintf("was freed by %s", w.who(b))
}

// touches says what an access does to a buffer: "load from", "MPI_Put writes".
func touches(s *conflicts.Side) string {
	switch {
	case s.Class.Gone():
		return s.Call + " gives up"
	case s.Call == "" && s.Write:
		return s.Role + " to"
	case s.Call == "":
		return s.Role + " from"
	case s.Write:
		return s.Call + " writes"
	}
	return s.Call + " reads"
}

// What names an access: "load", "MPI_Put", "the send buffer of MPI_Send",
// "MPI_Accumulate (MPI_SUM, MPI_INT)".
func What(v Vocabulary, s *conflicts.Side) string {
	switch {
	case v.OutOfScope(s):
		return "the return of the function"
	case s.Call == "":
		return s.Role
	case s.Class.Buffer():
		return "the " + s.Role + " of " + s.Call
	case s.Op != "" && s.Type != "":
		return s.Call + " (" + s.Op + ", " + s.Type + ")"
	}
	return s.Call
}

// Who names the process of an access, and its thread unless that is the main one.
func (t Terms) Who(s *conflicts.Side) string {
	if s.Thread != 0 {
		return fmt.Sprintf("%s (thread %d)", t.Number(s.Rank), s.Thread)
	}
	return t.Number(s.Rank)
}

// who is Terms.Who.
func (w *Wording) who(s *conflicts.Side) string {
	return w.model.Terms().Who(s)
}
