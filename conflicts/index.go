package conflicts

import (
	"math/bits"

	"github.com/mcchk/mcchk/intervals"
)

// laneIndex finds the lanes that share bytes with others, or may share some: most by
// their bounding boxes. Where many of a class are scattered, as patches of a matrix or
// lists of elements are, their boxes overlap though they have nothing in common. Such
// lanes are found by their blocks, or, where these are many, at equal distances, by
// where in a row of a matrix of that width they lie.
type laneIndex struct {
	judge   Judge
	lanes   []*Lane
	classes map[class]*classIndex // nil where the lanes are few
	blocks  int                   // that a lane is found by, at most
	asked   uint64                // how many questions were asked
}

// classIndex is the lanes of a class.
type classIndex struct {
	boxes   ranges             // of all lanes but those that are pieces or in columns
	pieces  ranges             // of lanes that are scattered, by their blocks
	columns map[uint64]*column // by the distance of their blocks
	all     []int32
}

// column is lanes that have blocks at the same distance.
type column struct {
	boxes  ranges
	places ranges // of the blocks, modulo their distance
}

// ranges is an index under construction.
type ranges struct {
	list []intervals.Range
	intervals.Index
}

func (r *ranges) add(lo, hi uint64, id int32) {
	r.list = append(r.list, intervals.Range{Lo: lo, Hi: hi, ID: id})
}

func (r *ranges) build() {
	if len(r.list) > 0 {
		r.Build(r.list)
	}
	r.list = nil
}

const (
	// fewLanes is how many lanes are looked through one by one rather than indexed, and
	// how many scattered ones of a class are found by their boxes.
	fewLanes = 16
	// sparse is how many times as long as its bytes the box of a scattered lane is.
	sparse = 4
	// mostScattered is how many blocks at equal distances are too many to index each.
	mostScattered = 16
	// mostBlocks is how many blocks are indexed for each lane that a slice should have.
	mostBlocks = 16
)

// build indexes the lanes of a slice that should have at most so many.
func (x *laneIndex) build(lanes []*Lane, most int) {
	x.lanes, x.classes = lanes, nil
	x.blocks = max(mostScattered, mostBlocks*most/max(1, len(lanes)))
	if len(lanes) <= fewLanes {
		return
	}
	x.classes = map[class]*classIndex{}
	for i, l := range lanes {
		c := x.classes[l.class]
		if c == nil {
			c = &classIndex{}
			x.classes[l.class] = c
		}
		c.all = append(c.all, int32(i))
		l.spread, l.blocks = spreadOf(l)
	}
	for _, c := range x.classes {
		x.buildClass(c)
	}
}

func (x *laneIndex) buildClass(c *classIndex) {
	some, distances := 0, map[uint64]int{}
	for _, i := range c.all {
		switch l := x.lanes[i]; l.spread {
		case tall:
			distances[l.step]++
		case scattered:
			some++
		}
	}
	for _, i := range c.all {
		switch l := x.lanes[i]; {
		case l.spread == tall && distances[l.step] > fewLanes:
			c.column(l, i)
		case l.spread == scattered && some > fewLanes:
			l.pieces(x.blocks, func(lo, hi uint64) bool {
				c.pieces.add(lo, hi, i)
				return true
			})
		default:
			c.boxes.add(l.lo, l.hi, i)
		}
	}
	c.boxes.build()
	c.pieces.build()
	for _, col := range c.columns {
		col.boxes.build()
		col.places.build()
	}
}

// column enters a lane by where in a row its blocks lie.
func (c *classIndex) column(l *Lane, id int32) {
	col := c.columns[l.step]
	if col == nil {
		if c.columns == nil {
			c.columns = map[uint64]*column{}
		}
		col = &column{}
		c.columns[l.step] = col
	}
	col.boxes.add(l.lo, l.hi, id)
	within(l.lo, l.block, l.step, func(lo, hi uint64) bool {
		col.places.add(lo, hi, id)
		return true
	})
}

// within calls yield with the range, or the two, that n bytes at an address are modulo a
// distance that is longer.
func within(at, n, distance uint64, yield func(lo, hi uint64) bool) bool {
	lo := at % distance
	if lo+n <= distance {
		return yield(lo, lo+n)
	}
	return yield(lo, distance) && yield(0, lo+n-distance)
}

// overlapping visits the lanes that may share bytes with [lo, hi) and whose class is not
// compatible, each once, as long as visit returns true. It reports whether it always did.
func (x *laneIndex) overlapping(of class, lo, hi uint64, visit func(int32) bool) bool {
	return x.ask(of, func(c *classIndex, one func(int32) bool) bool {
		return c.overlapping(lo, hi, one)
	}, lo, hi, visit)
}

// meeting visits the lanes that may share bytes with one and whose class is not
// compatible, as overlapping does.
func (x *laneIndex) meeting(l *Lane, visit func(int32) bool) bool {
	return x.ask(l.class, func(c *classIndex, one func(int32) bool) bool { return x.meet(c, l, one) }, l.lo, l.hi, visit)
}

// ask has the classes that are not compatible find the lanes that they have near, of
// which those are visited, once each, whose boxes overlap [lo, hi).
func (x *laneIndex) ask(of class, find func(*classIndex, func(int32) bool) bool, lo, hi uint64, visit func(int32) bool) bool {
	if x.classes == nil {
		for j, l := range x.lanes {
			if l.lo < hi && lo < l.hi && !of.compatible(x.judge, l.class) && !visit(int32(j)) {
				return false
			}
		}
		return true
	}
	x.asked++
	once := func(j int32) bool {
		l := x.lanes[j]
		if l.asked == x.asked || l.lo >= hi || lo >= l.hi {
			return true
		}
		l.asked = x.asked
		return visit(j)
	}
	for d, c := range x.classes {
		if !of.compatible(x.judge, d) && !find(c, once) {
			return false
		}
	}
	return true
}

func (c *classIndex) overlapping(lo, hi uint64, visit func(int32) bool) bool {
	if !c.boxes.Overlapping(lo, hi, visit) || !c.pieces.Overlapping(lo, hi, visit) {
		return false
	}
	for distance, col := range c.columns {
		if !col.near(lo, hi, distance, visit) {
			return false
		}
	}
	return true
}

// near visits lanes that may share bytes with [lo, hi).
func (col *column) near(lo, hi, distance uint64, visit func(int32) bool) bool {
	if hi-lo >= distance {
		return col.boxes.Overlapping(lo, hi, visit)
	}
	return within(lo, hi-lo, distance, func(lo, hi uint64) bool { return col.places.Overlapping(lo, hi, visit) })
}

// meet visits lanes of a class that may share bytes with a lane.
func (x *laneIndex) meet(c *classIndex, l *Lane, visit func(int32) bool) bool {
	for distance, col := range c.columns {
		var ok bool
		switch {
		case l.spread == tall && l.step == distance:
			ok = within(l.lo, l.block, distance, func(lo, hi uint64) bool { return col.places.Overlapping(lo, hi, visit) })
		case !x.apart(l, col.boxes.Len()):
			ok = col.boxes.Overlapping(l.lo, l.hi, visit)
		default:
			ok = l.pieces(x.blocks, func(lo, hi uint64) bool { return col.near(lo, hi, distance, visit) })
		}
		if !ok {
			return false
		}
	}
	if !x.apart(l, c.boxes.Len()+c.pieces.Len()) {
		return c.boxes.Overlapping(l.lo, l.hi, visit) && c.pieces.Overlapping(l.lo, l.hi, visit)
	}
	return l.pieces(x.blocks, func(lo, hi uint64) bool {
		return c.boxes.Overlapping(lo, hi, visit) && c.pieces.Overlapping(lo, hi, visit)
	})
}

// spread is how the bytes of a lane lie in its bounding box.
type spread uint8

const (
	dense     spread = iota
	scattered        // they are much less than it
	tall             // so they are, and many blocks at equal distances
)

// spreadOf says how the bytes of a lane lie, and in how many blocks those that are
// scattered.
func spreadOf(l *Lane) (how spread, blocks int) {
	switch size := l.hi - l.lo; {
	case l.step == 0 && size >= sparse*l.First().Layout.Bytes():
		return scattered, int(l.First().Layout.Blocks())
	case l.step == 0 || l.step < sparse*l.block || size <= l.step:
		return dense, 1
	case size/l.step >= mostScattered:
		return tall, int(size/l.step) + 1
	default:
		return scattered, int(size/l.step) + 1
	}
}

// apart reports whether a lane is better asked about by its pieces than by its bounding
// box, where there are n others.
func (x *laneIndex) apart(l *Lane, n int) bool {
	return l.spread != dense && n > bits.Len(uint(n))*min(x.blocks, l.blocks)
}

// pieces calls yield with at most so many ranges that the lane's bytes lie in, as long as it
// returns true. It reports whether it always did.
func (l *Lane) pieces(most int, yield func(lo, hi uint64) bool) bool {
	a := l.First()
	return a.Layout.Pieces(a.Base, most, yield)
}
