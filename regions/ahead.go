package regions

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// maxAhead bounds how many events are read ahead of the replay.
const maxAhead = 1 << 20

// ahead reads a stream ahead of the replay, to learn which message a wildcard
// receive will turn out to have got: messages match in the order in which
// receives are posted, so it must be known then.
type ahead struct {
	stream   Stream
	many     accessStream        // the stream, where it is one
	queue    []trace.Event       // read ahead, not yet replayed
	events   int                 // of them, accesses that were passed over included
	err      error               // that the stream ended with, behind the queue
	statuses map[int64][][]int64 // of the requests that the queue completes; persistent ones several times
}

// read returns the next event of the replay.
func (a *ahead) read(ev *trace.Event) error {
	if len(a.queue) > 0 {
		*ev = a.queue[0]
		a.queue = a.queue[1:]
		a.events -= events(ev)
		return nil
	}
	if a.queue != nil {
		a.queue, a.statuses = nil, nil
	}
	if a.err != nil {
		return a.err
	}
	return a.stream.ReadEvent(ev)
}

// stretch returns the accesses that come next, and their strand, where the
// stream gives several at once.
func (a *ahead) stretch() (st trace.Stretch, strand uint32, ok bool) {
	if a.many == nil || a.queue != nil || a.err != nil {
		return st, 0, false
	}
	return a.many.ReadStretch()
}

// status returns the status with which a request will complete, or nil when it
// never does or that is too far ahead. The next time it is about the request's
// next completion.
func (a *ahead) status(request int64) []int64 {
	st := a.coming(request)
	if st != nil {
		a.statuses[request] = a.statuses[request][1:]
	}
	return st
}

// coming is status, and the next time the answer is the same.
func (a *ahead) coming(request int64) []int64 {
	for {
		if st := a.statuses[request]; len(st) > 0 {
			return st[0]
		}
		if a.events >= maxAhead || !a.more() {
			return nil
		}
	}
}

// peek makes known what the trace defines before the next event.
func (a *ahead) peek() {
	if len(a.queue) == 0 {
		a.more()
	}
}

// more reads one more event ahead, and reports whether there was one.
func (a *ahead) more() bool {
	var ev trace.Event
	if a.err == nil {
		a.err = a.stream.ReadEvent(&ev)
	}
	if a.err != nil {
		return false
	}
	if ev.Kind == trace.KindCall {
		ev.Call = keep(ev.Call)
		a.note(&call{Call: ev.Call})
	}
	a.queue = append(a.queue, ev)
	a.events += events(&ev)
	return true
}

// events returns how many events one stands for, whatever is passed over.
func events(ev *trace.Event) int {
	if ev.Kind == trace.KindSkipped {
		return int(ev.Skipped.Accesses)
	}
	return 1
}

// note remembers the statuses of the requests that a call completes.
func (a *ahead) note(c *call) {
	completes := completions[c.Fn.Name]
	if completes == nil {
		return
	}
	if a.statuses == nil {
		a.statuses = map[int64][][]int64{}
	}
	ids, statuses := completes(c)
	for i, id := range ids {
		if n := (i + 1) * trace.StatusWords; id != 0 && n <= len(statuses) {
			a.statuses[id] = append(a.statuses[id], statuses[n-trace.StatusWords:n])
		}
	}
}

// keep copies a call, which a stream uses again.
func keep(c *trace.Call) *trace.Call {
	d := *c
	d.Args = slices.Clone(c.Args)
	for i := range d.Args {
		d.Args[i].List = slices.Clone(d.Args[i].List)
	}
	return &d
}
