package fingerprint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// What follows is for baselines of version 1, which recognized a finding by its
// innermost lines alone.

// Innermost is what a finding was recognized by in version 1: the innermost lines
// of its two accesses, whatever the way there.
func Innermost(f *conflicts.Finding, lines *sources.Reader) Finding {
	out := Finding{Rule: f.Rule}
	for _, s := range sidesOf(f) {
		side := Side{Call: callOf(s)}
		if here, ok := innermost(s.Stack); ok {
			side.Path = []Frame{frameOf(here, lines)}
		}
		out.Sides = append(out.Sides, side)
	}
	inOrder(out.Sides)
	return out
}

// innermost is the innermost frame, but for those of system headers.
func innermost(stack []symbols.Frame) (symbols.Frame, bool) {
	for _, f := range stack {
		if f.File == "" {
			break
		}
		if !slices.ContainsFunc([]string{"/usr/include/", "/usr/lib/", "/usr/local/include/", "/opt/"}, func(dir string) bool { return strings.HasPrefix(f.File, dir) }) {
			return f, true
		}
	}
	if len(stack) == 0 {
		return symbols.Frame{}, false
	}
	return stack[0], true
}

// ReadInnermost reads a finding as a baseline of version 1 has it: its sides have
// the fields of a frame.
func ReadInnermost(data []byte) (Finding, error) {
	var in struct {
		Rule  string `json:"rule"`
		Sides []struct {
			Call string `json:"call"`
			Frame
		} `json:"sides"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return Finding{}, err
	}
	out := Finding{Rule: in.Rule}
	for _, s := range in.Sides {
		side := Side{Call: s.Call}
		if s.Frame != (Frame{}) {
			side.Path = []Frame{s.Frame}
		}
		out.Sides = append(out.Sides, side)
	}
	return out, nil
}
