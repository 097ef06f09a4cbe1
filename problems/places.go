package problems

import (
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// What tells the places of calls apart.

// nearFrames is how many frames of a call path tell places apart: so what is wrong in
// a function is one problem wherever that is called from, and what is wrong in two
// callers of one wrapper is two. Where a report points further out, all up to there count.
const nearFrames = 2

// site names the place of a call, wherever the program runs.
func site(s *conflicts.SyncPoint) string {
	path := symbols.Path(s.Stack)
	here := symbols.HereAt(path)
	return named(s, path[:min(max(here+1, nearFrames), len(path))])
}

// path names a call by the whole of its call path.
func path(s *conflicts.SyncPoint) string { return named(s, symbols.Path(s.Stack)) }

func named(s *conflicts.SyncPoint, frames []symbols.Frame) string {
	parts := []string{s.Call}
	for i := range frames {
		parts = append(parts, line(&frames[i]))
	}
	return strings.Join(parts, " < ")
}

// line names the line of a frame.
func line(f *symbols.Frame) string {
	if f.File == "" {
		return fmt.Sprintf("%s %s+%x", f.Func, f.Module, f.Offset)
	}
	return fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line)
}
