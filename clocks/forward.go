package clocks

import "github.com/mcchk/mcchk/core"

// Forward watches the first replay: where a call ended before what it waited for
// had arrived, the clock of its process is put forward (section 3.1 of the paper; for
// collective calls 4.1).
type Forward struct {
	follower
	src   Source
	lines []line
	pass  int
	late  int64 // the most by which anything came too early, by the times shown
}

var _ core.Observer = (*Forward)(nil)

// NewForward returns a Forward for a run.
func NewForward(src Source) *Forward { return newForward(src, 0) }

func newForward(src Source, pass int) *Forward {
	f := &Forward{src: src, pass: pass, lines: make([]line, len(src.Hosts))}
	for i := range f.lines {
		f.lines[i].slower = slower[pass]
	}
	f.follower = newFollower(len(src.Hosts), f.ended)
	return f
}

// Call is that of core.Observer.
func (f *Forward) Call(o *core.ObservedCall) { f.next(&f.src, o) }

// Signal is that of core.Observer.
func (f *Forward) Signal(rank int32) core.Mark { return f.departure(rank) }

func (f *Forward) departure(rank int32) departure {
	t := f.calls[rank].begin
	return departure{int(rank), t + f.lines[rank].at(t), t}
}

// Meet is that of core.Observer.
func (f *Forward) Meet(met core.Mark, rank int32) core.Mark {
	return f.src.gather(met, f.departure(rank))
}

func (f *Forward) ended(rank int, c *call) {
	if !c.returned {
		return
	}
	at, shown := f.src.arrival(rank, c.waits, slack)
	if shown > c.end {
		f.late = max(f.late, shown-c.end)
	}
	f.lines[rank].advance(c.end, at)
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

// Again returns the pass that has to be made instead of this one, which is closed, since
// clocks were put forward much farther than what came too early asks for: corrections
// added up. nil: there need not be one, or no other would help.
func (f *Forward) Again() *Forward {
	if f.most() <= avalanche*f.late || f.pass+1 == len(slower) {
		return nil
	}
	return newForward(f.src, f.pass+1)
}

// most is how far any clock was put forward.
func (f *Forward) most() (most int64) {
	for i := range f.lines {
		for _, j := range f.lines[i].jumps {
			most = max(most, j.after)
		}
	}
	return most
}
