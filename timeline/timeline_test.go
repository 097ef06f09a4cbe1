package timeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/timeline"
	"github.com/mcchk/mcchk/trace"
)

// written is the timeline of a random program, and how many calls that has.
func written(t *testing.T, seed int64, wall bool) ([]byte, int) {
	p := oracle.Generate(seed, oracle.Options{All: seed%4 == 0})
	if _, err := p.Races(); err != nil {
		return nil, 0
	}
	files, err := p.Files()
	require.NoError(t, err)
	streams := make([]core.Stream, len(files))
	calls := 0
	for i, b := range files {
		reader, err := trace.NewReader(bytes.NewReader(b), "trace")
		require.NoError(t, err)
		var ev trace.Event
		for err := reader.ReadEvent(&ev); err != io.EOF; err = reader.ReadEvent(&ev) {
			require.NoError(t, err)
			if ev.Kind == trace.KindCall && ev.Call.Fn.Name[:4] == "MPI_" {
				calls++
			}
		}
		streams[i], err = trace.NewReader(bytes.NewReader(b), "trace")
		require.NoError(t, err)
	}
	from := timeline.Source{Ranks: p.Ranks, Place: func(rank int, _ uint32) string { return fmt.Sprintf("p%d.c:1", rank) }}
	if wall {
		from.Time = func(_ int, local int64) timeline.Moment { return timeline.Moment(local) }
	}
	marks := []timeline.Mark{
		{Finding: 1, Side: 1, Rank: 0, Pos: 4, Rule: "MC101", Name: "MPI_Put"},
		{Finding: 1, Side: 2, Rank: p.Ranks - 1, Strand: 1, Pos: 3, Rule: "MC101", Name: "load"},
		{Finding: 2, Side: 1, Rank: 0, Pos: 1 << 40, Rule: "MC101", Name: "store"},
	}
	var out bytes.Buffer
	w := timeline.NewWriter(&out, from, marks)
	m, err := core.NewMachine(streams, core.Options{Clock: evc.Vector, Observer: w}, mpi.New(mpi.MemoryAuto, nil))
	require.NoError(t, err)
	for {
		if _, err := m.Next(context.Background()); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes(), calls
}

// traceEvent is what the test reads of an event.
type traceEvent struct {
	Ph, Name, Cat, ID string
	PID, TID          int
	TS, Dur           json.Number
	ID2               struct{ Local string }
	Args              map[string]any
}

// events reads a timeline as a stream.
func events(t *testing.T, data []byte) []traceEvent {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		require.NoError(t, err)
		if token == "traceEvents" {
			break
		}
	}
	_, err := d.Token()
	require.NoError(t, err)
	var out []traceEvent
	for d.More() {
		var e traceEvent
		require.NoError(t, d.Decode(&e))
		out = append(out, e)
	}
	for range 2 {
		_, err := d.Token()
		require.NoError(t, err)
	}
	require.False(t, d.More())
	return out
}

// ns reads a time in microseconds, exactly.
func ns(t *testing.T, n json.Number) int64 {
	if n == "" {
		return 0
	}
	var whole, part int64
	_, err := fmt.Sscanf(string(n), "%d.%03d", &whole, &part)
	require.NoError(t, err)
	return whole*1000 + part
}

type seat struct{ pid, tid int }

type span struct{ begin, end int64 }

// Every call is a slice, slices of a thread do not overlap, flows have both ends
// within slices, epochs that begin end.
func TestStructure(t *testing.T) {
	const programs = 60
	flows, epochs := 0, 0
	for seed := range int64(programs) {
		wall := seed%2 == 0
		data, calls := written(t, seed, wall)
		if data == nil {
			continue
		}
		slices := map[seat][]span{}
		starts, open := map[string]traceEvent{}, map[string]int64{}
		instants, ended := 0, map[string]bool{}
		all := events(t, data)
		for _, e := range all {
			at := seat{e.PID, e.TID}
			begin := ns(t, e.TS)
			local := fmt.Sprint(e.PID, e.ID2.Local)
			switch e.Ph {
			case "X":
				calls--
				end := begin + ns(t, e.Dur)
				if n := len(slices[at]); n > 0 {
					require.GreaterOrEqual(t, begin, slices[at][n-1].end, "seed %d: %s overlaps", seed, e.Name)
				}
				require.Greater(t, end, begin)
				slices[at] = append(slices[at], span{begin, end})
				require.Equal(t, fmt.Sprintf("p%d.c:1", e.PID), e.Args["place"])
			case "s":
				require.NotContains(t, starts, e.ID)
				starts[e.ID] = e
			case "i":
				instants++
			case "b":
				open[local] = begin
				epochs++
			case "e":
				require.Contains(t, open, local, "seed %d", seed)
				require.LessOrEqual(t, open[local], begin)
				require.False(t, ended[local])
				ended[local] = true
			}
		}
		require.Zero(t, calls, "seed %d: calls without a slice", seed)
		require.Equal(t, 3, instants)
		require.Len(t, ended, len(open), "seed %d: epochs without an end", seed)
		for _, e := range all {
			if e.Ph != "f" {
				continue
			}
			s, ok := starts[e.ID]
			require.True(t, ok)
			delete(starts, e.ID)
			flows++
			require.Equal(t, s.Name, e.Name)
			require.NotEqual(t, s.PID, e.PID)
			for _, x := range []traceEvent{s, e} {
				require.True(t, within(slices[seat{x.PID, x.TID}], ns(t, x.TS)), "seed %d: a flow that touches no slice", seed)
			}
			if !wall {
				require.Less(t, ns(t, s.TS), ns(t, e.TS), "seed %d: logical time runs backwards", seed)
			}
		}
		require.Empty(t, starts, "seed %d: flows without an end", seed)
	}
	require.Greater(t, flows, 1000)
	require.Greater(t, epochs, 200)
}

func within(spans []span, at int64) bool {
	for _, s := range spans {
		if s.begin <= at && at < s.end {
			return true
		}
	}
	return false
}

// failing is a disk that gets full.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestFullDisk(t *testing.T) {
	w := timeline.NewWriter(&failing{}, timeline.Source{Ranks: 2000}, nil)
	require.ErrorContains(t, w.Failed(), "no space left")
	require.ErrorContains(t, w.Close(), "no space left")
}
