// Package fingerprint tells whether a finding of one run is a finding of
// another: after a change elsewhere in the file, with another number of
// processes, on another machine.
//
// A fingerprint is made of the rule and, for each of the two accesses, the MPI
// call or kind of access, the function, the file's name without its folders,
// and the text of the source line without its white space. Neither ranks,
// addresses, line numbers, counts nor the order of the two sides are part of
// it. Where the text of a line is not at hand, its number takes its place;
// where there is no debug information, the module's name and the offset in it.
//
// Two findings at lines of the same text in the same functions have the same
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
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// Name is that of this kind of fingerprint and its version, as SARIF's
// partialFingerprints want it.
const Name = "mcchk/v1"

// Side is one access of a finding, without what changes from run to run.
type Side struct {
	Call     string `json:"call"`               // "MPI_Put", or "load" and the like for what is no call
	Function string `json:"function,omitempty"` // demangled; "" when unknown
	File     string `json:"file,omitempty"`     // without folders; of the module when there is no debug information
	Line     int    `json:"line,omitempty"`     // 0 when unknown
	Text     string `json:"text,omitempty"`     // of the source line, without white space at its ends; "" when not at hand
	Offset   uint64 `json:"offset,omitempty"`   // in the module, when there is no debug information
}

// Finding is what a finding is recognized by.
type Finding struct {
	Rule  string `json:"rule"`
	Sides []Side `json:"sides"` // one or two, in an order of their own
}

// Of is the fingerprint of a finding, with lines from a reader (nil: none are at
// hand).
func Of(f *conflicts.Finding, lines *sources.Reader) Finding {
	out := Finding{Rule: f.Rule, Sides: []Side{sideOf(&f.First, lines)}}
	if !f.Alone() {
		out.Sides = append(out.Sides, sideOf(&f.Second, lines))
	}
	slices.SortStableFunc(out.Sides, func(a, b Side) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	return out
}

func sideOf(s *conflicts.Side, lines *sources.Reader) Side {
	out := Side{Call: s.Call}
	if out.Call == "" {
		out.Call = s.Role
	}
	f, ok := symbols.Here(s.Stack)
	if !ok {
		return out
	}
	out.Function = f.Func
	switch {
	case f.File != "":
		out.File, out.Line = filepath.Base(f.File), f.Line
		out.Text = strings.TrimSpace(lines.Line(f.File, f.Line))
	case f.Module != "":
		out.File, out.Offset = filepath.Base(f.Module), f.Offset
	}
	return out
}

// key is the side as it counts: with the line's number only where its text is
// not known.
func (s Side) key() string {
	if s.Text != "" {
		return s.place() + "\x00" + strings.Join(strings.Fields(s.Text), "")
	}
	return fmt.Sprintf("%s\x00%d\x00%x", s.place(), s.Line, s.Offset)
}

func (s Side) place() string { return s.Call + "\x00" + s.Function + "\x00" + s.File }

func (s Side) sortKey() string { return fmt.Sprintf("%s\x00%09d", s.key(), s.Line) }

// Hash is the fingerprint in 32 hexadecimal digits.
func (f Finding) Hash() string {
	parts := []string{f.Rule}
	for _, s := range f.Sides {
		parts = append(parts, s.key())
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x01")))
	return hex.EncodeToString(sum[:16])
}

// Places is what findings have in common that may be the same with or without
// the source at hand: the rule, calls, functions and files.
func (f Finding) Places() string {
	parts := []string{f.Rule}
	for _, s := range f.byPlace() {
		parts = append(parts, s.place())
	}
	return strings.Join(parts, "\x01")
}

// SameLines reports whether two findings are at the same lines of the same
// functions: the finding is the same although the text of a line is known for
// only one of them.
func (f Finding) SameLines(g Finding) bool {
	if f.Rule != g.Rule || len(f.Sides) != len(g.Sides) {
		return false
	}
	return slices.EqualFunc(f.byPlace(), g.byPlace(), func(a, b Side) bool {
		textKnown := a.Text != "" && b.Text != ""
		return a.place() == b.place() && a.Line == b.Line && a.Offset == b.Offset && (!textKnown || a.key() == b.key())
	})
}

func (f Finding) byPlace() []Side {
	return slices.SortedStableFunc(slices.Values(f.Sides), func(a, b Side) int {
		return strings.Compare(fmt.Sprintf("%s\x00%09d", a.place(), a.Line), fmt.Sprintf("%s\x00%09d", b.place(), b.Line))
	})
}

// String names the finding for people: "MC103: load (main, app.c:24) and MPI_Get (main, app.c:22)".
func (f Finding) String() string {
	var sides []string
	for _, s := range f.Sides {
		where := strings.Trim(s.Function+", "+s.File, ", ")
		if s.Line > 0 {
			where += fmt.Sprintf(":%d", s.Line)
		}
		if where != "" {
			where = " (" + where + ")"
		}
		sides = append(sides, s.Call+where)
	}
	return f.Rule + ": " + strings.Join(sides, " and ")
}
