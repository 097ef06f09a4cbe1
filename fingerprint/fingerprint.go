// Package fingerprint tells whether a finding of one run is a finding of
// another: after a change elsewhere in the file, with another number of
// processes, on another machine.
//
// A fingerprint is made of the rule and, for each of the two accesses, the MPI
// call or kind of access and the call path, and of the call paths on which the
// windows were made. A call path is a list of frames (symbols.Path): the
// function, the file's name without its folders, and the text of the source line
// without its white space. Neither ranks, addresses, line numbers, counts nor the
// order of the two sides are part of it. Where the text of a line is not at hand,
// its number takes its place; where there is no debug information, the function
// alone, or if that is not known either the module's name and the offset in it.
//
// Two findings at lines of the same text on the same call paths have the same
// fingerprint: who compares lists of them counts.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// Name is that of this kind of fingerprint and its version, as SARIF's
// partialFingerprints want it.
const Name = "mcchk/v2"

// Frame is one place of a call path, without what changes from run to run.
type Frame struct {
	Function string `json:"function,omitempty"` // demangled; "" when unknown
	File     string `json:"file,omitempty"`     // without folders; of the module when there is no debug information
	Line     int    `json:"line,omitempty"`     // 0 when unknown
	Text     string `json:"text,omitempty"`     // of the source line, without white space at its ends; "" when not at hand
	Offset   uint64 `json:"offset,omitempty"`   // in the module, when there is no debug information
}

// Side is one access of a finding, or a call that made a window.
type Side struct {
	Call string  `json:"call"`           // "MPI_Put", or "load" and the like for what is no call
	Path []Frame `json:"path,omitempty"` // innermost first
	Here int     `json:"here,omitempty"` // which of them a report points at
	// Buffer is which of its buffers the finding is about: of a call that may use several whose
	// memory was given up, "" of the first of them; of a one-sided operation that meets one of
	// another process, or of GASPI whose segment is deleted, "" where it does at its target.
	Buffer string `json:"buffer,omitempty"`
}

// Finding is what a finding is recognized by.
type Finding struct {
	Rule    string `json:"rule"`
	Sides   []Side `json:"sides"`             // one or two, in an order of their own
	Windows []Side `json:"windows,omitempty"` // the calls that made the windows, likewise
}

// Of is the fingerprint of a finding, with lines from a reader (nil: none are at
// hand).
func Of(f *conflicts.Finding, lines *sources.Reader) Finding {
	out := Finding{Rule: f.Rule}
	for _, s := range sidesOf(f) {
		side := sideOf(callOf(s), s.Stack, lines)
		if named(f, s) {
			side.Buffer = s.Role
		}
		out.Sides = append(out.Sides, side)
		if made := s.Made; made.Call != "" {
			out.Windows = append(out.Windows, sideOf(made.Call, made.Stack, lines))
		}
	}
	inOrder(out.Sides)
	inOrder(out.Windows)
	out.Windows = slices.CompactFunc(out.Windows, func(a, b Side) bool { return a.key() == b.key() })
	return out
}

// named reports whether a side is told by the buffer that it is about, for other findings at the same
// places are about another one, or about none.
func named(f *conflicts.Finding, s *conflicts.Side) bool {
	switch {
	case f.Rule == conflicts.RuleMemoryGone && slices.Contains(furtherBuffers, s.Role):
		return true
	case f.Rule == conflicts.RuleGaspiDeleted && s.Class == regions.OwnBuffer: // there is the segment of the target, too
		return true
	}
	return betweenOperations(f) && s.Class == regions.OwnBuffer
}

// furtherBuffers are those that a call uses besides another one.
var furtherBuffers = []string{"result buffer", "compare buffer"}

// betweenOperations reports whether a finding is about one-sided operations of two processes, which
// may meet at the target of both or in the buffer of one.
func betweenOperations(f *conflicts.Finding) bool {
	return !f.Alone() && f.First.Class.OneSided() && f.Second.Class.OneSided() && f.First.Rank != f.Second.Rank
}

func sidesOf(f *conflicts.Finding) []*conflicts.Side {
	if f.Alone() {
		return []*conflicts.Side{&f.First}
	}
	return []*conflicts.Side{&f.First, &f.Second}
}

func callOf(s *conflicts.Side) string {
	if s.Call == "" {
		return s.Role
	}
	return s.Call
}

func inOrder(sides []Side) {
	slices.SortStableFunc(sides, func(a, b Side) int { return strings.Compare(a.sortKey(), b.sortKey()) })
}

func sideOf(call string, stack []symbols.Frame, lines *sources.Reader) Side {
	out := Side{Call: call}
	path := symbols.Path(stack)
	for _, f := range path {
		out.Path = append(out.Path, frameOf(f, lines))
	}
	out.Here = max(0, symbols.HereAt(path))
	return out
}

func frameOf(f symbols.Frame, lines *sources.Reader) Frame {
	out := Frame{Function: f.Func}
	switch {
	case f.File != "":
		out.File, out.Line = filepath.Base(f.File), f.Line
		out.Text = strings.TrimSpace(lines.Line(f.File, f.Line))
	case f.Module != "":
		out.File, out.Offset = filepath.Base(f.Module), f.Offset
	}
	return out
}

// key is the frame as it counts: with the line's number only where its text is
// not known.
func (f Frame) key() string {
	switch {
	case f.Text != "":
		return f.place() + "\x00" + strings.Join(strings.Fields(f.Text), "")
	case f.nameOnly():
		return f.place()
	}
	return fmt.Sprintf("%s\x00%d\x00%x", f.place(), f.Line, f.Offset)
}

func (f Frame) place() string {
	if f.nameOnly() {
		return f.Function
	}
	return f.Function + "\x00" + f.File
}

// nameOnly reports that a function has no debug information: then its name is all
// that counts, since offsets change with every change of the program, and programs
// are renamed.
func (f Frame) nameOnly() bool { return f.Function != "" && f.Line == 0 }

func (f Frame) sameLine(g Frame) bool {
	textKnown := f.Text != "" && g.Text != ""
	return f.place() == g.place() && f.Line == g.Line && f.Offset == g.Offset && (!textKnown || f.key() == g.key())
}

// joined is a side with one text for each frame.
func (s Side) joined(text func(Frame) string) string {
	parts := []string{s.Call}
	if s.Buffer != "" {
		parts = append(parts, s.Buffer)
	}
	for _, f := range s.Path {
		parts = append(parts, text(f))
	}
	return strings.Join(parts, "\x02")
}

func (s Side) key() string { return s.joined(Frame.key) }

func (s Side) place() string { return s.joined(Frame.place) }

func (s Side) lines() string {
	return s.joined(func(f Frame) string { return fmt.Sprintf("%09d", f.Line) })
}

func (s Side) sortKey() string { return s.key() + "\x00" + s.lines() }

func (s Side) sameLines(t Side) bool {
	return s.Call == t.Call && s.Buffer == t.Buffer && slices.EqualFunc(s.Path, t.Path, Frame.sameLine)
}

// Hash is the fingerprint in 32 hexadecimal digits.
func (f Finding) Hash() string {
	parts := []string{f.Rule}
	for _, s := range slices.Concat(f.Sides, f.Windows) {
		parts = append(parts, s.key())
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x01")))
	return hex.EncodeToString(sum[:16])
}

// Places is what findings have in common that may be the same with or without
// the source at hand: the rule, calls, functions and files.
func (f Finding) Places() string {
	parts := []string{f.Rule}
	for _, s := range slices.Concat(byPlace(f.Sides), byPlace(f.Windows)) {
		parts = append(parts, s.place())
	}
	return strings.Join(parts, "\x01")
}

// SameLines reports whether two findings are at the same lines of the same
// functions: the finding is the same although the text of a line is known for
// only one of them.
func (f Finding) SameLines(g Finding) bool {
	return f.Rule == g.Rule && slices.EqualFunc(byPlace(f.Sides), byPlace(g.Sides), Side.sameLines) &&
		slices.EqualFunc(byPlace(f.Windows), byPlace(g.Windows), Side.sameLines)
}

func byPlace(sides []Side) []Side {
	return slices.SortedStableFunc(slices.Values(sides), func(a, b Side) int {
		return strings.Compare(a.place()+"\x00"+a.lines(), b.place()+"\x00"+b.lines())
	})
}

// String names the finding for people: "MC103: load (main, app.c:24) and MPI_Get (main, app.c:22)".
func (f Finding) String() string {
	var sides []string
	for _, s := range f.Sides {
		sides = append(sides, s.Call+s.where())
	}
	return f.Rule + ": " + strings.Join(sides, " and ")
}

// where is the place that a report points at.
func (s Side) where() string {
	if s.Here < 0 || s.Here >= len(s.Path) {
		return ""
	}
	f := s.Path[s.Here]
	where := strings.Trim(f.Function+", "+f.File, ", ")
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	if where == "" {
		return ""
	}
	return " (" + where + ")"
}
