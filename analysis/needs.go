package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trial"
)

// What processes need of one another that a replay of a changed program would not miss: a
// standard send may wait for its receive, and a loop that polls for what it finds.

// pollingPeriod is how many events of a process, at most, lie between two rounds of a loop that
// does nothing but poll: an operation, its completion, and what is made of the value.
const pollingPeriod = 4

// sent is the mark of a message of a call that may not return before it is received.
type sent struct {
	rank int
	pos  uint64
}

// Signal is that of core.Observer.
func (p *polls) Signal(rank int32) core.Mark {
	if now := &p.now[rank]; now.sends {
		return sent{int(rank), now.pos}
	}
	return nil
}

// Wait is that of core.Observer.
func (p *polls) Wait(rank int32, on core.Mark) {
	if m, ok := on.(sent); ok && p.now[rank].receives && p.left > 0 {
		p.left--
		p.sends = append(p.sends, trial.Need{Rank: m.rank, Pos: m.pos, Of: int(rank), At: p.now[rank].pos})
	}
}

// current is the call that a process makes.
type current struct {
	pos             uint64
	sends, receives bool // and does not return before
}

func (p *polls) call(c *core.ObservedCall) {
	p.now[c.Rank] = current{pos: c.Pos}
	p.now[c.Rank].sends, p.now[c.Rank].receives = models.Blocks(c.Call.Fn.Name)
}

// needs lists what processes need.
func (p *polls) needs() []trial.Need {
	out := slices.Clone(p.sends)
	changes := map[models.Location][]*polled{} // by time
	for rank := range p.ranks {
		for i := range p.ranks[rank] {
			if x := &p.ranks[rank][i]; x.Changes {
				changes[x.Location] = append(changes[x.Location], x)
			}
		}
	}
	for _, all := range changes {
		slices.SortStableFunc(all, func(a, b *polled) int { return cmp.Compare(a.begin, b.begin) })
	}
	for rank := range p.ranks {
		before := map[models.Location]*polled{}
		for i := range p.ranks[rank] {
			f := &p.ranks[rank][i]
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
	n := sort.Search(len(changes), func(i int) bool { return changes[i].begin >= time })
	for n > 0 && changes[n-1].call.Rank == rank {
		n--
	}
	if n == 0 {
		return nil
	}
	return changes[n-1]
}
