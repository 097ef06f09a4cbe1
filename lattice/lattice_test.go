package lattice_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// written returns a machine that shows a run, in the notation of package
// scenario, to an observer.
func written(t *testing.T, o core.Observer, text string) *core.Machine {
	s, err := scenario.Parse(t.Name(), text)
	require.NoError(t, err)
	files, err := s.Trace.Files()
	require.NoError(t, err)
	streams := make([]core.Stream, len(files))
	for i, file := range files {
		r, err := trace.NewReader(bytes.NewReader(file), fmt.Sprintf("rank %d", i))
		require.NoError(t, err)
		streams[i] = r
	}
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Vector, Observer: o}, mpi.New(mpi.MemoryAuto, nil))
	require.NoError(t, err)
	return m
}

func run(t *testing.T, m *core.Machine) {
	for {
		_, err := m.Next(context.Background())
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

func nowhere(int, uint32) lattice.Place { return lattice.Place{} }

// describe lists events and edges, one a line.
func describe(l *lattice.Lattice) string {
	var b strings.Builder
	for i := range l.Events {
		e := &l.Events[i]
		who := "all"
		if e.Line != lattice.NoLine {
			who = l.Lines[e.Line].Name()
		}
		fmt.Fprintf(&b, "%d %s: %s", i, who, e.Label())
		for _, x := range l.Edges {
			if x.To == i {
				fmt.Fprintf(&b, " <%s %d", x.Kind, x.From)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Accesses of two threads between two calls have no order; calls order all
// threads.
func TestThreads(t *testing.T) {
	const text = `
processes 1
rank 0
  alloc_mem
  store 0x1000
  load 0x1000
thread 1
  store 0x1004
thread 0
  free_mem
  end units=1
`
	target := func(side int, pos uint64, strand uint32, name string) lattice.Target {
		return lattice.Target{Side: side, At: lattice.Point{Pos: pos}, Strand: strand, Name: name, Memory: true}
	}
	b := lattice.NewNeighbourhoods(1, 1, 5, []lattice.Target{target(1, 2, 0, "store"), target(2, 3, 0, "load"), target(2, 4, 1, "store")})
	run(t, written(t, b, text))
	require.Equal(t, `0 rank 0: MPI_Alloc_mem
1 rank 0: store
2 rank 0: load
3 rank 0, thread 1: store <thread 0
4 rank 0: MPI_Free_mem <thread 3
`, describe(b.Lattices(nowhere)[0]))
}

// A call that never returned has begun; what it waits for it has not got.
func TestNeverReturned(t *testing.T) {
	b := lattice.NewRegion(2, 0, 0, nil)
	m := written(t, b, `
rank 0
  alloc_mem
  barrier
  end units=1
rank 1
  alloc_mem
  barrier (never returns)
`)
	run(t, m)
	require.Equal(t, `0 rank 0: MPI_Alloc_mem
1 rank 0: MPI_Barrier (begin)
2 rank 1: MPI_Alloc_mem
3 rank 1: MPI_Barrier (begin)
4 all: MPI_Barrier <collective 1 <collective 3
`, describe(b.Lattice(nowhere)))
}

// Two messages that are received in the order in which they were not sent: the
// second dependence is implied by the first.
func TestImplied(t *testing.T) {
	b := lattice.NewRegion(2, 0, 0, nil)
	run(t, written(t, b, `
rank 0
  send to=1 tag=1
  send to=1 tag=2
rank 1
  recv from=0 tag=2
  recv from=0 tag=1
every rank
  end units=1
`))
	require.Equal(t, `0 rank 0: MPI_Send
1 rank 0: MPI_Send
2 rank 1: MPI_Recv <message 1
3 rank 1: MPI_Recv
`, describe(b.Lattice(nowhere)))
}

// An empty lattice can be drawn, too.
func TestEmpty(t *testing.T) {
	b := lattice.NewNeighbourhoods(3, 1, 5, nil)
	l := b.Lattices(nowhere)[0]
	require.Empty(t, l.Events)
	require.True(t, b.Done())
	var svg, dot, text bytes.Buffer
	require.NoError(t, l.WriteSVG(&svg))
	require.NoError(t, l.WriteDOT(&dot))
	require.NoError(t, l.WriteOrder(&text))
	require.Contains(t, svg.String(), "</svg>")
	require.Empty(t, text.String())
}

// What a lattice costs must grow with its events, and no faster: compare the
// figures for each event.
func BenchmarkGrowth(b *testing.B) {
	for _, steps := range []int64{500, 5_000, 50_000} {
		dir := filepath.Join(b.TempDir(), "ring")
		_, err := synth.Generate(b.Context(), dir, synth.Config{Pattern: "ring", Ranks: 8, Steps: steps, Seed: 1})
		require.NoError(b, err)
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			events := 0
			for b.Loop() {
				l, err := analysis.RegionLattice(b.Context(), dir, symbols.Layers{}, 1, nil, 0)
				require.NoError(b, err)
				events = len(l.TotalOrder())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
		})
	}
}

// Order that the program declares is order.
func TestDeclared(t *testing.T) {
	b := lattice.NewRegion(2, 0, 0, nil)
	run(t, written(t, b, `
rank 0
  mcchk_signal_process to=1 tag=3
rank 1
  mcchk_wait_process from=0 tag=3
every rank
  end units=1
`))
	require.Equal(t, `0 rank 0: mcchk_signal_process
1 rank 1: mcchk_wait_process <declared 0
`, describe(b.Lattice(nowhere)))
}

// Who has found a value comes after who left it, with the value and its place: an event of its own, for the
// operation may be complete only then.
func TestValues(t *testing.T) {
	b := lattice.NewRegion(2, 1, 0, nil)
	run(t, written(t, b, `
every rank
  op 2: MPI_NO_OP
  op 3: MPI_REPLACE
  1: win_create size=64
rank 0
  2: lock_all
  3: accumulate to=1 disp=8 number=1 op=3 operand=-5
  4: flush rank=1
  5: unlock_all
rank 1
  2: lock_all
  6: fetch_and_op to=1 disp=8 op=2 number=1 result_addr=0x90000
  7: flush rank=1
    fetched numbers=[1] values=[-5]
  8: unlock_all
every rank
  9: win_free
`))
	l := b.Lattice(nowhere)
	require.Contains(t, describe(l), "MPI_Fetch_and_op finds -5 <value ")
	var values []lattice.Edge
	for _, e := range l.Edges {
		require.Equal(t, e.Kind == lattice.Value, e.Found != nil)
		if e.Found != nil {
			values = append(values, e)
		}
	}
	require.Len(t, values, 1)
	require.Equal(t, "MPI_Accumulate", l.Events[values[0].From].Name)
	require.Equal(t, lattice.Read, l.Events[values[0].To].Kind)
	require.Equal(t, "-5 in 4 bytes at offset 8 of rank 1's part of window 1", values[0].Found.String())
	var order strings.Builder
	require.NoError(t, l.WriteOrder(&order))
	require.Regexp(t, `finds -5 +found -5 in 4 bytes at offset 8 of rank 1's part of window 1, left by \d+`, order.String())
}

// Names from a trace may hold anything; what is written is well-formed.
func TestStrangeNames(t *testing.T) {
	b := lattice.NewRegion(1, 0, 0, nil)
	run(t, written(t, b, "processes 1\nrank 0\n  alloc_mem\n  end units=1\n"))
	l := b.Lattice(func(int, uint32) lattice.Place {
		return lattice.Place{File: "a<b>&\"c\\\x01\xff.c", Line: 3}
	})
	var svg, dot bytes.Buffer
	require.NoError(t, l.WriteSVG(&svg))
	require.NoError(t, l.WriteDOT(&dot))
	d := xml.NewDecoder(&svg)
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok && strings.Contains(string(text), "a<b>") {
			require.Contains(t, string(text), "a<b>&\"c\\\uFFFD\uFFFD.c:3")
		}
	}
	require.Contains(t, dot.String(), `label="MPI_Alloc_mem\na<b>&\"c\\`+"\uFFFD\uFFFD"+`.c:3"`)
}
