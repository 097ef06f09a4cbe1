package clocks

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// program is a random run: calls in an order in which causes come before effects, with
// true times, and those that the clocks of the processes showed.
type program struct {
	src   Source
	calls []happened
	waits [][2]int // of the second call for the first one's signal, by number
}

// happened is a call of a program.
type happened struct {
	rank       int
	begin, end int64 // true
	shown      trace.Call
	from       []int // calls that it waits for: they signalled
	meeting    int   // from 1; 0: none
}

// drift is a clock: an offset, a drift that is linear, and one that changes slowly.
type drift struct{ offset, linear, slow, period float64 }

func (d drift) shows(t int64) int64 {
	x := float64(t)
	phase := x/d.period - float64(int64(x/d.period))
	bend := phase * (1 - phase) * 4 // 0 to 1 and back
	return t + int64(d.offset+d.linear*x+d.slow*bend)
}

// draw makes a program of processes on hosts that send messages, meet and compute.
func draw(seed uint64) *program {
	r := rand.New(rand.NewPCG(seed, 1))
	ranks := 2 + r.IntN(5)
	p := &program{src: Source{Latency: Latency{Host: 300, Network: 4000}}}
	clock := map[int]drift{}
	for range ranks {
		p.src.Hosts = append(p.src.Hosts, r.IntN(3))
	}
	for host := range 3 {
		clock[host] = drift{float64(r.IntN(20_000)), r.Float64() * 2e-5, r.Float64() * 30_000, float64(1_000_000 + r.IntN(9_000_000))}
	}
	p.src.Time = func(_ int, local int64) int64 { return local }
	now := make([]int64, ranks)
	for i := range now {
		now[i] = -500_000 + int64(r.IntN(1000)) // before the first trace began, too
	}
	add := func(rank int, from []int, meeting int, arrival int64) int {
		begin := now[rank] + int64(10+r.IntN(20_000))
		end := max(begin+int64(5+r.IntN(500)), arrival)
		now[rank] = end
		c := clock[p.src.Hosts[rank]]
		h := happened{rank: rank, begin: begin, end: end, from: from, meeting: meeting}
		h.shown = trace.Call{Fn: &trace.Fn{Name: "MPI_Call"}, Begin: c.shows(begin), End: c.shows(end), Returned: true}
		for _, f := range from {
			p.waits = append(p.waits, [2]int{f, len(p.calls)})
		}
		p.calls = append(p.calls, h)
		return len(p.calls) - 1
	}
	meetings := 0
	for range 20 + r.IntN(100) {
		if r.IntN(6) > 0 {
			from := r.IntN(ranks)
			to := (from + 1 + r.IntN(ranks-1)) % ranks
			sent := add(from, nil, 0, 0)
			add(to, []int{sent}, 0, p.calls[sent].begin+p.src.least(from, to)+int64(r.IntN(3000)))
			continue
		}
		meetings++
		p.meet(r, now, clock, meetings)
	}
	return p
}

// meet adds a meeting of all: nobody leaves before the last has come.
func (p *program) meet(r *rand.Rand, now []int64, clock map[int]drift, number int) {
	first := len(p.calls)
	for rank := range now {
		p.calls = append(p.calls, happened{rank: rank, begin: now[rank] + int64(10+r.IntN(20_000)), meeting: number})
	}
	for rank := range now {
		h := &p.calls[first+rank]
		h.end = h.begin + int64(5+r.IntN(500))
		for other := range now {
			if other != rank {
				h.end = max(h.end, p.calls[first+other].begin+p.src.least(other, rank))
				p.waits = append(p.waits, [2]int{first + other, first + rank})
			}
		}
		now[rank] = h.end
		c := clock[p.src.Hosts[rank]]
		h.shown = trace.Call{Fn: &trace.Fn{Name: "MPI_Call"}, Begin: c.shows(h.begin), End: c.shows(h.end), Returned: true}
	}
}

// tell replays the program for an observer.
func (p *program) tell(o core.Observer) {
	marks := make([]core.Mark, len(p.calls))
	begin := func(i int) {
		o.Call(&core.ObservedCall{Rank: int32(p.calls[i].rank), Call: &p.calls[i].shown, Kind: core.SynchronizingCall})
	}
	for i := 0; i < len(p.calls); i++ {
		h := &p.calls[i]
		if h.meeting == 0 {
			begin(i)
			marks[i] = o.Signal(int32(h.rank))
			for _, from := range h.from {
				o.Wait(int32(h.rank), marks[from])
			}
			o.Over(int32(h.rank))
			continue
		}
		var met core.Mark
		end := i
		for ; end < len(p.calls) && p.calls[end].meeting == h.meeting; end++ {
			begin(end)
			met = o.Meet(met, int32(p.calls[end].rank))
		}
		for k := i; k < end; k++ {
			o.Wait(int32(p.calls[k].rank), met)
			o.Over(int32(p.calls[k].rank))
		}
		i = end - 1
	}
}

// forward makes the passes that are needed, with slabs of a size, and says how many jumps there are in the last.
func (p *program) forward(t *testing.T, size int) (last *Forward, jumps int) {
	t.Helper()
	next, err := NewForward(p.src, true)
	require.NoError(t, err)
	for next != nil {
		last = next
		last.size = size
		p.tell(last)
		jumps, err = last.Close()
		require.NoError(t, err)
		next, err = last.Again()
		require.NoError(t, err)
	}
	return last, jumps
}

// correct corrects the times of the program.
func (p *program) correct(t *testing.T, f *Forward) *Correction {
	t.Helper()
	c, err := f.Correct(true, 0)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestControlVariable: where now this clock and now that one runs fast, a corrected clock
// follows the fastest, and corrections add up; further passes, with a lesser control
// variable, keep them near what the clocks are apart.
func TestControlVariable(t *testing.T) {
	const period, messages = 2_000_000, 4000
	p := &program{src: Source{Hosts: []int{0, 1}, Latency: Latency{Network: 100}}}
	p.src.Time = func(_ int, local int64) int64 { return local }
	clock := [2]drift{{slow: 4_000, period: period}, {offset: -4_000, linear: 1e-9, slow: -4_000, period: period * 1.3}}
	for i := range int64(messages) {
		from := int(i % 2)
		for k, rank := range []int{from, 1 - from} {
			at := 1000 + i*5_000 + int64(k)*200
			h := happened{rank: rank, begin: at, end: at + 50}
			if k == 1 {
				h.from = []int{len(p.calls) - 1}
			}
			h.shown = trace.Call{Fn: &trace.Fn{Name: "MPI_Call"}, Begin: clock[rank].shows(at), End: clock[rank].shows(at + 50), Returned: true}
			p.calls = append(p.calls, h)
		}
	}
	first, err := NewForward(p.src, false)
	require.NoError(t, err)
	p.tell(first)
	jumps, err := first.Close()
	require.NoError(t, err)
	require.NotZero(t, jumps)
	require.Greater(t, first.most.Load(), avalanche*first.late.Load(), "corrections add up")
	first.Discard()
	last, _ := p.forward(t, perSlab)
	require.NotZero(t, last.pass)
	require.Less(t, last.most.Load(), first.most.Load()/2)
	require.LessOrEqual(t, last.most.Load(), avalanche*last.late.Load())
	last.Discard()
}

// TestCorrectedTimes: whatever the clocks showed, after the correction nothing arrives
// earlier than it can have, and no process goes back in time. What a Survey counts is
// what comparing all pairs finds.
func TestCorrectedTimes(t *testing.T) {
	wrong, smoothed := int64(0), 0
	programs := uint64(2000)
	if os.Getenv("MCCHK_SOAK") != "" {
		programs = 10_000
	}
	for seed := range programs {
		p := draw(seed)
		f, jumps := p.forward(t, 1+int(seed%50)*int(seed%50))
		c := p.correct(t, f)
		table := c.Table()

		before, after := p.compare(func(_ int, t int64) int64 { return t }), p.compare(c.Time)
		require.Equal(t, before, counted(table.Before), "seed %d", seed)
		require.Equal(t, after, counted(table.After), "seed %d", seed)
		require.Zero(t, table.After.Violations, "seed %d: %+v", seed, table)
		if table.Before.Violations == 0 {
			require.LessOrEqual(t, jumps, len(p.waits))
		}
		wrong += table.Before.Violations
		last := make([]times, len(p.src.Hosts))
		for i := range p.calls {
			h := &p.calls[i]
			for _, shown := range []int64{h.shown.Begin, h.shown.End} {
				now := times{shown, c.Time(h.rank, shown)}
				require.GreaterOrEqual(t, now[1], shown, "nothing is moved back: seed %d", seed)
				if now[0] >= last[h.rank][0] {
					require.GreaterOrEqual(t, now[1], last[h.rank][1], "seed %d", seed)
					last[h.rank] = now
				}
			}
		}
		require.NoError(t, c.Err())
		if table.Moves.Moved > int64(jumps) {
			smoothed++
		}
		c.Close()
	}
	require.NotZero(t, wrong)
	require.NotZero(t, smoothed)
}

// counted is what comparing pairs counts too.
func counted(m Messages) Messages {
	m.AverageReversed = 0
	return m
}

// compare counts messages by their times, one after the other.
func (p *program) compare(time func(rank int, t int64) int64) (m Messages) {
	for _, w := range p.waits {
		from, to := &p.calls[w[0]], &p.calls[w[1]]
		if from.rank == to.rank {
			continue
		}
		left, arrived := time(from.rank, from.shown.Begin), time(to.rank, to.shown.End)
		m.Messages++
		if arrived < left {
			m.Reversed++
			m.MostReversed = max(m.MostReversed, left-arrived)
		}
		if arrived < left+p.src.least(from.rank, to.rank) {
			m.Violations++
		}
	}
	return m
}

// TestPossibleTimesStay: where clocks are right, nothing is moved.
func TestPossibleTimesStay(t *testing.T) {
	for seed := range uint64(200) {
		p := draw(seed)
		for i := range p.calls {
			h := &p.calls[i]
			h.shown.Begin, h.shown.End = h.begin, h.end+slack // a correction would move them by that
		}
		f, jumps := p.forward(t, perSlab)
		require.Zero(t, jumps, "seed %d", seed)
		table := p.correct(t, f).Table()
		require.Zero(t, table.Moves.Moved)
		require.Zero(t, table.Before.Violations)
	}
}

// TestStrands: strands of a process have one clock, also where the replay goes on with one of
// them up to its end before it goes on with another.
func TestStrands(t *testing.T) {
	const messages = 200
	src := Source{Hosts: []int{0, 1}, Latency: Latency{Network: 5_000}, Time: func(_ int, local int64) int64 { return local }}
	f, err := NewForward(src, true)
	require.NoError(t, err)
	for strand := range int64(2) {
		for i := range int64(messages) {
			from := int32((i + strand) % 2)
			at := 1000 + i*20_000 + strand*7_000
			var sent core.Mark
			for _, rank := range []int32{from, 1 - from} {
				shown := trace.Call{Fn: &trace.Fn{Name: "MPI_Call"}, Begin: at - int64(rank)*4_000, End: at - int64(rank)*4_000 + 5_500, Returned: true}
				f.Strand(rank, strand)
				f.Call(&core.ObservedCall{Rank: rank, Call: &shown})
				if rank == from {
					sent = f.Signal(rank)
				} else {
					f.Wait(rank, sent)
				}
			}
		}
		for rank := range int32(2) {
			f.Gone(rank, strand)
		}
	}
	jumps, err := f.Close()
	require.NoError(t, err)
	require.NotZero(t, jumps)
	c, err := f.Correct(false, 0)
	require.NoError(t, err)
	defer c.Close()
	table := c.Table()
	require.NotZero(t, table.Before.Violations)
	require.Zero(t, table.After.Violations)
	require.EqualValues(t, 2*messages, table.After.Messages)
	require.EqualValues(t, 2*(4*messages-1), table.Intervals.Intervals)
}

// TestFigure2: the ramp before a jump is one line where nothing limits it, and in pieces
// where a send would pass its receive (figure 2 of the paper).
func TestFigure2(t *testing.T) {
	l := line{slower: slower[0]}
	jumped, _ := l.advance(10_000, 10_100)
	require.True(t, jumped)
	s := newSweep(&l)
	s.slab(&page{floor: math.MinInt64, jumps: []jump{l.last}})
	require.Equal(t, []point{{110_000, 0}, {10_000, 100}, {5000, 0}}, s.points)
	s = newSweep(&l)
	sends := []sent{{at: 8000, room: 31}, {at: 7000, room: 11}, {at: 6000, room: 1001}}
	s.slab(&page{floor: math.MinInt64, jumps: []jump{l.last}, sends: sends})
	require.Equal(t, []point{{110_000, 0}, {10_000, 100}, {8000, 30}, {7000, 10}, {5500, 10}, {5000, 0}}, s.points)
}

// TestInterpolate: one offset shifts, two bend.
func TestInterpolate(t *testing.T) {
	require.EqualValues(t, 7, Interpolate(nil)(7))
	require.EqualValues(t, 17, Interpolate([]Offset{{Local: 100, Reference: 110}})(7))
	two := Interpolate([]Offset{{Local: 1000, Reference: 1100}, {Local: 3000, Reference: 3300}})
	require.EqualValues(t, 1100, two(1000))
	require.EqualValues(t, 2200, two(2000))
	require.EqualValues(t, 3300, two(3000))
}
