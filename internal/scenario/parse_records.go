package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// records are lines, other than calls, loads and stores, that stand for records,
// or say what became of a file.
var records = map[string]func(*parser, string) error{
	"type": (*parser).datatype,
	"comm": (*parser).comm,
	"op":   (*parser).op,
	"info": func(p *parser, rest string) error {
		key, value, ok := strings.Cut(rest, " = ")
		if !ok {
			return errors.New("info KEY = VALUE is expected")
		}
		var o object
		o.text("info", key)
		o.text("value", value)
		return p.add(record{other: &o})
	},
	"lost": func(p *parser, rest string) error {
		names := []string{"reason", "calls", "accesses"}
		numbers, err := p.numbers(fields(rest), names...)
		if err != nil {
			return err
		}
		var in, o object
		for _, name := range names {
			in.number(name, numbers[name])
		}
		o.raw("lost", in.String())
		return p.add(record{other: &o})
	},
	"end": func(p *parser, rest string) error {
		numbers, err := p.numbers(fields(rest), endNumbers...)
		if err != nil {
			return err
		}
		return p.add(record{end: numbers})
	},
	"cut": func(p *parser, rest string) error {
		numbers, err := p.numbers(fields(rest), "bytes")
		if err == nil && numbers["bytes"] < 1 {
			err = errors.New("cut bytes=NUMBER is expected")
		}
		if err != nil {
			return err
		}
		return p.add(record{cut: int(numbers["bytes"])})
	},
	"killed": func(p *parser, rest string) error {
		if rest != "" {
			return errors.New("killed stands alone")
		}
		return p.add(record{killed: true})
	},
	"no": func(p *parser, rest string) error {
		if rest == "trace" {
			return p.add(record{absent: true})
		}
		pattern, ok := strings.CutPrefix(rest, "proposal: ")
		if !ok {
			return errors.New(`"no trace" or "no proposal: TEXT" is expected`)
		}
		return p.explain(func(f *Finding) *string {
			f.NoProposal = append(f.NoProposal, pattern)
			return &f.NoProposal[len(f.NoProposal)-1]
		})
	},
}

// defined reads "2: the rest".
func defined(text string) (int64, []string, error) {
	id, rest, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(id, 0, 64)
	words := fields(rest)
	if !ok || err != nil || len(words) == 0 {
		return 0, nil, errors.New("a definition such as \"2: …\" is expected")
	}
	return n, words, nil
}

// datatype reads "2: vector size=8 extent=36 ints=[2,1,8] types=[MPI_INT]" or
// "3: MPI_DOUBLE size=8".
func (p *parser) datatype(text string) error {
	id, words, err := defined(text)
	if err != nil {
		return err
	}
	d := trace.Type{ID: uint32(id), Name: words[0]}
	for c := trace.Dup; c <= trace.Resized; c++ {
		if c.String() == words[0] {
			d.Combiner, d.Name = c, ""
		}
	}
	if words[0] == trace.OtherCombiner.String() {
		d.Combiner, d.Name = trace.OtherCombiner, ""
	}
	lists := map[string]*[]int64{"ints": &d.Ints, "addrs": &d.Addrs, "types": &d.Types}
	numbers, err := p.numbersAndLists(words[1:], lists, "size", "lb", "extent")
	if err != nil {
		return err
	}
	d.Size, d.LB, d.Extent = numbers["size"], numbers["lb"], numbers["size"]
	if extent, ok := numbers["extent"]; ok {
		d.Extent = extent
	}
	if d.Name != "" {
		p.scenario.Trace.names[d.Name] = id
	}
	return p.add(record{other: typeObject(&d)})
}

// comm reads "2: ranks=[0,2]".
func (p *parser) comm(text string) error {
	id, words, err := defined(text)
	if err != nil {
		return err
	}
	c := comm{id: id}
	if _, err := p.numbersAndLists(words, map[string]*[]int64{"ranks": &c.ranks, "remote": &c.remote}); err != nil {
		return err
	}
	return p.add(record{comm: &c})
}

// op reads "2: MPI_MAX".
func (p *parser) op(text string) error {
	id, words, err := defined(text)
	if err != nil || len(words) != 1 {
		return errors.Join(err, errors.New("an operation such as \"2: MPI_MAX\" is expected"))
	}
	p.scenario.Trace.names[words[0]] = id
	var o object
	o.number("op", id)
	o.text("name", words[0])
	return p.add(record{other: &o})
}

// numbersAndLists reads "name=number" for some names and "name=[number,…]" for
// others.
func (p *parser) numbersAndLists(words []string, lists map[string]*[]int64, names ...string) (map[string]int64, error) {
	var plain []string
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		to := lists[name]
		if to == nil {
			plain = append(plain, w)
			continue
		}
		a := argument{name: name, kind: trace.ArgNumbers, value: value}
		if err := p.scenario.Trace.value(&a, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		*to = slices.Clone(a.words)
	}
	return p.numbers(plain, names...)
}
