package analysis

import "github.com/mcchk/mcchk/regions"

// Stats says how large the parts were that an analysis worked in. It depends on
// the clock, and not on the number of workers.
type Stats struct {
	Phases      int    // concurrent regions, or parts of long ones
	Accesses    int    // most in a phase: runs of loads and stores, and accesses of calls
	Separate    int    // most separate regions in a phase, all processes
	Strands     int    // most lines of strands in a phase: the components of a vector clock
	Timestamps  uint64 // of separate regions; those that two phases share count in both
	ClockBits   uint64 // of all of them together
	LargestBits int    // of the largest
	Spilled     regions.SpillStats
}

func (s *Stats) add(r *regions.Region) {
	s.Phases++
	accesses, separate := r.CallCount(), 0
	for rank := range r.Processes() {
		accesses += r.LocalCount(int32(rank))
	}
	for _, segments := range r.Segments {
		separate += len(segments)
	}
	s.Accesses, s.Separate, s.Strands = max(s.Accesses, accesses), max(s.Separate, separate), max(s.Strands, len(r.Segments))
	for _, segments := range r.Segments {
		for i := range segments {
			bits := r.Clock.Bits(segments[i].Stamp)
			s.Timestamps++
			s.ClockBits += uint64(bits)
			s.LargestBits = max(s.LargestBits, bits)
		}
	}
}
