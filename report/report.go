// Package report renders the result of an analysis: one file a format, all
// from the same *analysis.Result, none knowing how it was found.
//
// A format is a function and a line in formats. What several
// formats say alike (the message of a finding, how ranks and places are
// written) is in words.go.
package report

import (
	"io"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
)

// Options are what a format may need of its surroundings. The zero value gives
// plain output with paths as recorded.
type Options struct {
	// Color: write ANSI colours (text).
	Color bool
	// Fails says which findings make a run fail, for formats that have passed
	// and failed; nil means errors.
	Fails func(conflicts.Severity) bool
	// Version is that of mcchk, for formats that name it; "" leaves it out.
	Version string
	// Dir makes paths below it relative; "" leaves them as recorded.
	Dir string
}

// Func renders a result. It writes nothing else than the report.
type Func func(w io.Writer, res *analysis.Result, opts Options) error

type format struct {
	name   string
	render Func
}

// formats lists all formats, the default first.
func formats() []format {
	return []format{
		{"text", Text},
		{"short", Short},
		{"json", func(w io.Writer, res *analysis.Result, _ Options) error { return JSON(w, res) }},
		{"sarif", SARIF},
		{"junit", JUnit},
		{"github", GitHub},
		{"html", HTML},
	}
}

// Formats returns the names of all formats, the default first.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Lookup returns the format of that name.
func Lookup(name string) (Func, bool) {
	for _, f := range formats() {
		if f.name == name {
			return f.render, true
		}
	}
	return nil, false
}

// Counts is the number of findings of each severity.
type Counts struct{ Errors, Warnings, Notes int }

// Count counts the findings of a result.
func Count(res *analysis.Result) Counts {
	var c Counts
	for i := range res.Findings {
		switch res.Findings[i].Severity {
		case conflicts.Error:
			c.Errors++
		case conflicts.Warning:
			c.Warnings++
		default:
			c.Notes++
		}
	}
	return c
}
