package clocks

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcchk/mcchk/core"
)

// Simulation gives the calls of a run that has no times true ones, while a replay is
// watched: a process computes between calls, and what it waits for takes its time. The
// run pauses behind its first call and before MPI_Finalize, as one does of which a small part
// is traced (section 6 of the paper: 10 minutes each).
type Simulation struct {
	src   Source
	rng   *rand.Rand
	calls []simulated
	out   func(rank int, begin, end int64)
}

var _ core.Observer = (*Simulation)(nil)

// simulated is a process: its call under way.
type simulated struct {
	open       bool
	begin, now int64
	waits      []core.Mark
	any        bool
}

// Times that a simulation draws around, ns.
const (
	pause   = int64(10 * time.Minute)
	compute = 20_000 // between calls
	within  = 1_000  // in a call that waits for nothing
	queued  = 500    // in the network, beyond the least latency
)

// NewSimulation returns a Simulation, which tells of each call of a process when it is
// over, in their order. Of the Source, it asks for Hosts and Latency.
func NewSimulation(src Source, seed uint64, out func(rank int, begin, end int64)) *Simulation {
	return &Simulation{src: src, rng: rand.New(rand.NewPCG(seed, 6)), calls: make([]simulated, len(src.Hosts)), out: out}
}

func (s *Simulation) draw(mean float64) int64 { return 1 + int64(mean*s.rng.ExpFloat64()) }

// Call is that of core.Observer.
func (s *Simulation) Call(o *core.ObservedCall) {
	rank := int(o.Rank)
	s.finish(rank)
	c := &s.calls[rank]
	if c.any && (o.Call.Fn.Name == "MPI_Finalize" || c.now < pause) {
		c.now += pause
	}
	c.begin, c.open, c.any = c.now+s.draw(compute), true, true
}

func (s *Simulation) finish(rank int) {
	c := &s.calls[rank]
	if c.open {
		arrived, _ := s.src.arrival(rank, c.waits, s.draw(queued))
		c.now = max(c.begin+s.draw(within), arrived)
		s.out(rank, c.begin, c.now)
	}
	c.open, c.waits = false, c.waits[:0]
}

func (s *Simulation) departure(rank int32) *departure {
	d := &departure{rank: rank, at: s.calls[rank].begin}
	d.known.Store(true)
	return d
}

// Signal is that of core.Observer.
func (s *Simulation) Signal(rank int32) core.Mark { return s.departure(rank) }

// Meet is that of core.Observer.
func (s *Simulation) Meet(met core.Mark, rank int32) core.Mark {
	a, ok := met.(attendance)
	if !ok {
		a.meeting = &meeting{}
	}
	a.meeting.come = append(a.meeting.come, s.departure(rank))
	a.come = a.meeting.come
	return a
}

// Over is that of core.Observer.
func (*Simulation) Over(int32) {}

// Region is that of core.Observer.
func (*Simulation) Region(int) {}

// Interval is that of core.Observer.
func (*Simulation) Interval(*core.ObservedInterval) {}

// Wait is that of core.Observer.
func (s *Simulation) Wait(rank int32, on core.Mark) {
	c := &s.calls[rank]
	c.waits = append(c.waits, on)
}

// Close ends the simulation, when the replay is over, and returns when the run was.
func (s *Simulation) Close() (end int64) {
	for rank := range s.calls {
		s.finish(rank)
		end = max(end, s.calls[rank].now)
	}
	return end
}

// Drift is what a clock shows: on straight lines between moments.
type Drift struct{ knots []knot }

// knot is a true time, and that shown.
type knot struct{ at, shows int64 }

// Clocks as they are (section 2 of the paper): some milliseconds apart, some ten parts
// in a million too fast or slow, which changes slowly, and put right by jumps.
const (
	apart    = 5_000_000 // ns
	linear   = 1e-5
	changes  = 2e-8 // of the drift, from one stretch to the next
	stretch  = int64(16 * time.Second)
	jumps    = 40 // in so many stretches there is one
	jumpSize = 20_000
	slew     = 5e-4 // how fast a clock goes back: it never stands still
)

// NewDrift draws a clock that runs from before 0 to a moment.
func NewDrift(seed uint64, host int, until int64) *Drift {
	r := rand.New(rand.NewPCG(seed, uint64(host)<<8|7))
	d := &Drift{}
	rate := linear * r.NormFloat64()
	at, shows := -stretch, 1_000_000_000_000+int64(apart*r.NormFloat64())
	for {
		d.knots = append(d.knots, knot{at, shows})
		if at > until {
			return d
		}
		rate += changes * r.NormFloat64()
		next, jump := stretch, int64(0)
		if r.IntN(jumps) == 0 {
			jump = int64(jumpSize * r.NormFloat64())
			length := int64(1000)
			if jump < 0 {
				length = int64(float64(-jump) / slew)
			}
			at, shows, next = at+length, shows+length+jump, next-length
			d.knots = append(d.knots, knot{at, shows})
		}
		at, shows = at+next, shows+next+int64(rate*float64(next))
	}
}

// Shows returns what the clock shows at a true time. It rises.
func (d *Drift) Shows(at int64) int64 {
	i, _ := slices.BinarySearchFunc(d.knots, at, func(k knot, at int64) int { return cmp.Compare(k.at, at) })
	i = min(max(i, 1), len(d.knots)-1)
	a, b := d.knots[i-1], d.knots[i]
	return a.shows + int64(float64(b.shows-a.shows)*(float64(at-a.at)/float64(b.at-a.at)))
}

// Knots returns the moments between which the clock runs on straight lines: true times
// and those shown.
func (d *Drift) Knots() [][2]int64 {
	var out [][2]int64
	for _, k := range d.knots {
		out = append(out, [2]int64{k.at, k.shows})
	}
	return out
}
