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
)

// phasesHeld returns of which phases a replay still holds the vectors, by number, and for
// each one way on which it does.
func phasesHeld(m *core.Machine) map[uint64]string {
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
	held := map[uint64]string{}
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
			if v.Type().String() == "*evc.phase" {
				held[v.Elem().FieldByName("number").Uint()] = way(i)
				continue
			}
			add(v.Elem(), "")
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
	return held
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
