package evc

import "unsafe"

// vectorClock is the plain vector clock (Fidge, Mattern): one component a
// strand, the reference that the encoded clock is held against.
type vectorClock struct {
	*phase
	stamps []vectorStamp // by Stamp; stamps[0] is unused
	now    []Stamp
	fresh  []bool // the timestamp of now was given to nobody: a merge may change it
	taken  int    // bytes of the phase that are counted in timestamps
}

// vectorStamp is a timestamp.
type vectorStamp struct {
	vector
	pages uint32 // bytes of it that are of no earlier one
}

// newVector returns a clock of that many strands. old, which may be nil, is one
// whose storage serves it.
func newVector(old *vectorClock, strands int) *vectorClock {
	c := old
	if c == nil {
		c = emptyVector(newPhase(strands))
	}
	c.phase.reset()
	clear(c.fresh)
	c.stamps, c.taken = c.stamps[:1], 0
	for i := range c.now {
		c.now[i] = c.add(vector{own: 1, strand: int32(i)})
	}
	return c
}

func emptyVector(p *phase) *vectorClock {
	return &vectorClock{
		phase: p, stamps: make([]vectorStamp, 1, p.strands+1), now: make([]Stamp, p.strands), fresh: make([]bool, p.strands),
	}
}

func (c *vectorClock) add(v vector) Stamp {
	c.stamps = append(c.stamps, vectorStamp{v, c.grown(&c.taken)})
	return Stamp(len(c.stamps) - 1)
}

func (c *vectorClock) Now(strand int) Stamp {
	c.fresh[strand] = false
	return c.now[strand]
}

func (c *vectorClock) Time(s Stamp) Time {
	if s == 0 {
		return Time{}
	}
	return Time{v: c.stamps[s].vector, phase: c.phase}
}

func (c *vectorClock) Tick(strand int) {
	v := c.stamps[c.now[strand]].vector
	v.own++
	c.now[strand] = c.add(v)
	c.fresh[strand] = true
}

func (c *vectorClock) Merge(strand int, t Time) {
	if t.IsZero() {
		return
	}
	own := &c.stamps[c.now[strand]]
	v := c.upper(own.vector, c.bring(t.phase, t.v))
	switch {
	case v == own.vector:
	case c.fresh[strand]:
		own.vector = v
		own.pages += c.grown(&c.taken)
	default:
		c.now[strand] = c.add(v)
	}
}

func (c *vectorClock) Join(a, b Time) Time {
	if a.IsZero() {
		return b
	}
	if b.IsZero() {
		return a
	}
	return Time{v: c.upper(c.bring(a.phase, a.v), c.bring(b.phase, b.v)), phase: c.phase}
}

func (c *vectorClock) JoinAll(a Time, others []Time) Time { return joinAll(c, a, others, c.joinMany) }

func (c *vectorClock) joinMany(a Time, others []Time) Time {
	all := make([]vector, 0, len(others))
	for _, t := range others {
		if !t.IsZero() {
			all = append(all, c.bring(t.phase, t.v))
		}
	}
	return Time{v: c.upperAll(c.bring(a.phase, a.v), all), phase: c.phase}
}

func (c *vectorClock) Knows(s Stamp, strand int, n uint32) bool {
	if s == 0 {
		return false
	}
	n, past := c.above(strand, n)
	return past || c.component(c.stamps[s].vector, strand) >= n
}

func (c *vectorClock) Has(t Time, strand int, n uint32) bool {
	if t.IsZero() {
		return false
	}
	n, past := c.above(strand, n)
	return past || c.component(c.bring(t.phase, t.v), strand) >= n
}

func (c *vectorClock) Bits(Stamp) int { return 32 * c.strands }

func (c *vectorClock) Size(s Stamp) int {
	x := &c.stamps[s]
	return int(unsafe.Sizeof(*x)) + int(x.pages)
}

func (c *vectorClock) Stamps() int { return len(c.stamps) - 1 }

func (c *vectorClock) Floor(active []int, coming ...Time) []uint32 {
	var known []vector // before lowest, which gives up the pages that are made from then on
	for _, t := range coming {
		if t.IsZero() {
			return make([]uint32, c.strands)
		}
		known = append(known, c.bring(t.phase, t.v))
	}
	l := c.lowest()
	for _, v := range known {
		l.addAll(v)
	}
	for _, i := range active {
		if !l.add(c.stamps[c.now[i]].vector) {
			break
		}
	}
	return l.floor()
}

func (c *vectorClock) Next(floor []uint32) Clock { return c.goOn(c.next(floor, c.strands)) }

func (c *vectorClock) Grow(strands int) Clock {
	return c.goOn(c.next(make([]uint32, c.strands), strands))
}

// goOn returns the clock of a phase that goes on from here.
func (c *vectorClock) goOn(p *phase) Clock {
	d := emptyVector(p)
	for i := range d.now {
		if i < len(c.now) {
			d.now[i] = d.Enter(c.Time(c.now[i]))
		} else {
			d.now[i] = d.add(vector{own: 1, strand: int32(i)})
		}
	}
	return d
}

func (c *vectorClock) Enter(t Time) Stamp {
	if t.IsZero() {
		return 0
	}
	return c.add(c.bring(t.phase, t.v))
}

func (c *vectorClock) Past(t Time) bool {
	return t.IsZero() || c.isZero(c.bring(t.phase, t.v))
}
