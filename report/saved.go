package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/internal/mistaken"
	"github.com/mcchk/mcchk/symbols"
)

// ErrNoReport is the error of a file that holds something else than a JSON report.
var ErrNoReport = errors.New("no JSON report of mcchk")

// Saved is a result as a JSON report has it.
type Saved struct{ report jsonReport }

// Read reads what JSON wrote, with this or an earlier version of mcchk. The error for
// anything else wraps ErrNoReport.
func Read(r io.Reader) (*Saved, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	s := &Saved{}
	switch err := json.Unmarshal(data, &s.report); {
	case s.report.Version == 0:
		return nil, fmt.Errorf("%w: %s; what is compared is files that --format json wrote, and directories of traces", ErrNoReport, mistaken.JSON(data))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoReport, err)
	}
	if v := s.report.Version; v != jsonVersion {
		return nil, fmt.Errorf("%w: version %d, and this program reads version %d", ErrNoReport, v, jsonVersion)
	}
	for i, f := range s.all() {
		if f.Rule == "" || f.Print == "" {
			return nil, fmt.Errorf("%w: finding %d has no rule or no fingerprint", ErrNoReport, i+1)
		}
	}
	return s, nil
}

// all returns the findings, and behind them those accepted.
func (s *Saved) all() []jsonAccepted {
	var out []jsonAccepted
	for _, f := range s.report.Findings {
		out = append(out, jsonAccepted{jsonFinding: f})
	}
	if s.report.Accepted != nil {
		out = append(out, *s.report.Accepted...)
	}
	return out
}

// severity is that of a finding.
func (f *jsonFinding) severity() conflicts.Severity { return conflicts.Severity(f.Severity) }

// places are those of the access that a report speaks of first, and of the other; "" of
// none.
func (f *jsonFinding) places(dir string) (lead, other string) {
	lead = stackPlace(framesOf(f.First.Stack), dir)
	if f.Second == nil {
		return lead, ""
	}
	other = stackPlace(framesOf(f.Second.Stack), dir)
	if f.Lead == "second" {
		return other, lead
	}
	return lead, other
}

func framesOf(frames []jsonFrame) []symbols.Frame {
	var out []symbols.Frame
	for _, f := range frames {
		frame := symbols.Frame{Func: f.Func, File: f.File, Line: f.Line, Column: f.Column, Module: f.Module, Inlined: f.Inlined, Reason: f.Reason, Layer: symbols.Layer(f.Layer)}
		_, _ = fmt.Sscanf(f.Offset, "0x%x", &frame.Offset) // 0 where it is none
		out = append(out, frame)
	}
	return out
}
