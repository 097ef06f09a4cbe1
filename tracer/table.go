package tracer

import (
	"fmt"
	"strings"
)

// The table of MPI functions (runtime/mpi.tbl) in memory. Its language is
// described at the top of the table.

// tableArg is one argument of a function, or an observation of the tracer's.
type tableArg struct {
	Type   string // C type, such as "const void *"; "" for an observation
	Name   string
	Kind   byte   // as in docs/trace-format.md; '-' when not recorded
	Room   string // C expression: words kept for a list
	Length string // C expression: words of the list when the call has returned; "" as Room
	Out    bool
	Cond   string // C expression: recorded only then; "" always
	Value  string // C expression of an observation
}

// observed reports whether the argument is the tracer's own.
func (a *tableArg) observed() bool { return a.Type == "" }

// pointer reports whether the C type is a pointer.
func (a *tableArg) pointer() bool { return strings.HasSuffix(a.Type, "*") }

// tableFunc is one entry of the table.
type tableFunc struct {
	Name    string
	Args    []tableArg
	Version int  // needs this MPI_VERSION; 0 any
	Custom  bool // its wrapper is written by hand
	Hooks   map[string]string
}

// definition is the text of the function definition record.
func (f *tableFunc) definition() string {
	var args []string
	for i := range f.Args {
		if a := &f.Args[i]; a.Kind != '-' {
			args = append(args, fmt.Sprintf("%s:%c", a.Name, a.Kind))
		}
	}
	return strings.TrimSuffix(f.Name+" "+strings.Join(args, ","), " ")
}

// large reports whether the function has a large-count form.
func (f *tableFunc) large() bool {
	for i := range f.Args {
		if strings.Contains(f.Args[i].Type, "COUNT") || strings.Contains(f.Args[i].Type, "DISPL") {
			return true
		}
	}
	return false
}

var hookNames = []string{"buffers", "define", "begun", "after", "made", "idle", "done", "failed"}

// parseTable reads a table. Errors name the line.
func parseTable(table []byte) ([]tableFunc, error) {
	var funcs []tableFunc
	seen := map[string]bool{}
	for n, line := range strings.Split(string(table), "\n") {
		wrap := func(err error) error { return fmt.Errorf("%s:%d: %w", prototypes, n+1, err) }
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case line[0] == '\t':
			if len(funcs) == 0 {
				return nil, wrap(fmt.Errorf("a hook before the first function"))
			}
			if err := parseHook(&funcs[len(funcs)-1], text); err != nil {
				return nil, wrap(err)
			}
		default:
			f, err := parseFunc(text)
			if err != nil {
				return nil, wrap(err)
			}
			if seen[f.Name] {
				return nil, wrap(fmt.Errorf("%s is there twice", f.Name))
			}
			seen[f.Name] = true
			funcs = append(funcs, f)
		}
	}
	return funcs, nil
}

func parseHook(f *tableFunc, text string) error {
	name, code, ok := strings.Cut(text, ":")
	if !ok || strings.TrimSpace(code) == "" {
		return fmt.Errorf("hook of %s: want `name: C`", f.Name)
	}
	for _, h := range hookNames {
		if h == name && f.Hooks[name] == "" {
			f.Hooks[name] = strings.TrimSpace(code)
			return nil
		}
	}
	return fmt.Errorf("hook %q of %s is unknown or there twice", name, f.Name)
}

func parseFunc(text string) (tableFunc, error) {
	f := tableFunc{Hooks: map[string]string{}}
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open <= 0 || end < open {
		return f, fmt.Errorf("want Name(arguments): %s", text)
	}
	f.Name = text[:open]
	switch rest := strings.TrimSpace(text[end+1:]); {
	case rest == "":
	case rest == "custom":
		f.Custom = true
	default:
		if _, err := fmt.Sscanf(rest, "version %d", &f.Version); err != nil {
			return f, fmt.Errorf("%s: %q after the arguments", f.Name, rest)
		}
	}
	for _, part := range splitArgs(text[open+1 : end]) {
		a, err := parseArg(part)
		if err != nil {
			return f, fmt.Errorf("%s: %w", f.Name, err)
		}
		f.Args = append(f.Args, a)
	}
	return f, nil
}

// splitArgs cuts at commas outside parentheses and brackets.
func splitArgs(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(text[start:]); last != "" {
		parts = append(parts, last)
	}
	return parts
}

const argKinds = "-iprgcwqtoalGIPTQS"

// parseArg reads `C-type name:K[length] out if condition` or `= name:K value`.
func parseArg(text string) (tableArg, error) {
	var a tableArg
	declared, rest, ok := strings.Cut(text, ":")
	if !ok || rest == "" || !strings.ContainsRune(argKinds, rune(rest[0])) {
		return a, fmt.Errorf("argument %q: want type name:kind", text)
	}
	a.Kind, rest = rest[0], rest[1:]
	if name, own := strings.CutPrefix(declared, "= "); own {
		a.Name, a.Out = name, true
		if room, value, list := strings.Cut(rest, "] "); list && a.isList() && rest[0] == '[' {
			a.Room, a.Out, rest = room[1:], false, value
		}
		a.Value = strings.TrimSpace(rest)
		if a.Value == "" {
			return a, fmt.Errorf("argument %q: an observation without a value", text)
		}
		return a, a.check(text)
	}
	at := strings.LastIndexAny(declared, " *") + 1
	if at == 0 || at == len(declared) {
		return a, fmt.Errorf("argument %q: want type name:kind", text)
	}
	a.Type, a.Name = strings.TrimSpace(declared[:at]), declared[at:]
	if strings.HasPrefix(rest, "[") {
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return a, fmt.Errorf("argument %q: no ]", text)
		}
		a.Room, a.Length, _ = strings.Cut(rest[1:end], ":")
		rest = rest[end+1:]
	}
	rest, a.Cond, _ = strings.Cut(rest, " if ")
	switch strings.TrimSpace(rest) {
	case "":
	case "out":
		a.Out = true
	default:
		return a, fmt.Errorf("argument %q: %q", text, rest)
	}
	return a, a.check(text)
}

func (a *tableArg) isList() bool { return a.Kind >= 'A' && a.Kind <= 'Z' }

func (a *tableArg) check(text string) error {
	list := a.isList()
	switch {
	case list && a.Room == "" && a.Kind != 'S' && a.Kind != 'G':
		return fmt.Errorf("argument %q: a list needs a length", text)
	case !list && a.Room != "":
		return fmt.Errorf("argument %q: not a list", text)
	case a.Out && a.Type != "" && !a.pointer() && a.Kind != 'p':
		return fmt.Errorf("argument %q: written, but not a pointer", text)
	case a.Kind == 'P':
		return fmt.Errorf("argument %q: lists of addresses are not generated yet", text)
	}
	return nil
}

// named reports whether code written by hand names the function: its wrapper, or runtime/rounds.c.
func (f *tableFunc) named() bool {
	switch f.Name {
	case "MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Get_accumulate", "MPI_Win_sync",
		"MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all":
		return true
	}
	return f.Custom
}
