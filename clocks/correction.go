package clocks

import (
	"cmp"
	"slices"
)

// Correction is how far the times of each process are put forward.
type Correction struct{ curves [][]point }

// point is a moment and the correction there; between two it is on the line through both.
type point struct{ at, by int64 }

// Time corrects a time of a process, which is one that Source.Time gave.
func (c *Correction) Time(rank int, t int64) int64 {
	all := c.curves[rank]
	if len(all) == 0 || t <= all[0].at || t >= all[len(all)-1].at {
		return t
	}
	return t + between(all, t)
}

// between returns what lies between two points, rounded down. The moment lies between
// the first and the last.
func between(all []point, t int64) int64 {
	i, found := slices.BinarySearchFunc(all, t, func(p point, t int64) int { return cmp.Compare(p.at, t) })
	if found {
		return all[i].by
	}
	a, b := all[i-1], all[i]
	return a.by + int64(float64(b.by-a.by)*(float64(t-a.at)/float64(b.at-a.at)))
}
