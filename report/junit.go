package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/problems"
)

// JUnit writes a result as one test suite in the XML that JUnit's Ant task
// made common: each problem a test case, failed if it makes the run fail and
// otherwise passed with the finding as its output; what package gate accepted a
// skipped one; and one for the verdict, in error if that is undecided. Times are
// left out: the analysis's own are not the program's.
func JUnit(w io.Writer, res *analysis.Result, opts Options) error {
	fails := opts.Fails
	if fails == nil {
		fails = func(s conflicts.Severity) bool { return s == conflicts.Error }
	}
	suite := junitSuite{Name: "mcchk"}
	if res.Program != "" {
		suite.Name += " " + xmlText(res.Program)
	}
	named := newJUnitNames(res, opts)
	for _, p := range problems.Of(res.Findings) {
		f := &res.Findings[p.Lead()]
		c := named.caseOf(f)
		var all strings.Builder
		all.WriteString(plainFinding(res, p.Lead(), opts))
		for _, k := range p.Findings[1:] {
			all.WriteString("\n\nOf the same problem:\n")
			all.WriteString(plainFinding(res, k, opts))
		}
		text := all.String()
		if fails(f.Severity) {
			c.Failure = &junitProblem{Message: xmlText(Message(f)), Type: f.Rule, Text: xmlText(text)}
			suite.Failures++
		} else {
			c.Output = xmlText(text)
		}
		suite.Cases = append(suite.Cases, c)
	}
	for i := range res.Accepted {
		a := &res.Accepted[i]
		c := named.caseOf(&a.Finding)
		c.Skipped = &junitSkipped{Message: xmlText(strings.TrimSuffix(string(a.By)+": "+a.Reason, ": "))}
		suite.Cases = append(suite.Cases, c)
		suite.Skipped++
	}
	verdict := junitCase{Class: "mcchk", Name: "verdict"}
	if res.Verdict == analysis.Undecided {
		var caveats []string
		for _, d := range res.Caveats {
			caveats = append(caveats, d.Text)
		}
		verdict.Error = &junitProblem{Message: "undecided", Type: "undecided", Text: xmlText(strings.Join(caveats, "\n"))}
		suite.Errors++
	}
	verdict.Output = Verdict(res) + ": " + foundation(res)
	for _, d := range res.Allowed {
		verdict.Output += "\n" + xmlText(d.Text)
	}
	suite.Cases = append(suite.Cases, verdict)
	suite.Tests = len(suite.Cases)

	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	return nil
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitSkipped `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// junitNames names test cases.
type junitNames struct {
	res  *analysis.Result
	opts Options
	seen map[string]int // findings by rule and places
}

func newJUnitNames(res *analysis.Result, opts Options) *junitNames {
	n := &junitNames{res, opts, map[string]int{}}
	for i := range res.Findings {
		n.seen[res.Findings[i].Rule+n.places(&res.Findings[i])]++
	}
	for i := range res.Accepted {
		n.seen[res.Accepted[i].Rule+n.places(&res.Accepted[i].Finding)]++
	}
	return n
}

// caseOf returns the test case of a finding. It is named by its places, and where
// there are several of the same by its fingerprint too, so that it has the same
// name in the next run.
func (n *junitNames) caseOf(f *conflicts.Finding) junitCase {
	lead, _ := explain.Sides(f)
	c := junitCase{Class: "mcchk." + f.Rule, Name: n.places(f)}
	if n.seen[f.Rule+c.Name] > 1 {
		c.Name += " (" + fingerprint.Of(f, n.res.Sources).Hash()[:shownPrint] + ")"
	}
	c.Name = xmlText(c.Name)
	c.File, c.Line = fileLine(lead, n.opts.Dir)
	return c
}

func (n *junitNames) places(f *conflicts.Finding) string {
	lead, other := explain.Sides(f)
	text := models.What(lead) + " at " + stackPlace(lead.Stack, n.opts.Dir)
	if !f.Alone() {
		text += ", " + models.What(other) + " at " + stackPlace(other.Stack, n.opts.Dir)
	}
	return text
}

// xmlText replaces what XML cannot hold.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
