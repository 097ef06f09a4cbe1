package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/internal/mapping"
	"github.com/mcchk/mcchk/internal/mistaken"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// Suppression excuses findings. A finding fits when its rule does, and one of
// its sides fits Side and the other one fits Other.
type Suppression struct {
	Line   int    // in its file
	Rule   string // pattern; "" fits any
	Side   SidePattern
	Other  *SidePattern // nil: any, or none
	Reason string
}

// SidePattern describes one side of a finding. In a pattern * stands for any
// number of any characters; "" fits anything.
type SidePattern struct {
	Call     string // MPI call, or kind of access such as "load"
	Function string // that the source line belongs to, demangled
	File     string // its source file: as many of the last elements of the path as the pattern has
	Line     string // its text; white space does not matter
	Frame    string // function, source file or library of any frame of the call stack
}

// Suppressions are the entries of a file, in its order.
type Suppressions struct {
	Path    string // as given
	Entries []Suppression
}

// Keys of an entry, and of what other holds.
var (
	entryKeys = []string{"rule", "call", "function", "file", "line", "frame", "other", "reason"}
	sideKeys  = []string{"call", "function", "file", "line", "frame"}
)

// ReadSuppressions reads a suppressions file. Errors name the file, and the
// line of each mistake.
func ReadSuppressions(path string) (*Suppressions, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("suppressions: %w", err)
	}
	entries, err := parseSuppressions(data)
	if err != nil {
		return nil, fmt.Errorf("suppressions: %w", mapping.Located(path, err))
	}
	return &Suppressions{Path: path, Entries: entries}, nil
}

func parseSuppressions(data []byte) ([]Suppression, error) {
	root, err := mapping.Parse(data)
	if err != nil || root == nil {
		return nil, err
	}
	items, err := mapping.Items(root)
	if err != nil && json.Valid(data) {
		return nil, fmt.Errorf("%w: %s", err, mistaken.JSON(data))
	}
	if err != nil {
		return nil, err
	}
	var out []Suppression
	var errs []error
	for _, item := range items {
		s, err := parseEntry(item)
		out = append(out, s)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

func parseEntry(item *yaml.Node) (Suppression, error) {
	s := Suppression{Line: item.Line}
	entries, err := mapping.Entries(item, entryKeys)
	errs := []error{err}
	for _, e := range entries {
		if e.Key == "other" {
			s.Other = &SidePattern{}
			errs = append(errs, s.Other.parse(e.Value))
			continue
		}
		text, err := mapping.Text(e.Value)
		errs = append(errs, err)
		switch e.Key {
		case "rule":
			s.Rule = text
			errs = append(errs, checkRule(e.Value))
		case "reason":
			s.Reason = strings.TrimSpace(text)
		default:
			s.Side.set(e.Key, text)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	switch {
	case s.Reason == "":
		return s, mapping.Errorf(item, "the reason is missing: say why these findings are none (reason: ...)")
	case s.Rule == "" && s.Side == (SidePattern{}) && s.Other == nil:
		return s, mapping.Errorf(item, "it would fit every finding: give a rule, call, function, file, line or frame")
	}
	return s, nil
}

// checkRule refuses patterns that fit no rule there is.
func checkRule(n *yaml.Node) error {
	pattern := n.Value
	for _, r := range models.Rules() {
		if pattern == "" || fits(pattern, r.ID) {
			return nil
		}
	}
	return mapping.Errorf(n, "there is no rule %s: mcchk explain lists them", pattern)
}

func (p *SidePattern) set(key, text string) {
	switch key {
	case "call":
		p.Call = text
	case "function":
		p.Function = text
	case "file":
		p.File = text
	case "line":
		p.Line = text
	case "frame":
		p.Frame = text
	}
}

func (p *SidePattern) parse(n *yaml.Node) error {
	entries, err := mapping.Entries(n, sideKeys)
	errs := []error{err}
	for _, e := range entries {
		text, err := mapping.Text(e.Value)
		errs = append(errs, err)
		p.set(e.Key, text)
	}
	return errors.Join(errs...)
}

func (p *SidePattern) fits(s *conflicts.Side, lines *sources.Reader) bool {
	call, at := describe(s)
	return fits(p.Call, call) && fits(p.Function, at.Func) && fitsPath(p.File, at.File) &&
		(p.Line == "" || fits(unspaced(p.Line), unspaced(lines.Line(at.File, at.Line)))) && p.fitsFrame(s.Stack)
}

// unspaced returns a text without its white space.
func unspaced(text string) string { return strings.Join(strings.Fields(text), "") }

// fitsFrame reports whether a frame of a stack fits.
func (p *SidePattern) fitsFrame(stack []symbols.Frame) bool {
	return p.Frame == "" || slices.ContainsFunc(stack, func(f symbols.Frame) bool {
		return fits(p.Frame, f.Func) || fitsPath(p.Frame, f.File) || fitsPath(p.Frame, f.Module)
	})
}

// describe says of a side what patterns are compared with.
func describe(s *conflicts.Side) (call string, at symbols.Frame) {
	call = s.Call
	if call == "" {
		call = s.Role
	}
	at, _ = symbols.Here(s.Stack)
	return call, at
}

// fits compares text with a pattern in which * stands for any characters.
func fits(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, last)
}

// fitsPath compares the last elements of a path, as many as the pattern has.
func fitsPath(pattern, path string) bool {
	if pattern == "" {
		return true
	}
	pattern = filepath.Clean(pattern)
	if filepath.IsAbs(pattern) {
		return fits(pattern, path)
	}
	elements := strings.Split(filepath.Clean(path), "/")
	n := strings.Count(pattern, "/") + 1
	return n <= len(elements) && fits(pattern, strings.Join(elements[len(elements)-n:], "/"))
}

// Fits reports whether the suppression excuses a finding, of whose sources lines has the text.
func (s *Suppression) Fits(f *conflicts.Finding, lines *sources.Reader) bool {
	if !fits(s.Rule, f.Rule) {
		return false
	}
	if f.Alone() {
		return s.Other == nil && s.Side.fits(&f.First, lines)
	}
	pair := func(a, b *conflicts.Side) bool {
		return s.Side.fits(a, lines) && (s.Other == nil || s.Other.fits(b, lines))
	}
	return pair(&f.First, &f.Second) || pair(&f.Second, &f.First)
}

// String names a suppression for people.
func (s *Suppression) String() string {
	parts := []string{}
	add := func(key, text string) {
		if text != "" {
			parts = append(parts, key+" "+text)
		}
	}
	add("rule", s.Rule)
	add("call", s.Side.Call)
	add("function", s.Side.Function)
	add("file", s.Side.File)
	add("line", s.Side.Line)
	add("frame", s.Side.Frame)
	return strings.Join(parts, ", ")
}

func (s *Suppressions) len() int {
	if s == nil {
		return 0
	}
	return len(s.Entries)
}

// match returns the first entry that excuses a finding, and marks all that do
// as used.
func (s *Suppressions) match(f *conflicts.Finding, lines *sources.Reader, used []bool) *Suppression {
	var first *Suppression
	for i := range used {
		if s.Entries[i].Fits(f, lines) {
			used[i] = true
			if first == nil {
				first = &s.Entries[i]
			}
		}
	}
	return first
}

func (s *Suppressions) unused(used []bool) []Suppression {
	var out []Suppression
	for i, u := range used {
		if !u {
			out = append(out, s.Entries[i])
		}
	}
	return out
}

// WriteSuppressions returns a suppressions file with an entry for each finding
// of a result, which fits what is at the same lines, as far as their text is known. The reasons are left to be filled in; without, the file is refused.
func WriteSuppressions(res *analysis.Result) []byte {
	var b bytes.Buffer
	b.WriteString("# Fill in the reasons: why is each of these no error? Then: mcchk analyze --suppressions FILE\n")
	seen := map[string]bool{}
	for i := range res.Findings {
		text := entryText(&res.Findings[i], res.Sources)
		if !seen[text] {
			seen[text] = true
			b.WriteString(text)
		}
	}
	if len(seen) == 0 {
		b.WriteString("[]\n")
	}
	return b.Bytes()
}

func entryText(f *conflicts.Finding, lines *sources.Reader) string {
	text := "- rule: " + f.Rule + "\n" + sideText(&f.First, lines, "  ")
	if !f.Alone() {
		text += "  other:\n" + sideText(&f.Second, lines, "    ")
	}
	return text + "  reason:\n"
}

func sideText(s *conflicts.Side, lines *sources.Reader, indent string) string {
	call, at := describe(s)
	text := indent + "call: " + quote(call) + "\n"
	if at.Func != "" {
		text += indent + "function: " + quote(at.Func) + "\n"
	}
	if at.File != "" {
		text += indent + "file: " + quote(filepath.Base(at.File)) + "\n"
	}
	if line := strings.TrimSpace(lines.Line(at.File, at.Line)); line != "" {
		text += indent + "line: " + quote(line) + "\n"
	}
	if caller := callerOf(s.Stack); caller != "" {
		text += indent + "frame: " + quote(caller) + "\n"
	}
	return text
}

// callerOf is the function that calls the one that a report points at; "" where
// that says nothing: it is the main function, or not known.
func callerOf(stack []symbols.Frame) string {
	path := symbols.Path(stack)
	i := symbols.HereAt(path) + 1
	if i == 0 || i >= len(path) || path[i].Func == "main" || path[i].Func == "MAIN__" {
		return ""
	}
	return path[i].Func
}

// quote writes a value so that YAML reads it as text, whatever it holds.
func quote(s string) string {
	out, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSuffix(string(out), "\n")
}
