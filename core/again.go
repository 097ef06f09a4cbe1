package core

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// A thread that polls makes the same loads again and again, between calls that found
// nothing, which are not in the trace. What a strand does once in a separate region, with no
// call of its process since, is the same when it does it again: so it takes memory once.

// span is when a strand does something; where two are equal, nothing tells what it does twice
// apart.
type span struct {
	region  int
	segment int32  // of the strand
	calls   uint64 // of the process, before that
}

// recent is the last accesses of a strand in a span.
type recent struct {
	span
	rows [8]trace.Rows
	n    int // of rows that there are
	next int // that is replaced
}

// again reports whether all of these are among the last accesses of the span. They are now.
func (r *recent) again(now span, rows []trace.Rows) bool {
	if r.span != now {
		r.span, r.n, r.next = now, 0, 0
	}
	if len(rows) > len(r.rows) {
		return false
	}
	again := true
	for _, x := range rows {
		x.At = 0
		if !slices.Contains(r.rows[:r.n], x) {
			again = false
			r.rows[r.next] = x
			r.next, r.n = (r.next+1)%len(r.rows), min(r.n+1, len(r.rows))
		}
	}
	return again
}

// mostReread bounds the rows of loads that are remembered of a span.
const mostReread = 1 << 15

// reread is what a process with one thread has loaded in a span in which it has read words: those
// who walk over nodes with a flag each load them again between notes that tell nothing new.
type reread struct {
	span
	rows map[trace.Rows]struct{} // nil: the span has no such notes
}

// begin says that the process has read a word.
func (r *reread) begin(now span) {
	switch {
	case r.rows == nil:
		r.rows = map[trace.Rows]struct{}{}
	case r.span != now || len(r.rows) >= mostReread:
		clear(r.rows)
	}
	r.span = now
}

// again reports whether all of these loads were made in the span before. Now they were.
func (r *reread) again(now span, rows []trace.Rows) bool {
	if r.rows == nil || r.span != now {
		return false
	}
	again := true
	for _, x := range rows {
		x.At = 0
		if _, known := r.rows[x]; !known {
			again = false
			r.rows[x] = struct{}{}
		}
	}
	return again
}

// repeats is what a strand does again that waits in its queue, behind an item.
type repeats struct {
	items    int
	accesses int
	loads    uint64 // elements, but for those that were told with their chunk
	stores   uint64
}

// repeated adds what was read to the last item in the queue of a strand, where it only
// repeats what the strand does in it and in items before it.
func (t *team) repeated(s *Strand, x *item) bool {
	if x.stretch == nil {
		return false
	}
	n := s.queue.len()
	behind := n > 0 && s.queue.at(n-1).stretch != nil
	if s.queued == nil || !behind {
		s.queued = &recent{}
	}
	if again := s.queued.again(span{calls: x.calls}, x.stretch.Rows); !again || !behind {
		return false
	}
	last := s.queue.at(n - 1)
	last.again.items++
	last.again.accesses += x.stretch.Len
	if !x.stretch.Counted {
		last.again.loads += x.stretch.Loads
		last.again.stores += x.stretch.Stores
	}
	return true
}

// repeat counts what an item was repeated.
func (s *Strand) repeat(r *repeats) {
	s.m.stats.Loads += r.loads
	s.m.stats.Stores += r.stores
	s.count(r.accesses)
}
