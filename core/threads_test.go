package core_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// threads draws a run of two processes whose threads go on with any of several strands
// and fork, join, lock, send messages and meet. What comes before what is known from the
// graph of events.
type threads struct {
	*rand.Rand
	fns      map[string]*trace.Fn
	streams  [2]events
	strands  [2][]*threadStrand // that have not ended
	coming   [2][]comingStrand
	ended    [2][]int64        // objects that ends of strands have released
	on       [2]map[uint32]int // which strand each thread is on
	made     [2]int
	objects  int64
	released map[[2]int64][]int // by process and object: events
	sent     map[[2]int][]int   // by receiver and tag: events
	before   [][]bool           // before[i][j]: event j comes before event i
	access   map[uint64]int     // events that are stores, by address
	meetings int
}

type threadStrand struct {
	number int
	last   int // event
}

type comingStrand struct {
	number int
	object int64
}

// event adds an event of a strand, which comes after others too.
func (x *threads) event(s *threadStrand, after ...int) int {
	n := len(x.before)
	own := make([]bool, n+1)
	for _, p := range append(after, s.last) {
		if p < 0 {
			continue
		}
		own[p] = true
		for i, is := range x.before[p] {
			own[i] = own[i] || is
		}
	}
	x.before = append(x.before, own)
	s.last = n
	return n
}

// record adds to the trace of a process, by the thread that a strand is on.
func (x *threads) record(p int, s *threadStrand, ev trace.Event) {
	thread := uint32(s.number % 3)
	if x.on[p][thread] != s.number {
		x.on[p][thread] = s.number
		note := x.note("mcchk_Strand", "strand", int64(s.number))
		note.Strand = thread
		x.streams[p] = append(x.streams[p], note)
	}
	ev.Strand = thread
	x.streams[p] = append(x.streams[p], ev)
}

func (x *threads) note(name, arg string, value int64) trace.Event {
	if x.fns[name] == nil {
		x.fns[name] = &trace.Fn{ID: uint16(1000 + len(x.fns)), Name: name, Args: []trace.Arg{{Name: arg, Kind: trace.ArgNumber}}}
	}
	return trace.Event{Kind: trace.KindCall, Call: &trace.Call{Fn: x.fns[name], Returned: true, Args: []trace.Value{{Int: value}}}}
}

func (x *threads) object(p int, s *threadStrand, note string, object int64) {
	x.record(p, s, x.note(note, "object", object))
	key := [2]int64{int64(p), object}
	switch note {
	case "mcchk_Acquire":
		x.event(s, x.released[key]...)
	case "mcchk_Release", "mcchk_Fork":
		x.released[key] = append(x.released[key], x.event(s))
	}
}

func (x *threads) step(p int) {
	s := x.strands[p][x.IntN(len(x.strands[p]))]
	switch x.IntN(14) {
	case 0, 1, 2, 3:
		addr := uint64(4096 + 8*len(x.access))
		x.access[addr] = x.event(s)
		x.record(p, s, trace.Event{Kind: trace.KindAccess, Access: trace.Access{Addr: addr, Size: 4, Count: 1, Store: true}})
	case 4:
		x.objects++
		x.made[p]++
		x.object(p, s, "mcchk_Fork", 100+x.objects)
		x.coming[p] = append(x.coming[p], comingStrand{x.made[p], 100 + x.objects})
	case 5, 6:
		x.begin(p)
	case 7:
		x.end(p, s)
	case 8:
		if n := len(x.ended[p]); n > 0 {
			x.object(p, s, "mcchk_Acquire", x.ended[p][n-1])
			x.ended[p] = x.ended[p][:n-1]
		}
	case 9:
		x.object(p, s, "mcchk_Release", int64(1+x.IntN(2)))
	case 10:
		x.object(p, s, "mcchk_Acquire", int64(1+x.IntN(2)))
	case 11:
		tag := x.IntN(2)
		x.record(p, s, callOf(x.fns["toy_signal"], 1-p, tag, 0))
		key := [2]int{1 - p, tag}
		x.sent[key] = append(x.sent[key], x.event(s))
	case 12:
		tag := x.IntN(2)
		if key := [2]int{p, tag}; len(x.sent[key]) > 0 {
			x.record(p, s, callOf(x.fns["toy_wait"], 1-p, tag))
			x.event(s, x.sent[key][0])
			x.sent[key] = x.sent[key][1:]
		}
	case 13:
		x.meet()
	}
}

// begin lets a strand begin that was forked.
func (x *threads) begin(p int) {
	n := len(x.coming[p])
	if n == 0 {
		return
	}
	k := x.IntN(n)
	c := x.coming[p][k]
	x.coming[p][k] = x.coming[p][n-1]
	x.coming[p] = x.coming[p][:n-1]
	s := &threadStrand{number: c.number, last: -1}
	x.object(p, s, "mcchk_Acquire", c.object)
	x.object(p, s, "mcchk_Object_end", c.object)
	x.strands[p] = append(x.strands[p], s)
}

func (x *threads) end(p int, s *threadStrand) {
	if s.number == 0 {
		return
	}
	x.objects++
	x.object(p, s, "mcchk_Release", 100+x.objects)
	x.record(p, s, x.note("mcchk_Strand_end", "strand", int64(s.number)))
	x.on[p][uint32(s.number%3)] = -1
	x.ended[p] = append(x.ended[p], 100+x.objects)
	var left []*threadStrand
	for _, t := range x.strands[p] {
		if t != s {
			left = append(left, t)
		}
	}
	x.strands[p] = left
}

// meet lets a strand of each process meet, most of the time the first of each.
func (x *threads) meet() {
	x.meetings++
	var both [2]*threadStrand
	var came []int
	for p := range both {
		both[p] = x.strands[p][0]
		if x.IntN(4) == 0 {
			both[p] = x.strands[p][x.IntN(len(x.strands[p]))]
		}
		came = append(came, x.event(both[p]))
	}
	for p, s := range both {
		x.record(p, s, callOf(x.fns["other_meet"], x.meetings, int(core.AllToAll), int(core.NoRoot), []int{0, 1}, []int{}, 0, []int{}))
		x.event(s, came...)
	}
}

// TestThreads holds what regions say of the stores of threads against the graph: in all
// regions and phases together every two that nothing orders are found, and no others.
func TestThreads(t *testing.T) {
	for seed := range uint64(400) {
		x := &threads{
			Rand: rand.New(rand.NewPCG(seed, 5)), fns: functions(), released: map[[2]int64][]int{},
			sent: map[[2]int][]int{}, access: map[uint64]int{},
		}
		for p := range x.strands {
			x.strands[p] = []*threadStrand{{last: -1}}
			x.on[p] = map[uint32]int{0: 0, 1: -1, 2: -1}
		}
		for range 40 + x.IntN(160) {
			x.step(x.IntN(2))
		}
		want := map[[2]int]bool{}
		for _, i := range x.access {
			for _, j := range x.access {
				if i < j && !x.before[j][i] {
					want[[2]int{i, j}] = true
				}
			}
		}
		for _, clock := range []string{"evc", "vector", "auto"} {
			one, other := x.streams[0], x.streams[1]
			m, err := core.NewMachine([]core.Stream{&one, &other}, core.Options{Clock: clock, Phase: 1 + int(seed%3)*20, Turn: 1 + int(seed%5)}, models()...)
			require.NoError(t, err)
			got := map[[2]int]bool{}
			replay(t, m, func(r *regions.Region) {
				all := accesses(t, r)
				for k, a := range all {
					for _, b := range all[k+1:] {
						i, j := x.access[a.Base], x.access[b.Base]
						if !(a.Old && b.Old) && !r.Precedes(a, b) && !r.Precedes(b, a) {
							got[[2]int{min(i, j), max(i, j)}] = true
						}
					}
				}
			})
			require.Empty(t, m.Problems(), "seed %d", seed)
			for pair := range want {
				require.True(t, got[pair], "seed %d, %s: %v are not ordered", seed, clock, pair)
			}
			for pair := range got {
				require.True(t, want[pair], "seed %d, %s: %v are ordered", seed, clock, pair)
			}
		}
	}
}
