package trace_test

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// seen is one event with what it points to.
type seen struct {
	event trace.Event
	call  trace.Call
}

func copied(ev trace.Event) seen {
	s := seen{event: ev}
	if ev.Call != nil {
		s.call = *ev.Call
		s.call.Args = append([]trace.Value(nil), ev.Call.Args...) // no arguments are nil
		for i := range s.call.Args {
			s.call.Args[i].List = slices.Clone(s.call.Args[i].List)
		}
		s.event.Call = nil
	}
	return s
}

// TestReadBatch: batches of any size hold the events that ReadEvent gives, and
// definitions come with the event that they were known with.
func TestReadBatch(t *testing.T) {
	for _, c := range []synth.Config{
		{Pattern: "halo", Ranks: 4, Accesses: 3000, Seed: 1},
		{Pattern: "random", Ranks: 3, Accesses: 2000, Seed: 2},
		{Pattern: "lockopts", Ranks: 3, Accesses: 500, Seed: 3, Races: 3},
	} {
		t.Run(c.Pattern, func(t *testing.T) {
			dir := t.TempDir()
			_, err := synth.Generate(context.Background(), dir, c)
			require.NoError(t, err)
			path := filepath.Join(dir, "rank-1.mcct")
			want, types := oneByOne(t, path)
			for _, n := range []int{1, 2, 7, 1000} {
				got, defined := batched(t, path, n)
				require.Equal(t, want, got, "batches of %d", n)
				require.Equal(t, types, defined, "batches of %d", n)
			}
		})
	}
}

// oneByOne returns the events of a trace, and the datatypes that each of them
// may name.
func oneByOne(t *testing.T, path string) (events []seen, known [][]bool) {
	r, err := trace.Open(path)
	require.NoError(t, err)
	defer r.Close()
	for {
		var ev trace.Event
		if err := r.ReadEvent(&ev); err == io.EOF {
			return events, known
		}
		require.NoError(t, err)
		if ev.Kind != trace.KindCall {
			ev.Call = nil
		}
		events = append(events, clean(copied(ev)))
		known = append(known, knows(r.Type))
	}
}

func knows(types func(int64) *trace.Type) []bool {
	var known []bool
	for id := range int64(8) {
		known = append(known, types(id) != nil)
	}
	return known
}

// clean leaves what the kind of event means.
func clean(s seen) seen {
	ev := trace.Event{Kind: s.event.Kind, Strand: s.event.Strand}
	switch ev.Kind {
	case trace.KindAccess:
		ev.Access = s.event.Access
	case trace.KindLost:
		ev.Lost = s.event.Lost
	case trace.KindEnd:
		ev.End = s.event.End
	}
	s.event = ev
	s.call.Fn = nil // each reader has its own
	return s
}

func batched(t *testing.T, path string, n int) (events []seen, known [][]bool) {
	r, err := trace.Open(path)
	require.NoError(t, err)
	defer r.Close()
	types := map[int64]*trace.Type{}
	var b trace.Batch
	for b.Err == nil {
		r.ReadBatch(&b, n)
		size := 0
		for _, item := range b.Items {
			for _, d := range item.Defines {
				if d.Type != nil {
					types[int64(d.Type.ID)] = d.Type
				}
			}
			ev := trace.Event{Kind: item.Kind, Strand: item.Strand, Call: item.Call}
			if item.Other != nil {
				ev = *item.Other
			}
			size += len(item.Stretch.Rows)
			for a := range trace.InOrder(item.Stretch.Rows) {
				ev.Access = a
				events = append(events, clean(copied(ev)))
				known = append(known, knows(func(id int64) *trace.Type { return types[id] }))
			}
			if item.Kind != trace.KindAccess {
				events = append(events, clean(copied(ev)))
				known = append(known, knows(func(id int64) *trace.Type { return types[id] }))
				size++
			}
		}
		require.LessOrEqual(t, size, max(n, 1))
	}
	require.Equal(t, io.EOF, b.Err)
	return events, known
}
