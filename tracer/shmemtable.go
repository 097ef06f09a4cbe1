package tracer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The table of OpenSHMEM functions (runtime/shmem/shmem.tbl) in memory. Its language
// is described at the top of the table.

// shmemArg is one argument of a function, or an observation of the tracer's.
type shmemArg struct {
	Type  string // C type; "" of an observation
	Name  string
	Kind  byte   // as in the table
	Count string // C expression: length of a list
	Out   bool   // what it points to is recorded after the call
	Value string // C expression of an observation
	After bool   // which is made after the call
}

// later reports whether the argument is known only when the call has returned.
func (a *shmemArg) later() bool { return a.Out || a.After }

// recorded is the kind as the trace format has it.
func (a *shmemArg) recorded() byte {
	switch a.Kind {
	case 'v', 'h', 'm', 'c':
		return 'i'
	}
	return a.Kind
}

// shmemFunc is one function: a family of the table, with its types put in.
type shmemFunc struct {
	Result string // C type
	Name   string
	Family string // the name in the table
	Args   []shmemArg
	Status bool // a result other than 0 is an error
	Custom bool
	Hooks  map[string]string
}

// definition is the text of the function definition record.
func (f *shmemFunc) definition() string {
	var args []string
	for i := range f.Args {
		if a := &f.Args[i]; a.Kind != '-' {
			args = append(args, fmt.Sprintf("%s:%c", a.Name, a.recorded()))
		}
	}
	return strings.TrimSuffix(f.Name+" "+strings.Join(args, ","), " ")
}

// shmemTable is the table as it is read.
type shmemTable struct {
	types      map[string]string // C types by TYPENAME
	sets       map[string][]string
	funcs      []shmemFunc
	unobserved []Function
	last       []int // the functions of the last family, which hooks are for
	elements   []string
}

// parseShmemTable reads the table. Errors name the line.
func parseShmemTable(table []byte) (*shmemTable, error) {
	t := &shmemTable{types: map[string]string{}, sets: map[string][]string{}}
	for n, line := range strings.Split(string(table), "\n") {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := t.parseLine(text, line[0] == '\t'); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", shmemPrototypes, n+1, err)
		}
	}
	return t, nil
}

func (t *shmemTable) parseLine(text string, hook bool) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case hook:
		return t.parseHook(text)
	case word == "type" || word == "set":
		name, is, ok := strings.Cut(rest, " = ")
		if !ok {
			return fmt.Errorf("want %s NAME = …: %s", word, text)
		}
		if word == "type" {
			t.types[name] = is
		} else {
			t.sets[name] = strings.Fields(is)
		}
		return nil
	case word == "unobserved":
		why, names, ok := strings.Cut(rest, ":")
		if !ok {
			return fmt.Errorf("want unobserved WORD: name…: %s", text)
		}
		for _, name := range strings.Fields(names) {
			t.unobserved = append(t.unobserved, Function{Name: name, Unobserved: why})
		}
		return nil
	}
	return t.parseFamily(text)
}

func (t *shmemTable) parseHook(text string) error {
	name, code, ok := strings.Cut(text, ":")
	if !ok || len(t.last) == 0 || name != "begun" && name != "done" {
		return fmt.Errorf("want `begun: C` or `done: C` behind a function: %s", text)
	}
	for k, i := range t.last {
		f := &t.funcs[i]
		ctx := "0"
		if len(f.Args) > 0 && f.Args[0].Type == "mcchk_ctx" {
			ctx = "mcchk_ctx_id(ctx)"
		}
		f.Hooks[name] = strings.NewReplacer("ELEM", t.elements[k], "CTX", ctx).Replace(strings.TrimSpace(code))
	}
	return nil
}

// parseFamily reads RESULT name(arguments) [each SET] [ctx] [status] [custom].
func (t *shmemTable) parseFamily(text string) error {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	at := strings.LastIndexAny(text[:max(open, 0)], " *") + 1
	if open <= 0 || end < open || at == 0 {
		return fmt.Errorf("want RESULT name(arguments): %s", text)
	}
	family := shmemFunc{Result: strings.TrimSpace(text[:at]), Family: text[at:open]}
	each, ctx := []string{""}, false
	for words := strings.Fields(text[end+1:]); len(words) > 0; words = words[1:] {
		switch words[0] {
		case "each":
			if len(words) < 2 || t.sets[words[1]] == nil {
				return fmt.Errorf("%s: each of an unknown set", family.Family)
			}
			each, words = t.sets[words[1]], words[1:]
		case "ctx":
			ctx = true
		case "status":
			family.Status = true
		case "custom":
			family.Custom = true
		default:
			return fmt.Errorf("%s: %q", family.Family, words[0])
		}
	}
	t.last, t.elements = nil, nil
	for _, of := range each {
		if err := t.add(family, text[open+1:end], of, ctx); err != nil {
			return fmt.Errorf("%s: %w", family.Family, err)
		}
	}
	return nil
}

// add adds the function of a family for one type or size, and that with a context.
func (t *shmemTable) add(f shmemFunc, args, of string, ctx bool) error {
	c, element := "", "1"
	switch bits, err := strconv.Atoi(of); {
	case of == "":
	case err == nil:
		element = strconv.Itoa(bits / 8)
	default:
		if c = t.types[of]; c == "" {
			return fmt.Errorf("the type %s is unknown", of)
		}
		element = "sizeof(" + c + ")"
	}
	f.Name = strings.NewReplacer("TYPE", of, "SIZE", of).Replace(f.Family)
	types := strings.NewReplacer("TYPE", c, "ELEM", element)
	f.Result = types.Replace(f.Result)
	for _, part := range splitArgs(types.Replace(args)) {
		a, err := parseShmemArg(part)
		if err != nil {
			return err
		}
		f.Args = append(f.Args, a)
	}
	t.append(f, element)
	if ctx {
		f.Name = strings.Replace(f.Name, "shmem_", "shmem_ctx_", 1)
		f.Args = slices.Insert(slices.Clone(f.Args), 0, shmemArg{Type: "mcchk_ctx", Name: "ctx", Kind: 'c'})
		t.append(f, element)
	}
	return nil
}

func (t *shmemTable) append(f shmemFunc, element string) {
	f.Hooks = map[string]string{}
	t.last, t.elements = append(t.last, len(t.funcs)), append(t.elements, element)
	t.funcs = append(t.funcs, f)
}

// parseShmemArg reads `C-type name:K[length] out`, `= name:K value` or `> name:K value`.
func parseShmemArg(text string) (shmemArg, error) {
	declared, rest, ok := strings.Cut(text, ":")
	if !ok || rest == "" || !strings.ContainsRune("-ipvhmcI", rune(rest[0])) {
		return shmemArg{}, fmt.Errorf("argument %q: want type name:kind", text)
	}
	a := shmemArg{Kind: rest[0]}
	rest = strings.TrimSpace(rest[1:])
	if sign := declared[0]; sign == '=' || sign == '>' {
		a.Name, a.Value, a.After = strings.TrimSpace(declared[1:]), rest, sign == '>'
		if a.Value == "" {
			return a, fmt.Errorf("argument %q: an observation without a value", text)
		}
		return a, nil
	}
	at := strings.LastIndexAny(declared, " *") + 1
	a.Type, a.Name = strings.TrimSpace(declared[:at]), declared[at:]
	if count, isList := strings.CutPrefix(rest, "["); isList {
		a.Count = strings.TrimSuffix(count, "]")
		rest = ""
	}
	a.Out = rest == "out"
	if rest != "" && !a.Out || (a.Kind == 'I') != (a.Count != "") || a.Type == "" {
		return a, fmt.Errorf("argument %q", text)
	}
	return a, nil
}
