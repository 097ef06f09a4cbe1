package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Scenario is a run and what is expected of its analysis.
type Scenario struct {
	Name   string   // in an archive
	Story  []string // the lines before all else, without #
	Trace  *Trace
	Expect []*Expectation // one for each condition, in the order of the file
}

// Parse reads a scenario of its own; name is how errors name its file.
func Parse(name, text string) (*Scenario, error) {
	s := &Scenario{Trace: newTrace()}
	if err := read(s, part{name, 1, text}); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadFile reads the scenarios of a .txt or .txtar file.
func ReadFile(path string) ([]*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(data), "#") {
		return nil, fmt.Errorf("%s:1: a file of scenarios begins with its story, in lines that begin with #", path)
	}
	if filepath.Ext(path) != ".txtar" {
		s, err := Parse(path, string(data))
		if err != nil {
			return nil, err
		}
		s.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		return []*Scenario{s}, s.complete(path)
	}
	var out []*Scenario
	archive := txtar.Parse(data)
	if len(archive.Files) == 0 {
		return nil, fmt.Errorf(`%s: no line "-- name --" begins a scenario`, path)
	}
	line := 1 + strings.Count(string(archive.Comment), "\n")
	names := map[string]bool{}
	for _, f := range archive.Files {
		s := &Scenario{Name: f.Name, Trace: newTrace()}
		err := read(s, part{path, 1, string(archive.Comment)}, part{path, line + 1, string(f.Data)})
		if err == nil {
			err = s.complete(fmt.Sprintf("%s:%d", path, line))
		}
		if err == nil && names[f.Name] {
			err = fmt.Errorf("%s:%d: there are two scenarios %q", path, line, f.Name)
		}
		if err != nil {
			return nil, err
		}
		names[f.Name] = true
		out = append(out, s)
		line += 1 + strings.Count(string(f.Data), "\n")
	}
	return out, nil
}

// part is a text that begins with some line of a file.
type part struct {
	file  string
	first int
	text  string
}

func read(s *Scenario, parts ...part) error {
	p := parser{scenario: s}
	for _, part := range parts {
		p.begun, s.Story = false, nil
		if err := p.lines(part.file, part.first, part.text); err != nil {
			return err
		}
	}
	_, err := s.Trace.Files()
	return err
}

// complete checks that a scenario says what is expected.
func (s *Scenario) complete(where string) error {
	if len(s.Expect) == 0 {
		return fmt.Errorf("%s: nothing is expected of the scenario: \"expect RULE PLACE…\" or \"expect nothing\", and \"verdict …\"", where)
	}
	for _, e := range s.Expect {
		if err := e.complete(); err != nil {
			return fmt.Errorf("%s: %w", e.Where, err)
		}
	}
	return nil
}

func (e *Expectation) complete() error {
	switch {
	case e.nothing && len(e.Findings) > 0:
		return errors.New(`findings are expected, and "expect nothing"`)
	case !e.nothing && len(e.Findings) == 0:
		return errors.New(`findings are missing: "expect RULE PLACE…" or "expect nothing"`)
	case e.Verdict == "":
		return errors.New("a line with the verdict is missing")
	}
	return nil
}
