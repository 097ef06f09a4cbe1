package analysis

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// wording names the accesses and calls of one finding.
type wording struct {
	f    *conflicts.Finding
	file string // the file that all of them are in; "" when they are in several
}

func newWording(f *conflicts.Finding) *wording {
	w := &wording{f: f}
	for i, stack := range [][]symbols.Frame{
		f.First.Stack, f.Second.Stack, f.First.Started.Stack, f.First.Next.Stack, f.First.Done.Stack, f.First.Heard.Stack,
		f.Second.Started.Stack, f.Second.Next.Stack, f.Second.Done.Stack, f.Second.Heard.Stack,
	} {
		here, ok := symbols.Here(stack)
		switch {
		case i == 0:
			w.file = here.File
		case ok && here.File != "" && here.File != w.file:
			w.file = ""
			return w
		}
	}
	return w
}

// inOrder returns the sides with the one first that starts first.
func (w *wording) inOrder() (a, b *conflicts.Side) {
	if w.f.Began == 2 {
		return &w.f.Second, &w.f.First
	}
	return &w.f.First, &w.f.Second
}

// access names an access: "MPI_Put (line 9)", "the load (a.c:12)", "the send
// buffer of MPI_Send (line 7)".
func (w *wording) access(s *conflicts.Side) string {
	name := s.Call
	switch {
	case name == "":
		name = "the " + s.Role
	case buffer(s) && !oneSided(s.Call) && !s.Pending:
		name = "the " + s.Role + " of " + s.Call
	}
	return name + w.at(s.Stack)
}

// call names a call: "MPI_Win_fence (line 12)".
func (w *wording) call(p conflicts.SyncPoint) string {
	if p.With != "" {
		return p.Call + " with " + p.With + w.at(p.Stack)
	}
	return p.Call + w.at(p.Stack)
}

// callOf names a call, and its process where that is not rank.
func (w *wording) callOf(p conflicts.SyncPoint, rank int) string {
	if p.Rank == rank {
		return w.call(p)
	}
	return fmt.Sprintf("%s of rank %d", w.call(p), p.Rank)
}

func (w *wording) at(stack []symbols.Frame) string {
	f, _ := symbols.Here(stack)
	switch {
	case f.Line <= 0 || f.File == "":
		return ""
	case w.file != "":
		return fmt.Sprintf(" (line %d)", f.Line)
	}
	return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
}

// place is an access as the place of a mend.
func place(s *conflicts.Side) conflicts.SyncPoint {
	name := s.Call
	if name == "" {
		name = s.Role
	}
	return conflicts.SyncPoint{Call: name, Rank: s.Rank, Stack: s.Stack}
}

// samePoint reports whether two calls are the same function at the same place.
func samePoint(a, b conflicts.SyncPoint) bool {
	return a.Call == b.Call && samePlace(a.Stack, b.Stack)
}

func samePlace(a, b []symbols.Frame) bool {
	x, _ := symbols.Here(a)
	y, _ := symbols.Here(b)
	return x.File == y.File && x.Line == y.Line && x.Module == y.Module && x.Offset == y.Offset
}

// buffer reports whether an access is to a buffer that a call was given.
func buffer(s *conflicts.Side) bool { return s.Call != "" && strings.HasSuffix(s.Role, "buffer") }

// oneSided reports whether a call is a one-sided operation (MPI 4.1, 12.3).
func oneSided(call string) bool {
	switch call {
	case "MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap",
		"MPI_Rput", "MPI_Rget", "MPI_Raccumulate", "MPI_Rget_accumulate":
		return true
	}
	return false
}
