package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Patterns of the growth matrix beyond MPI with one thread: OpenSHMEM (shmem.go),
// GASPI (gaspi.go), and processes with two strands in each of the models.

// repeated is something that a synthetic trace repeats.
type repeated interface {
	fmt.Stringer
	// trace returns the trace of so many steps.
	trace(steps int) synthetic
}

// allPatterns returns the whole matrix.
func allPatterns() (all []repeated) {
	for _, p := range matrix() {
		all = append(all, p)
	}
	for _, patterns := range [][]modelPattern{shmemMatrix(), gaspiMatrix(), threadsMatrix()} {
		for _, p := range patterns {
			all = append(all, p)
		}
	}
	return all
}

// modelPattern is what a step does in a model: an operation, what completes it, and what
// orders the processes behind it.
type modelPattern struct {
	model     *bookends
	kernel    func(modelPattern, int) func(*script) error
	operation string
	done      string
	order     string
	bytes     string
	strands   string
	all       bool // all processes make the operation; otherwise process 0
}

// Strands of the processes of a pattern.
const (
	oneStrand  = "one strand"
	poolOfOne  = "a strand that works for the first" // each step is handed over
	twoStrands = "two strands beside each other"
)

func (p modelPattern) String() string {
	who := "one process"
	if p.all {
		who = "all processes"
	}
	return strings.Join([]string{p.model.name, p.operation, p.done, p.order, p.bytes, p.strands, who}, ", ")
}

func (p modelPattern) trace(steps int) synthetic {
	return synthetic{ranks: matrixRanks, kernel: p.kernel(p, steps), bookends: p.model}
}

// bookends is what programs of a model begin and end with.
type bookends struct {
	name       string
	functions  map[string]string // their arguments, as trace.Function has them for MPI
	begin, end func(*script) error
}

// combine returns a pattern for each combination of what is given.
func combine(model *bookends, kernel func(modelPattern, int) func(*script) error, operations, done, orders, strands []string) (all []modelPattern) {
	for _, operation := range operations {
		for _, d := range done {
			for _, order := range orders {
				for _, threads := range strands {
					for _, bytes := range []string{sameBytes, movingBytes, sharedBytes} {
						for _, everybody := range []bool{false, true} {
							if bytes != sharedBytes || everybody {
								all = append(all, modelPattern{model, kernel, operation, d, order, bytes, threads, everybody})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// slot returns the number of the element that a step of a strand is to.
func (p modelPattern) slot(s *script, step, strand int) int {
	mine := 2*s.rank + strand
	switch p.bytes {
	case movingBytes:
		return (step+1)*2*s.ranks + mine
	case sharedBytes:
		return 0
	}
	return mine
}

// target returns the process that the operations are to.
func (p modelPattern) target(s *script) int {
	if p.bytes == sharedBytes {
		return 0
	}
	return (s.rank + 1) % s.ranks
}

func (p modelPattern) active(s *script) bool { return p.all || s.rank == 0 }

// Objects that strands release and acquire.
const (
	forkObject = 0x7000 + iota
	workObject
	doneObject
	joinObject
)

// steps makes n steps in the strands of a process: work is what the strands do, order is
// done by the first strand behind it, or by each where they are beside each other.
func (p modelPattern) steps(s *script, n int, work, order func(step, strand int)) {
	if p.strands == oneStrand {
		for i := range n {
			work(i, 0)
			order(i, 0)
		}
		return
	}
	note := func(name string, object int) { s.call(90, "mcchk_"+name, trace.Args{"object": object}) }
	strand := func(number int) { s.call(90, "mcchk_Strand", trace.Args{"strand": number}) }
	note("Fork", forkObject)
	strand(1)
	note("Acquire", forkObject)
	strand(0)
	for i := range n {
		if p.strands == poolOfOne {
			note("Release", workObject)
			strand(1)
			note("Acquire", workObject)
			work(i, 1)
			note("Release", doneObject)
			strand(0)
			note("Acquire", doneObject)
			order(i, 0)
			continue
		}
		work(i, 0)
		strand(1)
		work(i, 1)
		strand(0)
		order(i, 0)
	}
	strand(1)
	note("Release", joinObject)
	s.call(90, "mcchk_Strand_end", trace.Args{"strand": 1})
	strand(0)
	note("Acquire", joinObject)
}

// threadsMatrix is MPI with two strands in each process.
func threadsMatrix() []modelPattern {
	operations := []string{"Put", "Get", "Accumulate", "Fetch_and_op", "Rput"}
	done := []string{"flush", "flush_local", byNothing}
	orders := []string{noOrder, byMessages, byBarrier, byRareOnes}
	return combine(mpiThreads, threadsKernel, operations, done, orders, []string{poolOfOne, twoStrands})
}

var mpiThreads = &bookends{name: "MPI", begin: (*script).begin, end: (*script).end}

func threadsKernel(p modelPattern, n int) func(*script) error {
	q := pattern{p.operation, p.done, throughout, p.order, p.bytes, p.all}
	return func(s *script) error {
		w := q.begin(s)
		p.steps(s, n, func(step, strand int) {
			if w.active {
				w.call(23, "MPI_"+w.operation, w.arguments(step, uint64(p.slot(s, step, strand))))
				switch w.done {
				case "flush", "flush_local":
					w.call(24, "MPI_Win_"+w.done, trace.Args{"rank": w.target, "win": window})
				}
			}
		}, func(step, _ int) { w.inOrder(step) })
		return w.end()
	}
}

// rare reports whether a step is one of those behind which what is rare comes.
func rare(step int) bool { return step%100 == 99 }

// define defines the functions of the model in the trace.
func (b *bookends) define(w *trace.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(b.functions)) {
		args := []trace.Arg{}
		for _, arg := range strings.Fields(b.functions[name]) {
			argument, kind, _ := strings.Cut(arg, ":")
			args = append(args, trace.Arg{Name: argument, Kind: trace.ArgKind(kind[0])})
		}
		if _, err := w.Define(name, args); err != nil {
			return err
		}
	}
	return nil
}
