package evc

import (
	"math/big"
	"math/rand/v2"
	"slices"
)

// Growth is a simulation of how encoded vector clocks grow, that of "On the
// Growth of the Prime Numbers Based Encoded Vector Clock", section 3: processes
// that send messages to random others, every event ticks (figure 1 of the
// paper), and nothing resets a clock.
//
// What the paper leaves open is chosen so: of all processes one is drawn at a
// time. It first receives what has arrived for it, one event a message, and then
// has one event more, a send or an internal one. A message arrives after a number of
// draws that is uniform between 0 and twice its mean delay; messages may
// overtake each other.
type Growth struct {
	Processes int
	Send      float64 // probability that an event that is not a receive is a send, 0 to 1
	Delay     float64 // mean delay of a message, in events of one process (draws / Processes)
	Seed      uint64
	MaxEvents int // ends a simulation that does not overflow; 0: none
}

// Grown is the outcome of a simulation: the events up to and with the one at
// which the clock of a process, the overflow process, first had more bits than
// a plain vector of 32-bit numbers.
type Grown struct {
	Overflow  bool // false: MaxEvents ended it
	Events    int  // in all
	AtProcess int  // of the overflow process
	Sends     int
	Receives  int
	Bits      int // of the largest clock
}

// InternalShare is the Send at which a share of all events, receives among
// them, is internal when every message is received: of the rest one half are
// sends, the other receives.
func InternalShare(internal float64) float64 { return (1 - internal) / (1 + internal) }

// VectorBits is the size of a plain vector clock of 32-bit numbers.
func VectorBits(processes int) int { return 32 * processes }

// Run simulates until a clock overflows. observe, if set, is called after each
// event with its process and the bits of its timestamp.
func (g Growth) Run(observe func(process, bits int)) Grown {
	s := newGrowing(g)
	limit := VectorBits(g.Processes)
	for draw := 0; ; draw++ {
		i := s.rng.IntN(g.Processes)
		for s.arrived(i, draw) {
			if s.receive(i); s.happened(i, limit, observe) {
				return s.grown
			}
		}
		s.tick(i)
		if s.rng.Float64() < g.Send {
			s.send(i, draw)
		}
		if s.happened(i, limit, observe) {
			return s.grown
		}
	}
}

// growing is a simulation under way.
type growing struct {
	Growth
	rng    *rand.Rand
	primes []*big.Int
	clocks []*big.Int // never changed in place: messages carry them
	events []int      // of each process
	inbox  [][]growthMessage
	grown  Grown
}

// growthMessage is a message on its way.
type growthMessage struct {
	arrives int // draw
	stamp   *big.Int
}

func newGrowing(g Growth) *growing {
	s := &growing{
		Growth: g, rng: rand.New(rand.NewPCG(g.Seed, uint64(g.Processes))),
		clocks: make([]*big.Int, g.Processes), events: make([]int, g.Processes), inbox: make([][]growthMessage, g.Processes),
	}
	for i, p := range firstPrimes(g.Processes) {
		s.primes = append(s.primes, new(big.Int).SetUint64(p))
		s.clocks[i] = big.NewInt(1)
	}
	return s
}

func (s *growing) tick(i int) { s.clocks[i] = new(big.Int).Mul(s.clocks[i], s.primes[i]) }

// send begins a message with the sender's clock, which has ticked.
func (s *growing) send(from, draw int) {
	s.grown.Sends++
	to := s.rng.IntN(s.Processes - 1)
	if to >= from {
		to++
	}
	delay := int(s.rng.Float64() * 2 * s.Delay * float64(s.Processes))
	m := growthMessage{draw + delay, s.clocks[from]}
	at, _ := slices.BinarySearchFunc(s.inbox[to], m.arrives, func(n growthMessage, arrives int) int {
		if n.arrives <= arrives { // behind those that arrive with it
			return -1
		}
		return 1
	})
	s.inbox[to] = slices.Insert(s.inbox[to], at, m)
}

// arrived reports whether a message for a process has arrived.
func (s *growing) arrived(i, draw int) bool {
	return len(s.inbox[i]) > 0 && s.inbox[i][0].arrives <= draw
}

// receive merges the first message for a process, and ticks.
func (s *growing) receive(i int) {
	s.grown.Receives++
	stamp := s.inbox[i][0].stamp
	s.inbox[i] = s.inbox[i][1:]
	gcd := new(big.Int).GCD(nil, nil, s.clocks[i], stamp)
	lcm := gcd.Quo(s.clocks[i], gcd)
	s.clocks[i] = lcm.Mul(lcm, stamp)
	s.tick(i)
}

// happened counts an event, and reports whether it was the last.
func (s *growing) happened(i, limit int, observe func(process, bits int)) bool {
	bits := s.clocks[i].BitLen()
	s.grown.Events++
	s.events[i]++
	s.grown.Bits = max(s.grown.Bits, bits)
	if observe != nil {
		observe(i, bits)
	}
	if bits > limit {
		s.grown.Overflow, s.grown.AtProcess = true, s.events[i]
		return true
	}
	return s.MaxEvents > 0 && s.grown.Events >= s.MaxEvents
}
