package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
)

// Difference is what became of the findings of one result in another.
type Difference struct {
	Before Compared `json:"before"`
	After  Compared `json:"after"`
	New    []Change `json:"new"`   // in the second alone, in its order
	Gone   []Change `json:"gone"`  // in the first alone, in its order
	Still  []Change `json:"still"` // in both, in the order of the second
	// Failing is how many of New make a run fail: grave enough, and accepted by nobody.
	Failing int `json:"failing"`
}

// Compared is one of two results that are compared.
type Compared struct {
	Verdict   analysis.Verdict `json:"verdict"`
	Directory string           `json:"directory"`
	Program   string           `json:"program,omitempty"`
	Began     string           `json:"began,omitempty"`
}

// Change is a finding of a difference.
type Change struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	Severity    string `json:"severity"`
	Was         string `json:"was,omitempty"` // its severity before, where that was another
	Message     string `json:"message"`
	Place       string `json:"place"`
	Other       string `json:"other,omitempty"`    // place of the other access
	Accepted    string `json:"accepted,omitempty"` // what accepts it: a baseline or a suppression
}

// Compare says which findings of one result are in another. What is accepted counts as
// found. fails says which findings make a run fail; dir makes paths below it relative.
func Compare(before, after *Saved, fails func(conflicts.Severity) bool, dir string) *Difference {
	d := &Difference{Before: before.compared(), After: after.compared(), New: []Change{}, Gone: []Change{}, Still: []Change{}}
	old := before.all()
	left := map[string][]int{} // of old, by fingerprint
	for i := range old {
		left[old[i].Print] = append(left[old[i].Print], i)
	}
	for _, f := range after.all() {
		c := changeOf(&f, dir)
		same := left[f.Print]
		if len(same) == 0 {
			d.New = append(d.New, c)
			if f.By == "" && fails(f.severity()) {
				d.Failing++
			}
			continue
		}
		left[f.Print] = same[1:]
		if was := old[same[0]].Severity; was != f.Severity {
			c.Was = was
		}
		d.Still = append(d.Still, c)
	}
	for i := range old {
		if gone := left[old[i].Print]; len(gone) > 0 && gone[0] == i {
			left[old[i].Print] = gone[1:]
			d.Gone = append(d.Gone, changeOf(&old[i], dir))
		}
	}
	return d
}

func (s *Saved) compared() Compared {
	return Compared{analysis.Verdict(s.report.Verdict), s.report.Directory, s.report.Program, s.report.Began}
}

func changeOf(f *jsonAccepted, dir string) Change {
	c := Change{Fingerprint: f.Print, Rule: f.Rule, Severity: f.Severity, Message: f.Message, Accepted: f.By}
	c.Place, c.Other = f.places(dir)
	return c
}

// WriteJSON writes a difference as one JSON object, described by docs/diff.schema.json.
func (d *Difference) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	return nil
}

// WriteText writes a difference for people: a line each of what is new, gone and still
// there, and the numbers as the last line.
func (d *Difference) WriteText(w io.Writer, color bool) error {
	bw := bufio.NewWriter(w)
	paint := newPalette(color)
	for _, part := range []struct {
		title   string
		changes []Change
	}{{"new", d.New}, {"gone", d.Gone}, {"still there", d.Still}} {
		if len(part.changes) == 0 {
			continue
		}
		fmt.Fprintf(bw, "%s\n", paint.strong.Sprint(part.title+":"))
		for i := range part.changes {
			c := &part.changes[i]
			severity := paint.severity(conflicts.Severity(c.Severity)).Sprintf("%s:", c.Severity)
			fmt.Fprintf(bw, "%s %s %s [%s] %s%s\n", paint.strong.Sprint(c.Place+":"), severity, c.Message, c.Rule, c.Fingerprint[:min(shownPrint, len(c.Fingerprint))], c.remark())
		}
		fmt.Fprintln(bw)
	}
	for _, s := range []struct {
		name string
		of   Compared
		says string
	}{
		{"first", d.Before, "what is new may have been there then"},
		{"second", d.After, "what is gone may still be there"},
	} {
		if s.of.Verdict == analysis.Undecided {
			fmt.Fprintf(bw, "%s the %s report is undecided, so %s\n", paint.warning.Sprint("caveat:"), s.name, s.says)
		}
	}
	fmt.Fprintf(bw, "%d new, %d gone, %d still there\n", len(d.New), len(d.Gone), len(d.Still))
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	return nil
}

// remark says in parentheses what else is to be known of a finding.
func (c *Change) remark() string {
	text := ""
	if c.Was != "" {
		text += " (was: " + c.Was + ")"
	}
	if c.Accepted != "" {
		text += " (accepted by " + c.Accepted + ")"
	}
	return text
}
