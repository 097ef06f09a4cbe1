package values

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// step is what the scheduler does next: something of a process, or something arrives.
type step struct {
	pe, do int
	strand int    // of the process
	r      [5]int // decides on all details
}

// Program is a run of a random program.
type Program struct {
	model string
	ranks int
	// strands are those of each process, which begin after its first calls and end
	// before its last ones.
	strands int
	lone    int  // bits of processes that have one strand all the same
	told    bool // what atomic operations found is told, though they have no result
	loops   bool // calls of one function that a process makes are of one place, as in a loop
	ids     int  // of notifications
	steps   []step

	// A real program is run with a library, and its updates take effect at once.
	real, later bool          // later: with one of OpenSHMEM 1.5
	seen        map[int]int64 // by event: what was there when a wait of it was called

	events   []*event
	accesses []*access
	edges    [][2]int       // of points
	notes    map[int][]note // of strands, behind an event
	words    []*word
	untold   []string    // functions of which the trace does not tell what they found
	passive  [][2]*event // sends and their receives
}

// event is a call, or a load or store.
type event struct {
	pe, strand int
	line       int
	fn         string // "" for a load or store
	args       []arg
	at         int64 // of a load or store
	size       int64
	store      bool
	stored     int64
	updates    bool // a word, some time
	early      bool // called as soon as the process comes to it
	begin, end int64
	index      int
}

func (e *event) enter() int { return 2 * e.index }
func (e *event) leave() int { return 2*e.index + 1 }

type arg struct {
	name  string
	kind  byte
	value int64
	list  []int64
}

func num(name string, v int64) arg    { return arg{name: name, kind: 'i', value: v} }
func addr(name string, v int64) arg   { return arg{name: name, kind: 'p', value: v} }
func nums(name string, v []int64) arg { return arg{name: name, kind: 'I', list: v} }

type kind int

const (
	reads kind = iota
	writes
	atomicReads
	atomicWrites
)

// access is memory that an event touches.
type access struct {
	by     *event
	owner  int
	lo, hi int64
	kind   kind
	typ    string // of an atomic one
	start  int
	done   []int // points of which each shows that it is complete, where it comes after start

	lane      string // what fences put in order; "": nothing
	fences    []int  // events that put it before what comes, where they come after start
	unchained bool   // no fence orders it after what came before
}

// arg returns what a step decides of a detail.
func (s *step) pick(i, n int) int { return s.r[i] % n }

// Steps of a program of either model.
func draw(r *rand.Rand, ranks, strands, n, kinds int) []step {
	var all []step
	for range n {
		s := step{pe: r.IntN(ranks), do: r.IntN(kinds), strand: r.IntN(strands)}
		for i := range s.r {
			s.r[i] = r.IntN(1 << 20)
		}
		all = append(all, s)
	}
	return all
}

// Generate makes the program of a seed: of a model, "shmem" or "gaspi", or of one with
// threads, "shmem threads" or "gaspi threads".
func Generate(model string, seed int64) *Program {
	r := rand.New(rand.NewPCG(uint64(seed), 9))
	p := &Program{model: model, ranks: 2 + r.IntN(3), strands: 1, told: r.IntN(2) == 0}
	n := 8 + r.IntN(24)
	if of, threads := strings.CutSuffix(model, " threads"); threads {
		p.model, p.ranks, p.strands = of, 2+r.IntN(2), 2+r.IntN(2)
		if p.model == "gaspi" && r.IntN(3) == 0 {
			p.lone = 1 << r.IntN(p.ranks)
		}
	}
	p.steps = draw(r, p.ranks, p.strands, n, p.kinds())
	p.ids = []int{2, 3, 3}[r.IntN(3)]
	p.loops = r.IntN(3) == 0
	for i := range p.steps {
		if x := &p.steps[i]; p.lone>>x.pe&1 != 0 {
			x.strand = 0
		}
	}
	p.run()
	return p
}

// strandsOf returns how many strands a process has.
func (p *Program) strandsOf(pe int) int {
	if p.lone>>pe&1 != 0 {
		return 1
	}
	return p.strands
}

// kinds returns how many kinds of steps are drawn.
func (p *Program) kinds() int {
	switch {
	case p.model == "gaspi":
		return len(gaspiSteps)
	case p.strands > 1:
		return len(shmemSteps)
	}
	return len(shmemOneStrand)
}

func (p *Program) run() {
	p.events, p.accesses, p.edges, p.words, p.untold, p.passive, p.notes = nil, nil, nil, nil, nil, nil, map[int][]note{}
	if p.model == "gaspi" {
		runGaspi(p)
	} else {
		runShmem(p)
	}
}

// Shrink returns a program of fewer steps for which fails is still true.
func Shrink(p *Program, fails func(*Program) bool) *Program {
	for n := len(p.steps) / 2; n > 0; {
		shorter := false
		for at := 0; at+n <= len(p.steps); {
			q := &Program{model: p.model, ranks: p.ranks, strands: p.strands, lone: p.lone, told: p.told, loops: p.loops, ids: p.ids, real: p.real, later: p.later, seen: p.seen, steps: slices.Delete(slices.Clone(p.steps), at, at+n)}
			q.run()
			if fails(q) {
				p, shorter = q, true
			} else {
				at += n
			}
		}
		if !shorter {
			n /= 2
		}
	}
	return p
}

// String is the program as a scenario, nearly.
func (p *Program) String() string {
	var b strings.Builder
	on := [2]int{-1, 0}
	for _, e := range p.events {
		if at := [2]int{e.pe, e.strand}; at != on {
			on = at
			fmt.Fprintf(&b, "rank %d thread %d\n", e.pe, e.strand)
		}
		fmt.Fprintf(&b, "  %d: ", e.line)
		if e.fn == "" {
			fmt.Fprintf(&b, "%s %#x size=%d", map[bool]string{true: "store", false: "load"}[e.store], e.at, e.size)
		} else {
			b.WriteString(e.fn)
			for _, a := range e.args {
				switch a.kind {
				case 'p':
					fmt.Fprintf(&b, " %s=%#x", a.name, a.value)
				case 'I':
					fmt.Fprintf(&b, " %s=%s", a.name, strings.ReplaceAll(fmt.Sprint(a.list), " ", ","))
				default:
					fmt.Fprintf(&b, " %s=%d", a.name, a.value)
				}
			}
		}
		fmt.Fprintf(&b, "   # %d..%d\n", e.begin, e.end)
	}
	return b.String()
}
