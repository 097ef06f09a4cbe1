package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/internal/spelling"
	"github.com/mcchk/mcchk/trace"
)

// table is what calls are written down with: what they are named, which
// arguments they have, and what those are that are not given.
type table struct {
	functions map[string]*function
	defaults  map[string][]string // values of arguments by name, the first that makes sense
	short     map[string][][]string
	names     map[string]int64 // datatypes and operations
}

// function is a call that package trace does not know, or one with defaults of
// its own.
type function struct {
	name     string
	args     []trace.Arg
	defaults map[string]string
}

func newTable() table {
	return table{
		functions: map[string]*function{}, defaults: map[string][]string{},
		short: map[string][][]string{}, names: map[string]int64{"MPI_INT": 1, "MPI_SUM": 1},
	}
}

// declare enters a function, from "name argument:kind=default …".
func (t *table) declare(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("function NAME ARGUMENT:KIND… is expected")
	}
	given, err := parseArgs(words[1:], false)
	if err != nil {
		return err
	}
	f := &function{name: words[0], defaults: map[string]string{}}
	for _, g := range given {
		if g.kind == 0 {
			return fmt.Errorf("argument %s of %s needs its kind (docs/trace-format.md, \"call\")", g.name, f.name)
		}
		f.args = append(f.args, trace.Arg{Name: g.name, Kind: g.kind})
		if g.value != "" {
			f.defaults[g.name] = g.value
		}
	}
	t.functions[f.name] = f
	return nil
}

// abbreviate enters a short name of arguments.
func (t *table) abbreviate(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("short NAME ARGUMENT… is expected")
	}
	for _, w := range words[1:] {
		t.short[words[0]] = append(t.short[words[0]], strings.Split(w, "+"))
	}
	return nil
}

// omit says what arguments are where they are not given.
func (t *table) omit(words []string) error {
	given, err := parseArgs(words, true)
	for _, g := range given {
		t.defaults[g.name] = append([]string{g.value}, t.defaults[g.name]...)
	}
	return err
}

// known returns a function by its whole name, or nil.
func (t *table) known(name string) *function {
	if f := t.functions[name]; f != nil {
		return f
	}
	if args, ok := trace.Function(name); ok {
		return &function{name: name, args: args}
	}
	return nil
}

// function returns the function that a name of a scenario means. One that is
// not known has the arguments that it is given, whose kinds must be there.
func (t *table) function(name string, given []argument) (*function, error) {
	names := []string{name, "MPI_" + capital(name), "MPI_Win_" + name, "mcchk_" + name, "mcchk_" + capital(name)}
	for _, full := range names {
		if f := t.known(full); f != nil {
			return f, nil
		}
	}
	f := &function{name: name}
	for _, g := range given {
		if g.kind == 0 {
			return nil, fmt.Errorf("%s is not known%s, and its argument %s has no kind", name, spelling.DidYouMean(name, t.callNames()), g.name)
		}
		f.args = append(f.args, trace.Arg{Name: g.name, Kind: g.kind})
	}
	if len(given) == 0 {
		return nil, fmt.Errorf("%s is not known%s; \"function %s\" declares it", name, spelling.DidYouMean(name, t.callNames()), name)
	}
	t.functions[name] = f
	return f, nil
}

// callNames are names that somebody may have meant.
func (t *table) callNames() []string {
	names := strings.Fields("put get rput rget accumulate fence lock unlock lock_all unlock_all flush flush_all flush_local sync " +
		"win_post win_start win_complete win_wait win_test win_create win_free send recv isend irecv wait test barrier bcast load store")
	for name := range t.functions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func capital(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// places returns which arguments of a function a name means.
func (t *table) places(f *function, name string) ([]int, error) {
	index := func(name string) int {
		return slices.IndexFunc(f.args, func(a trace.Arg) bool { return a.Name == name })
	}
	if i := index(name); i >= 0 {
		return []int{i}, nil
	}
	for _, names := range t.short[name] {
		if index(names[0]) < 0 {
			continue
		}
		var at []int
		for _, n := range names {
			if i := index(n); i >= 0 {
				at = append(at, i)
			}
		}
		return at, nil
	}
	var names []string
	for _, a := range f.args {
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("%s has no argument %s; it has %s", f.name, name, strings.Join(names, ", "))
}

// arguments returns the arguments of a call of f, those given and those that
// are not.
func (t *table) arguments(f *function, given []argument) ([]argument, error) {
	texts := make([]string, len(f.args))
	for _, g := range given {
		at, err := t.places(f, g.name)
		if err != nil {
			return nil, err
		}
		for _, i := range at {
			switch {
			case texts[i] != "":
				return nil, fmt.Errorf("argument %s is given twice", f.args[i].Name)
			case g.kind != 0 && g.kind != f.args[i].Kind:
				return nil, fmt.Errorf("argument %s is of kind %c", f.args[i].Name, f.args[i].Kind)
			}
			texts[i] = g.value
		}
	}
	var out []argument
	for i, a := range f.args {
		if texts[i] == "" {
			texts[i] = t.omitted(f, texts, a.Name)
		}
		if texts[i] == "" {
			if a.Kind == trace.ArgRank {
				return nil, fmt.Errorf("%s needs its argument %s", f.name, a.Name)
			}
			continue
		}
		out = append(out, argument{name: a.Name, kind: a.Kind, value: texts[i]})
	}
	for i := range out {
		if err := t.value(&out[i], out); err != nil {
			return nil, fmt.Errorf("argument %s: %w", out[i].name, err)
		}
	}
	return out, nil
}

// omitted returns the value of an argument that was not given, or "": the first
// default that refers to no argument that f has not got.
func (t *table) omitted(f *function, texts []string, name string) string {
	if own, ok := f.defaults[name]; ok {
		return own
	}
	for _, text := range t.defaults[name] {
		fits := true
		for _, word := range listed(text) {
			if ref, ok := strings.CutPrefix(word, "$"); ok {
				fits = fits && slices.ContainsFunc(f.args, func(a trace.Arg) bool { return a.Name == ref })
			}
		}
		if fits {
			return text
		}
	}
	return ""
}
