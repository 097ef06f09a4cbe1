package core_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// pool is the trace of a process whose first strand has others work between meetings of
// all processes. It is made while it is read, so that it takes no memory.
type pool struct {
	rank, steps, workers int
	pooled               bool // threads that wait for work; otherwise tasks that end
	late                 bool // where the next work begins
	alone                bool // there are no meetings
	locks                int  // mutex acquisitions of each worker in each step
	racy                 int  // a step in which a worker stores beside the meeting; -1: none
	fns                  map[string]*trace.Fn
	step                 int
	made                 int
	out                  events
	on                   map[uint32]int64
}

func newPool(rank, steps int) *pool {
	return &pool{rank: rank, steps: steps, workers: 2, racy: -1, fns: functions(), on: map[uint32]int64{}}
}

func (p *pool) ReadEvent(ev *trace.Event) error {
	for len(p.out) == 0 && p.step <= p.steps {
		p.next()
		p.step++
	}
	return p.out.ReadEvent(ev)
}

func (p *pool) note(thread uint32, name, arg string, value int64) {
	if p.fns[name] == nil {
		p.fns[name] = &trace.Fn{ID: uint16(1000 + len(p.fns)), Name: name, Args: []trace.Arg{{Name: arg, Kind: trace.ArgNumber}}}
	}
	p.out = append(p.out, trace.Event{Kind: trace.KindCall, Strand: thread,
		Call: &trace.Call{Fn: p.fns[name], Returned: true, Args: []trace.Value{{Int: value}}}})
}

func (p *pool) strand(thread uint32, number int64) {
	if p.on[thread] != number {
		p.on[thread] = number
		p.note(thread, "mcchk_Strand", "strand", number)
	}
}

func (p *pool) object(thread uint32, name string, object int) {
	p.note(thread, name, "object", int64(object))
}

func (p *pool) store(thread uint32, addr uint64) {
	p.out = append(p.out, trace.Event{Kind: trace.KindAccess, Strand: thread, Access: trace.Access{Addr: addr, Size: 4, Count: 1, Store: true}})
}

// next makes the events of a step: the first strand has work done, and meets.
func (p *pool) next() {
	work, done := 10+2*p.step, 11+2*p.step
	last := p.step == p.steps
	switch {
	case !p.pooled && !p.late && last:
		return
	case p.pooled && p.step > 0:
		p.object(0, "mcchk_Release", work)
	default:
		p.object(0, "mcchk_Fork", work)
	}
	for w := range p.workers {
		thread := uint32(1 + w)
		if p.late && p.step > 0 {
			p.object(thread, "mcchk_Release", -work)
			p.note(thread, "mcchk_Strand_end", "strand", p.on[thread])
		}
		if !p.pooled || p.step == 0 {
			p.made++
			p.strand(thread, int64(p.made))
		}
		p.object(thread, "mcchk_Acquire", work)
	}
	for range p.locks {
		for w := range p.workers {
			p.object(uint32(1+w), "mcchk_Acquire", 3)
			p.store(uint32(1+w), 8)
			p.object(uint32(1+w), "mcchk_Release", 3)
		}
	}
	for w := range p.workers {
		thread := uint32(1 + w)
		p.store(thread, uint64(64*(1+w)))
		if !last {
			p.object(thread, "mcchk_Release", done)
		}
		if p.step == p.racy {
			p.store(thread, 4096)
		}
		if !p.pooled && !p.late || last {
			p.note(thread, "mcchk_Strand_end", "strand", p.on[thread])
			p.on[thread] = -1
		}
	}
	p.object(0, "mcchk_Object_end", work)
	if last {
		return
	}
	p.object(0, "mcchk_Acquire", done)
	p.object(0, "mcchk_Object_end", done)
	p.store(0, 1024)
	if p.alone {
		return
	}
	p.out = append(p.out, callOf(p.fns["other_meet"], p.step, int(core.AllToAll), int(core.NoRoot), []int{0, 1}, []int{}, 0, []int{}))
}

// replayPools replays two such processes, and returns how many regions there were, and
// the most bytes that were in use at the end of one.
func replayPools(t *testing.T, a, b *pool, opts core.Options) (n int, most uint64) {
	opts.Clock = "auto"
	m, err := core.NewMachine([]core.Stream{a, b}, opts, models()...)
	require.NoError(t, err)
	var mem runtime.MemStats
	phases, last := 0, -1
	replay(t, m, func(r *regions.Region) {
		if r.Index != last {
			n, last = n+1, r.Index
		}
		if phases++; phases%64 == 1 {
			runtime.GC()
			runtime.ReadMemStats(&mem)
			most = max(most, mem.HeapInuse)
		}
	})
	require.Empty(t, m.Problems())
	return n, most
}

// TestRegionsBesidePools: where strands only wait for their first one while that meets
// with others, each meeting ends a region; where one does something, none does.
func TestRegionsBesidePools(t *testing.T) {
	const steps = 20
	for _, kind := range []string{"tasks", "tasks that end late", "a pool"} {
		for _, racy := range []int{-1, 7} {
			t.Run(fmt.Sprintf("%s, racy %d", kind, racy), func(t *testing.T) {
				a, b := newPool(0, steps), newPool(1, steps)
				for _, p := range []*pool{a, b} {
					p.pooled, p.late = kind == "a pool", kind == "tasks that end late"
				}
				a.racy = racy
				n, _ := replayPools(t, a, b, core.Options{Turn: 1})
				if racy < 0 {
					require.Equal(t, steps+1, n)
					return
				}
				require.Less(t, n, steps+1)
			})
		}
	}
}

// TestMemoryOfStrands: what is held does not grow with the number of steps of a program
// whose threads wait for work, of short tasks, or of acquisitions of a lock, whether
// regions end or not.
func TestMemoryOfStrands(t *testing.T) {
	n := 400
	if s := os.Getenv("MCCHK_STEPS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	for _, tt := range []struct {
		name          string
		pooled, alone bool
		steps, locks  int
	}{
		{"tasks, and meetings", false, false, n, 0},
		{"a pool, and meetings", true, false, n, 0},
		{"a pool with a lock, and meetings", true, false, n / 10, 10},
		{"tasks", false, true, n, 0},
		{"a pool", true, true, n, 0},
		{"a pool with a lock", true, true, n / 100, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var most [2]uint64
			var took [2]time.Duration
			for i, times := range []int{1, 8} {
				a, b := newPool(0, times*tt.steps), newPool(1, times*tt.steps)
				for _, p := range []*pool{a, b} {
					p.pooled, p.alone, p.locks = tt.pooled, tt.alone, tt.locks
				}
				if tt.alone {
					b.steps = -1
				}
				runtime.GC()
				begun := time.Now()
				_, most[i] = replayPools(t, a, b, core.Options{Phase: 2000})
				took[i] = time.Since(begun)
			}
			t.Logf("%d steps: %v, %.1f MB; 8 times as many: %v, %.1f MB", tt.steps, took[0], float64(most[0])/1e6, took[1], float64(most[1])/1e6)
			require.Less(t, most[1], 2*most[0]+8<<20)
		})
	}
}
