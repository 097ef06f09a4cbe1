package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Expectation is what an analysis must say under a condition.
type Expectation struct {
	Where    string // file:line where it begins
	Under    string // the condition, "" for none
	Verdict  string
	Findings []*Finding
	Caveats  []Note // whose texts are patterns
	nothing  bool
}

// Finding is an expected finding. Texts are patterns.
type Finding struct {
	Where      string // file:line
	Text       string // "MC102 3 b.c:7 (warning)"
	Why        string // "": anything
	Sought     []Note // nil: anything
	Proposals  []Note // nil: anything
	NoProposal []string
}

// Note is a text of some kind.
type Note struct{ Kind, Text string }

// expectations are lines about what is expected.
var expectations = map[string]func(*parser, string) error{
	"under": func(p *parser, rest string) error {
		if rest == "" {
			return errors.New("a condition is expected")
		}
		p.under = rest
		return nil
	},
	"expect": func(p *parser, rest string) error {
		e := p.expectation()
		words := fields(rest)
		switch {
		case len(words) == 0:
			return errors.New(`"expect RULE PLACE…" or "expect nothing" is expected`)
		case words[0] == "nothing":
			e.nothing = true
			return nil
		}
		e.Findings = append(e.Findings, &Finding{Where: p.where(), Text: strings.Join(words, " ")})
		return nil
	},
	"verdict": func(p *parser, rest string) error {
		e := p.expectation()
		if e.Verdict != "" {
			return errors.New("a second verdict")
		}
		e.Verdict = rest
		return nil
	},
	"caveat": func(p *parser, rest string) error {
		e := p.expectation()
		return p.note(&e.Caveats, rest)
	},
	"why:": func(p *parser, rest string) error {
		return p.explain(func(f *Finding) *string {
			f.Why = rest
			return &f.Why
		})
	},
	"sought": func(p *parser, rest string) error {
		f, err := p.finding()
		if err != nil {
			return err
		}
		return p.note(&f.Sought, rest)
	},
	"proposal": func(p *parser, rest string) error {
		f, err := p.finding()
		if err != nil {
			return err
		}
		return p.note(&f.Proposals, rest)
	},
}

func (p *parser) where() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// expectation returns what is expected under the present condition.
func (p *parser) expectation() *Expectation {
	s := p.scenario
	for _, e := range s.Expect {
		if e.Under == p.under {
			return e
		}
	}
	e := &Expectation{Where: p.where(), Under: p.under}
	s.Expect = append(s.Expect, e)
	return e
}

// finding returns the last expected one.
func (p *parser) finding() (*Finding, error) {
	e := p.expectation()
	if len(e.Findings) == 0 {
		return nil, errors.New(`an explanation stands behind the "expect RULE PLACE…" of its finding`)
	}
	return e.Findings[len(e.Findings)-1], nil
}

func (p *parser) explain(set func(*Finding) *string) error {
	f, err := p.finding()
	if err == nil {
		p.text = set(f)
	}
	return err
}

// note reads "kind: pattern".
func (p *parser) note(to *[]Note, text string) error {
	kind, pattern, ok := strings.Cut(text, ": ")
	if !ok || strings.Contains(kind, " ") {
		return errors.New(`"KIND: TEXT" is expected, with ... for what may be anything`)
	}
	*to = append(*to, Note{kind, strings.TrimSpace(pattern)})
	p.text = &(*to)[len(*to)-1].Text
	return nil
}

// Outcome is what an analysis said.
type Outcome struct {
	Verdict  string
	Findings []Found
	Caveats  []Note
}

// Found is a finding of it.
type Found struct {
	Text      string // as in Finding
	Why       string
	Sought    []Note
	Proposals []Note
}

// Check says how an outcome differs from what is expected, nil if it does not.
func (e *Expectation) Check(got *Outcome) error {
	var errs []error
	differ := func(where, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
	}
	if e.Verdict != got.Verdict {
		differ(e.Where, "the verdict is %q, not %q", got.Verdict, e.Verdict)
	}
	for _, d := range unlike(e.Caveats, got.Caveats) {
		differ(e.Where, "caveats: %s", d)
	}
	left := slices.Clone(got.Findings)
	for _, f := range e.Findings {
		i := slices.IndexFunc(left, func(x Found) bool { return x.Text == f.Text })
		if i < 0 {
			differ(f.Where, "%s is not found", f.Text)
			continue
		}
		for _, d := range f.unlike(&left[i]) {
			differ(f.Where, "%s: %s", f.Text, d)
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, f := range left {
		differ(e.Where, "%s is found", f.Text)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w\nThe analysis says:\n\n%s", errors.Join(errs...), got)
}

// unlike says how an explanation differs from what is expected.
func (f *Finding) unlike(got *Found) []string {
	var out []string
	if f.Why != "" && !matches(f.Why, got.Why) {
		out = append(out, fmt.Sprintf("why: %q does not fit %q", got.Why, f.Why))
	}
	if f.Sought != nil {
		out = append(out, unlike(f.Sought, got.Sought)...)
	}
	if f.Proposals != nil {
		out = append(out, unlike(f.Proposals, got.Proposals)...)
	}
	for _, pattern := range f.NoProposal {
		for _, p := range got.Proposals {
			if matches(pattern, p.Text) {
				out = append(out, fmt.Sprintf("there is a proposal %q", p.Text))
			}
		}
	}
	return out
}

// unlike compares texts one by one.
func unlike(want, got []Note) []string {
	var out []string
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			out = append(out, fmt.Sprintf("%q is missing", want[i].String()))
		case i >= len(want):
			out = append(out, fmt.Sprintf("%q is too many", got[i].String()))
		case want[i].Kind != got[i].Kind || !matches(want[i].Text, got[i].Text):
			out = append(out, fmt.Sprintf("%q does not fit %q", got[i].String(), want[i].String()))
		}
	}
	return out
}

func (n Note) String() string { return n.Kind + ": " + n.Text }

// matches compares a text with a pattern, in which ... stands for anything.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "...")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, strings.TrimRight(parts[0], " "))
	last := strings.TrimLeft(parts[len(parts)-1], " ")
	for _, part := range parts[1 : len(parts)-1] {
		if ok {
			_, text, ok = strings.Cut(text, strings.TrimSpace(part))
		}
	}
	return ok && strings.HasSuffix(text, last)
}

// String writes the outcome as a scenario has it.
func (o *Outcome) String() string {
	var b strings.Builder
	for _, f := range o.Findings {
		fmt.Fprintf(&b, "expect %s\n  why: %s\n", f.Text, f.Why)
		for _, n := range f.Sought {
			fmt.Fprintf(&b, "  sought %s\n", n)
		}
		for _, n := range f.Proposals {
			fmt.Fprintf(&b, "  proposal %s\n", n)
		}
	}
	if len(o.Findings) == 0 {
		b.WriteString("expect nothing\n")
	}
	fmt.Fprintf(&b, "verdict %s\n", o.Verdict)
	for _, n := range o.Caveats {
		fmt.Fprintf(&b, "caveat %s\n", n)
	}
	return b.String()
}
