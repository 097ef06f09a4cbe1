package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trial"
)

// What processes need of one another that a replay of a changed program would not miss: a
// standard send may wait for its receive, and a loop that polls for what it finds.

// pollingPeriod is how many events of a process, at most, lie between two rounds of a loop that
// does nothing but poll: an operation, its completion, and what is made of the value.
const pollingPeriod = 4

// needs lists what processes need.
func (n *clues) needs() []trial.Need {
	out := slices.Clone(n.sends)
	changes := map[models.Location][]*polled{} // by time
	for rank := range n.ops {
		for i := range n.ops[rank] {
			if x := &n.ops[rank][i]; x.Changes {
				changes[x.Location] = append(changes[x.Location], x)
			}
		}
	}
	for _, all := range changes {
		slices.SortStableFunc(all, func(a, b *polled) int { return cmp.Compare(a.begin, b.begin) })
	}
	for rank := range n.ops {
		before := map[models.Location]*polled{}
		for i := range n.ops[rank] {
			f := &n.ops[rank][i]
			if !f.Fetches || f.Valued {
				continue
			}
			last := before[f.Location]
			before[f.Location] = f
			if last == nil || last.stack != f.stack || last.region != f.region || f.call.Event-last.call.Event > pollingPeriod {
				continue
			}
			all := changes[f.Location]
			found := latest(all, rank, 2*f.begin-last.begin) // when another round would have begun
			if found != nil && found != latest(all, rank, last.begin) && found.region == f.region {
				out = append(out, trial.Need{Rank: rank, Pos: f.call.Event, Of: found.call.Rank, At: found.call.Event})
			}
		}
	}
	return out
}

// latest returns the last change, by another process, that began before a time; nil: there is none.
func latest(changes []*polled, rank int, time int64) *polled {
	i := sort.Search(len(changes), func(k int) bool { return changes[k].begin >= time })
	for i > 0 && changes[i-1].call.Rank == rank {
		i--
	}
	if i == 0 {
		return nil
	}
	return changes[i-1]
}
