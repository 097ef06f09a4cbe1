package core_test

import (
	"math/rand/v2"
	"slices"
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
	sent     [2][]message       // by receiver, that were not received
	tags     int
	before   [][]bool       // before[i][j]: event j comes before event i
	access   map[uint64]int // events that are stores, by address
	meetings int
	joining  [2]map[*threadStrand]*threadStrand // by whom it waits for the end of
	barrier  [2]*threadStrand                   // that stands at one
}

type threadStrand struct {
	number int
	last   int   // event
	end    int64 // the object that it releases at its end; 0: not drawn yet
	says   bool  // that it will release that
}

type message struct{ tag, event int }

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
	return x.call(name, []string{arg}, value)
}

func (x *threads) call(name string, args []string, values ...int64) trace.Event {
	if x.fns[name] == nil {
		fn := &trace.Fn{ID: uint16(1000 + len(x.fns)), Name: name}
		for _, arg := range args {
			fn.Args = append(fn.Args, trace.Arg{Name: arg, Kind: trace.ArgNumber})
		}
		x.fns[name] = fn
	}
	call := &trace.Call{Fn: x.fns[name], Returned: true}
	for _, v := range values {
		call.Args = append(call.Args, trace.Value{Int: v})
	}
	return trace.Event{Kind: trace.KindCall, Call: call}
}

func (x *threads) waits(p int, s *threadStrand, object, strands, releases int64) {
	x.record(p, s, x.call("mcchk_Strand_waits", []string{"object", "strands", "releases"}, object, strands, releases))
	x.strands[p] = slices.DeleteFunc(x.strands[p], func(t *threadStrand) bool { return t == s })
}

func (x *threads) goOn(p int, s *threadStrand, object int64) {
	x.object(p, s, "mcchk_Acquire", object)
	x.strands[p] = append(x.strands[p], s)
	slices.SortFunc(x.strands[p], func(a, b *threadStrand) int { return a.number - b.number })
}

// join lets a strand wait for the end of another.
func (x *threads) join(p int, s *threadStrand) {
	other := x.strands[p][x.IntN(len(x.strands[p]))]
	if other == s || other.number == 0 {
		return
	}
	for _, o := range x.joining[p] {
		if o == other {
			return // by one other
		}
	}
	x.joining[p][s] = other
	if other.says {
		x.waits(p, s, x.endOf(other), 0, 0)
	} else {
		x.waits(p, s, x.endOf(other), 0, 1)
	}
}

// arrive lets a strand come to a barrier of two.
func (x *threads) arrive(p int, s *threadStrand) {
	const barrier = 3
	first := x.barrier[p]
	if first == nil && len(x.strands[p]) < 2 {
		return
	}
	x.object(p, s, "mcchk_Release", barrier)
	x.waits(p, s, barrier, 2, 0)
	if first == nil {
		x.barrier[p] = s
		return
	}
	x.barrier[p] = nil
	x.goOn(p, first, barrier)
	x.goOn(p, s, barrier)
	x.object(p, s, "mcchk_Object_end", barrier)
	delete(x.released, [2]int64{int64(p), barrier})
}

func (x *threads) endOf(s *threadStrand) int64 {
	if s.end == 0 {
		x.objects++
		s.end = 100 + x.objects
	}
	return s.end
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
	if len(x.strands[p]) == 0 {
		return
	}
	s := x.strands[p][x.IntN(len(x.strands[p]))]
	switch x.IntN(16) {
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
			if x.IntN(2) == 0 {
				x.record(p, s, x.call("mcchk_Strand_waits", []string{"object", "strands", "releases"}, x.ended[p][n-1], 0, 0))
			}
			x.object(p, s, "mcchk_Acquire", x.ended[p][n-1])
			x.ended[p] = x.ended[p][:n-1]
		}
	case 9:
		x.object(p, s, "mcchk_Release", int64(1+x.IntN(2)))
	case 10:
		x.object(p, s, "mcchk_Acquire", int64(1+x.IntN(2)))
	case 11:
		x.tags++ // one for each: which of several strands sends or receives first is not recorded
		x.record(p, s, callOf(x.fns["toy_signal"], 1-p, x.tags, 0))
		x.sent[1-p] = append(x.sent[1-p], message{x.tags, x.event(s)})
	case 12:
		if n := len(x.sent[p]); n > 0 {
			k := x.IntN(n)
			m := x.sent[p][k]
			x.sent[p] = slices.Delete(x.sent[p], k, k+1)
			x.record(p, s, callOf(x.fns["toy_wait"], 1-p, m.tag))
			x.event(s, m.event)
		}
	case 13:
		x.meet()
	case 14:
		x.join(p, s)
	case 15:
		x.arrive(p, s)
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
	if s.says = x.IntN(2) == 0; s.says {
		x.record(p, s, x.note("mcchk_Will_release", "object", x.endOf(s)))
	}
	x.strands[p] = append(x.strands[p], s)
}

func (x *threads) end(p int, s *threadStrand) {
	if s.number == 0 {
		return
	}
	end := x.endOf(s)
	x.object(p, s, "mcchk_Release", end)
	x.record(p, s, x.note("mcchk_Strand_end", "strand", int64(s.number)))
	x.on[p][uint32(s.number%3)] = -1
	x.strands[p] = slices.DeleteFunc(x.strands[p], func(t *threadStrand) bool { return t == s })
	for t, other := range x.joining[p] {
		if other == s {
			delete(x.joining[p], t)
			x.goOn(p, t, end)
			return
		}
	}
	x.ended[p] = append(x.ended[p], end)
}

// meet lets a strand of each process meet, most of the time the first of each.
func (x *threads) meet() {
	if len(x.strands[0]) == 0 || len(x.strands[1]) == 0 {
		return
	}
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
	seeds := []uint64{27227} // in which a line goes on with a strand that does not know what the one before has learned last
	for seed := range uint64(asked(t, 400)) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		x := &threads{
			Rand: rand.New(rand.NewPCG(seed, 5)), fns: functions(), released: map[[2]int64][]int{},
			access: map[uint64]int{},
		}
		for p := range x.strands {
			x.strands[p] = []*threadStrand{{last: -1}}
			x.joining[p] = map[*threadStrand]*threadStrand{}
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

// tasks is the trace of a process with a parallel region of two strands, in which the first
// makes tasks, 16 at a time, that it waits for, and the second waits at a barrier. It is made
// while it is read.
type tasks struct {
	*threads
	rounds int
	silent bool // who makes them does nothing else from the second round on, and the other thread has executed most of them by the time that it waits
	made   int64
	out    events
}

const (
	tasksBarrier = 1000 + iota
	tasksOver
	tasksBegin
)

func (x *tasks) add(thread uint32, name string, args []string, values ...int64) {
	ev := x.call(name, args, values...)
	ev.Strand = thread
	x.out = append(x.out, ev)
}

func (x *tasks) object(thread uint32, name string, object int64) {
	x.add(thread, name, []string{"object"}, object)
}

func (x *tasks) strand(thread uint32, name string, strand int64) {
	x.add(thread, name, []string{"strand"}, strand)
}

func (x *tasks) waits(thread uint32, values ...int64) {
	x.add(thread, "mcchk_Strand_waits", []string{"object", "strands", "releases"}, values...)
}

func (x *tasks) store(thread uint32, addr uint64) {
	x.out = append(x.out, trace.Event{Kind: trace.KindAccess, Strand: thread, Access: trace.Access{Addr: addr, Size: 4, Count: 1, Store: true}})
}

func (x *tasks) ReadEvent(ev *trace.Event) error {
	if x.made == 0 {
		x.object(0, "mcchk_Fork", tasksBegin)
		x.waits(0, tasksOver, 0, 1)
		for thread := range uint32(2) {
			x.strand(thread, "mcchk_Strand", int64(1+thread))
			x.object(thread, "mcchk_Acquire", tasksBegin)
		}
		x.object(1, "mcchk_Object_end", tasksBegin)
		x.object(1, "mcchk_Release", tasksBarrier)
		x.waits(1, tasksBarrier, 2, 0)
		x.made = 2
	}
	if len(x.out) == 0 && x.rounds > 0 {
		x.rounds--
		x.round()
	}
	return x.out.ReadEvent(ev)
}

func (x *tasks) round() {
	const several = 16
	stores := !x.silent || x.made == 2
	if stores {
		x.store(0, 4096)
	}
	for k := range int64(several) {
		x.object(0, "mcchk_Fork", 2000+k)
	}
	early := int64(0)
	if x.silent {
		early = several - 1
	}
	for k := range int64(several) {
		x.made++
		thread := uint32(k % 2)
		if k < early {
			thread = 1
		}
		if k == early {
			x.waits(0, tasksOver+100, 0, several-early)
		}
		x.strand(thread, "mcchk_Strand", x.made)
		x.object(thread, "mcchk_Acquire", 2000+k)
		x.object(thread, "mcchk_Object_end", 2000+k)
		x.store(thread, uint64(8192+8*k))
		x.object(thread, "mcchk_Release", tasksOver+100)
		x.object(thread, "mcchk_Release", tasksBarrier)
		x.strand(thread, "mcchk_Strand_end", x.made)
	}
	x.strand(0, "mcchk_Strand", 1)
	x.object(0, "mcchk_Acquire", tasksOver+100)
	if stores {
		x.store(0, 4096)
	}
}

// TestTasksThatAreOver: what a region with many short tasks holds at a time, and how long its
// timestamps are, does not grow with their number, although it ends with the last, and one
// strand of the process waits all the time.
func TestTasksThatAreOver(t *testing.T) {
	for _, silent := range []bool{false, true} {
		testTasksThatAreOver(t, silent)
	}
}

func testTasksThatAreOver(t *testing.T, silent bool) {
	most := func(rounds int) (lines, segments int) {
		x := &tasks{threads: &threads{fns: functions()}, rounds: rounds, silent: silent}
		m, err := core.NewMachine([]core.Stream{x}, core.Options{Clock: "auto", Phase: 1000}, models()...)
		require.NoError(t, err)
		phases := 0
		replay(t, m, func(r *regions.Region) {
			n := 0
			for _, all := range r.Segments {
				n += len(all)
			}
			lines, segments = max(lines, len(r.Segments)), max(segments, n)
			phases++
		})
		require.Empty(t, m.Problems())
		require.Greater(t, phases, rounds/40)
		return lines, segments
	}
	lines, segments := most(1600) // of fewer it is luck how many a phase has
	moreLines, moreSegments := most(12800)
	require.Equal(t, lines, moreLines)
	require.LessOrEqual(t, moreSegments, segments+segments/10)
}
