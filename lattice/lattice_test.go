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
	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// written packs traces written by hand, one text a process, and returns a
// machine that shows them to an observer.
func written(t *testing.T, o core.Observer, texts ...string) *core.Machine {
	streams := make([]core.Stream, len(texts))
	for i, text := range texts {
		head := fmt.Sprintf(`{"mcct":1,"rank":%d,"ranks":%d}`+"\n"+`{"comm":1,"rank":%d,"ranks":[[0,1,%d]]}`+"\n", i, len(texts), i, len(texts))
		var packed bytes.Buffer
		require.NoError(t, trace.Pack(context.Background(), strings.NewReader(head+text), &packed))
		r, err := trace.NewReader(&packed, fmt.Sprintf("rank %d", i))
		require.NoError(t, err)
		streams[i] = r
	}
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Vector, Observer: o}, mpi.New(mpi.MemoryAuto))
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

func call(fn, args string) string { return fmt.Sprintf(`{"call":"%s","args":{%s}}`+"\n", fn, args) }

const end = `{"end":{"units":1}}` + "\n"

// Accesses of two threads between two calls have no order; calls order all
// threads.
func TestThreads(t *testing.T) {
	text := call("MPI_Alloc_mem", "") +
		`{"access":"store","addr":"0x1000","size":4}` + "\n" +
		`{"access":"load","addr":"0x1000","size":4}` + "\n" +
		`{"chunk":{"strand":1,"seq":1}}` + "\n" +
		`{"mark":1}` + "\n" +
		`{"access":"store","addr":"0x1004","size":4}` + "\n" +
		`{"chunk":{"strand":0,"seq":1}}` + "\n" +
		call("MPI_Free_mem", "") + end
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
	barrier := `"comm:c":1`
	one := call("MPI_Alloc_mem", "") + call("MPI_Barrier", barrier) + end
	two := call("MPI_Alloc_mem", "") + `{"call":"MPI_Barrier","returned":false,"args":{"comm:c":1}}` + "\n"
	b := lattice.NewRegion(2, 0, 0, nil)
	m := written(t, b, one, two)
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
	message := func(fn string, tag int, extra string) string {
		return call(fn, fmt.Sprintf(`"buf:p":0,"count:i":0,"datatype:t":0,%s,"tag:g":%d,"comm:c":1`, extra, tag))
	}
	send := func(tag int) string { return message("MPI_Send", tag, `"dest:r":1`) }
	receive := func(tag int) string {
		return call("MPI_Recv", fmt.Sprintf(`"buf:p":0,"count:i":0,"datatype:t":0,"source:r":0,"tag:g":%d,"comm:c":1,"status:S":[0,%d,0,0]`, tag, tag))
	}
	b := lattice.NewRegion(2, 0, 0, nil)
	run(t, written(t, b, send(1)+send(2)+end, receive(2)+receive(1)+end))
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
				l, err := analysis.RegionLattice(b.Context(), dir, 1, nil, 0)
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
	run(t, written(t, b,
		call("mcchk_signal_process", `"dest:r":1,"tag:g":3,"comm:c":1`)+end,
		call("mcchk_wait_process", `"source:r":0,"tag:g":3,"comm:c":1`)+end))
	require.Equal(t, `0 rank 0: mcchk_signal_process
1 rank 1: mcchk_wait_process <declared 0
`, describe(b.Lattice(nowhere)))
}

// Names from a trace may hold anything; what is written is well-formed.
func TestStrangeNames(t *testing.T) {
	b := lattice.NewRegion(1, 0, 0, nil)
	run(t, written(t, b, call("MPI_Alloc_mem", "")+end))
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
