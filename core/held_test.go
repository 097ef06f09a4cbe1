package core_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// phasesHeld returns of which phases a replay still holds the vectors, by number, and for
// each one way on which it does.
func phasesHeld(m *core.Machine) map[uint64]string {
	held := map[uint64]string{}
	eachHeld(m, func(v reflect.Value, way func() string) bool {
		if v.Type().String() != "*evc.phase" {
			return true
		}
		held[v.Elem().FieldByName("number").Uint()] = way()
		return false
	})
	return held
}

// wordsHeld counts what a replay still holds of words, those of regions that are over included.
func wordsHeld(m *core.Machine) (n int) {
	eachHeld(m, func(v reflect.Value, _ func() string) bool {
		if v.Type().String() == "*core.word" {
			n++
		}
		return true
	})
	return n
}

// eachHeld visits what pointers a replay holds point to, each once, but for its models; way names one way on
// which it holds it. It goes on from there where visit says so.
func eachHeld(m *core.Machine, visit func(v reflect.Value, way func() string) bool) {
	type place struct {
		v    reflect.Value
		from int
		name string
	}
	type address struct {
		at   uintptr
		n    int
		kind reflect.Type
	}
	places := []place{{reflect.ValueOf(m), -1, "machine"}}
	seen := map[address]bool{}
	first := func(v reflect.Value, n int) bool {
		a := address{v.Pointer(), n, v.Type()}
		if v.IsNil() || seen[a] {
			return false
		}
		seen[a] = true
		return true
	}
	way := func(i int) string {
		var names []string
		for ; i >= 0; i = places[i].from {
			names = append(names, places[i].name)
		}
		slices.Reverse(names)
		return strings.Join(names, "")
	}
	for i := 0; i < len(places); i++ {
		v := places[i].v
		add := func(v reflect.Value, name string) {
			switch v.Kind() {
			case reflect.Array, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Struct:
				places = append(places, place{v, i, name})
			}
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !first(v, 0) {
				continue
			}
			if v.Type().Implements(reflect.TypeFor[core.Model]()) { // a model for tests keeps all operations
				continue
			}
			if visit(v, func() string { return way(i) }) {
				add(v.Elem(), "")
			}
		case reflect.Interface:
			add(v.Elem(), "")
		case reflect.Struct:
			for f := range v.NumField() {
				add(v.Field(f), "."+v.Type().Field(f).Name)
			}
		case reflect.Slice:
			if !first(v, v.Cap()) {
				continue
			}
			all := v.Slice(0, v.Cap()) // what lies behind the end is held too
			for k := range all.Len() {
				add(all.Index(k), fmt.Sprintf("[%d]", k))
			}
		case reflect.Array:
			for k := range v.Len() {
				add(v.Index(k), "[]")
			}
		case reflect.Map:
			if !first(v, 0) {
				continue
			}
			for k, x := range v.Seq2() {
				add(k, "{key}")
				add(x, "{}")
			}
		}
	}
}

// meetingWords has operations on words, and a call "all_meet" at which all strands meet.
type meetingWords struct{ *wordModel }

func (m *meetingWords) Bind(fn *trace.Fn) *core.Meaning {
	if fn.Name != "all_meet" {
		return m.wordModel.Bind(fn)
	}
	all := &core.Group{Local: []int32{0, 1}}
	return &core.Meaning{Kind: core.SynchronizingCall, Replay: func(s *core.Strand, c *core.Call) {
		s.Meet(c, core.Meeting{Key: core.MeetKey{On: c.Int(argNumber)}, Dir: core.AllToAll, Root: core.NoRoot, Group: all}, nil)
	}}
}

// TestUpdatesCompletedInTheNextRegion: an update that is completed when all have met since does not
// keep the words of all regions before.
func TestUpdatesCompletedInTheNextRegion(t *testing.T) {
	r := newWordRun(2)
	for step := range 60 {
		if step > 0 {
			r.call(0, "word_done", "number", 1000+step-1)
		}
		r.call(0, "word_issue", "number", 1000+step, "addr", 1<<20, "op", wordAdd, "value", 1, "equal", 0, "fetches", 0)
		r.issue(1, 0, wordRead, 0, 1)
		r.done(1)
		r.fetched(1, step+1)
		r.number[1]++
		for rank := range 2 {
			r.call(rank, "all_meet", "number", step)
		}
	}
	m, err := core.NewMachine(r.streams(), core.Options{Clock: evc.Auto}, &meetingWords{&wordModel{newToy(), map[[2]int64]*core.WordOp{}}})
	require.NoError(t, err)
	ended, most := 0, 0
	replay(t, m, func(*regions.Region) {
		ended++
		most = max(most, wordsHeld(m))
	})
	require.Greater(t, ended, 50)
	require.Positive(t, most)
	require.Less(t, most, 10)
}

// TestOldPhasesAreLetGo: what a replay holds does not refer to times of ever more phases.
func TestOldPhasesAreLetGo(t *testing.T) {
	var mu sync.Mutex
	tried := 0
	for name, do := range algorithms {
		if name == "try" { // it counts what nobody reads, and somebody might yet
			continue
		}
		for _, threads := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/threads=%t", name, threads), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(1, 12))
				streams := simulate(rng, 3, 50, do)
				if threads {
					streams = teams(rng, streams)
				}
				m, err := core.NewMachine(streams, core.Options{Clock: evc.Auto, Phase: 20}, &wordModel{newToy(), map[[2]int64]*core.WordOp{}})
				require.NoError(t, err)
				var held []map[uint64]string
				phases := 0
				replay(t, m, func(*regions.Region) {
					if phases++; phases%4 == 0 && len(held) < 6 {
						now := phasesHeld(m)
						require.Contains(t, slices.Collect(maps.Values(now)), "machine.clock.phase")
						for _, way := range now {
							if !strings.HasPrefix(way, "machine.queue.") { // it goes on, and lets go, in the next phase
								require.NotContains(t, way, ".sync.", "what a strand has waited for")
							}
						}
						held = append(held, now)
					}
				})
				if len(held) < 5 {
					return
				}
				// As long as what was fetched is not decided, more are held.
				fewest := slices.MinFunc(held[len(held)/2:], func(a, b map[uint64]string) int { return len(a) - len(b) })
				require.Less(t, len(fewest), 10, "of %d: %v", phases, fewest)
				mu.Lock()
				tried++
				mu.Unlock()
			})
		}
	}
	t.Cleanup(func() { require.Greater(t, tried, 30) })
}
