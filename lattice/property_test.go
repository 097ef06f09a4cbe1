package lattice_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/trace"
)

// recorded is a random program, its traces, and where its loads and stores are
// in them.
type recorded struct {
	program  *oracle.Program
	happens  *oracle.Happens
	calls    map[oracle.Place]int
	files    [][]byte
	accesses []lattice.Point
	events   []uint64 // by rank
}

func record(t *testing.T, seed int64) *recorded {
	p := oracle.Generate(seed, oracle.Options{All: seed%8 == 0})
	h, err := p.Happens()
	if err != nil {
		return nil // no such run
	}
	files, err := p.Files()
	require.NoError(t, err)
	r := &recorded{program: p, happens: h, files: files, calls: map[oracle.Place]int{}, events: make([]uint64, p.Ranks)}
	for i := range p.Calls {
		r.calls[p.Calls[i].Place()] = i
	}
	for rank, reader := range r.open(t) {
		var ev trace.Event
		for err := reader.ReadEvent(&ev); err != io.EOF; err = reader.ReadEvent(&ev) {
			require.NoError(t, err)
			r.events[rank]++
			if ev.Kind == trace.KindAccess {
				r.accesses = append(r.accesses, lattice.Point{Rank: rank, Pos: r.events[rank]})
			}
		}
	}
	return r
}

func (r *recorded) open(t *testing.T) []*trace.Reader {
	readers := make([]*trace.Reader, len(r.files))
	for i, b := range r.files {
		var err error
		readers[i], err = trace.NewReader(bytes.NewReader(b), fmt.Sprintf("rank %d", i))
		require.NoError(t, err)
	}
	return readers
}

// replay shows the run to an observer, and returns the places of its stacks and
// the number of regions.
func (r *recorded) replay(t *testing.T, o core.Observer) (lattice.Places, int) {
	readers := r.open(t)
	streams := make([]core.Stream, len(readers))
	for i := range readers {
		streams[i] = readers[i]
	}
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Vector, Observer: o, Phase: 64}, mpi.New(mpi.MemoryAuto, nil))
	require.NoError(t, err)
	n := 0
	for {
		region, err := m.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		n = region.Index + 1
	}
	require.Empty(t, m.Problems())
	return func(rank int, stack uint32) lattice.Place {
		s := readers[rank].Sources(readers[rank].Stack(stack)[0])[0]
		return lattice.Place{Func: s.Func, File: s.File, Line: int(s.Line)}
	}, n
}

// line returns the source line of an event of the trace of a process.
func (r *recorded) line(t *testing.T, p lattice.Point) int {
	reader := r.open(t)[p.Rank]
	var ev trace.Event
	for range p.Pos {
		require.NoError(t, reader.ReadEvent(&ev))
	}
	return int(reader.Sources(reader.Stack(ev.Access.Stack)[0])[0].Line)
}

// memory returns targets for all loads and stores.
func (r *recorded) memory(t *testing.T) []lattice.Target {
	var out []lattice.Target
	for _, p := range r.accesses {
		out = append(out, lattice.Target{
			Side: 1, At: p, Name: "access", Memory: true, Place: lattice.Place{File: fmt.Sprintf("p%d.c", p.Rank), Line: r.line(t, p)},
		})
	}
	return out
}

// check compares a lattice with the brute-force relation.
func (r *recorded) check(t *testing.T, l *lattice.Lattice, what string) {
	what += "\n" + r.program.String() + dump(l)
	reach, last := make([][]bool, len(l.Events)), make([]int, len(l.Lines)) // reach[i][j]: j happens before i
	direct := make([][]int, len(l.Events))
	for i := range last {
		last[i] = -1
	}
	edges := l.Edges
	for i, e := range l.Events {
		if e.Line != lattice.NoLine {
			if n := last[e.Line]; n >= 0 {
				direct[i] = append(direct[i], n)
			}
			last[e.Line] = i
		}
		var crossing []int
		for ; len(edges) > 0 && edges[0].To == i; edges = edges[1:] {
			crossing = append(crossing, edges[0].From)
			require.Less(t, edges[0].From, i, "a prefix that is no consistent cut: %s", what)
			require.GreaterOrEqual(t, e.Layer, l.Events[edges[0].From].Layer+1)
			direct[i] = append(direct[i], edges[0].From)
		}
		reach[i] = make([]bool, len(l.Events))
		for _, p := range direct[i] {
			reach[i][p] = true
			for j, ok := range reach[p] {
				reach[i][j] = reach[i][j] || ok
			}
		}
		for _, p := range crossing {
			for _, q := range direct[i] {
				require.False(t, p != q && reach[q][p], "edge %d → %d is implied by %d: %s", p, i, q, what)
			}
		}
	}
	require.Empty(t, edges)
	for i := range l.Events {
		for j := range l.Events {
			if a, b, ok := r.both(l, i, j); ok && a != b {
				over, only := l.Events[i].Part == lattice.Return, l.Events[j].Part == lattice.Begin
				require.Equal(t, r.happens.Before(a, b, over, only), reach[j][i], "event %d before %d: %s", i, j, what)
			}
		}
	}
	position := map[int]int{}
	for n, i := range l.TotalOrder() {
		position[i] = n
	}
	require.Len(t, position, len(l.Events))
	for i := range direct {
		for _, p := range direct[i] {
			require.Less(t, position[p], position[i], what)
		}
	}
}

// both returns the calls of the program that two events are.
func (r *recorded) both(l *lattice.Lattice, i, j int) (a, b int, ok bool) {
	call := func(e *lattice.Event) (int, bool) {
		if e.Line == lattice.NoLine {
			return 0, false
		}
		n, ok := r.calls[oracle.Place{Rank: l.Lines[e.Line].Rank, Line: e.Place.Line}]
		return n, ok
	}
	a, ok1 := call(&l.Events[i])
	b, ok2 := call(&l.Events[j])
	return a, b, ok1 && ok2
}

func dump(l *lattice.Lattice) string {
	var b strings.Builder
	for i, e := range l.Events {
		fmt.Fprintf(&b, "%d: line %d %s %s :%d after", i, e.Line, e.Name, e.Part, e.Place.Line)
		for _, x := range l.Edges {
			if x.To == i {
				fmt.Fprintf(&b, " %d(%s)", x.From, x.Kind)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const programs = 300

// What is ordered in a lattice is what the brute-force checker orders, on random
// programs: of whole runs, with all loads and stores.
func TestWholeRuns(t *testing.T) {
	for seed := range int64(programs) {
		r := record(t, seed)
		if r == nil {
			continue
		}
		targets := r.memory(t)
		for rank := range r.program.Ranks {
			targets = append(targets, lattice.Target{Side: 2, At: lattice.Point{Rank: rank, Pos: 1}, Name: "MPI_Init"})
		}
		b := lattice.NewNeighbourhoods(r.program.Ranks, 1, 1<<20, targets)
		places, _ := r.replay(t, b)
		l := b.Lattices(places)[0]
		shown := map[oracle.Place]bool{}
		for _, e := range l.Events {
			if e.Line != lattice.NoLine {
				shown[oracle.Place{Rank: l.Lines[e.Line].Rank, Line: e.Place.Line}] = true
			}
		}
		for i := range r.program.Calls {
			require.True(t, shown[r.program.Calls[i].Place()], "seed %d: %s is left out", seed, r.program.Calls[i].Place())
		}
		require.Len(t, l.Accesses, len(targets))
		r.check(t, l, fmt.Sprint("seed ", seed))
	}
}

// The same of what is near to some events, and of regions, cut short or not.
func TestParts(t *testing.T) {
	for seed := range int64(programs) {
		r := record(t, seed)
		if r == nil {
			continue
		}
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		var targets []lattice.Target
		const findings = 3
		for f := range findings {
			for side := 1; side <= 2; side++ {
				rank := rng.IntN(r.program.Ranks)
				targets = append(targets, lattice.Target{Finding: f, Side: side, At: lattice.Point{Rank: rank, Pos: 1 + rng.Uint64N(r.events[rank])}, Name: "x"})
			}
		}
		memory := r.memory(t)
		for i := range memory {
			if memory[i].Finding = rng.IntN(findings); rng.IntN(2) == 0 {
				targets = append(targets, memory[i])
			}
		}
		around := rng.IntN(4)
		b := lattice.NewNeighbourhoods(r.program.Ranks, findings, around, targets)
		places, n := r.replay(t, b)
		every := r.every(t, targets)
		for f, l := range b.Lattices(places) {
			r.check(t, l, fmt.Sprintf("seed %d, finding %d", seed, f))
			has := positions(l)
			for _, target := range targets {
				if target.Finding == f {
					require.Subset(t, has[target.At.Rank], near(every[target.At.Rank], target.At.Pos, around), "seed %d, finding %d", seed, f)
				}
			}
		}
		index, limit := rng.IntN(n), rng.IntN(40)
		whole := lattice.NewRegion(r.program.Ranks, index, limit, memory)
		places, _ = r.replay(t, whole)
		l := whole.Lattice(places)
		r.check(t, l, fmt.Sprintf("seed %d, region %d, limit %d", seed, index, limit))
		for _, e := range l.Events {
			require.Equal(t, index, e.Region)
		}
	}
}

// every returns the positions of all events of each process, those of the given
// loads and stores among them.
func (r *recorded) every(t *testing.T, targets []lattice.Target) map[int][]uint64 {
	var all []lattice.Target
	for _, x := range targets {
		x.Finding = 0
		all = append(all, x)
	}
	for rank := range r.program.Ranks {
		all = append(all, lattice.Target{At: lattice.Point{Rank: rank, Pos: 1}})
	}
	b := lattice.NewNeighbourhoods(r.program.Ranks, 1, 1<<20, all)
	places, _ := r.replay(t, b)
	return positions(b.Lattices(places)[0])
}

// positions returns those of the events of each process, each once.
func positions(l *lattice.Lattice) map[int][]uint64 {
	out := map[int][]uint64{}
	for _, e := range l.Events {
		if e.Line != lattice.NoLine {
			rank := l.Lines[e.Line].Rank
			out[rank] = append(out[rank], e.Position)
		}
	}
	for rank, all := range out {
		slices.Sort(all)
		out[rank] = slices.Compact(all)
	}
	return out
}

// near returns the positions at most so many away from the first that is not
// before a moment.
func near(all []uint64, pos uint64, around int) []uint64 {
	i, _ := slices.BinarySearch(all, pos)
	if i == len(all) {
		return nil
	}
	return all[max(0, i-around):min(len(all), i+around+1)]
}
