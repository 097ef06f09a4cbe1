package clocks

import "github.com/mcchk/mcchk/core"

// Forward watches the first replay: where a call ended before what it waited for
// had arrived, the clock of its process is put forward (section 3.1 of the paper; for
// collective calls 4.1).
type Forward struct {
	follower
	src   Source
	lines []line
}

var _ core.Observer = (*Forward)(nil)

// NewForward returns a Forward for a run.
func NewForward(src Source) *Forward {
	f := &Forward{src: src, lines: make([]line, len(src.Hosts))}
	f.follower = newFollower(len(src.Hosts), f.ended)
	return f
}

// Call is that of core.Observer.
func (f *Forward) Call(o *core.ObservedCall) { f.next(&f.src, o) }

// Signal is that of core.Observer.
func (f *Forward) Signal(rank int32) core.Mark { return f.departure(rank) }

func (f *Forward) departure(rank int32) departure {
	t := f.calls[rank].begin
	return departure{int(rank), t + f.lines[rank].at(t)}
}

// Meet is that of core.Observer.
func (f *Forward) Meet(met core.Mark, rank int32) core.Mark {
	return f.src.gather(met, f.departure(rank))
}

func (f *Forward) ended(rank int, c *call) {
	if c.returned {
		f.lines[rank].advance(c.end, f.src.arrival(rank, c.waits, slack))
	}
}

// Close ends the pass, when the replay is over, and says how many clocks were
// put forward how often.
func (f *Forward) Close() (jumps int) {
	f.close()
	for i := range f.lines {
		jumps += len(f.lines[i].jumps)
	}
	return jumps
}
