package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/symbols"
)

// sides returns the two accesses of a finding in the order in which a report
// speaks of them: where one uses the buffer of the other, the one that uses it
// first, because that is the line to change.
func sides(f *conflicts.Finding) (lead, other *conflicts.Side) {
	lead, other = &f.First, &f.Second
	if f.Class == conflicts.Usage {
		return lead, other
	}
	if isBuffer(lead) && lead.Pending && !(isBuffer(other) && other.Pending) {
		lead, other = other, lead
	}
	return lead, other
}

func isBuffer(s *conflicts.Side) bool { return s.Call != "" && strings.HasSuffix(s.Role, "buffer") }

// Message says in one line what a finding is, without places.
func Message(f *conflicts.Finding) string {
	if f.Class == conflicts.Usage {
		return usageMessage(f)
	}
	lead, other := sides(f)
	switch {
	case lead.Rank != other.Rank || !isBuffer(other) || !other.Pending:
	case isBuffer(lead) && lead.Pending && lead.Call == other.Call:
		return fmt.Sprintf("%s and another %s use the same buffer before the first completes", lead.Call, other.Call)
	case isBuffer(lead) && lead.Pending:
		return fmt.Sprintf("%s and %s use the same buffer before the first completes", lead.Call, other.Call)
	default:
		return fmt.Sprintf("%s the %s of %s before it completes", touches(lead), other.Role, other.Call)
	}
	where := "the memory of rank " + strconv.Itoa(f.Owner)
	if f.Window != 0 {
		where = "the window of rank " + strconv.Itoa(f.Owner)
	}
	tail := ", and nothing orders them"
	switch f.Rule {
	case conflicts.RuleSameOrigin:
		tail = " before the first completes"
	case conflicts.RuleAtomicType:
		tail = typesOf(lead, other)
	case conflicts.RuleAtomicOp:
		tail = " with different operations"
	case conflicts.RuleCopies:
		tail = " without a call that makes the one visible to the other"
	case conflicts.RuleCopyUpdates:
		return fmt.Sprintf("%s by %s and %s by %s update different places of %s, and no call between them brings its copies together", what(lead), who(lead), what(other), who(other), where)
	case conflicts.RuleLockOrder:
		tail = " if locks are granted in another order"
	}
	if lead.Rank == other.Rank && who(lead) == who(other) {
		return fmt.Sprintf("%s and %s, both by %s, meet in %s%s", what(lead), what(other), who(lead), where, tail)
	}
	return fmt.Sprintf("%s by %s and %s by %s meet in %s%s", what(lead), who(lead), what(other), who(other), where, tail)
}

// typesOf says in what the elements of two atomic accesses do not agree.
func typesOf(a, b *conflicts.Side) string {
	switch {
	case a.Type == "" || b.Type == "":
		return " with different datatypes or partly overlapping elements"
	case a.Type == b.Type:
		return " with elements that overlap only in part"
	}
	return " as " + a.Type + " and as " + b.Type
}

// usageMessage says in one line what a usage error is.
func usageMessage(f *conflicts.Finding) string {
	a, b := &f.First, &f.Second
	call := what(a) + " by " + who(a)
	switch f.Rule {
	case conflicts.RuleOutsideEpoch:
		return call + " stands outside of any epoch in which it may be called"
	case conflicts.RuleOutsideWindow:
		return fmt.Sprintf("%s accesses memory outside of the window of rank %d", call, f.Owner)
	case conflicts.RuleNotOpened:
		return call + " stands without the call that opens its epoch"
	case conflicts.RuleMixedEpochs:
		return call + " overlaps an epoch that is open on the window"
	case conflicts.RuleNeverClosed:
		return "the epoch that " + call + " opens is never closed"
	case conflicts.RuleFreedPending:
		return fmt.Sprintf("%s frees the window while %s is pending", call, b.Call)
	case conflicts.RuleCallOrder:
		return fmt.Sprintf("%s and %s by %s do not match as collective calls", call, b.Call, who(b))
	}
	memory := "the target memory of "
	switch {
	case isBuffer(a):
		memory = "" // what names it
	case a.Call == "":
		memory = "memory of the "
	}
	return fmt.Sprintf("%s%s %s", memory, call, gone(a, b))
}

// gone says how memory goes.
func gone(a, b *conflicts.Side) string {
	switch {
	case b.Role == mpi.OutOfScope.Name:
		return "goes out of scope before the operation completes"
	case a.Rank == b.Rank && a.Pending && b.Role == mpi.Detached.Name:
		return "is detached before the operation completes"
	case a.Rank == b.Rank && a.Pending:
		return "is freed before the operation completes"
	case a.Pending && b.Role == mpi.Detached.Name:
		return fmt.Sprintf("is detached by %s, and nothing orders the two", who(b))
	case a.Pending:
		return fmt.Sprintf("is freed by %s, and nothing orders the two", who(b))
	}
	return fmt.Sprintf("was freed by %s", who(b))
}

// touches says what an access does to a buffer: "load from", "MPI_Put writes".
func touches(s *conflicts.Side) string {
	switch {
	case s.Call == "" && s.Write:
		return s.Role + " to"
	case s.Call == "":
		return s.Role + " from"
	case s.Write:
		return s.Call + " writes"
	}
	return s.Call + " reads"
}

// what names an access: "load", "MPI_Put", "the send buffer of MPI_Send",
// "MPI_Accumulate (MPI_SUM, MPI_INT)".
func what(s *conflicts.Side) string {
	switch {
	case s.Call == "" && s.Role == mpi.OutOfScope.Name:
		return "the return of the function"
	case s.Call == "":
		return s.Role
	case isBuffer(s):
		return "the " + s.Role + " of " + s.Call
	case s.Op != "" && s.Type != "":
		return s.Call + " (" + s.Op + ", " + s.Type + ")"
	}
	return s.Call
}

// second names an access on its own line below the message.
func second(s *conflicts.Side) string {
	if isBuffer(s) {
		return s.Call + " by " + who(s) + " (" + s.Role + ")"
	}
	return what(s) + " by " + who(s)
}

func who(s *conflicts.Side) string {
	if s.Strand != 0 {
		return fmt.Sprintf("rank %d (thread %d)", s.Rank, s.Strand)
	}
	return "rank " + strconv.Itoa(s.Rank)
}

// locks names the locks that protect an access: "a shared lock of rank 1".
func locks(s *conflicts.Side) string {
	var parts []string
	for _, l := range s.Locks {
		kind, target := "a shared lock", fmt.Sprintf(" of rank %d", l.Target)
		if l.Exclusive {
			kind = "an exclusive lock"
		}
		if l.Target < 0 {
			target = " of all ranks"
		}
		parts = append(parts, kind+target)
	}
	return strings.Join(parts, " and ")
}

// Ranks writes ascending ranks short: "0,4-7".
func Ranks(ranks []int) string {
	ranks = slices.Compact(slices.Sorted(slices.Values(ranks)))
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		part := strconv.Itoa(ranks[i])
		if j > i {
			part += "-" + strconv.Itoa(ranks[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// plural writes a count with its noun: "1 window", "2 windows".
func plural[T int | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// place writes a frame's place as editors read it, "file:line"; without a
// source line the function or the module with an offset.
func place(f symbols.Frame, dir string) string {
	switch {
	case f.File != "" && f.Line > 0:
		return relative(f.File, dir) + ":" + strconv.Itoa(f.Line)
	case f.File != "":
		return relative(f.File, dir)
	case f.Func != "" && f.Module != "":
		return fmt.Sprintf("%s (%s+0x%x)", f.Func, filepath.Base(f.Module), f.Offset)
	case f.Func != "":
		return f.Func
	case f.Module != "":
		return fmt.Sprintf("%s+0x%x", filepath.Base(f.Module), f.Offset)
	}
	return "unknown place"
}

// stackPlace is the place of a whole stack.
func stackPlace(stack []symbols.Frame, dir string) string {
	f, _ := symbols.Here(stack)
	return place(f, dir)
}

// fileLine is the place of an access as a file, relative to dir, and a line; ""
// and 0 where they are not known.
func fileLine(s *conflicts.Side, dir string) (string, int) {
	f, _ := symbols.Here(s.Stack)
	if f.File == "" {
		return "", 0
	}
	return relative(f.File, dir), f.Line
}

// plainFinding says all of a finding in a few lines of plain text: for formats
// that have room for one text.
func plainFinding(f *conflicts.Finding, opts Options) string {
	lead, other := sides(f)
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]\n", Message(f), f.Rule)
	fmt.Fprintf(&b, "%s: %s\n", stackPlace(lead.Stack, opts.Dir), second(lead))
	if !f.Alone() {
		fmt.Fprintf(&b, "%s: %s\n", stackPlace(other.Stack, opts.Dir), second(other))
	}
	fmt.Fprintf(&b, "why: %s", f.Why)
	for _, m := range f.Mends {
		fmt.Fprintf(&b, "\nmend: %s", m.Text)
	}
	return b.String()
}

// relative writes a path below dir relative to it.
func relative(path, dir string) string {
	if dir == "" || !filepath.IsAbs(path) {
		return path
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}

// memory says which bytes a finding is about.
func memory(f *conflicts.Finding, dir string) string {
	size := plural(f.Hi-f.Lo, "byte")
	switch {
	case f.Window == 0:
		return fmt.Sprintf("%s at address 0x%x of rank %d%s", size, f.Lo, f.Owner, inBuffer(f))
	case f.Attached.Call != "":
		return fmt.Sprintf("%s at offset %d of the memory that rank %d attached (%s) to %s%s",
			size, f.Lo-f.Part, f.Owner, f.Attached.Call+" at "+stackPlace(f.Attached.Stack, dir), windowName(f), extents(f))
	}
	return fmt.Sprintf("%s at offset %d of rank %d's part of %s%s", size, f.Lo, f.Owner, windowName(f), extents(f))
}

// inBuffer says where in the buffer of a pending call the bytes lie.
func inBuffer(f *conflicts.Finding) string {
	for _, s := range []*conflicts.Side{&f.First, &f.Second} {
		if !isBuffer(s) || !s.Pending || s.Hi <= s.Lo || f.Lo < s.Lo || f.Hi > s.Hi {
			continue
		}
		if f.Lo == s.Lo && f.Hi == s.Hi {
			return fmt.Sprintf(", the whole %s of %s", s.Role, s.Call)
		}
		return fmt.Sprintf(", bytes %d to %d of the %s of %s", f.Lo-s.Lo, f.Hi-1-s.Lo, s.Role, s.Call)
	}
	return ""
}

// extents says which bytes of the window each access touches, where one of them
// touches more than those that both do.
func extents(f *conflicts.Finding) string {
	if f.First.Call != "" && f.Second.Call != "" { // the explanation says it
		return ""
	}
	var parts []string
	all := true
	for _, s := range []*conflicts.Side{&f.First, &f.Second} {
		if s.Hi <= s.Lo || isBuffer(s) {
			continue
		}
		all = all && s.Lo == f.Lo && s.Hi == f.Hi
		among := ""
		if s.Holes {
			among = "some of "
		}
		parts = append(parts, fmt.Sprintf("%s of rank %d: %s%d to %d", short(s), s.Rank, among, s.Lo-f.Part, s.Hi-1-f.Part))
	}
	if all {
		return ""
	}
	text := "; " + strings.Join(parts, ", ")
	if f.DispUnit > 0 && f.Attached.Call == "" {
		text += fmt.Sprintf("; displacement unit %d", f.DispUnit)
	}
	return text
}

func windowName(f *conflicts.Finding) string {
	if f.WinName == "" {
		return fmt.Sprintf("window %d", f.Window)
	}
	return f.WinName
}

// byPlace orders findings as a report lists them: by place, second place, rule,
// so that those of the same two places stand together.
func byPlace(a, b *conflicts.Finding) int {
	return cmp.Or(comparePlaces(a, b), cmp.Compare(a.Rule, b.Rule))
}

func comparePlaces(a, b *conflicts.Finding) int {
	al, ao := sides(a)
	bl, bo := sides(b)
	return cmp.Or(compareStacks(al.Stack, bl.Stack), compareStacks(ao.Stack, bo.Stack))
}

// samePlaces reports whether two findings are about the same pair of lines.
func samePlaces(a, b *conflicts.Finding) bool {
	return !a.Alone() && !b.Alone() && comparePlaces(a, b) == 0
}

func compareStacks(a, b []symbols.Frame) int {
	fa, _ := symbols.Here(a)
	fb, _ := symbols.Here(b)
	unknown := func(f symbols.Frame) int {
		if f.File == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(unknown(fa), unknown(fb)), cmp.Compare(fa.File, fb.File), cmp.Compare(fa.Line, fb.Line),
		cmp.Compare(fa.Module, fb.Module), cmp.Compare(fa.Offset, fb.Offset),
	)
}
