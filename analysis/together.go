package analysis

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trial"
)

// proposeTogether proposes, of findings that look like one update in two steps, to make it one: several
// processes read bytes of another one and then write them, so that what the others have written in
// between is lost. Whatever else orders the accesses leaves that as it is.
func proposeTogether(findings []conflicts.Finding) {
	written := map[trial.Site]int{} // by the statement of a write that conflicts with itself
	for i := range findings {
		f := &findings[i]
		at, known := siteOf(f.First.Stack)
		if also, _ := siteOf(f.Second.Stack); known && at == also && writes(&f.First) && writes(&f.Second) {
			written[at] = i
		}
	}
	for i := range findings {
		read, write := &findings[i].First, &findings[i].Second
		if read.Write {
			read, write = write, read
		}
		from, _ := siteOf(read.Stack)
		to, _ := siteOf(write.Stack)
		other, both := written[to]
		inTurn := from.File == to.File && from.Func == to.Func && from.Line < to.Line
		if !both || !inTurn || !reads(read) || !writes(write) || read.Rank == write.Rank || read.Lo != write.Lo || read.Hi != write.Hi {
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
