package evc

// vectorClock is the plain vector clock (Fidge, Mattern): one component a
// strand, the reference that the encoded clock is held against.
type vectorClock struct {
	base   *base
	n      int
	stamps [][]uint32 // by Stamp; stamps[0] is unused
	now    []Stamp
	fresh  []bool // the timestamp of now was given to nobody: a merge may change it
	room   vectorRoom
}

// vectorRoom is room for vectors. Small ones are made several at a time.
type vectorRoom []uint32

// copy returns a copy of a vector.
func (r *vectorRoom) copy(v []uint32) []uint32 {
	const words = 256
	n := len(v)
	if len(*r) < n {
		*r = make([]uint32, max(n, words))
	}
	c := (*r)[:n:n]
	*r = (*r)[n:]
	copy(c, v)
	return c
}

// newVector returns a clock of that many strands. old, which may be nil, is one
// whose storage serves it.
func newVector(old *vectorClock, strands int, b *base) *vectorClock {
	c := emptyVector(old, strands, b)
	for i := range c.now {
		v := make([]uint32, strands)
		v[i] = 1
		c.now[i] = c.add(v)
	}
	return c
}

func emptyVector(old *vectorClock, strands int, b *base) *vectorClock {
	c := old
	if c == nil {
		c = &vectorClock{stamps: make([][]uint32, 1, strands+1), now: make([]Stamp, strands), fresh: make([]bool, strands)}
	}
	clear(c.stamps)
	clear(c.fresh)
	*c = vectorClock{base: b, n: strands, stamps: c.stamps[:1], now: c.now, fresh: c.fresh, room: c.room}
	return c
}

func (c *vectorClock) add(v []uint32) Stamp {
	c.stamps = append(c.stamps, v)
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
	return Time{v: c.stamps[s], base: c.base}
}

func (c *vectorClock) Tick(strand int) {
	v := c.room.copy(c.stamps[c.now[strand]])
	v[strand]++
	c.now[strand] = c.add(v)
	c.fresh[strand] = true
}

func (c *vectorClock) Merge(strand int, t Time) {
	if t.IsZero() {
		return
	}
	own, other := c.stamps[c.now[strand]], c.local(t)
	if c.fresh[strand] {
		raise(own, other)
		return
	}
	if v := joined(own, other); &v[0] != &own[0] {
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
	return Time{v: joined(c.local(a), c.local(b)), base: c.base}
}

// local returns the components of a time in this phase.
func (c *vectorClock) local(t Time) []uint32 {
	if t.base == c.base {
		return t.v
	}
	v := append([]uint32(nil), t.v...)
	lower(v, t.base, c.base)
	return v
}

// raise makes the components of a no less than those of b.
func raise(a, b []uint32) {
	for i, x := range b {
		a[i] = max(a[i], x)
	}
}

// joined returns the greater of each component; one of the two where that is it.
func joined(a, b []uint32) []uint32 {
	switch {
	case below(b, a):
		return a
	case below(a, b):
		return b
	}
	v := append([]uint32(nil), a...)
	raise(v, b)
	return v
}

// below reports whether no component of a is greater than that of b.
func below(a, b []uint32) bool {
	for i, x := range a {
		if x > b[i] {
			return false
		}
	}
	return true
}

func (c *vectorClock) Knows(s Stamp, strand int, n uint32) bool {
	if s == 0 {
		return false
	}
	n, past := c.base.above(strand, n)
	return past || c.stamps[s][strand] >= n
}

func (c *vectorClock) Bits(s Stamp) int { return 32 * len(c.stamps[s]) }

func (c *vectorClock) Stamps() int { return len(c.stamps) - 1 }

func (c *vectorClock) Floor(active []int) []uint32 {
	l := newLowest(c.n)
	for _, i := range active {
		l.add(i, c.stamps[c.now[i]])
	}
	return l.floor
}

func (c *vectorClock) Next(floor []uint32) Clock {
	d := emptyVector(nil, c.n, c.base.next(floor))
	for i := range d.now {
		d.now[i] = d.Enter(c.Time(c.now[i]))
	}
	return d
}

func (c *vectorClock) Enter(t Time) Stamp {
	if t.IsZero() {
		return 0
	}
	return c.add(c.local(t))
}

// isZero reports whether every component is 0.
func isZero(v []uint32) bool {
	for _, n := range v {
		if n > 0 {
			return false
		}
	}
	return true
}

func (c *vectorClock) Past(t Time) bool {
	return t.IsZero() || isZero(c.local(t))
}
