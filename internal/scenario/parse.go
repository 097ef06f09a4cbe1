package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// parser reads lines into a scenario. What it has come to: who does what follows,
// and what is expected.
type parser struct {
	scenario *Scenario
	file     string
	line     int
	who      *Process
	begun    bool    // a line that is none of the story has come
	under    string  // condition of what is expected
	text     *string // that a line which begins with | continues
}

// lines reads lines, the first of which has that number in its file.
func (p *parser) lines(file string, first int, text string) error {
	p.file, p.line = file, first
	for line := range strings.Lines(text) {
		if err := p.next(strings.TrimSpace(line)); err != nil {
			return fmt.Errorf("%s:%d: %w", p.file, p.line, err)
		}
		p.line++
	}
	p.who = nil
	return nil
}

func (p *parser) next(line string) error {
	if line == "" {
		return nil
	}
	if story, ok := strings.CutPrefix(line, "#"); ok {
		if !p.begun {
			p.scenario.Story = append(p.scenario.Story, strings.TrimSpace(story))
		}
		return nil
	}
	p.begun = true
	if more, ok := strings.CutPrefix(line, "|"); ok {
		if p.text == nil {
			return errors.New("there is no text that | would continue")
		}
		*p.text += " " + strings.TrimSpace(more)
		return nil
	}
	p.text = nil
	if strings.HasPrefix(line, "{") {
		return p.add(record{json: line})
	}
	word, rest, _ := strings.Cut(line, " ")
	for _, forms := range []map[string]func(*parser, string) error{settings, records, expectations} {
		if read := forms[word]; read != nil {
			return read(p, strings.TrimSpace(rest))
		}
	}
	return p.event(line)
}

// settings are lines about the scenario, and headings.
var settings = map[string]func(*parser, string) error{
	"processes": func(p *parser, rest string) (err error) {
		if p.scenario.Trace.ranks, err = strconv.Atoi(rest); err == nil && p.scenario.Trace.ranks < 1 {
			err = errors.New("a number of processes is expected")
		}
		return err
	},
	"run": func(p *parser, rest string) error {
		p.scenario.Trace.run = rest
		return nil
	},
	"defaults": func(p *parser, rest string) error { return p.scenario.Trace.omit(fields(rest)) },
	"short":    func(p *parser, rest string) error { return p.scenario.Trace.abbreviate(fields(rest)) },
	"function": func(p *parser, rest string) error { return p.scenario.Trace.declare(fields(rest)) },
	"every":    func(p *parser, rest string) error { return p.heading("every " + rest) },
	"rank":     func(p *parser, rest string) error { return p.heading("rank " + rest) },
	"ranks":    func(p *parser, rest string) error { return p.heading("ranks " + rest) },
	"thread": func(p *parser, rest string) error {
		n, err := strconv.ParseUint(rest, 10, 32)
		if err == nil && p.who == nil {
			err = errNobody
		}
		if err == nil {
			*p.who = p.who.Thread(int(n))
		}
		return err
	},
}

var errNobody = errors.New(`a heading has to come first that says who does this: "rank 0" or "every rank"`)

// heading reads who does what follows: "rank 0", "every rank in f@b.c".
func (p *parser) heading(text string) error {
	who, in, located := strings.Cut(text, " in ")
	words := strings.Fields(who)
	proc := p.scenario.Trace.Every()
	switch {
	case slices.Equal(words, []string{"every", "rank"}):
	case words[0] != "every" && len(words) >= 2:
		var ranks []int
		for _, w := range words[1:] {
			n, err := strconv.ParseUint(w, 10, 24)
			if err != nil {
				return fmt.Errorf("a rank is expected in place of %q", w)
			}
			ranks = append(ranks, int(n))
		}
		proc = p.scenario.Trace.Rank(ranks[0], ranks[1:]...)
	default:
		return errors.New(`"rank 0", "ranks 0 1" or "every rank" is expected`)
	}
	if located {
		function, file, ok := strings.Cut(in, "@")
		if !ok {
			function, file = proc.at.Func, in
		}
		proc = proc.In(function, file)
	}
	p.who = &proc
	return nil
}

func (p *parser) add(r record) error {
	if p.who == nil {
		return errNobody
	}
	p.who.add(r)
	return nil
}

// event reads a call, or loads or stores.
func (p *parser) event(line string) error {
	if p.who == nil {
		return errNobody
	}
	line, _, _ = strings.Cut(line, " #")
	var stack []trace.Source
	if place, rest, ok := strings.Cut(line, ": "); ok {
		var err error
		if stack, err = p.stack(place); err != nil {
			return err
		}
		line = rest
	}
	line, remarks, err := cutRemarks(line)
	if err != nil {
		return err
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return errors.New("a call, a load or a store is expected")
	}
	if words[0] == "load" || words[0] == "store" {
		return p.access(stack, words, remarks)
	}
	given, err := parseArgs(words[1:], true)
	if err != nil {
		return err
	}
	return p.who.call(stack, words[0], given, remarks)
}

// stack reads "f@b.c:3 < main@a.c:14", innermost first.
func (p *parser) stack(text string) ([]trace.Source, error) {
	var stack []trace.Source
	for place := range strings.SplitSeq(text, " < ") {
		at := p.who.at
		if function, rest, ok := strings.Cut(place, "@"); ok {
			at.Func, place = function, rest
		}
		if i := strings.LastIndex(place, ":"); i >= 0 {
			at.File, place = place[:i], place[i+1:]
		}
		n, err := strconv.ParseUint(place, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("a place such as 12 or function@file.c:12 is expected in place of %q", text)
		}
		at.Line = uint32(n)
		stack = append(stack, at)
	}
	return stack, nil
}

// cutRemarks cuts what stands in parentheses at the end of a line.
func cutRemarks(line string) (string, []Remark, error) {
	line, rest, ok := strings.Cut(line, "(")
	if !ok {
		return line, nil, nil
	}
	rest, ok = strings.CutSuffix(strings.TrimSpace(rest), ")")
	var remarks []Remark
	for part := range strings.SplitSeq(rest, "(") {
		part = strings.TrimSuffix(strings.TrimSpace(part), ")")
		ok = ok && !strings.ContainsAny(part, "()=")
		remarks = append(remarks, Remark(part))
	}
	if !ok {
		return "", nil, errors.New("remarks, each in parentheses, are expected at the end of the line")
	}
	return line, remarks, nil
}

// access reads "store 0x1008 size=4 count=10 stride=8".
func (p *parser) access(stack []trace.Source, words []string, remarks []Remark) error {
	a := trace.Access{Store: words[0] == "store", Size: 4, Count: 1}
	if len(words) < 2 {
		return fmt.Errorf("%s needs an address", words[0])
	}
	addr, err := p.scenario.Trace.number(words[1])
	if err != nil {
		return err
	}
	a.Addr = uint64(addr)
	given, err := p.numbers(words[2:], "size", "stride", "count")
	if err != nil {
		return err
	}
	for name, v := range given {
		switch name {
		case "size":
			a.Size = uint32(v)
		case "stride":
			a.Stride = v
		case "count":
			a.Count = uint64(v)
		}
	}
	if _, strided := given["stride"]; !strided && a.Count > 1 {
		a.Stride = int64(a.Size)
	}
	for _, remark := range remarks {
		switch remark {
		case "atomic":
			a.Atomic = true
		case "library":
			a.Library = true
		default:
			return fmt.Errorf("(%s) says nothing of a %s: (atomic), (library)", remark, words[0])
		}
	}
	return p.who.access(stack, a)
}

// numbers reads "name=number" for some names.
func (p *parser) numbers(words []string, names ...string) (map[string]int64, error) {
	given, err := parseArgs(words, true)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, g := range given {
		if !slices.Contains(names, g.name) {
			return nil, fmt.Errorf("%s is not known here: %s", g.name, strings.Join(names, ", "))
		}
		if _, twice := out[g.name]; twice {
			return nil, fmt.Errorf("%s is given twice", g.name)
		}
		if out[g.name], err = p.scenario.Trace.number(g.value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fields splits a line into words, without the remark behind " #".
func fields(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	return strings.Fields(line)
}
