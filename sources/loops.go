package sources

import (
	"regexp"
	"strings"
)

// Where a line of C, C++ or Fortran has the condition under which a loop goes on, or is left.
var (
	whileCondition = regexp.MustCompile(`\bwhile\s*\(`)
	leftIf         = regexp.MustCompile(`\bif\s*\(`)
	leaves         = regexp.MustCompile(`^\s*\{?\s*break\b`)
	doWhile        = regexp.MustCompile(`(?i)\bdo\s+while\s*\(`)
	exitIf         = regexp.MustCompile(`(?i)\bif\s*\(`)
	exits          = regexp.MustCompile(`(?i)^\s*exit\b`)
)

// InLoopCondition reports whether what a line of a file does at a column, from 1 on, 0 where that is
// not known, is the condition of a while loop, or that under which a loop is left at once, as far as the
// line shows it.
func InLoopCondition(file, line string, column int) bool {
	goesOn, left, out := whileCondition, leftIf, leaves
	if FormOf(file) != NotFortran {
		goesOn, left, out = doWhile, exitIf, exits
	}
	if at := goesOn.FindStringIndex(line); at != nil {
		end := closing(line, at[1])
		return column == 0 || column-1 >= at[0] && column-1 < end
	}
	if at := left.FindStringIndex(line); at != nil {
		end := closing(line, at[1])
		return end < len(line) && out.MatchString(line[end+1:]) && (column == 0 || column-1 >= at[0] && column-1 < end)
	}
	return false
}

// closing is where the parenthesis is closed that was opened before an index of a line; the length of the
// line where it is not.
func closing(line string, from int) int {
	depth := 1
	i := strings.IndexFunc(line[from:], func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0
	})
	if i < 0 {
		return len(line)
	}
	return from + i
}
