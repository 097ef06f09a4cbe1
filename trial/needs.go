package trial

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Need says that what a process does is over only when another one has come to something of its
// own, though a replay may not know: a standard send may wait until its receive is posted, and a
// loop that polls goes on until it finds what it waits for.
type Need struct {
	Rank int    // who needs it
	Pos  uint64 // the event that is over then
	Of   int    // who has to come to it
	At   uint64 // its event
}

// ErrBlocked: the changed program may wait for ever.
var ErrBlocked = errors.New("processes may wait for each other for ever")

// Require says what processes need; plans that may keep them from it are none.
func (s *Scan) Require(needs []Need) { s.needs = needs }

// series is where some processes make the calls that a plan has put in for all of them, in
// program order: as many of each.
type series map[int][]uint64 // slots, by rank

// add appends where the members of a meeting make calls.
func (x series) add(ranks []int, slots [][]uint64) {
	for i, rank := range ranks {
		x[rank] = append(x[rank], slots[i]...)
	}
}

// blocked returns an error where a process comes to a call that was put in only after what needs
// something of another one, which comes to that only after the call.
func (p *planner) blocked() error {
	for _, x := range p.series {
		for rank := range x {
			slices.Sort(x[rank])
		}
		for _, n := range p.scan.needs {
			own, others := x[n.Rank], x[n.Of]
			// Of the calls behind what needs something the other process comes to the first one first.
			k := sort.Search(len(own), func(i int) bool { return own[i] > slot(n.Pos, itself) })
			if k < len(own) && k < len(others) && others[k] < slot(n.At, itself) {
				if len(p.scan.ranks[n.Rank].threads) > 1 || len(p.scan.ranks[n.Of].threads) > 1 { // another one may go on
					return fmt.Errorf("%w: whether processes with several threads would wait for each other is not known", ErrUnknown)
				}
				return fmt.Errorf("%w: rank %d for rank %d", ErrBlocked, n.Rank, n.Of)
			}
		}
	}
	return nil
}
