package report

import (
	"strings"
	"unicode/utf8"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// sources are the source files of a report's places, each read once.
type sources struct {
	read  func(path string) ([]byte, error) // nil: none can be read
	files map[string][]string               // their lines; nil where one cannot be read
}

func newSources(opts Options) *sources {
	return &sources{read: opts.ReadFile, files: map[string][]string{}}
}

// line returns a line of a file, from 1; "" where it cannot be read or is blank.
func (s *sources) line(file string, line int) string {
	if s.read == nil || file == "" || line < 1 {
		return ""
	}
	lines, known := s.files[file]
	if !known {
		if data, err := s.read(file); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		s.files[file] = lines
	}
	if line > len(lines) || strings.TrimSpace(lines[line-1]) == "" {
		return ""
	}
	return lines[line-1]
}

// excerpt is the source line of an access, without the white space around it.
type excerpt struct {
	line   int
	text   string
	marked bool
	at     int // where marked: the rune of text below which a caret belongs
}

// of returns the source line of an access, where it can be read.
func (s *sources) of(side *conflicts.Side) (excerpt, bool) {
	f, ok := symbols.Here(side.Stack)
	if !ok {
		return excerpt{}, false
	}
	source := s.line(f.File, f.Line)
	if source == "" {
		return excerpt{}, false
	}
	e := excerpt{line: f.Line, text: printable(strings.TrimSpace(source))}
	e.at, e.marked = caret(source, f.Column, side.Call)
	return e, true
}

// excerpt shows the source line of an access, when it can be read, with a caret
// below the access.
func (t *textWriter) excerpt(s *conflicts.Side) {
	e, ok := t.sources.of(s)
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
