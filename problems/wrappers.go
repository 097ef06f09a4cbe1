package problems

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// Wrapper is a file of the program that the calls of many findings lie in, which come there
// from several places: the program calls the library through it, it seems.
type Wrapper struct {
	File     string
	Findings int
	Callers  int // lines of other files that call it, of those of the findings
}

// fewestOfWrapper is how many lines call what is in a file that is taken for a wrapper.
const fewestOfWrapper = 3

type sourceLine struct {
	file string
	line int
}

// within is what findings tell of a file.
type within struct {
	findings map[int]bool
	callers  map[sourceLine]bool
	lines    map[string]int // of the call in each function; -1: there are several
	works    bool           // it loads or stores what findings are about
}

// Wrappers returns the files that more than half of the findings lie in, called from several
// lines of others, those of most findings first: files whose functions make one call each,
// and do nothing with the memory themselves. They are worth naming as wrappers.
func Wrappers(findings []conflicts.Finding) []Wrapper {
	in := map[string]*within{}
	for i := range findings {
		for _, s := range []*conflicts.Side{&findings[i].First, &findings[i].Second} {
			at := symbols.HereAt(s.Stack)
			if at < 0 || s.Stack[at].Func == "" || s.Stack[at].File == "" {
				continue
			}
			here := s.Stack[at]
			f := in[here.File]
			if f == nil {
				f = &within{map[int]bool{}, map[sourceLine]bool{}, map[string]int{}, false}
				in[here.File] = f
			}
			f.meets(i, s, at)
		}
	}
	var out []Wrapper
	for file, f := range in {
		for _, line := range f.lines {
			f.works = f.works || line < 0
		}
		if !f.works && len(f.callers) >= fewestOfWrapper && 2*len(f.findings) > len(findings) {
			out = append(out, Wrapper{file, len(f.findings), len(f.callers)})
		}
	}
	slices.SortFunc(out, func(a, b Wrapper) int {
		return cmp.Or(cmp.Compare(b.Findings, a.Findings), cmp.Compare(a.File, b.File))
	})
	return out
}

// meets takes in a side of finding i that lies in the file, with the frame at `at`.
func (f *within) meets(i int, s *conflicts.Side, at int) {
	here := s.Stack[at]
	if s.Call == "" {
		f.works = true
		return
	}
	caller := slices.IndexFunc(s.Stack[at+1:], func(f symbols.Frame) bool {
		return f.Layer == symbols.Application && f.File != "" && f.File != here.File
	})
	if caller < 0 {
		f.works = true // it is the program's own
		return
	}
	from := s.Stack[at+1+caller]
	f.findings[i], f.callers[sourceLine{from.File, from.Line}] = true, true
	if line, known := f.lines[here.Func]; known && line != here.Line {
		f.lines[here.Func] = -1
	} else {
		f.lines[here.Func] = here.Line
	}
}
