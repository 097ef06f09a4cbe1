package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// Wording names the accesses and calls of one finding, in the words of a model.
type Wording struct {
	Finding *conflicts.Finding
	model   Model
	file    string // the file that all of them are in; "" when they are in several
}

// New returns the wording for a finding.
func New(m Model, f *conflicts.Finding) *Wording {
	w := &Wording{Finding: f, model: m}
	for i, stack := range [][]symbols.Frame{
		f.First.Stack, f.Second.Stack, f.First.Started.Stack, f.First.Next.Stack, f.First.Done.Stack, f.First.Heard.Stack, f.First.Passed.Stack, f.First.Weak.Wrote.Stack, f.First.Weak.Read.Stack,
		f.Second.Started.Stack, f.Second.Next.Stack, f.Second.Done.Stack, f.Second.Heard.Stack, f.Second.Passed.Stack, f.Second.Weak.Wrote.Stack, f.Second.Weak.Read.Stack,
	} {
		if i == 0 { // of what a report points at, all name the file that is not this one
			here, _ := symbols.Here(stack)
			w.file = here.File
		}
		if at, _, ok := symbols.Site(stack); ok && at.File != "" && at.File != w.file {
			w.file = ""
			return w
		}
	}
	return w
}

// InOrder returns the sides with the one first that starts first.
func (w *Wording) InOrder() (a, b *conflicts.Side) {
	if w.Finding.Began == 2 {
		return &w.Finding.Second, &w.Finding.First
	}
	return &w.Finding.First, &w.Finding.Second
}

// rank names a process by its number, in the words of the model: "rank 1", "PE 1".
func (w *Wording) rank(n int) string { return w.model.Terms().Number(n) }

// Access names an access: "MPI_Put (line 9)", "the load (a.c:12)", "the send
// buffer of MPI_Send (line 7)"; where that is the name of both accesses, and they were called from
// different places, "MPI_Put (line 9, called at line 20)".
func (w *Wording) Access(s *conflicts.Side) string {
	name := w.access(s)
	other := &w.Finding.First
	if s == other {
		other = &w.Finding.Second
	}
	if (s != &w.Finding.First && s != &w.Finding.Second) || w.access(other) != name || !strings.HasSuffix(name, ")") {
		return name
	}
	return strings.TrimSuffix(name, ")") + w.calledAt(s.Stack, other.Stack) + ")"
}

// calledAt says where a stack was called that is at the same place as another one: ", called at
// line 20"; "" where no frame tells them apart.
func (w *Wording) calledAt(stack, other []symbols.Frame) string {
	for i, f := range stack {
		if i < len(other) && f.File == other[i].File && f.Line == other[i].Line {
			continue
		}
		switch {
		case f.Line <= 0 || f.File == "":
			return ""
		case f.File == w.file:
			return fmt.Sprintf(", called at line %d", f.Line)
		}
		return fmt.Sprintf(", called at %s:%d", w.Finding.Short(f.File), f.Line)
	}
	return ""
}

func (w *Wording) access(s *conflicts.Side) string {
	name := s.Call
	switch {
	case name == "":
		name = "the " + s.Role
	case s.Class.Buffer() && !s.Class.OneSided() && !s.Pending:
		name = "the " + s.Role + " of " + s.Call
	}
	return name + w.At(s.Stack)
}

// next names an access of the process that made another one before; of the same call it is
// "the next MPI_Put (line 31)".
func (w *Wording) next(before, s *conflicts.Side) string {
	if s.Call != "" && s.Call == before.Call && w.Access(s) == w.Access(before) {
		return "the next " + w.Access(s)
	}
	return w.Access(s)
}

// Following adds to the name of an access, before which something comes that follows a place, that it is the
// one of the next iteration: in a loop, where its line stands before that place.
func (w *Wording) Following(place conflicts.SyncPoint, s *conflicts.Side, name string) string {
	if w.Finding.Again && earlier(Place(s), place) {
		return "the next " + strings.TrimPrefix(name, "the ")
	}
	return name
}

// Other returns the other access of the finding.
func (w *Wording) Other(s *conflicts.Side) *conflicts.Side {
	if s == &w.Finding.First {
		return &w.Finding.Second
	}
	return &w.Finding.First
}

// Named names an access without an article: "load (line 9)".
func (w *Wording) Named(s *conflicts.Side) string { return strings.TrimPrefix(w.Access(s), "the ") }

// Call names a call, or an operation of the language: "MPI_Win_fence (line 12)", "the atomic
// operation (line 20)".
func (w *Wording) Call(p conflicts.SyncPoint) string {
	name := p.Call
	if own := p.Language(); own != "" {
		name = "the " + own
	}
	if p.With != "" {
		name += " with " + p.With
	}
	return name + w.At(p.Stack)
}

// CallOf names a call, and its process where that is not rank.
func (w *Wording) CallOf(p conflicts.SyncPoint, rank int) string {
	if p.Rank == rank {
		return w.Call(p)
	}
	return fmt.Sprintf("%s of %s", w.Call(p), w.rank(p.Rank))
}

// At names the place of a stack: " (line 12)", " (halo.cpp:35, in Window::fence at
// window.h:20)"; "" where it is not known.
func (w *Wording) At(stack []symbols.Frame) string {
	f, within, _ := symbols.Site(stack)
	within = inFunction(within)
	switch {
	case f.Line <= 0 || f.File == "":
		return ""
	case w.file != "":
		return fmt.Sprintf(" (line %d%s)", f.Line, within)
	}
	return fmt.Sprintf(" (%s:%d%s)", w.Finding.Short(f.File), f.Line, within)
}

// inFunction is the function that makes a call, behind its place.
func inFunction(name string) string {
	if name == "" {
		return ""
	}
	return ", in " + name
}

// Place is an access as the place of a fix.
func Place(s *conflicts.Side) conflicts.SyncPoint {
	name := s.Call
	if name == "" {
		name = s.Role
	}
	return conflicts.SyncPoint{Call: name, Rank: s.Rank, Stack: s.Stack}
}

// samePoint reports whether two calls are the same function at the same place.
func samePoint(a, b conflicts.SyncPoint) bool {
	return a.Call == b.Call && SamePlace(a.Stack, b.Stack)
}

// SameLine reports whether reports point at the same source line for two stacks.
func SameLine(a, b []symbols.Frame) bool {
	x, _ := symbols.Here(a)
	y, _ := symbols.Here(b)
	return x.File == y.File && x.Line == y.Line
}

// SamePlace reports whether two stacks are of the same instruction, on the same
// call path.
func SamePlace(a, b []symbols.Frame) bool {
	return slices.EqualFunc(a, b, func(f, g symbols.Frame) bool {
		f.Site, g.Site = false, false // it may be marked on one only
		return f == g
	})
}
