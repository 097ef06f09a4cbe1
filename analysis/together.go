package analysis

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// proposeTogether proposes, of findings that look like one update in two steps, to make it one: several
// processes read bytes of another one and then write them, so that what the others have written in
// between is lost. Whatever else orders the accesses leaves that as it is.
func proposeTogether(findings []conflicts.Finding) {
	written := map[string]int{} // by the place of a write that conflicts with itself
	for i := range findings {
		f := &findings[i]
		if writes(&f.First) && writes(&f.Second) && explain.SameLine(f.First.Stack, f.Second.Stack) {
			written[lineOfSide(&f.First)] = i
		}
	}
	for i := range findings {
		read, write := &findings[i].First, &findings[i].Second
		if read.Write {
			read, write = write, read
		}
		other, both := written[lineOfSide(write)]
		if !both || !reads(read) || !writes(write) || read.Rank == write.Rank || read.Lo != write.Lo || read.Hi != write.Hi || !comesBefore(read, write) {
			continue
		}
		fix := conflicts.Fix{Kind: conflicts.FixOperation, Leads: true, Text: models.Together(&findings[i], read, write)}
		for _, k := range []int{i, other} {
			if f := &findings[k]; len(f.Fixes) == 0 || !f.Fixes[0].Leads {
				f.Fixes = append([]conflicts.Fix{fix}, f.Fixes...)
			}
		}
	}
}

func reads(s *conflicts.Side) bool  { return s.Class == regions.Target && !s.Write && !s.Atomic }
func writes(s *conflicts.Side) bool { return s.Class == regions.Target && s.Write && !s.Atomic }

// lineOfSide is where a side stands in the source.
func lineOfSide(s *conflicts.Side) string {
	f, ok := symbols.Here(s.Stack)
	if !ok || f.File == "" {
		return ""
	}
	return fmt.Sprint(f.File, ":", f.Line)
}

// comesBefore reports whether one side stands before the other in one function.
func comesBefore(a, b *conflicts.Side) bool {
	x, _ := symbols.Here(a.Stack)
	y, _ := symbols.Here(b.Stack)
	return x.Func != "" && x.Func == y.Func && x.File == y.File && x.Line < y.Line
}
