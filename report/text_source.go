package report

import (
	"strings"
	"unicode/utf8"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// excerpt is the source line of an access, without the white space around it.
type excerpt struct {
	line   int
	text   string
	marked bool
	at     int // where marked: the rune of text below which a caret belongs
}

// excerptOf returns the source line of an access, where it is at hand and not
// blank; of a statement that goes on over several lines the one that tells most.
func excerptOf(lines *sources.Reader, side *conflicts.Side) (excerpt, bool) {
	f, ok := symbols.Here(side.Stack)
	if !ok {
		return excerpt{}, false
	}
	line, named := shownLine(lines, f.File, f.Line, side.Call)
	source := lines.Line(f.File, line)
	text := strings.TrimSpace(source)
	if text == "" {
		return excerpt{}, false
	}
	e := excerpt{line: line, text: printable(text)}
	switch {
	case named >= 0:
		e.at, e.marked = caret(source, named+1, "")
	case line == f.Line:
		e.at, e.marked = caret(source, f.Column, side.Call)
	}
	return e, true
}

// excerpt shows the source line of an access, where it is at hand, with a caret
// below the access.
func (t *textWriter) excerpt(s *conflicts.Side) {
	e, ok := excerptOf(t.sources, s)
	if !ok {
		return
	}
	t.line("  %s %s", t.paint.faint.Sprintf("%6d |", e.line), e.text)
	if e.marked {
		t.line("  %s %s%s", t.paint.faint.Sprint("       |"), strings.Repeat(" ", e.at), t.paint.err.Sprint("^"))
	}
}

// caret says below which rune of a source line, counted without the white space
// that it begins with, an access is marked: where the debug information says, in
// bytes from 1, otherwise at the name of the call.
func caret(source string, column int, call string) (int, bool) {
	indent := len(source) - len(strings.TrimLeft(source, " \t\r"))
	at := column - 1
	if column < 1 && call != "" {
		at = strings.Index(source, call)
	}
	if at < indent || at >= len(strings.TrimRight(source, " \t\r")) {
		return 0, false
	}
	runes := utf8.RuneCountInString(source[indent:at])
	return runes, runes < maxExcerpt
}

// maxExcerpt bounds the runes of a source line that is shown.
const maxExcerpt = 160

// printable cuts a long line, and replaces what would disturb a terminal.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "?")
	runes := []rune(s)
	if len(runes) > maxExcerpt {
		runes = append(runes[:maxExcerpt], '…')
	}
	for i, r := range runes {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			runes[i] = ' '
		}
	}
	return string(runes)
}
