package core_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// poller is the trace of a process of which one strand loads two words again and again, most
// of the time with no call of the process in between. It is made while it is read.
type poller struct {
	pool
	polls, calls int
	waits        bool // until everything else is over, before it polls
	alone        bool // the strand is the only one
	used         uint64
}

func (p *poller) ReadEvent(ev *trace.Event) error {
	for len(p.out) == 0 && p.step <= p.polls+1 {
		p.next()
		p.step++
	}
	return p.out.ReadEvent(ev)
}

func (p *poller) call(thread uint32, name string, args ...any) {
	c := callOf(p.fns[name], args...)
	c.Strand = thread
	p.out = append(p.out, c)
}

func (p *poller) next() {
	poller, other := uint32(1), uint32(2)
	if p.alone {
		poller, other = 0, 0
	}
	switch p.step {
	case 0:
		if p.alone {
			return
		}
		p.object(0, "mcchk_Fork", 1)
		for thread := range uint32(2) {
			p.strand(1+thread, int64(1+thread))
			p.object(1+thread, "mcchk_Acquire", 1)
		}
		p.object(0, "mcchk_Object_end", 1)
		if p.waits {
			p.call(1, "toy_wait", 1, 1)
		}
		return
	case p.polls + 1:
		p.store(poller, 256)
		p.call(other, "toy_signal", 1, 2, 0)
		return
	case p.polls:
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		p.used = mem.HeapInuse
	}
	for _, addr := range []uint64{64, 128} {
		p.out = append(p.out, trace.Event{Kind: trace.KindAccess, Strand: poller, Access: trace.Access{Addr: addr, Size: 4, Count: 1}})
	}
	if p.calls > 0 && p.step%(p.polls/p.calls) == 0 {
		p.call(other, "toy_store", 1024, 8)
	}
}

// TestPollsOfStrands: what a strand does again and again takes memory once, also as long as it
// is not replayed; but once more behind each call of its process.
func TestPollsOfStrands(t *testing.T) {
	for _, kind := range []string{"beside others", "that waits for others", "alone"} {
		for _, calls := range []int{0, 10} {
			t.Run(fmt.Sprintf("%s, %d calls", kind, calls), func(t *testing.T) {
				var used [2]uint64
				for i, polls := range []int{10_000, 100_000} {
					p := &poller{pool: *newPool(0, 0), polls: polls, calls: calls, waits: kind == "that waits for others", alone: kind == "alone"}
					other := events{callOf(p.fns["toy_wait"], 0, 2), callOf(p.fns["toy_signal"], 0, 1, 0)}
					m, err := core.NewMachine([]core.Stream{p, &other}, core.Options{Clock: "auto"}, models()...)
					require.NoError(t, err)
					loads := 0
					replay(t, m, func(r *regions.Region) { loads += r.LocalCount(0) })
					require.Empty(t, m.Problems())
					require.Equal(t, uint64(2*polls), m.Stats().Loads)
					require.LessOrEqual(t, loads, 2*(1+calls)+1)
					require.Greater(t, loads, 2*calls)
					used[i] = p.used
				}
				require.Less(t, used[1], used[0]+4<<20)
			})
		}
	}
}
