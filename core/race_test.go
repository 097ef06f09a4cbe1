package core_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// events is a trace of one strand.
type events []trace.Event

func (s *events) ReadEvent(ev *trace.Event) error {
	if len(*s) == 0 {
		return io.EOF
	}
	*ev = (*s)[0]
	*s = (*s)[1:]
	return nil
}

// models returns both models for one replay.
func models() []core.Model {
	t := newToy()
	return []core.Model{t, newOthers(t)}
}

// replay visits the regions of a run, and releases them.
func replay(t require.TestingT, m *core.Machine, visit func(*regions.Region)) {
	for {
		r, err := m.Next(context.Background())
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		visit(r)
		r.Release()
	}
}

// accesses returns all accesses of a region.
func accesses(t require.TestingT, r *regions.Region) []*regions.Access {
	var room regions.Scratch
	calls, err := r.AllCalls(&room)
	require.NoError(t, err)
	all := slices.Concat(append(slices.Clone(r.Carried), calls)...)
	for rank := range int32(len(r.Segments)) {
		for stretches, old := range r.Stretches(rank, 0, math.MaxUint64, &room, &err) {
			for i := range stretches {
				st := &stretches[i]
				for k := range st.Rows {
					for n := range int(st.Rows[k].N) {
						a := r.LocalAccess(rank, st, k, n)
						a.Old = old
						all = append(all, a)
					}
				}
			}
		}
		require.NoError(t, err)
	}
	return all
}

// races names the pairs of accesses of a region that nothing orders, that meet in
// some byte, and of which one writes: a checker in ten lines.
func races(t require.TestingT, r *regions.Region) (found []string) {
	all := accesses(t, r)
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.Old && b.Old || a.Owner != b.Owner || a.Kind == regions.Read && b.Kind == regions.Read ||
				r.Precedes(a, b) || r.Precedes(b, a) || a.Rank != b.Rank && regions.Exclude(a.Locks, b.Locks) {
				continue
			}
			if _, _, ok := intervals.MeetLayouts(a.Base, a.Layout, b.Base, b.Layout); ok {
				pair := []string{fmt.Sprintf("%s of rank %d", a.Role.Name, a.Rank), fmt.Sprintf("%s of rank %d", b.Role.Name, b.Rank)}
				slices.Sort(pair)
				found = append(found, pair[0]+" with "+pair[1])
			}
		}
	}
	return found
}

// TestToy: two strands race, or do not, by what the toy model says that its calls
// mean.
func TestToy(t *testing.T) {
	fns := functions()
	call := func(name string, args ...any) trace.Event { return callOf(fns[name], args...) }
	put, done := call("toy_put", 1, 1000, 8, 5000, 7), call("toy_complete", 7)
	load, store := call("toy_load", 1004, 4), call("toy_store", 5000, 4)
	signal, wait := call("toy_signal", 1, 0, 0), call("toy_wait", 0, 0)
	handOver := call("toy_signal", 1, 0, 7)
	local := trace.Event{Kind: trace.KindAccess, Access: trace.Access{Addr: 1000, Size: 4, Count: 1, Store: true}}
	lock := func(kind, ticket int) trace.Event { return call("toy_lock", 1, kind, ticket) }
	unlock := call("toy_unlock", 1)
	meet := call("other_meet", 1, int(core.AllToAll), int(core.NoRoot), []int{0, 1}, []int{}, 0, []int{})

	for name, c := range map[string]struct {
		first, second events
		races         []string
	}{
		"nothing orders them":               {events{put, done}, events{load}, []string{"load of a call of rank 1 with put of rank 0"}},
		"other bytes":                       {events{put, done}, events{call("toy_load", 1008, 4)}, nil},
		"complete, and then a signal":       {events{put, done, signal}, events{wait, load}, nil},
		"a signal, and then complete":       {events{put, signal, done}, events{wait, load}, []string{"load of a call of rank 1 with put of rank 0"}},
		"before the wait":                   {events{put, done, signal}, events{local, wait}, []string{"put of rank 0 with store of rank 1"}},
		"complete where the signal arrives": {events{put, handOver}, events{wait, local}, nil},
		"its source is complete before":     {events{put, handOver, store}, events{wait}, nil},
		"its source is not complete":        {events{put, store, done}, nil, []string{"source of a put of rank 0 with store of a call of rank 0"}},
		"a meeting":                         {events{put, done, meet}, events{meet, load}, nil},
		"pending beyond a meeting":          {events{put, meet, done}, events{meet, load}, []string{"load of a call of rank 1 with put of rank 0"}},
		"locks that exclude":                {events{lock(exclusiveLock, 0), put, done, unlock}, events{lock(sharedLock, 1), load, unlock}, nil},
		"locks that both share": {events{lock(sharedLock, 0), put, done, unlock}, events{lock(sharedLock, 1), load, unlock},
			[]string{"load of a call of rank 1 with put of rank 0"}},
		"complete after the unlock": {events{lock(exclusiveLock, 0), put, unlock, done}, events{lock(sharedLock, 1), unlock, load},
			[]string{"load of a call of rank 1 with put of rank 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := core.NewMachine([]core.Stream{&c.first, &c.second}, core.Options{Clock: "vector"}, models()...)
			require.NoError(t, err)
			var found []string
			replay(t, m, func(r *regions.Region) { found = append(found, races(t, r)...) })
			require.Equal(t, c.races, found)
			require.Empty(t, m.Problems())
		})
	}
}

// TestGuardPassedInALaterRegion: a put that waits for a guard is ordered after what
// is complete there before, though both began in a region before that.
func TestGuardPassedInALaterRegion(t *testing.T) {
	fns := functions()
	call := func(name string, args ...any) trace.Event { return callOf(fns[name], args...) }
	meet := call("other_meet", 1, int(core.AllToAll), int(core.NoRoot), []int{0, 1, 2}, []int{}, 0, []int{})
	wait, pass := call("toy_wait", 0, 0), call("other_pass", 0)
	for name, c := range map[string]struct {
		target events
		races  []string
	}{
		"complete before":     {events{meet, wait, pass}, nil},
		"complete afterwards": {events{meet, pass, wait}, []string{"put of rank 0 with put of rank 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			origin := events{call("toy_put", 1, 1000, 8, 5000, 7), meet, call("toy_complete", 7), call("toy_signal", 1, 0, 0)}
			behind := events{call("other_behind", 0, 1, 1000, 8, 8), meet, call("other_finish", 8)}
			m, err := core.NewMachine([]core.Stream{&origin, &c.target, &behind}, core.Options{Clock: "vector"}, models()...)
			require.NoError(t, err)
			var found []string
			replay(t, m, func(r *regions.Region) { found = append(found, races(t, r)...) })
			require.Equal(t, c.races, found)
		})
	}
}

// functions returns the functions of both models as a trace defines them.
func functions() map[string]*trace.Fn {
	args := map[string]string{}
	for name, rule := range toyTable {
		args[name] = rule.args
	}
	for name, rule := range otherTable {
		args[name] = rule.args
	}
	fns := map[string]*trace.Fn{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		fn := &trace.Fn{ID: uint16(len(fns)), Name: name}
		for _, arg := range strings.Fields(args[name]) {
			arg, list := strings.CutSuffix(arg, "[]")
			kind := trace.ArgNumber
			if list {
				kind = trace.ArgNumbers
			}
			fn.Args = append(fn.Args, trace.Arg{Name: arg, Kind: kind})
		}
		fns[name] = fn
	}
	return fns
}

// callOf returns a call with its arguments in order: numbers, and lists of ranks.
func callOf(fn *trace.Fn, args ...any) trace.Event {
	c := &trace.Call{Fn: fn, Returned: true, Stack: uint32(fn.ID) + 1}
	for _, arg := range args {
		switch v := arg.(type) {
		case int:
			c.Args = append(c.Args, trace.Value{Int: int64(v)})
		case []int:
			list := make([]int64, len(v))
			for i, n := range v {
				list[i] = int64(n)
			}
			c.Args = append(c.Args, trace.Value{List: list})
		}
	}
	if len(c.Args) != len(fn.Args) {
		panic(fmt.Sprintf("%s has %d arguments, not %d", fn.Name, len(fn.Args), len(c.Args)))
	}
	return trace.Event{Kind: trace.KindCall, Call: c}
}
