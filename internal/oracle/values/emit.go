package values

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// What generated C programs are compiled with.
//
//go:embed harness/turns.h harness/turns.c
var harness embed.FS

// GenerateReal makes the program of a seed as it goes with a library of OpenSHMEM 1.4 where
// each update takes effect at once.
func GenerateReal(seed int64) *Program {
	p := Generate("shmem", seed)
	p.real, p.told = true, true
	p.run()
	return p
}

// GenerateLater is GenerateReal with a library of OpenSHMEM 1.5: it also has atomic operations
// whose result is there after a quiet.
func GenerateLater(seed int64) *Program {
	p := Generate("shmem", seed)
	p.real, p.told, p.later = true, true, true
	p.run()
	return p
}

// Ranks returns how many processes the program has.
func (p *Program) Ranks() int { return p.ranks }

// Emit returns the C sources, by file name, of one executable that runs each of some real
// programs: see turns.c. What the checker calls p1.c:7 is line 7 of p1.c.
func Emit(programs []*Program) (map[string]string, error) {
	var b strings.Builder
	b.WriteString("#include \"turns.h\"\n")
	for i, p := range programs {
		for pe := range p.ranks {
			fmt.Fprintf(&b, "\n#line 1 \"setup.c\"\nstatic __attribute__((noinline)) void s%d_p%d(char *own, shmem_ctx_t ctx)\n{\n\t(void)own, (void)ctx;\n", i, pe)
			for _, e := range p.emitted() {
				if e.pe != pe {
					continue
				}
				text, err := e.c(p.turn(e.index))
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&b, "#line %d \"p%d.c\"\n\t%s\n", e.line, pe, text)
			}
			b.WriteString("#line 1 \"setup.c\"\n}\n")
		}
	}
	b.WriteString("\nconst struct program programs[] = {\n")
	for i, p := range programs {
		b.WriteString("\t{{")
		for pe := range p.ranks {
			fmt.Fprintf(&b, "s%d_p%d, ", i, pe)
		}
		fmt.Fprintf(&b, "}, %d},\n", p.turn(len(p.events)))
	}
	b.WriteString("};\n")
	files := map[string]string{"programs.c": b.String()}
	for _, name := range []string{"turns.h", "turns.c"} {
		text, err := harness.ReadFile("harness/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	return files, nil
}

// emitted are the events that stand in a program's own functions.
func (p *Program) emitted() []*event {
	return slices.DeleteFunc(slices.Clone(p.events), func(e *event) bool { return framed[e.fn] })
}

// framed is what main calls.
var framed = map[string]bool{"mcchk_Symmetric_data": true, "shmem_init": true, "shmem_ctx_create": true, "shmem_finalize": true}

// turn returns the turn of an event: all before it have had theirs.
func (p *Program) turn(index int) int {
	n := 0
	for _, e := range p.events[:index] {
		if !framed[e.fn] {
			n++
		}
	}
	return n
}

// seenOnly are the arguments that the tracer adds.
var seenOnly = []string{"size", "before", "old", "result", "ticket"}

var comparisons = []string{1: "SHMEM_CMP_EQ", 2: "SHMEM_CMP_NE", 3: "SHMEM_CMP_GT", 4: "SHMEM_CMP_GE"}

// c returns an event in C, with what makes it wait for its turn.
func (e *event) c(k int) (string, error) {
	turn := fmt.Sprintf("turn_take(%d);", k)
	switch text, collective, err := e.statement(); {
	case err != nil:
		return "", err
	case e.early:
		return fmt.Sprintf("%s %s turn_pass();", text, turn), nil
	case collective:
		return fmt.Sprintf("%s turn_pass(); %s", turn, text), nil
	default:
		return fmt.Sprintf("%s %s turn_pass();", turn, text), nil
	}
}

func (e *event) statement() (text string, collective bool, err error) {
	if e.fn == "" {
		if e.store {
			return fmt.Sprintf("STORE(%s, %d);", pointer(e.at), max(e.stored, 1)), false, nil
		}
		return fmt.Sprintf("LOAD(%s);", pointer(e.at)), false, nil
	}
	var args []string
	result, tested := int64(0), false
	for _, a := range e.args {
		switch {
		case a.name == "result":
			result, tested = a.value, true
		case slices.Contains(seenOnly, a.name):
		case a.name == "ctx":
			args = append(args, "ctx")
		case a.name == "cmp":
			args = append(args, comparisons[a.value])
		case a.kind == 'p':
			args = append(args, pointer(a.value))
		case a.kind == 'i':
			args = append(args, fmt.Sprint(a.value))
		default:
			return "", false, fmt.Errorf("%s: argument %s is of a kind that cannot be emitted", e.fn, a.name)
		}
	}
	switch e.fn {
	case "shmem_barrier":
		args = append(args, "psync_barrier")
	case "shmem_sync":
		args = append(args, "psync_sync")
	}
	call := fmt.Sprintf("%s(%s)", e.fn, strings.Join(args, ", "))
	if e.updates {
		settle := " settle();"
		if slices.Contains(args, "ctx") {
			settle = " settle_ctx(ctx);"
		}
		return call + ";" + settle, false, nil
	}
	if tested {
		return fmt.Sprintf("expect(%s, %d, %d);", call, result, e.line), false, nil
	}
	return call + ";", strings.HasPrefix(e.fn, "shmem_barrier") || strings.HasPrefix(e.fn, "shmem_sync"), nil
}

func pointer(at int64) string {
	if at >= private {
		return fmt.Sprintf("P(%#x)", at)
	}
	return fmt.Sprintf("M(%#x)", at)
}

// Observe compares a run that was recorded with the program, and lets its waits have found
// what they did there. readers are those of the processes' traces, place gives the source
// place of a stack.
func (p *Program) Observe(readers []*trace.Reader, place func(rank int, stack uint32) (file string, line int)) (differences []string, err error) {
	p.seen = map[int]int64{}
	for rank, r := range readers {
		var calls []*event
		touched := map[string]bool{}
		for _, e := range p.emitted() {
			switch {
			case e.pe != rank:
			case e.fn != "":
				calls = append(calls, e)
			default:
				touched[fmt.Sprint(e.line, e.store)] = true
			}
		}
		var ev trace.Event
		for {
			err := r.ReadEvent(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			switch ev.Kind {
			case trace.KindCall:
				file, line := place(rank, ev.Call.Stack)
				if file != fmt.Sprintf("p%d.c", rank) {
					continue
				}
				if len(calls) == 0 {
					differences = append(differences, fmt.Sprintf("%s:%d: %s is one call more", file, line, ev.Call.Fn.Name))
					continue
				}
				differences = append(differences, p.compare(calls[0], ev.Call, line)...)
				calls = calls[1:]
			case trace.KindAccess:
				if file, line := place(rank, ev.Access.Stack); file == fmt.Sprintf("p%d.c", rank) {
					if key := fmt.Sprint(line, ev.Access.Store); touched[key] {
						delete(touched, key)
					} else {
						differences = append(differences, fmt.Sprintf("%s:%d: a load or store (%v) that it has not", file, line, ev.Access.Store))
					}
				}
			case trace.KindLost:
				return nil, fmt.Errorf("rank %d has lost events", rank)
			}
		}
		for _, e := range calls {
			differences = append(differences, fmt.Sprintf("p%d.c:%d: %s was not recorded", rank, e.line, e.fn))
		}
		for key := range touched {
			differences = append(differences, fmt.Sprintf("p%d.c: of line (and store) %s nothing was recorded", rank, key))
		}
	}
	p.run()
	return differences, nil
}

// compare compares a call with what was recorded of it.
func (p *Program) compare(e *event, c *trace.Call, line int) (differences []string) {
	where := fmt.Sprintf("p%d.c:%d", e.pe, e.line)
	if c.Fn.Name != e.fn || line != e.line {
		return []string{fmt.Sprintf("%s: %s was recorded as %s of line %d", where, e.fn, c.Fn.Name, line)}
	}
	for _, a := range e.args {
		if a.kind != 'i' || a.name == "ctx" {
			continue
		}
		i := slices.IndexFunc(c.Fn.Args, func(x trace.Arg) bool { return x.Name == a.name })
		if i < 0 {
			differences = append(differences, fmt.Sprintf("%s: %s has no argument %s", where, e.fn, a.name))
			continue
		}
		v := c.Args[i].Int
		switch {
		case a.name == "before" && e.early:
			p.seen[e.index] = v
		case v != a.value:
			differences = append(differences, fmt.Sprintf("%s: argument %s of %s was recorded as %d, not %d", where, a.name, e.fn, v, a.value))
		}
	}
	return differences
}
