package report

import (
	"strings"

	"github.com/mcchk/mcchk/sources"
)

// shownLine returns the line to show of a statement of Fortran that goes on over several lines,
// and where in it a call is named, -1 if it is not. gfortran places a statement at its end.
func shownLine(lines *sources.Reader, file string, line int, call string) (shown, at int) {
	var goesOn func(line int) bool // whether the statement of a line began before it
	switch sources.FormOf(file) {
	case sources.FreeForm:
		goesOn = func(line int) bool { return strings.HasSuffix(code(lines.Line(file, line-1)), "&") }
	case sources.FixedForm:
		goesOn = func(line int) bool { return fixedContinuation(lines.Line(file, line)) }
	default:
		return line, -1
	}
	shown = line
	for {
		if at := foldedIndex(lines.Line(file, shown), call); at >= 0 {
			return shown, at
		}
		if shown <= 1 || line-shown >= sources.Around || !goesOn(shown) {
			return shown, -1
		}
		shown--
	}
}

// code is a line of free form without its comment, and the white space around it.
func code(text string) string {
	quote := rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '!':
			return strings.TrimSpace(text[:i])
		}
	}
	return strings.TrimSpace(text)
}

// fixedContinuation reports whether a line of fixed form continues a statement.
func fixedContinuation(text string) bool {
	if strings.HasPrefix(text, "\t") { // an extension of compilers
		return len(text) > 1 && text[1] >= '1' && text[1] <= '9'
	}
	return len(text) > 5 && strings.TrimSpace(text[:5]) == "" && text[5] != ' ' && text[5] != '0'
}

// foldedIndex is strings.Index of a name whatever the case; -1 for none.
func foldedIndex(text, name string) int {
	if name == "" {
		return -1
	}
	return strings.Index(strings.ToLower(text), strings.ToLower(name))
}
