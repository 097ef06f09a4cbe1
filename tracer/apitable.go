package tracer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tables of the functions of OpenSHMEM (runtime/shmem/shmem.tbl) and of GASPI
// (runtime/gaspi/gaspi.tbl) in memory. Their language is described at the top of the
// former.

// api is an interface whose functions a table lists, and whose wrappers are generated
// from that.
type api struct {
	dir      string // sources: its folder
	table    string // in it: the table of functions
	header   string // in it: what wrappers use
	wrappers string // generated from the table
	// kinds are those that the interface has of its own, of arguments that become
	// numbers, with C expressions for those.
	kinds map[byte]string
	// own and real are the prefixes of the assembler names of a wrapper and of the
	// library's function that it calls.
	own, real string
	// missing is called in place of a function that the library does not have; "":
	// there are wrappers only for functions that its header declares.
	missing string
}

var shmemAPI = api{
	dir: "shmem", table: "shmem.tbl", header: "osh.h", wrappers: "shmem_wrappers.c",
	kinds: map[byte]string{'v': "mcchk_bits(%s)", 'h': "mcchk_team_id(%s)", 'c': "mcchk_ctx_id(%s)", 'm': "mcchk_comparison(%s)"},
	real:  "p", missing: "mcchk_shmem_missing",
}

// gaspiAPI: GASPI has no profiling interface, so that the linker puts wrappers in the
// places of functions (--wrap).
var gaspiAPI = api{
	dir: "gaspi", table: "gaspi.tbl", header: "gas.h", wrappers: "gaspi_wrappers.c",
	kinds: map[byte]string{'g': "mcchk_group_id(%s)"},
	own:   "__wrap_", real: "__real_",
}

// apiArg is one argument of a function, or an observation of the tracer's.
type apiArg struct {
	Type  string // C type; "" of an observation
	Name  string
	Kind  byte   // as in the table
	Count string // C expression: length of a list, of which _k counts the elements
	Out   bool   // what it points to is recorded after the call
	Value string // C expression of an observation
	After bool   // which is made after the call
}

// later reports whether the argument is known only when the call has returned.
func (a *apiArg) later() bool { return a.Out || a.After }

// recorded is the kind as the trace format has it.
func (a *apiArg) recorded() byte {
	if strings.IndexByte("-ipI", a.Kind) < 0 {
		return 'i'
	}
	return a.Kind
}

// apiFunc is one function: a family of the table, with its types put in.
type apiFunc struct {
	Result    string // C type
	Name      string
	Family    string // the name in the table
	Args      []apiArg
	Status    bool // a result other than 0 is an error
	Custom    bool
	When      string // C expression: the call is recorded, when it has returned, where it is true; "": always
	Unless    string // C expression: where it is true the call is recorded in any case, when it is made; "": never
	By        string // a fetching function that is called in its place, for what it finds; or ""
	Fetch     string // and the C type of its result
	Elsewhere bool   // only where pe is not the calling PE
	Hooks     map[string]string
}

// definition is the text of the function definition record.
func (f *apiFunc) definition() string {
	var args []string
	for i := range f.Args {
		if a := &f.Args[i]; a.Kind != '-' {
			args = append(args, fmt.Sprintf("%s:%c", a.Name, a.recorded()))
		}
	}
	return strings.TrimSuffix(f.Name+" "+strings.Join(args, ","), " ")
}

// apiTable is a table as it is read.
type apiTable struct {
	api        *api
	types      map[string]string // C types by TYPENAME
	sets       map[string][]string
	funcs      []apiFunc
	unobserved []Function
	last       []int // the functions of the last family, which hooks are for
	elements   []string
}

// parse reads the table of the interface. Errors name the line.
func (i *api) parse(table []byte) (*apiTable, error) {
	t := &apiTable{api: i, types: map[string]string{}, sets: map[string][]string{}}
	for n, line := range strings.Split(string(table), "\n") {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := t.parseLine(text, line[0] == '\t'); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", i.table, n+1, err)
		}
	}
	return t, nil
}

func (t *apiTable) parseLine(text string, hook bool) error {
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

func (t *apiTable) parseHook(text string) error {
	name, code, ok := strings.Cut(text, ":")
	if !ok || len(t.last) == 0 || name != "begun" && name != "done" && name != "idle" {
		return fmt.Errorf("want `begun: C`, `done: C` or `idle: C` behind a function: %s", text)
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

// parseFamily reads RESULT name(arguments) [each SET] [ctx] [status] [custom] [by NAME [elsewhere]]
// [when EXPRESSION [unless EXPRESSION]].
func (t *apiTable) parseFamily(text string) error {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	at := strings.LastIndexAny(text[:max(open, 0)], " *") + 1
	if open <= 0 || end < open || at == 0 {
		return fmt.Errorf("want RESULT name(arguments): %s", text)
	}
	family := apiFunc{Result: strings.TrimSpace(text[:at]), Family: text[at:open]}
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
		case "when":
			family.When, family.Unless, _ = strings.Cut(strings.Join(words[1:], " "), " unless ")
			words = words[len(words)-1:]
		case "by":
			if len(words) < 2 {
				return fmt.Errorf("%s: by which function?", family.Family)
			}
			family.By, words = words[1], words[1:]
		case "elsewhere":
			if family.By == "" {
				return fmt.Errorf("%s: elsewhere by which function?", family.Family)
			}
			family.Elsewhere = true
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
func (t *apiTable) add(f apiFunc, args, of string, ctx bool) error {
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
	f.By, f.Fetch = strings.Replace(f.By, "TYPE", of, 1), c
	for _, part := range splitArgs(types.Replace(args)) {
		a, err := t.parseArg(part)
		if err != nil {
			return err
		}
		f.Args = append(f.Args, a)
	}
	t.append(f, element)
	if ctx {
		f.Name, f.By = strings.Replace(f.Name, "shmem_", "shmem_ctx_", 1), strings.Replace(f.By, "shmem_", "shmem_ctx_", 1)
		f.Args = slices.Insert(slices.Clone(f.Args), 0, apiArg{Type: "mcchk_ctx", Name: "ctx", Kind: 'c'})
		t.append(f, element)
	}
	return nil
}

func (t *apiTable) append(f apiFunc, element string) {
	f.Hooks = map[string]string{}
	t.last, t.elements = append(t.last, len(t.funcs)), append(t.elements, element)
	t.funcs = append(t.funcs, f)
}

// parseArg reads `C-type name:K[length] out`, `= name:K[length] value` or
// `> name:K[length] value`.
func (t *apiTable) parseArg(text string) (apiArg, error) {
	declared, rest, ok := strings.Cut(text, ":")
	if !ok || rest == "" || strings.IndexByte("-ipI", rest[0]) < 0 && t.api.kinds[rest[0]] == "" {
		return apiArg{}, fmt.Errorf("argument %q: want type name:kind", text)
	}
	a := apiArg{Kind: rest[0]}
	rest = strings.TrimSpace(rest[1:])
	if count, isList := strings.CutPrefix(rest, "["); isList {
		a.Count, rest, _ = strings.Cut(count, "]")
		rest = strings.TrimSpace(rest)
	}
	if (a.Kind == 'I') != (a.Count != "") {
		return a, fmt.Errorf("argument %q: lists, and they alone, have a length", text)
	}
	if sign := declared[0]; sign == '=' || sign == '>' {
		a.Name, a.Value, a.After = strings.TrimSpace(declared[1:]), rest, sign == '>'
		if a.Value == "" {
			return a, fmt.Errorf("argument %q: an observation without a value", text)
		}
		return a, nil
	}
	at := strings.LastIndexAny(declared, " *") + 1
	a.Type, a.Name = strings.TrimSpace(declared[:at]), declared[at:]
	a.Out = rest == "out"
	if rest != "" && !a.Out || a.Type == "" {
		return a, fmt.Errorf("argument %q", text)
	}
	return a, nil
}
