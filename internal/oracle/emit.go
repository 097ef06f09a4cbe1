package oracle

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What generated C programs are compiled with.
//
//go:embed harness/turns.h harness/turns.c harness/decide.c
var harness embed.FS

// Where the memory of an emitted program's processes lies.
const (
	emittedArea   = 0x3000_0000_0000
	emittedMargin = 4096 // bytes before it that nothing else uses
	emittedHalf   = 1 << 15
)

// wrapped are the functions of the MPI library that turns.c stands in for.
var wrapped = []string{
	"Recv", "Irecv", "Recv_init", "Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace",
	"Probe", "Iprobe", "Mprobe", "Improbe",
	"Win_test", "Test", "Testall", "Testany", "Testsome", "Waitany", "Waitsome", "Request_get_status", "Parrived", "Cancel",
}

// EmitFlags returns the compiler arguments that emitted programs need, when they
// are to be traced and when they are not.
func EmitFlags(traced bool) []string {
	layer := "MPI_"
	if traced {
		layer = "PMPI_" // below the tracer
	}
	flags := []string{fmt.Sprintf("-DMEMORY=%#xul", emittedArea), fmt.Sprintf("-DMARGIN=%d", emittedMargin), "-DLAYER=" + layer}
	for _, f := range wrapped {
		flags = append(flags, "-Wl,--wrap="+layer+f)
	}
	return flags
}

// Emit returns the C sources, by file name, of one executable that runs each
// of some programs in the way that its history says: `app TURNS I...` runs the
// I-th of them, one after the other, all ranks by the same executable. TURNS is
// the name of a file of zeros, 8 bytes for each program and 8 more. A program's
// calls stand on lines of their own in files named after it: what the oracle
// calls p1.c:7 is line 7 of NAME_p1.c.
//
// The programs must come from Realize.
func Emit(programs []*Program, names []string) (map[string]string, error) {
	var b strings.Builder
	b.WriteString("#include \"turns.h\"\n")
	for i, p := range programs {
		text, err := p.c(names[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
		b.WriteString(text)
	}
	b.WriteString("\nconst struct program programs[] = {\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\t{%s, \"%s\"},\n", name, name)
	}
	b.WriteString("};\n")
	files := map[string]string{"programs.c": b.String()}
	for _, name := range []string{"turns.h", "turns.c", "decide.c"} {
		text, err := harness.ReadFile("harness/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	return files, nil
}

// Realize returns the program as it can be run for real with an MPI library:
// with its memory where emitted programs have it, and without calls that the
// library cannot make (see unfit). An error says that the library cannot be made
// to take this course.
func (p *Program) Realize(library string) (*Program, error) {
	base := make([]uint64, p.Ranks)
	for r := range base {
		base[r] = emittedArea + emittedMargin + p.Base[r]%64
		if p.Size[r] > emittedHalf {
			return nil, fmt.Errorf("process %d has %d bytes of memory", r, p.Size[r])
		}
	}
	q, err := p.MoveMemory(base).fit(library)
	if err != nil {
		return nil, err
	}
	_, _, err = q.schedule()
	return q, err
}

// emitter writes one program in C.
type emitter struct {
	strings.Builder
	p     *Program
	name  string
	turns []turn
	slots map[requestKey]int

	cancelled map[int]bool // requests
}

func (p *Program) c(name string) (string, error) {
	turns, total, err := p.schedule()
	if err != nil {
		return "", err
	}
	e := &emitter{p: p, name: name, turns: turns, slots: p.requestSlots(), cancelled: map[int]bool{}}
	for _, a := range p.match().acts {
		e.cancelled[a.req] = a.gone
	}
	if n := max(len(p.Wins), len(p.Comms), len(p.Types), len(e.slots)); n > 64 {
		return "", fmt.Errorf("%d handles of one kind", n)
	}
	for r := range p.Ranks {
		if err := e.process(r); err != nil {
			return "", err
		}
	}
	if err := e.frame(total); err != nil {
		return "", err
	}
	return e.String(), nil
}

// process writes the function of one process.
func (e *emitter) process(rank int) error {
	fmt.Fprintf(e, "\n#line 1 \"setup.c\"\nstatic __attribute__((noinline)) void %s_p%d(void)\n{\n\tchar *const m = mem + %d;\n\t(void)m;\n\tturn_program(\"%s_p%d\");\n",
		e.name, rank, e.p.Base[rank]-emittedArea-emittedMargin, e.name, rank)
	for i := range e.p.Calls {
		c := &e.p.Calls[i]
		if c.Rank != rank {
			continue
		}
		text, err := e.statement(c)
		if err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		fmt.Fprintf(e, "#line %d \"%s_p%d.c\"\n\t%s\n", c.Line, e.name, rank, e.turns[i].around(e.forced(c)+text))
	}
	e.WriteString("#line 1 \"setup.c\"\n}\n")
	return nil
}

// around adds to a call what makes it wait for its turn.
func (t turn) around(call string) string {
	switch {
	case t.take >= 0 && t.early:
		return fmt.Sprintf("turn_take(%d); turn_pass(); %s", t.take, call)
	case t.take >= 0:
		return fmt.Sprintf("turn_take(%d); %s turn_pass();", t.take, call)
	case t.await >= 0:
		return fmt.Sprintf("turn_await(%d); %s", t.await, call)
	}
	return call
}

// frame writes the function that all processes of the program run: it makes
// communicators and datatypes and lets each process go its way.
func (e *emitter) frame(total int) error {
	fmt.Fprintf(e, "static void %s(int rank)\n{\n", e.name)
	for i, t := range e.p.Types {
		text, err := t.make(i)
		if err != nil {
			return fmt.Errorf("type %d: %w", i, err)
		}
		fmt.Fprintf(e, "\t%s\n", text)
	}
	made := e.p.madeComms()
	for i, c := range e.p.Comms {
		fmt.Fprintf(e, "\tcomm[%d] = %s;\n", i, [...]string{"MPI_COMM_NULL", "MPI_COMM_WORLD"}[bit(i == 0)])
		if c.Remote != nil && !made[i] {
			return errors.New("an intercommunicator that no call makes")
		}
		if i > 0 && !made[i] {
			fmt.Fprintf(e, "\tMPI_Comm_create(MPI_COMM_WORLD, %s, &comm[%d]);\n", group(ints(c.Ranks)), i)
		}
	}
	e.WriteString("\tswitch (rank) {\n")
	for r := range e.p.Ranks {
		fmt.Fprintf(e, "\tcase %d: %s_p%d(); break;\n", r, e.name, r)
	}
	fmt.Fprintf(e, "\t}\n\tturn_await(%d);\n", total)
	for i := range e.p.Comms {
		if i > 0 {
			fmt.Fprintf(e, "\tif (comm[%d] != MPI_COMM_NULL)\n\t\tMPI_Comm_free(&comm[%d]); \n", i, i)
		}
	}
	e.WriteString("}\n")
	return nil
}

// madeComms returns the communicators that calls of the program make.
func (p *Program) madeComms() map[int]bool {
	made := map[int]bool{}
	for i := range p.Calls {
		if c := &p.Calls[i]; c.makesComm() {
			made[c.New] = true
		}
	}
	return made
}

// statement returns a call, load or store in C.
func (e *emitter) statement(c *Call) (string, error) {
	if c.isLocal() {
		return e.local(c), nil
	}
	signature := e.p.signature(c)
	var args []string
	for _, name := range shape(c, signature) {
		text, err := e.argument(c, name, signature)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Fn, err)
		}
		args = append(args, text)
	}
	call := e.copied(c, fmt.Sprintf("%s(%s);", c.Fn, strings.Join(args, ", ")))
	if c.Fn == "MPI_Win_allocate_shared" {
		call += fmt.Sprintf(" shared_parts(%d, %d);", c.Win, len(e.p.Comms[e.p.Wins[c.Win].Comm].Ranks))
	}
	return call, nil
}

func (e *emitter) local(c *Call) string {
	at := e.address(c, "", e.p.seen(c.Rank, c.Of, c.Off))
	typ := fmt.Sprintf("uint%d_t", 8*c.Elem)
	if c.Count == 1 {
		return fmt.Sprintf("%s(%s, %s);", strings.ToUpper(c.Fn), typ, at)
	}
	return fmt.Sprintf("%sS(%s, %s, %d, %d);", strings.ToUpper(c.Fn), typ, at, c.Stride, c.Count)
}

// forced returns what makes a call show what the history says.
func (e *emitter) forced(c *Call) string {
	text := ""
	if (c.receives() || c.family() == probeCall) && c.Any && c.Source != ProcNull {
		_, peers := e.p.Comms[c.Comm].group(c.Rank)
		text += fmt.Sprintf("force_source(%d); ", slices.Index(peers, c.Source))
	}
	switch c.Fn {
	case "MPI_Win_test", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status", "MPI_Parrived":
		text += fmt.Sprintf("force_flag(%d); ", bit(c.Flag))
	case "MPI_Cancel":
		text += fmt.Sprintf("force_flag(%d); ", bit(e.cancelled[c.Reqs[0]]))
	}
	switch c.Fn {
	case "MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome":
		text += fmt.Sprintf("force_done(%d, %s); ", len(c.Done), array("int", ints(c.Done)))
	}
	return text
}

// requestKey names a request of a process.
type requestKey struct{ rank, id int }

// requestSlots places the requests in an array, those of one call side by side
// as far as that goes.
func (p *Program) requestSlots() map[requestKey]int {
	slots := map[requestKey]int{}
	for _, several := range []bool{true, false} {
		for i := range p.Calls {
			c := &p.Calls[i]
			if len(c.Reqs) > 1 != several {
				continue
			}
			for _, r := range c.Reqs {
				if _, ok := slots[requestKey{c.Rank, r}]; !ok && r >= 0 {
					slots[requestKey{c.Rank, r}] = len(slots)
				}
			}
		}
	}
	return slots
}

// address returns where something at an offset in a process's memory lies: in
// memory that the library has allocated, or the program's own.
func (e *emitter) address(c *Call, name string, off int) string {
	inside, ok := e.p.inside(c, name, off)
	if !ok {
		return fmt.Sprintf("m + %d", off) // nothing there is touched
	}
	for w := range e.p.Wins {
		win := &e.p.Wins[w]
		if part := win.part(c.Rank); win.allocates() && inside >= part.lo && inside < part.hi {
			return fmt.Sprintf("base[%d] + %d", w, off-part.lo)
		}
		for k, owner := range e.p.Comms[win.Comm].Ranks {
			if win.At == nil || !slices.Contains(e.p.Comms[win.Comm].Ranks, c.Rank) {
				continue
			}
			if at := win.At[c.Rank][owner]; inside >= at && inside < at+win.Size[owner] {
				return fmt.Sprintf("shared[%d][%d] + %d", w, k, off-at)
			}
		}
	}
	return fmt.Sprintf("m + %d", off)
}

// inside returns where the bytes begin that a call touches through an argument
// of that name and offset: type maps and displacements may lead away from it.
// False when it touches none.
func (p *Program) inside(c *Call, name string, off int) (at int, ok bool) {
	if c.isLocal() {
		return off, true
	}
	role := "" // any
	switch before, buffer := strings.CutSuffix(name, "_addr"); {
	case buffer:
		role = before + " buffer"
	case name == "sendbuf" && !c.InPlace:
		role = "send buffer"
	case name == "recvbuf" && !c.InPlace:
		role = "receive buffer"
	}
	best := 0
	for _, u := range p.uses(c) {
		h, some := p.hull(c, u)
		if !some || role != "" && role != u.role {
			continue
		}
		h.lo = p.seen(c.Rank, u.parts[0].Of, h.lo)
		if d := max(h.lo-off, off-h.lo); !ok || d < best {
			at, best, ok = h.lo, d, true
		}
	}
	return at, ok
}

func group(ranks []int64) string {
	return fmt.Sprintf("group_of(%d, %s)", len(ranks), array("int", ranks))
}

func array(typ string, values []int64) string {
	return named(typ, values, func(v int64) string { return fmt.Sprint(v) })
}

// handles returns an array of handles out of one of the arrays of turns.h.
func handles(from string, indices []int) string {
	return named("MPI_Datatype", indices, func(i int) string { return fmt.Sprintf("%s[%d]", from, i) })
}

func named[T any](typ string, values []T, name func(T) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = name(v)
	}
	if len(parts) == 0 {
		parts = []string{"0"} // C has no empty arrays
	}
	return fmt.Sprintf("(%s[]){%s}", typ, strings.Join(parts, ", "))
}

func ints(ranks []int) []int64 {
	out := make([]int64, len(ranks))
	for i, r := range ranks {
		out[i] = int64(r)
	}
	return out
}

// assertions in C.
func assertions(bits int64) string {
	names := []string{"MPI_MODE_NOCHECK", "MPI_MODE_NOSTORE", "MPI_MODE_NOPUT", "MPI_MODE_NOPRECEDE", "MPI_MODE_NOSUCCEED"}
	var set []string
	for i, name := range names {
		if bits&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return "0"
	}
	return strings.Join(set, " | ")
}
