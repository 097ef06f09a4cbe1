package analysis

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
)

// explain says in one sentence why nothing orders the accesses of a finding,
// and in another what would.
func explain(f *conflicts.Finding) (why, mend string) {
	a, b := &f.First, &f.Second
	switch f.Rule {
	case conflicts.RuleMemoryGone:
		return explainGone(a, b)
	case conflicts.RuleAtomicType:
		return fmt.Sprintf("atomic operations on shared bytes are only defined for the same basic type at the same address; these use %s and %s",
				elements(a), elements(b)),
			"use one datatype for all atomic operations on these bytes, or order the two with a synchronization"
	case conflicts.RuleAtomicOp:
		return fmt.Sprintf("MPI promises atomicity only for the same operation or MPI_NO_OP; these are %s and %s", a.Op, b.Op),
			"use the same operation, order the two with a synchronization, or check that the MPI library in use supports the mix"
	}
	if f.Rule == conflicts.RuleCopies || f.Rule == conflicts.RuleCopyUpdates {
		return explainCopies(f)
	}
	if f.Class == conflicts.WithinEpoch {
		return explainWithin(a, b)
	}
	return explainAcross(a, b)
}

func elements(s *conflicts.Side) string {
	if s.Type == "" {
		return "a type of several basic types"
	}
	return s.Type
}

// explainWithin: both accesses are by one process, and one spans the other.
func explainWithin(a, b *conflicts.Side) (why, mend string) {
	span, other := a, b
	if !span.Pending {
		span, other = b, a
	}
	name := subject(span)
	if span.Done.Call == "" {
		return fmt.Sprintf("no call completes %s, so that %s may touch the bytes at the same time", name, subject(other)),
			fmt.Sprintf("complete %s (flush, unlock, fence, complete or wait) before %s", name, subject(other))
	}
	return fmt.Sprintf("%s is complete only after %s%s; until then %s may touch the bytes at the same time",
			name, span.Done.Call, at(span.Done), subject(other)),
		fmt.Sprintf("move %s after %s%s, complete %s earlier, or use other memory", subject(other), span.Done.Call, at(span.Done), name)
}

// explainAcross: the accesses are by two processes.
func explainAcross(a, b *conflicts.Side) (why, mend string) {
	if a.Pending && a.Done.Call == "" || b.Pending && b.Done.Call == "" {
		span := a
		if !(a.Pending && a.Done.Call == "") {
			span = b
		}
		return fmt.Sprintf("no call completes %s of rank %d in the recorded run, so nothing can come after it", subject(span), span.Rank),
			"complete it, then synchronize the two processes"
	}
	why = fmt.Sprintf("%s; %s; no message, barrier or fence puts the one before the other", extent(a), extent(b))
	switch {
	case isLock(a.Epoch) && isLock(b.Epoch):
		why += ", and shared locks do not exclude each other"
		mend = "let one process synchronize with the other between the two accesses (message or barrier after the unlock or flush), or lock exclusively in both"
	case isLock(a.Epoch) || isLock(b.Epoch):
		mend = "access the memory under a lock that excludes the other, or synchronize the two processes (message or barrier) after the unlock or flush"
	default:
		mend = "put a synchronization of the two processes (fence, post–wait, or completion and then a message or barrier) between the two accesses"
	}
	return why, mend
}

func isLock(epoch string) bool {
	return epoch == "lock (shared)" || epoch == "lock (exclusive)" || epoch == "lock_all"
}

// extent says from when until when an access may touch memory.
func extent(s *conflicts.Side) string {
	name := fmt.Sprintf("%s of rank %d", subject(s), s.Rank)
	switch {
	case s.Pending:
		return fmt.Sprintf("%s may access the bytes until %s%s", name, s.Done.Call, at(s.Done))
	case s.Started.Call != "" && s.Done.Call != "":
		return fmt.Sprintf("%s lies between %s%s and %s%s", name, s.Started.Call, at(s.Started), s.Done.Call, at(s.Done))
	case s.Done.Call != "":
		return fmt.Sprintf("%s lies before %s%s", name, s.Done.Call, at(s.Done))
	case s.Started.Call != "":
		return fmt.Sprintf("%s lies after %s%s", name, s.Started.Call, at(s.Started))
	}
	return name + " has no synchronization around it"
}

// subject names an access: "the load at line 12", "MPI_Put at line 9".
func subject(s *conflicts.Side) string {
	name := s.Call
	if name == "" {
		name = "the " + s.Role
	}
	if n := line(s.Stack); n > 0 {
		name += fmt.Sprintf(" at line %d", n)
	}
	return name
}

func at(p conflicts.SyncPoint) string {
	if n := line(p.Stack); n > 0 {
		return fmt.Sprintf(" at line %d", n)
	}
	return ""
}
