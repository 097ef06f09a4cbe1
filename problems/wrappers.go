package problems

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// Wrapper is a function of the program that the calls of many findings lie in, which come
// there from several places: the program calls the library through it, it seems.
type Wrapper struct {
	Func, File string
	Findings   int
	Callers    int // lines that call it, of those of the findings
}

// fewestOfWrapper is how many lines call a function that is taken for a wrapper.
const fewestOfWrapper = 3

// Wrappers returns the functions that more than half of the findings lie in, called from
// several places, those of most findings first. Their files are worth naming as wrappers.
func Wrappers(findings []conflicts.Finding) []Wrapper {
	type function struct{ name, file string }
	type line struct {
		file string
		line int
	}
	type met struct {
		findings map[int]bool
		callers  map[line]bool
	}
	in := map[function]*met{}
	for i := range findings {
		for _, s := range []*conflicts.Side{&findings[i].First, &findings[i].Second} {
			at := symbols.HereAt(s.Stack)
			if s.Call == "" || at < 0 || s.Stack[at].Func == "" || s.Stack[at].File == "" {
				continue
			}
			caller := slices.IndexFunc(s.Stack[at+1:], func(f symbols.Frame) bool {
				return f.Layer == symbols.Application && f.File != "" && f.Func != s.Stack[at].Func
			})
			if caller < 0 {
				continue
			}
			f := function{s.Stack[at].Func, s.Stack[at].File}
			if in[f] == nil {
				in[f] = &met{map[int]bool{}, map[line]bool{}}
			}
			from := s.Stack[at+1+caller]
			in[f].findings[i], in[f].callers[line{from.File, from.Line}] = true, true
		}
	}
	var out []Wrapper
	for f, m := range in {
		if len(m.callers) >= fewestOfWrapper && 2*len(m.findings) > len(findings) {
			out = append(out, Wrapper{f.name, f.file, len(m.findings), len(m.callers)})
		}
	}
	slices.SortFunc(out, func(a, b Wrapper) int {
		return cmp.Or(cmp.Compare(b.Findings, a.Findings), cmp.Compare(a.File, b.File), cmp.Compare(a.Func, b.Func))
	})
	return out
}
