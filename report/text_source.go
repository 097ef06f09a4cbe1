package report

import (
	"strings"
	"unicode/utf8"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// excerpt shows the source line of an access, when it can be read, with a caret
// below the access.
func (t *textWriter) excerpt(s *conflicts.Side) {
	f, ok := symbols.Here(s.Stack)
	if !ok || f.File == "" || f.Line < 1 || t.opts.ReadFile == nil {
		return
	}
	lines, known := t.sources[f.File]
	if !known {
		if data, err := t.opts.ReadFile(f.File); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		t.sources[f.File] = lines
	}
	if f.Line > len(lines) {
		return
	}
	source := lines[f.Line-1]
	text := strings.TrimSpace(source)
	if text == "" {
		return
	}
	t.line("  %s %s", t.paint.faint.Sprintf("%6d |", f.Line), printable(text))
	if at, ok := caret(source, f.Column, s.Call); ok {
		t.line("  %s %s%s", t.paint.faint.Sprint("       |"), strings.Repeat(" ", at), t.paint.err.Sprint("^"))
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
