package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// longList is a list of a JSON document that may be too long to be held as text: its
// elements are made and written one by one.
type longList struct {
	key     string
	n       int
	element func(int) any
}

// mostIndented is how long a list may be for its elements to be indented: that doubles what
// they take, and who reads so many is a program. Of longer ones each element is a line.
const mostIndented = 1000

// writeLong writes a document in which some lists are empty, with their elements. No
// other list with one of their keys is empty, and they come in the order of the
// document.
func writeLong(w io.Writer, doc any, lists ...longList) error {
	out := bufio.NewWriter(w) // keeps the first error for Flush
	rest, err := indented(doc, "")
	if err != nil {
		return err
	}
	for _, l := range lists {
		// Within a string the quotes would be escaped.
		before, after, ok := bytes.Cut(rest, fmt.Appendf(nil, "%q: []", l.key))
		if !ok {
			return fmt.Errorf("the document has no empty list %s", l.key)
		}
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		out.Write(before)
		fmt.Fprintf(out, "%q: ", l.key)
		if err := l.write(out, string(line)); err != nil {
			return err
		}
		rest = after
	}
	out.Write(rest)
	out.WriteByte('\n')
	return out.Flush()
}

// write writes the list, which stands behind some indentation.
func (l *longList) write(out *bufio.Writer, indent string) error {
	if l.n == 0 {
		out.WriteString("[]")
		return nil
	}
	out.WriteByte('[')
	for i := range l.n {
		var text []byte
		var err error
		if l.n > mostIndented {
			text, err = encoded(l.element(i), "", "")
		} else {
			text, err = indented(l.element(i), indent+"  ")
		}
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent + "  ")
		out.Write(text)
	}
	out.WriteString("\n" + indent + "]")
	return nil
}

// indented is a value as JSON, with a prefix in each line but the first.
func indented(v any, prefix string) ([]byte, error) { return encoded(v, prefix, "  ") }

func encoded(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
