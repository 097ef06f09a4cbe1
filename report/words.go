package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/symbols"
)

// Message says in one line what a finding is, without places.
func Message(f *conflicts.Finding) string { return models.Message(f) }

// second names an access on its own line below the message.
func second(f *conflicts.Finding, s *conflicts.Side) string {
	who := models.Terms(f).Who(s)
	if s.Class.Buffer() {
		return s.Call + " by " + who + " (" + s.Role + ")"
	}
	return models.What(s) + " by " + who
}

// locks names the locks that protect an access: "a shared lock on rank 1"; those of other
// windows than that of the finding with the window.
func locks(f *conflicts.Finding, s *conflicts.Side) string {
	var parts []string
	terms := models.Terms(f)
	for _, l := range f.LocksThatMatter(s) {
		if terms.OwnLocks {
			parts = append(parts, "the "+l.WinName)
			continue
		}
		kind, target := "a shared lock", " on "+terms.Number(l.Target)
		if l.Exclusive {
			kind = "an exclusive lock"
		}
		if l.Target < 0 {
			target = " on all " + terms.Rank + "s"
		}
		if l.Window != f.Window && l.WinName != "" {
			target += " of " + l.WinName
		}
		if l.Void {
			target += " " + terms.VoidLock
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

// inRuns says in how many runs there was what a finding is: "in 2 of 3 runs".
func inRuns(f *conflicts.Finding) string {
	return fmt.Sprintf("in %d of %d runs", f.Runs.Of(), len(f.Runs.Counts))
}

// runsBehind is inRuns behind a message, and "" where there is one run only.
func runsBehind(f *conflicts.Finding) string {
	if f.Runs.Counts == nil {
		return ""
	}
	return ", " + inRuns(f)
}

// timesInRuns says how often there was something in each run: "4, 0 and 6 times", and of
// many runs "0 to 6 times".
func timesInRuns(counts []uint64) string {
	const few = 8
	least, most := slices.Min(counts), slices.Max(counts)
	switch last := len(counts) - 1; {
	case least == most:
		return plural(most, "time") + " in each"
	case len(counts) > few:
		return fmt.Sprintf("%d to %s", least, plural(most, "time"))
	default:
		var parts []string
		for _, c := range counts[:last] {
			parts = append(parts, strconv.FormatUint(c, 10))
		}
		return strings.Join(parts, ", ") + " and " + plural(counts[last], "time")
	}
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

// shortPlace is the place of a whole stack in the texts of a finding.
func shortPlace(f *conflicts.Finding, stack []symbols.Frame) string {
	here, _ := symbols.Here(stack)
	return placeIn(f, here)
}

// placeIn is the place of a frame in the texts of a finding: place, with no more of a path
// than tells the file from others. The headings have whole paths.
func placeIn(f *conflicts.Finding, frame symbols.Frame) string {
	if frame.File != "" {
		frame.File = f.Short(frame.File)
	}
	return place(frame, "")
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

// plainFinding says all of a finding, the i-th of a result, in a few lines of plain text:
// for formats that have room for one text.
func plainFinding(res *analysis.Result, i int, opts Options) string {
	f := &res.Findings[i]
	lead, other := explain.Sides(f)
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]%s\n", Message(f), f.Rule, runsBehind(f))
	for _, s := range []*conflicts.Side{lead, other} {
		if s.Role == "" {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", stackPlace(s.Stack, opts.Dir), second(f, s))
		if len(symbols.Path(s.Stack)) > 1 || symbols.HereAt(s.Stack) > 0 {
			fmt.Fprintf(&b, "  stack: %s\n", stackText(f, s.Stack))
		}
	}
	fmt.Fprintf(&b, "why: %s", f.Why)
	for _, text := range fixTexts(f.Fixes) {
		fmt.Fprintf(&b, "\nfix: %s", text)
	}
	fmt.Fprintf(&b, "\nfinding: #%d %s", i+1, fingerprint.Of(f, res.Sources).Hash()[:shownPrint])
	return b.String()
}

// fixTexts says what fixes are, and what came of trying them: why one was not tried, where that is
// no matter of its kind, once.
func fixTexts(fixes []conflicts.Fix) []string {
	var texts []string
	said := map[string]bool{"": true, conflicts.NotLines: true}
	for i := range fixes {
		m := &fixes[i]
		text, why := m.Text, m.Trial.Untried
		switch n := len(m.Trial.Removes) - 1; {
		case why != "" && m.Kind != conflicts.FixOther && said[why]:
			text += " (not tried on this run)"
		case why != "" && m.Kind != conflicts.FixOther:
			said[why] = true
			text += " (not tried on this run: " + why + ")"
		case n > 0:
			text += fmt.Sprintf(" (removes %s too)", plural(n, "other finding"))
		}
		texts = append(texts, text)
	}
	return texts
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
func memory(f *conflicts.Finding) string {
	size, owner := plural(f.Hi-f.Lo, "byte"), models.Terms(f).Number(f.Owner)
	switch {
	case f.Window == 0 && f.Variable.Name != "":
		return fmt.Sprintf("%s of %s of %s%s", size, variable(f), owner, inBuffer(f))
	case f.Window == 0 && len(f.Block.Stack) > 0:
		return fmt.Sprintf("%s at offset %d of %s of %s%s", size, f.Block.At, block(f), owner, inBuffer(f))
	case f.Window == 0:
		return fmt.Sprintf("%s at address 0x%x of %s%s", size, f.Lo, owner, inBuffer(f))
	case f.Attached.Call != "":
		return fmt.Sprintf("%s at offset %d of the memory that %s attached (%s) to %s%s%s",
			size, f.Lo-f.Part, owner, f.Attached.Call+" at "+shortPlace(f, f.Attached.Stack), windowName(f), inVariable(f), extents(f))
	}
	return fmt.Sprintf("%s at offset %d of %s's part of %s%s%s", size, f.Lo, owner, windowName(f), inVariable(f), extents(f))
}

// inVariable names the variable, or the allocation, that is the memory of a window, where that is known.
func inVariable(f *conflicts.Finding) string {
	switch {
	case f.Variable.Name != "":
		return ", in " + variable(f)
	case len(f.Block.Stack) > 0:
		return ", in " + block(f)
	}
	return ""
}

// block names the allocated memory that a finding is about.
func block(f *conflicts.Finding) string {
	text := fmt.Sprintf("%s allocated at %s", plural(f.Block.Size, "byte"), shortPlace(f, f.Block.Stack))
	if f.Block.Name == "" {
		return text
	}
	return "`" + f.Block.Name + "` (" + text + ")"
}

// variable names the variable that a finding is about, by what it is and where it is declared.
func variable(f *conflicts.Finding) string {
	v := &f.Variable
	text := "`" + v.Name + "` ("
	switch {
	case v.Func == "":
		text += "global"
	case v.Static:
		text += "static in " + v.Func
	default:
		text += "a local of " + v.Func
	}
	if v.File != "" {
		text += ", " + f.Short(v.File) + ":" + strconv.Itoa(v.Line)
	}
	return text + ")"
}

// inBuffer says where in the buffer of a pending call the bytes lie.
func inBuffer(f *conflicts.Finding) string {
	for _, s := range []*conflicts.Side{&f.First, &f.Second} {
		if !s.Class.Buffer() || !s.Pending || s.Hi <= s.Lo || f.Lo < s.Lo || f.Hi > s.Hi {
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
		if s.Hi <= s.Lo || s.Class.Buffer() {
			continue
		}
		all = all && s.Lo == f.Lo && s.Hi == f.Hi
		among := ""
		if s.Holes {
			among = "some of "
		}
		parts = append(parts, fmt.Sprintf("%s of %s: %s%d to %d", short(s), models.Terms(f).Number(s.Rank), among, s.Lo-f.Part, s.Hi-1-f.Part))
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
		return fmt.Sprintf("%s %d", models.Terms(f).Object, f.Window)
	}
	return f.WinName
}

func comparePlaces(a, b *conflicts.Finding) int {
	al, ao := explain.Sides(a)
	bl, bo := explain.Sides(b)
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

// alike puts those of some findings together, given as their indices, that read alike but for
// ranks: on other call paths, they are about the same two places.
func alike(res *analysis.Result, of []int, dir string) [][]int {
	var out [][]int
	at := map[string]int{}
	for _, k := range of {
		f := &res.Findings[k]
		lead, other := explain.Sides(f)
		reads := fmt.Sprint(f.Rule, f.Severity, lead.Call, lead.Role, stackPlace(lead.Stack, dir), other.Call, other.Role, stackPlace(other.Stack, dir))
		i, ok := at[reads]
		if !ok {
			i = len(out)
			at[reads], out = i, append(out, nil)
		}
		out[i] = append(out[i], k)
	}
	return out
}

// andMore counts findings behind one that reads alike, with the numbers of the first of them.
func andMore(more []int) string {
	if len(more) == 0 {
		return ""
	}
	const few = 8
	var parts []string
	for _, k := range more[:min(few, len(more))] {
		parts = append(parts, fmt.Sprintf("#%d", k+1))
	}
	if len(more) > few {
		parts = append(parts, "…")
	}
	return fmt.Sprintf(" (and %d more at the same places: %s)", len(more), strings.Join(parts, ", "))
}
