package trace

import (
	"fmt"
	"slices"
)

// First identifiers of what a Writer defines by itself: out of the way of
// those that a file written by hand is likely to give.
const (
	firstNamedFn    uint16 = 1 << 10
	firstNamedStack uint32 = 1 << 31
	firstNamedPC    uint64 = 1 << 48 // above every address of a program
	namedPCStep     uint64 = 16
)

// named holds what a Writer defined on demand.
type named struct {
	fns    map[string]*Fn
	stacks map[string]uint32
	pcs    map[string]uint64
	nextFn uint16
}

// Args are the arguments of a call by name: int, int32, int64, uint64,
// []int or []int64 values.
type Args map[string]any

// CallNamed writes the next call of a function that is in the built-in table
// (Function) or was defined by Define; arguments not given are as in omitted.
// The call begins 1 ns after the one before, takes 1 ns and returns.
func (w *Writer) CallNamed(name string, stack uint32, args Args) error {
	return w.CallNamedAt(w.time+1, w.time+2, name, stack, args)
}

// CallNamedAt is CallNamed for a call that begins and returns at other times, ns.
func (w *Writer) CallNamedAt(begin, end int64, name string, stack uint32, args Args) error {
	fn, err := w.Define(name, nil)
	if err != nil {
		return err
	}
	c := Call{Fn: fn, Begin: begin, End: end, Returned: true, Stack: stack}
	c.Args = omitted(fn)
	for key, v := range args {
		i := fn.Arg(key)
		if i < 0 {
			w.err = fmt.Errorf("%s has no argument %s; its arguments are %s", name, key, fn.argText())
			return w.err
		}
		if c.Args[i], err = argValue(v, fn.Args[i].Kind); err != nil {
			w.err = fmt.Errorf("argument %s of %s: %w", key, name, err)
			return w.err
		}
	}
	return w.Call(&c)
}

func argValue(v any, kind ArgKind) (Value, error) {
	var a Value
	list := false
	switch v := v.(type) {
	case int:
		a.Int = int64(v)
	case int32:
		a.Int = int64(v)
	case int64:
		a.Int = v
	case uint64:
		a.Int = int64(v)
	case []int64:
		a.List, list = v, true
	case []int:
		list = true
		for _, n := range v {
			a.List = append(a.List, int64(n))
		}
	default:
		return a, fmt.Errorf("a %T is no argument", v)
	}
	if list != kind.IsList() {
		return a, fmt.Errorf("kind %c does not take a %T", kind, v)
	}
	return a, nil
}

// Define returns the function of that name, which it defines in the file when
// it is used first: with args, or when they are nil as the built-in table has
// it.
func (w *Writer) Define(name string, args []Arg) (*Fn, error) {
	if fn := w.names.fns[name]; fn != nil {
		return fn, nil
	}
	if args == nil {
		var ok bool
		if args, ok = Function(name); !ok {
			w.err = fmt.Errorf("function %s is not in the built-in table", name)
			return nil, w.err
		}
	}
	fn := &Fn{ID: firstNamedFn + w.names.nextFn, Name: name, Args: slices.Clone(args)}
	if err := w.Fn(fn); err != nil {
		return nil, err
	}
	if w.names.fns == nil {
		w.names.fns = map[string]*Fn{}
	}
	w.names.fns[name] = fn
	w.names.nextFn++
	return fn, nil
}

// StackAt returns the identifier of a call stack of these source places,
// innermost first, and defines it when it is used first. Their PC is not used:
// the writer invents program counters. A place with Inlined set shares that of
// the next one.
func (w *Writer) StackAt(frames ...Source) (uint32, error) {
	var pcs []uint64
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		pc, err := w.placeAt(frames[:n])
		if err != nil {
			return 0, err
		}
		pcs = append(pcs, pc)
		frames = frames[n:]
	}
	key := fmt.Sprint(pcs)
	if id, ok := w.names.stacks[key]; ok {
		return id, nil
	}
	id := firstNamedStack + uint32(len(w.names.stacks))
	if err := w.Stack(id, pcs); err != nil {
		return 0, err
	}
	if w.names.stacks == nil {
		w.names.stacks = map[string]uint32{}
	}
	w.names.stacks[key] = id
	return id, nil
}

// placeAt returns a program counter for the places of one frame.
func (w *Writer) placeAt(places []Source) (uint64, error) {
	places = slices.Clone(places)
	for i := range places {
		places[i].PC = 0
	}
	key := fmt.Sprintf("%#v", places)
	if pc, ok := w.names.pcs[key]; ok {
		return pc, nil
	}
	pc := firstNamedPC + namedPCStep*uint64(len(w.names.pcs)+1)
	for i := range places {
		places[i].PC = pc
		if err := w.Source(&places[i]); err != nil {
			return 0, err
		}
	}
	if w.names.pcs == nil {
		w.names.pcs = map[string]uint64{}
	}
	w.names.pcs[key] = pc
	return pc, nil
}

// omitted returns the values of arguments that a hand-written call leaves out:
// 0 and empty lists, and for windows the default accumulate_ordering.
func omitted(fn *Fn) []Value {
	values := make([]Value, len(fn.Args))
	for i := range fn.Args {
		if fn.Args[i].Name == "accumulate_ordering" {
			values[i].Int = OrderAll
		}
	}
	return values
}
