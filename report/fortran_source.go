package report

import (
	"strings"

	"github.com/mcchk/mcchk/sources"
)

// shownLine returns the line to show of a statement of Fortran that goes on over several lines,
// and where in it a call is named; the first one, and -1, if it is not. gfortran places a statement at
// its end.
func shownLine(lines *sources.Reader, file string, line int, call string) (shown, at int) {
	first := sources.Begins(file, line, func(n int) string { return lines.Line(file, n) })
	if sources.FormOf(file) == sources.NotFortran {
		return line, -1
	}
	for shown = line; shown >= first; shown-- {
		if at := foldedIndex(lines.Line(file, shown), call); at >= 0 {
			return shown, at
		}
	}
	return first, -1
}

// foldedIndex is strings.Index of a name whatever the case; -1 for none.
func foldedIndex(text, name string) int {
	if name == "" {
		return -1
	}
	return strings.Index(strings.ToLower(text), strings.ToLower(name))
}
