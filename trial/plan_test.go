package trial

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// calls is a stream of calls.
type calls struct {
	Stream
	all []trace.Call
}

func (s *calls) ReadEvent(ev *trace.Event) error {
	if len(s.all) == 0 {
		return io.EOF
	}
	c := s.all[0]
	*ev, s.all = callEvent(&c), s.all[1:]
	return nil
}

// A call that the changed program makes takes place when it would come: the order of atomic
// operations is looked for by the times of the calls that complete them.
func TestTimesOfMadeCalls(t *testing.T) {
	made := &trace.Call{Seq: 9, Returned: true}
	recorded := []trace.Call{
		{Seq: 1, Begin: 10, End: 11, Returned: true}, {Seq: 2, Begin: 20, End: 21, Returned: true}, {Seq: 3, Begin: 30, End: 31, Returned: true},
	}
	p := Plan{ranks: []edits{{
		puts:    []put{{slot(1, inserted), []trace.Event{callEvent(made)}}},
		gone:    map[uint64]bool{2: true},
		instead: map[uint64]*trace.Call{3: made},
	}}}
	for range 2 { // replays of one plan
		s := p.Stream(0, &calls{all: recorded})
		var times [][2]int64
		var ev trace.Event
		for s.ReadEvent(&ev) == nil {
			times = append(times, [2]int64{ev.Call.Begin, ev.Call.End})
		}
		require.Equal(t, [][2]int64{{10, 11}, {11, 11}, {30, 31}}, times)
	}
}

// A process that comes by one of two statements alone comes by it once more than the others come
// by both, in a loop: at its beginning or end.
func TestRounds(t *testing.T) {
	by := func(second bool, at ...uint64) (all []passage) {
		for _, pos := range at {
			all = append(all, passage{&execution{first: pos, last: pos}, second})
		}
		return all
	}
	got, ok := rounds(by(false, 1, 2, 3), 2)
	require.True(t, ok)
	require.Equal(t, []round{{slot(1, meetBehind), slot(2, meetBefore)}, {slot(2, meetBehind), noSlot}}, got)
	got, ok = rounds(by(true, 1, 2, 3), 2)
	require.True(t, ok)
	require.Equal(t, []round{{0, slot(2, meetBefore)}, {0, slot(3, meetBefore)}}, got)
	_, ok = rounds(by(true, 1, 2, 3, 4, 5), 3)
	require.False(t, ok)
	got, ok = rounds(by(false, 1, 2), 1)
	require.True(t, ok)
	require.Equal(t, []round{{slot(2, meetBehind), noSlot}}, got)
}

// What comes behind a loop is not moved into it.
func TestRepeated(t *testing.T) {
	at := func(pos ...uint64) (all []*execution) {
		for _, p := range pos {
			all = append(all, &execution{first: p, last: p})
		}
		return all
	}
	for _, c := range []struct {
		others, all []uint64
		i           int
		want        bool
	}{
		{[]uint64{1, 3, 5}, []uint64{7}, 0, true},
		{[]uint64{1}, []uint64{7}, 0, false},
		{[]uint64{1, 8}, []uint64{7, 9}, 1, false},
		{[]uint64{1, 8, 9}, []uint64{7, 10}, 1, true},
		{[]uint64{1, 8, 9}, []uint64{7, 10}, 0, false},
	} {
		require.Equal(t, c.want, repeated(at(c.others...), at(c.all...), c.i), c)
	}
}

// defined is a stream of calls that says what a datatype is.
type defined struct {
	calls
	types map[int64]*trace.Type
}

func (s *defined) Type(id int64) *trace.Type { return s.types[id] }

// A predefined datatype is known wherever the changed program uses it; one that the program makes is not
// before that.
func TestPredefinedAnywhere(t *testing.T) {
	fn := &trace.Fn{Name: "f", Args: []trace.Arg{{Name: "datatype", Kind: trace.ArgType}}}
	use := func(id int64) trace.Call { return trace.Call{Fn: fn, Args: []trace.Value{{Int: id}}} }
	scan := NewScan(1, func(int, uint32) []At { return nil })
	read := scan.Stream(0, &defined{calls{all: []trace.Call{use(1), use(2)}}, map[int64]*trace.Type{
		1: {ID: 1, Combiner: trace.Named}, 2: {ID: 2, Combiner: trace.Contiguous},
	}})
	var ev trace.Event
	for read.ReadEvent(&ev) == nil {
	}
	p, err := scan.Plan(nil, nil, nil, 0)
	require.NoError(t, err)
	s := p.Stream(0, &defined{})
	require.Equal(t, trace.Named, s.Type(1).Combiner)
	require.Nil(t, s.Type(2))
}

// A library makes several calls for one statement, as for a transfer between coarrays: those of one place in
// the program are one execution, until a function is called again.
func TestCallsOfOneStatement(t *testing.T) {
	lock, put, other := &trace.Fn{Name: "lock"}, &trace.Fn{Name: "put"}, &trace.Fn{Name: "other"}
	made := func(fn *trace.Fn, stack uint32) trace.Call { return trace.Call{Fn: fn, Stack: stack} }
	scan := NewScan(1, func(int, uint32) []At { return []At{{Inner: true}} })
	s := scan.Stream(0, &calls{all: []trace.Call{made(lock, 1), made(put, 1), made(lock, 1), made(put, 1), made(other, 2)}})
	var ev trace.Event
	for s.ReadEvent(&ev) == nil {
	}
	var sizes []int
	for _, e := range scan.ranks[0].executions[0] {
		sizes = append(sizes, len(e.events))
	}
	require.Equal(t, []int{2, 2, 1}, sizes)
}
