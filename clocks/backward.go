package clocks

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// Backward watches the second replay: it finds what left a process in the stretch
// before a jump, and when it arrived, which limits how far it may be moved (section
// 3.2 of the paper; for collective calls 4.2).
type Backward struct {
	follower
	src     Source
	lines   []line
	windows [][]window
	sends   [][]*send // by rank, those in windows, as they came
}

var _ core.Observer = (*Backward)(nil)

// window is where jumps are spread over, half-open.
type window struct{ from, to int64 }

// send is what left a process at a moment in a window.
type send struct {
	at    int64 // uncorrected
	limit int64 // when it may leave at the latest, corrected
	moved int64 // by backward amortization so far
	met   *meeting
	place int // in the meeting
}

// meeting is a meeting of processes: what those that came later or did not come
// before waited for limits all that had come by then.
type meeting struct {
	limits map[int]int64 // by how many had come: the earliest end of a call that waited for them
}

// attendance is a meeting up to some process.
type attendance struct {
	*meeting
	size int
}

// NewBackward returns the pass that follows a Forward.
func NewBackward(f *Forward) *Backward {
	b := &Backward{src: f.src, lines: f.lines, windows: make([][]window, len(f.lines)), sends: make([][]*send, len(f.lines))}
	b.follower = newFollower(len(f.lines), b.ended)
	for rank := range b.lines {
		b.windows[rank] = windows(b.lines[rank].jumps)
	}
	return b
}

// stretch returns the beginning of the stretch over which a jump is spread.
func (j *jump) stretch() int64 { return j.at - gentle*(j.after-j.before) }

// windows returns the stretches before jumps, those that overlap as one, ascending.
func windows(jumps []jump) []window {
	var out []window
	for i := range jumps {
		w := window{jumps[i].stretch(), jumps[i].at}
		for len(out) > 0 && out[len(out)-1].to >= w.from {
			w.from = min(w.from, out[len(out)-1].from)
			out = out[:len(out)-1]
		}
		out = append(out, w)
	}
	return out
}

// leaves notes what leaves a process with its call under way; nil: in no window.
func (b *Backward) leaves(rank int32) *send {
	t := b.calls[rank].begin
	all := b.windows[rank]
	i, _ := slices.BinarySearchFunc(all, t, func(w window, t int64) int { return cmp.Compare(w.to, t+1) })
	if i == len(all) || t < all[i].from {
		return nil
	}
	s := &send{at: t, limit: math.MaxInt64}
	b.sends[rank] = append(b.sends[rank], s)
	return s
}

// departed is what a signal carries.
type departed struct {
	*send
	rank int
}

// Call is that of core.Observer.
func (b *Backward) Call(o *core.ObservedCall) { b.next(&b.src, o) }

// Signal is that of core.Observer.
func (b *Backward) Signal(rank int32) core.Mark { return departed{b.leaves(rank), int(rank)} }

// Meet is that of core.Observer.
func (b *Backward) Meet(met core.Mark, rank int32) core.Mark {
	a, ok := met.(attendance)
	if !ok {
		a.meeting = &meeting{limits: map[int]int64{}}
	}
	if s := b.leaves(rank); s != nil {
		s.met, s.place = a.meeting, a.size
	}
	a.size++
	return a
}

func (b *Backward) ended(rank int, c *call) {
	if !c.returned {
		return
	}
	end := c.end + b.lines[rank].at(c.end)
	for _, on := range c.waits {
		switch m := on.(type) {
		case departed:
			if m.send != nil && m.rank != rank {
				m.limit = min(m.limit, end-b.src.least(m.rank, rank)-slack)
			}
		case attendance:
			limit := end - max(b.src.Latency.Host, b.src.Latency.Network) - slack
			if earlier, known := m.limits[m.size]; known {
				limit = min(limit, earlier)
			}
			m.limits[m.size] = limit
		}
	}
}

// Close ends the pass, when the replay is over, and returns the correction.
func (b *Backward) Close() *Correction {
	b.close()
	c := &Correction{curves: make([][]point, len(b.lines))}
	for rank := range b.lines {
		sends := b.sends[rank]
		for _, s := range sends {
			if s.met != nil {
				for size, limit := range s.met.limits {
					if size > s.place {
						s.limit = min(s.limit, limit)
					}
				}
			}
		}
		slices.SortStableFunc(sends, func(x, y *send) int { return cmp.Compare(x.at, y.at) })
		c.curves[rank] = curve(&b.lines[rank], sends)
	}
	return c
}

// ramp is how a jump is spread over the stretch before it: what is added, ascending in
// both.
type ramp []point

// at returns what is added at a moment; 0 outside of the ramp.
func (r ramp) at(t int64) int64 {
	if t < r[0].at || t >= r[len(r)-1].at {
		return 0
	}
	return between(r, t)
}

// spread makes the ramp of a jump, on which no send is moved beyond its limit.
func (l *line) spread(j *jump, sends []*send) ramp {
	from, height := j.stretch(), j.after-j.before
	out := ramp{{j.at, height}}
	room := int64(math.MaxInt64)
	for i := len(sends) - 1; i >= 0; i-- {
		s := sends[i]
		room = min(room, max(0, s.limit-s.at-l.at(s.at)-s.moved))
		if s.at > from && room < (s.at-from)/gentle && out[len(out)-1].at > s.at {
			out = append(out, point{s.at, room})
		}
	}
	out = append(out, point{from, 0})
	slices.Reverse(out)
	return out
}

// curve makes the whole correction of a process. Sends ascend by moment.
func curve(l *line, sends []*send) []point {
	var ramps []ramp
	var moments []int64
	for i := range l.jumps {
		j := &l.jumps[i]
		if j.after == j.before {
			continue
		}
		begin, _ := slices.BinarySearchFunc(sends, j.stretch(), func(s *send, t int64) int { return cmp.Compare(s.at, t) })
		end, _ := slices.BinarySearchFunc(sends, j.at, func(s *send, t int64) int { return cmp.Compare(s.at, t) })
		r := l.spread(j, sends[begin:end])
		for _, s := range sends[begin:end] {
			s.moved += r.at(s.at) + 1 // which may have been rounded away
		}
		ramps = append(ramps, r)
		for _, p := range r {
			moments = append(moments, p.at)
		}
		moments = append(moments, j.at+j.after*l.slower)
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	out := make([]point, len(moments))
	first := 0
	for i, t := range moments {
		for first < len(ramps) && ramps[first][len(ramps[first])-1].at <= t {
			first++
		}
		out[i] = point{t, l.at(t)}
		for _, r := range ramps[first:] {
			out[i].by += r.at(t)
		}
	}
	return out
}
