package main

import (
	"syscall"
	"time"

	"github.com/mcchk/mcchk/analysis"
)

// sayStats tells what an analysis took.
func (a *app) sayStats(res *analysis.Result, wall time.Duration) {
	s, b := &res.Stats, &res.Basis
	a.say("stats: %d concurrent regions in %d phases; at most %d accesses and %d separate regions in one", b.Regions, s.Phases, s.Accesses, s.Separate)
	mean := 0.0
	if s.Timestamps > 0 {
		mean = float64(s.ClockBits) / float64(s.Timestamps)
	}
	a.say("stats: clock %s: %d timestamps, %.0f bits on average, at most %d (a vector has %d)", res.Clock, s.Timestamps, mean, s.LargestBits, 32*s.Strands)
	if s.Spilled.Accesses > 0 {
		a.say("stats: %d accesses did not fit into memory: %d MiB were written to files", s.Spilled.Accesses, s.Spilled.Bytes>>20)
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return // it has no other errors than of its arguments
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	a.say("stats: %.2f s, %.2f s of processors, at most %d MiB resident; %d accesses, %.2f million a second", wall.Seconds(), cpu.Seconds(), u.Maxrss>>10, b.Accesses, float64(b.Accesses)/1e6/wall.Seconds())
}
