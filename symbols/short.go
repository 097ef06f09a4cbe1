package symbols

import (
	"iter"
	"path"
	"strings"
)

// Short names a source file where a path would be too long: by its base name, and as
// many folders before it as tell it from the others. With no such folders left it is the
// whole path.
func Short(file string, others iter.Seq[string]) string {
	short := path.Base(file)
	for other := range others {
		if other == file {
			continue
		}
		for len(short) < len(file) && ends(other, short) {
			short = withParent(file, short)
		}
	}
	return short
}

// ends reports whether a path ends in these folders and base name.
func ends(file, last string) bool {
	n := len(file) - len(last)
	return n >= 0 && file[n:] == last && (n == 0 || file[n-1] == '/')
}

// withParent returns the end of a path that has one folder more than the end short.
func withParent(file, short string) string {
	before := path.Dir(file[:len(file)-len(short)])
	if parent := path.Base(before); parent != "." && parent != "/" {
		return parent + "/" + short
	}
	return file
}

// Brief is the name of a function with "<…>" for the arguments of templates, which may be many
// times as long as all the rest.
func Brief(function string) string {
	var b strings.Builder
	for depth := 0; function != ""; {
		n := 1
		if rest, ok := strings.CutPrefix(function, "operator"); ok { // operator<, operator->
			n = len("operator") + len(rest) - len(strings.TrimLeft(rest, "<>=-"))
		}
		switch c := function[0]; {
		case n == 1 && c == '<':
			if depth == 0 {
				b.WriteString("<…>")
			}
			depth++
		case n == 1 && c == '>':
			depth = max(depth-1, 0)
		case depth == 0:
			b.WriteString(function[:n])
		}
		function = function[n:]
	}
	return b.String()
}
