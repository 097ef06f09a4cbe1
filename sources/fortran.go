package sources

import (
	"path/filepath"
	"strings"
)

// Form is the form of source text in Fortran.
type Form int

// Forms of source text.
const (
	NotFortran Form = iota
	FixedForm
	FreeForm
)

// FormOf tells the form of a file by its name.
func FormOf(file string) Form {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".f90", ".f95", ".f03", ".f08", ".f18", ".fpp":
		return FreeForm
	case ".f", ".for", ".ftn", ".f77":
		return FixedForm
	}
	return NotFortran
}

// mostContinued bounds the lines of a statement: as many continuation lines as Fortran 2018 has.
const mostContinued = 255

// Begins returns the line that the statement begins at which a line of a file belongs to, in Fortran;
// else the line. text gives the lines; one that is not known is empty.
func Begins(file string, line int, text func(line int) string) int {
	first := line
	switch FormOf(file) {
	case FreeForm:
		for n := line - 1; n > 0 && line-n < mostContinued; n-- {
			if c := code(text(n)); strings.HasSuffix(c, "&") {
				first = n
			} else if c != "" { // between lines of one there may be comments
				break
			}
		}
	case FixedForm:
		for first > 1 && line-first < mostContinued && continuation(text(first)) {
			first--
		}
	}
	return first
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

// continuation reports whether a line of fixed form continues a statement.
func continuation(text string) bool {
	if strings.HasPrefix(text, "\t") { // an extension of compilers
		return len(text) > 1 && text[1] >= '1' && text[1] <= '9'
	}
	return len(text) > 5 && strings.TrimSpace(text[:5]) == "" && text[5] != ' ' && text[5] != '0'
}
