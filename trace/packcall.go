package trace

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// call packs a call line. What it leaves out is counted, 0, or as in omitted.
func (p *packer) call(o *object) error {
	c := Call{
		Seq:      o.u64("seq"),
		Begin:    o.word("begin", p.w.time+1),
		Returned: o.truth("returned", true),
		Failed:   o.truth("failed", false),
		Stack:    p.stackOf(o),
	}
	end := int64(0)
	if c.Returned {
		end = c.Begin + 1
	}
	c.End = o.word("end", end)
	if f := o.get("seq"); f != nil && c.Seq == 0 {
		o.fail(f, errors.New("calls are numbered from 1"))
	}
	id, words := uint16(0), []int64(nil)
	if o.has("words") {
		id = uint16(o.upTo("call", math.MaxUint16, 0))
		words = o.words("words")
	} else if c.Fn = p.function(o); c.Fn != nil {
		id = c.Fn.ID
		c.Args = p.args(o, c.Fn)
	}
	if err := o.done(); err != nil {
		return err
	}
	return p.w.call(id, &c, words)
}

// function returns the function of a call line: the one of its "id" or the
// last defined with its name, one of the built-in table, or one defined by the
// kinds that the line gives with its arguments.
func (p *packer) function(o *object) *Fn {
	name := o.text("call")
	f := o.get("call")
	if id := o.get("id"); id != nil {
		fn := p.ids[uint16(o.upTo("id", math.MaxUint16, 0))]
		if fn == nil || fn.Name != name {
			o.fail(id, fmt.Errorf("no fn line defines %s with this identifier", name))
			return nil
		}
		return fn
	}
	if fn := p.fns[name]; fn != nil {
		return fn
	}
	args, ok := Function(name)
	if fn := p.w.names.fns[name]; fn == nil && !ok {
		var err error
		if args, err = givenKinds(o); err != nil {
			o.fail(f, fmt.Errorf("%s is not a built-in function and no fn line defines it: %w", name, err))
			return nil
		}
	}
	if args == nil {
		args = []Arg{}
	}
	if o.err != nil {
		return nil
	}
	fn, err := p.w.Define(name, args)
	if err != nil {
		o.fail(f, err)
		return nil
	}
	return fn
}

// givenKinds makes a definition of arguments given as "name:kind".
func givenKinds(o *object) ([]Arg, error) {
	var list []string
	for _, f := range o.object("args").fields {
		list = append(list, f.key)
	}
	return parseArgs(strings.Join(list, ","))
}

func (p *packer) args(o *object, fn *Fn) []Value {
	values := omitted(fn)
	given := make([]bool, len(fn.Args))
	in := o.object("args")
	for i := range in.fields {
		f := &in.fields[i]
		f.taken = true
		name, kind, typed := strings.Cut(f.key, ":")
		at := fn.Arg(name)
		switch {
		case at < 0:
			in.fail(f, fmt.Errorf("no argument of %s; those are %q", fn.Name, fn.argText()))
			continue
		case typed && kind != string(fn.Args[at].Kind):
			in.fail(f, fmt.Errorf("the argument is of kind %c", fn.Args[at].Kind))
			continue
		case given[at]:
			in.fail(f, errors.New("the argument is there twice"))
			continue
		}
		given[at] = true
		var err error
		if fn.Args[at].Kind.IsList() {
			values[at].List, err = parseWords(f.raw)
		} else {
			values[at].Int, err = parseWord(f.raw)
		}
		if err != nil {
			in.fail(f, err)
		}
	}
	o.check(in)
	return values
}
