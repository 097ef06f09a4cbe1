package scenario

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Trace is what the processes of a run recorded, built record by record. The
// first error stays, and Lines and Files return it.
type Trace struct {
	table
	run     string // 32 hexadecimal digits, or ""
	ranks   int    // 0: as many as are named, but at least 2
	named   int    // the highest rank named, plus 1
	records []record
	err     error
}

// defaultLines are what each scenario begins with.
//
//go:embed defaults.txt
var defaultLines string

// NewTrace begins a run of some processes, which leaves out what defaults.txt
// has.
func NewTrace(ranks int) *Trace {
	t := newTrace()
	t.ranks = ranks
	return t
}

func newTrace() *Trace {
	t := &Trace{table: newTable()}
	p := parser{scenario: &Scenario{Trace: t}}
	if err := p.lines("defaults.txt", 1, defaultLines); err != nil {
		t.err = err
	}
	return t
}

// With returns the same run, in whose calls the argument of that name, where
// they have it, is another number.
func (t *Trace) With(argument string, value int64) *Trace {
	other := *t
	other.records = slices.Clone(t.records)
	for i := range other.records {
		r := &other.records[i]
		r.args = slices.Clone(r.args)
		for k := range r.args {
			if r.args[k].name == argument {
				r.args[k].words = []int64{value}
			}
		}
	}
	return &other
}

// Ranks returns the number of processes.
func (t *Trace) Ranks() int {
	if t.ranks > 0 {
		return t.ranks
	}
	return max(t.named, 2)
}

// Process is who does what is recorded next: one or some processes, or a thread
// of theirs.
type Process struct {
	trace  *Trace
	ranks  []int // nil: every one
	thread int
	at     trace.Source // function and file of the lines
}

// Every stands for all processes.
func (t *Trace) Every() Process {
	return Process{trace: t, at: trace.Source{Func: "main", File: mainFile}}
}

// mainFile is the source file of lines that name none.
const mainFile = "a.c"

// Rank stands for a process, or some of them.
func (t *Trace) Rank(rank int, more ...int) Process {
	p := t.Every()
	p.ranks = append([]int{rank}, more...)
	t.named = max(t.named, slices.Max(p.ranks)+1)
	return p
}

// In stands for the same processes in another function and file.
func (p Process) In(function, file string) Process {
	p.at = trace.Source{Func: function, File: file}
	return p
}

// Thread stands for a thread of the processes, 0 for the main one.
func (p Process) Thread(n int) Process {
	p.thread = n
	return p
}

// Args are the arguments of a call by their names or short names: numbers of
// type int, lists of them, or what a scenario file could have there, as a string.
type Args map[string]any

// Remark is something special about a call.
type Remark string

// Remarks about calls.
const (
	NeverReturns Remark = "never returns"
	Fails        Remark = "fails"
)

// Call records a call at a line of the source; 0: it has no stack.
func (p Process) Call(line int, name string, args Args, remarks ...Remark) {
	var words []string
	for key, v := range args {
		if list, ok := v.([]int); ok {
			v = "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]") + "]"
		}
		words = append(words, fmt.Sprint(key, "=", v))
	}
	slices.Sort(words)
	given, err := parseArgs(words, true)
	if err == nil {
		err = p.call(p.place(line), name, given, remarks)
	}
	p.keep(err)
}

// Access records a run of loads or stores at a line of the source. A Count of 0
// stands for 1.
func (p Process) Access(line int, a trace.Access) {
	p.keep(p.access(p.place(line), a))
}

// Type records the definition of a datatype.
func (p Process) Type(d trace.Type) { p.add(record{other: typeObject(&d)}) }

func (p Process) keep(err error) {
	if err != nil && p.trace.err == nil {
		p.trace.err = err
	}
}

func (p Process) place(line int) []trace.Source {
	if line == 0 {
		return nil
	}
	at := p.at
	at.Line = uint32(line)
	return []trace.Source{at}
}

func (p Process) call(stack []trace.Source, name string, given []argument, remarks []Remark) error {
	f, err := p.trace.function(name, given)
	if err != nil {
		return err
	}
	r := record{stack: stack, call: f.name}
	if r.args, err = p.trace.arguments(f, given); err != nil {
		return err
	}
	for _, remark := range remarks {
		switch remark {
		case NeverReturns:
			r.pending = true
		case Fails:
			r.failed = true
		default:
			return fmt.Errorf("(%s) says nothing of a call: (%s), (%s)", remark, NeverReturns, Fails)
		}
	}
	p.add(r)
	return nil
}

func (p Process) access(stack []trace.Source, a trace.Access) error {
	if a.Count == 0 {
		a.Count = 1
	}
	if a.Size == 0 {
		return errors.New("a load or store of 0 bytes")
	}
	p.add(record{stack: stack, access: &a})
	return nil
}

func (p Process) add(r record) {
	r.ranks, r.thread = p.ranks, p.thread
	p.trace.records = append(p.trace.records, r)
}

// Files returns the trace files of all processes; nil where there is none.
func (t *Trace) Files() ([][]byte, error) {
	var files [][]byte
	for rank := range t.Ranks() {
		lines, err := t.Lines(rank)
		if err != nil {
			return nil, err
		}
		var file []byte
		if lines != "" {
			var packed bytes.Buffer
			if err := trace.Pack(context.Background(), strings.NewReader(lines), &packed); err != nil {
				return nil, fmt.Errorf("rank %d: %w of\n%s", rank, err, lines)
			}
			file = packed.Bytes()
		}
		for i := range t.records {
			if r := &t.records[i]; r.cut > 0 && r.of(rank) {
				file = file[:max(0, len(file)-r.cut)]
			}
		}
		files = append(files, file)
	}
	return files, nil
}

// Lines returns the trace of one process as JSON Lines, "" where there is none.
func (t *Trace) Lines(rank int) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	if t.named > t.Ranks() {
		return "", fmt.Errorf("rank %d of %d processes", t.named-1, t.Ranks())
	}
	var b strings.Builder
	for _, line := range head(t.run, rank, t.Ranks()) {
		b.WriteString(line + "\n")
	}
	killed, finalized := false, false
	var end map[string]int64
	for i := range t.records {
		r := &t.records[i]
		if !r.of(rank) {
			continue
		}
		if r.absent {
			return "", nil
		}
		finalized = finalized || r.call == "MPI_Finalize"
		killed = killed || r.pending || r.killed
		if r.end != nil {
			end = r.end
		}
		if line := r.line(rank); line != "" {
			b.WriteString(line + "\n")
		}
	}
	if killed {
		return b.String(), nil
	}
	if end == nil {
		end = map[string]int64{"units": 1, "accesses": 1}
		if !finalized {
			last := record{call: "MPI_Finalize", stack: t.Every().place(finalizeLine)}
			b.WriteString(last.line(rank) + "\n")
		}
	}
	b.WriteString(endLine(end) + "\n")
	return b.String(), nil
}

// finalizeLine is where MPI_Finalize is called when a scenario has no call of it.
const finalizeLine = 99
