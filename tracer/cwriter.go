package tracer

import (
	"bytes"
	"fmt"
	"strings"
)

// cWriter collects lines of C.
type cWriter struct {
	text  []byte
	extra string
}

func (w *cWriter) line(format string, args ...any) {
	if w.text == nil {
		w.text = make([]byte, 0, 1<<20)
	}
	start := len(w.text)
	w.text = fmt.Appendf(append(w.text, w.extra...), format, args...)
	end := len(bytes.TrimRight(w.text[start:], " \t"))
	w.text = append(w.text[:start+end], '\n')
}

// indented writes lines one tab deeper.
func (w *cWriter) indented(write func()) {
	w.extra += "\t"
	write()
	w.extra = strings.TrimSuffix(w.extra, "\t")
}

// guard writes code that only MPI of at least this version has.
func (w *cWriter) guard(version int, write func()) {
	if version > 0 {
		w.line("")
		w.line("#if MPI_VERSION >= %d", version)
	}
	write()
	if version > 0 {
		w.line("#endif")
	}
}
