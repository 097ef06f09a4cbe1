package evc

// vectorClock is the plain vector clock (Fidge, Mattern): one component a
// strand, the reference that the encoded clock is held against.
type vectorClock struct {
	n      int
	stamps [][]uint32 // by Stamp; stamps[0] is unused
	now    []Stamp
}

func newVector(strands int) *vectorClock {
	c := &vectorClock{n: strands, stamps: make([][]uint32, 1, strands+1), now: make([]Stamp, strands)}
	for i := range c.now {
		v := make([]uint32, strands)
		v[i] = 1
		c.now[i] = c.add(v)
	}
	return c
}

func (c *vectorClock) add(v []uint32) Stamp {
	c.stamps = append(c.stamps, v)
	return Stamp(len(c.stamps) - 1)
}

func (c *vectorClock) Now(strand int) Stamp { return c.now[strand] }

func (c *vectorClock) Tick(strand int) { c.now[strand] = c.tick(c.now[strand], strand) }

func (c *vectorClock) tick(s Stamp, strand int) Stamp {
	v := append([]uint32(nil), c.stamps[s]...)
	v[strand]++
	return c.add(v)
}

func (c *vectorClock) Merge(strand int, s Stamp) {
	c.now[strand] = c.Join(c.now[strand], s)
}

func (c *vectorClock) Join(a, b Stamp) Stamp {
	if a == 0 || a == b {
		return b
	}
	if b == 0 || c.Before(b, a) {
		return a
	}
	v := append([]uint32(nil), c.stamps[a]...)
	for i, x := range c.stamps[b] {
		v[i] = max(v[i], x)
	}
	return c.add(v)
}

func (c *vectorClock) Before(a, b Stamp) bool {
	if a == 0 || b == 0 {
		return false
	}
	vb := c.stamps[b]
	for i, x := range c.stamps[a] {
		if x > vb[i] {
			return false
		}
	}
	return true
}

func (c *vectorClock) Bits(s Stamp) int { return 32 * len(c.stamps[s]) }

func (c *vectorClock) Stamps() int { return len(c.stamps) - 1 }
