package core

import (
	"maps"

	"github.com/mcchk/mcchk/regions"
)

// registry is what strands find one another by: meetings, channels, counters and
// the orders of locks, by the names that models give them.
type registry struct {
	meetings  map[MeetKey]*gathering
	channels  map[ChannelKey]*Channel
	recent    [16]*Channel // some of the last asked for
	counters  map[CounterKey]*Counter
	locks     map[LockKey]*LockOrder
	lockSets  regions.LockSets
	lockSpans []*regions.LockSpan // of the region, and those still open; where the order of locks is left out
}

func newRegistry() registry {
	return registry{
		meetings: map[MeetKey]*gathering{}, channels: map[ChannelKey]*Channel{},
		counters: map[CounterKey]*Counter{}, locks: map[LockKey]*LockOrder{},
	}
}

// Forget forgets the counters and locks of an object that nobody uses any more.
func (m *Machine) Forget(object int64) {
	maps.DeleteFunc(m.registry.counters, func(k CounterKey, _ *Counter) bool { return k.Object == object })
	maps.DeleteFunc(m.registry.locks, func(k LockKey, _ *LockOrder) bool { return k.Object == object })
}

// forgetPast forgets releases of locks, counted signals and values of words of which
// all that is to come knows.
func (m *Machine) forgetPast() {
	for _, o := range m.registry.counters {
		o.forget(m)
	}
	for _, o := range m.registry.locks {
		o.forget(m)
	}
	m.forgetWords()
}

// lockSpansNow returns the locks held in the region that ends; later changes do
// not touch them.
func (r *registry) lockSpansNow() []regions.LockSpan {
	if len(r.lockSpans) == 0 {
		return nil
	}
	out := make([]regions.LockSpan, len(r.lockSpans))
	for i, s := range r.lockSpans {
		out[i] = *s
	}
	return out
}

// carryLocks takes the locks that are still held into the region that begins.
func (r *registry) carryLocks() {
	open := r.lockSpans[:0]
	for _, s := range r.lockSpans {
		if s.To.Seg == regions.Never {
			s.From, s.To = regions.BeforeRegion(s.Call.Rank), regions.AfterRegion(s.Call.Rank)
			open = append(open, s)
		}
	}
	clear(r.lockSpans[len(open):])
	r.lockSpans = open
}
