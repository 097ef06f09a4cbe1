package symbols

import (
	"iter"
	"path"
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
