package clocks

import (
	"cmp"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Correction is how far the times of each process are put forward. It is to be used by one
// goroutine at a time.
type Correction struct {
	table *Table
	file  slabFile
	ranks int
	slabs int
	at    []int // by rank: the slab that was asked for last
	held  []*curves
	err   error
}

// point is a moment and the correction there; between two it is on the line through both.
type point struct{ at, by int64 }

// between returns what lies between two points, rounded down.
func between(a, b point, t int64) int64 {
	return a.by + int64(float64(b.by-a.by)*(float64(t-a.at)/float64(b.at-a.at)))
}

// Correct finds the correction, once a Forward is closed that is not to be made again. For a
// Table, it asks for intervals up to a length (Survey.Longest); times tells whether times are to be
// corrected afterwards.
func (f *Forward) Correct(times bool, longest int64) (*Correction, error) {
	defer f.out.close()
	ranks := len(f.procs)
	c := &Correction{ranks: ranks, at: make([]int, ranks), slabs: f.out.count()}
	if times {
		if err := c.file.create(); err != nil {
			return nil, err
		}
	}
	sweeps, pages := make([]sweep, ranks), make([]page, ranks)
	for rank := range sweeps {
		sweeps[rank] = newSweep(&f.procs[rank].line)
	}
	var survey *survey
	if f.survey {
		survey = newSurvey(&f.src, sweeps, longest)
	}
	var room []byte
	for n := f.out.count() - 1; n >= 0; n-- {
		encoded, behind, again, err := f.out.read(n, ranks, room)
		if err != nil {
			c.Close()
			return nil, err
		}
		room = again
		each(ranks, func(rank int) {
			pages[rank].decode(encoded[rank], f.survey)
			sweeps[rank].slab(&pages[rank])
		})
		if survey != nil {
			survey.slab(pages, behind)
		}
		if times {
			err := c.file.write(ranks, func(rank int, to []byte) []byte { return sweeps[rank].encode(to, pages[rank].floor) }, nil)
			if err != nil {
				c.Close()
				return nil, err
			}
		}
	}
	if survey != nil {
		c.table = survey.close()
	}
	return c, nil
}

// each has something done for each of so many, by as many goroutines as there are processors.
func each(n int, do func(int)) {
	const share = 32
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+share-1)/share) {
		all.Go(func() {
			for {
				from := int(next.Add(share)) - share
				if from >= n {
					return
				}
				for i := from; i < min(n, from+share); i++ {
					do(i)
				}
			}
		})
	}
	all.Wait()
}

// Table is what was wrong before and after, where a Forward was made for it; else nil.
func (c *Correction) Table() *Table { return c.table }

// Close gives up what is kept of the correction.
func (c *Correction) Close() { c.file.close() }

// Err says why times could not be corrected from some moment on.
func (c *Correction) Err() error { return c.err }

// encode appends the correction of a process in a slab.
func (s *sweep) encode(to []byte, floor int64) []byte {
	to = binary.AppendVarint(to, floor)
	to = binary.AppendUvarint(to, uint64(len(s.points)))
	at := int64(0)
	for i := len(s.points) - 1; i >= 0; i-- {
		p := s.points[i]
		to = binary.AppendVarint(to, p.at-at)
		to = binary.AppendVarint(to, p.by)
		at = p.at
	}
	return to
}

// curves are the corrections of all processes in a slab.
type curves struct {
	slab    int
	buf     []byte
	encoded [][]byte
	each    []curve // of those that were asked for
}

// curve is the correction of a process in a slab: from the latest event of earlier ones on.
type curve struct {
	read   bool
	floor  int64
	points []point
}

// mostHeld is how many slabs are kept in memory.
const mostHeld = 8

// load returns the corrections in a slab.
func (c *Correction) load(slab int) *curves {
	if i := slices.IndexFunc(c.held, func(s *curves) bool { return s.slab == slab }); i >= 0 {
		s := c.held[i]
		copy(c.held[1:i+1], c.held[:i])
		c.held[0] = s
		return s
	}
	s := &curves{}
	if len(c.held) == mostHeld {
		s = c.held[mostHeld-1]
		c.held = c.held[:mostHeld-1]
		clear(s.each)
	}
	s.slab = slab
	var err error
	if s.encoded, _, s.buf, err = c.file.read(c.slabs-1-slab, c.ranks, s.buf); err != nil {
		c.err = cmp.Or(c.err, err)
		s.encoded = make([][]byte, c.ranks)
	}
	if s.each == nil {
		s.each = make([]curve, c.ranks)
	}
	c.held = slices.Insert(c.held, 0, s)
	return s
}

// curve returns the correction of a process in a slab.
func (c *Correction) curve(slab, rank int) *curve {
	s := c.load(slab)
	k := &s.each[rank]
	if k.read {
		return k
	}
	*k = curve{read: true, floor: math.MinInt64}
	if d := (decoder{b: s.encoded[rank]}); len(d.b) > 0 {
		k.floor = d.int()
		for range d.count() {
			k.points = append(k.points, point{d.time(), d.int()})
		}
	}
	return k
}

// Time corrects a time of a process, which is one that Source.Time gave. Times that lie near
// those that were asked for before are found quickly.
func (c *Correction) Time(rank int, t int64) int64 {
	if c.slabs == 0 {
		return t
	}
	k := c.curve(c.at[rank], rank)
	for k.floor >= t && c.at[rank] > 0 {
		c.at[rank]--
		k = c.curve(c.at[rank], rank)
	}
	for c.at[rank] < c.slabs-1 && len(k.points) > 0 && t > k.points[len(k.points)-1].at {
		next := c.curve(c.at[rank]+1, rank)
		if t <= next.floor {
			break
		}
		c.at[rank]++
		k = next
	}
	i, found := slices.BinarySearchFunc(k.points, t, func(p point, t int64) int { return cmp.Compare(p.at, t) })
	switch {
	case found:
		return t + k.points[i].by
	case i == 0 || i == len(k.points):
		return t
	}
	return t + between(k.points[i-1], k.points[i], t)
}
