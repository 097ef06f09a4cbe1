package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// kept is what earlier regions have left of a part of a window: updates that
// are not yet in the other copy. Those of one source place are one set of bytes.
type kept struct {
	unseen      map[keptKey]*keptSet // puts and accumulates, since the private copy was refreshed
	unpublished map[keptKey]*keptSet // stores, since they were last published
}

type keptKey struct {
	site  conflicts.Site
	kind  regions.Kind
	locks string
}

// keptSet is the bytes that a source place has updated.
type keptSet struct {
	regions.Access // the first of the updates, with the bytes of all
	runs           []intervals.Run
}

// maxRuns is up to how many runs strided ones are kept as they are. With more,
// the set becomes one of solid ranges, of which a window has no more than half
// its bytes.
const maxRuns = 4096

func newKept() *kept {
	return &kept{unseen: map[keptKey]*keptSet{}, unpublished: map[keptKey]*keptSet{}}
}

// compare holds what earlier regions left against the accesses of a region.
func (k *kept) compare(out *conflicts.Collector, p *part) {
	for _, u := range k.unseen {
		for _, g := range p.groups {
			// What had begun before was held against the update itself.
			if g.Start.Within() && !g.refreshed.Within() && !p.excluded(g.Locks, &u.Access) {
				k.report(out, p, &g.Access, &u.Access, g.stores())
			}
		}
	}
	published := regions.AfterRegion(p.c.Owner)
	if len(p.publishes) > 0 {
		published = p.publishes[0]
	}
	for _, s := range k.unpublished {
		stretched := s.Access
		stretched.End = published
		for _, l := range p.lanes {
			if p.excluded(s.Locks, l.First()) || inLaterRegion(l.First()) {
				continue
			}
			from, to := l.Concurrent(p.r, &stretched, 0)
			for from < to && !l.Accesses()[from].Start.Within() {
				from++
			}
			if from < to {
				k.report(out, p, &s.Access, l.Accesses()[from], writes(l.First().Kind))
			}
		}
	}
}

// report collects a pair of which one is of an earlier region. both: each
// updates its copy, so that they need not share bytes.
func (k *kept) report(out *conflicts.Collector, p *part, local, op *regions.Access, both bool) {
	lo, hi, meet := intervals.MeetLayouts(local.Base, local.Layout, op.Base, op.Layout)
	switch {
	case meet:
		add(out, p.r, local, []*regions.Access{op}, lo, hi, conflicts.RuleCopies)
	case both:
		lo, hi = firstBlock(op)
		add(out, p.r, local, []*regions.Access{op}, lo, hi, conflicts.RuleCopyUpdates)
	}
}

// update keeps what the region leaves, and forgets what it made visible.
func (k *kept) update(p *part) {
	if len(p.refreshes) > 0 {
		clear(k.unseen)
	}
	if len(p.publishes) > 0 {
		clear(k.unpublished)
	}
	for _, l := range p.lanes {
		if writes(l.First().Kind) {
			k.keepUnseen(p, l)
		}
	}
	for _, g := range p.groups {
		if g.stores() && !g.published.Within() && g.End.Within() {
			keep(k.unpublished, &g.Access)
		}
	}
	k.detached(p)
	for _, sets := range []map[keptKey]*keptSet{k.unseen, k.unpublished} {
		for key, s := range sets {
			if s.compact(); s.Layout.IsEmpty() {
				delete(sets, key)
			}
		}
	}
}

// keepUnseen keeps the updates of a lane that are complete and that the last
// refresh came too early for.
func (k *kept) keepUnseen(p *part, l *conflicts.Lane) {
	for _, a := range slices.Backward(l.Accesses()) {
		if !a.End.Within() {
			continue
		}
		if n := len(p.refreshes); n == 0 || !p.r.Before(a.End, p.refreshes[n-1]) {
			keep(k.unseen, a)
		}
		return // those before it have the same bytes
	}
}

func keep(sets map[keptKey]*keptSet, a *regions.Access) {
	key := keptKey{conflicts.SiteOf(a), a.Kind, a.Locks.Key()}
	s := sets[key]
	if s == nil {
		s = &keptSet{Access: *a}
		s.Start, s.End = regions.BeforeRegion(a.Rank), regions.BeforeRegion(a.Rank)
		s.Start.Pos = a.Start.Pos
		s.Base, s.Layout = 0, nil
		sets[key] = s
	}
	for _, run := range a.Layout.Runs() {
		s.runs = append(s.runs, run.Shift(a.Base))
	}
	s.Layout = nil
}

// detached forgets what was updated in memory that is no longer in the window.
func (k *kept) detached(p *part) {
	for _, x := range p.c.Memory {
		if x.To == math.MaxUint64 {
			continue
		}
		for _, sets := range []map[keptKey]*keptSet{k.unseen, k.unpublished} {
			for _, s := range sets {
				s.runs = slices.Clone(intervals.NewLayout(s.runs).Without(0, x.Lo, x.Hi).Runs())
				s.Layout = nil
			}
		}
	}
}

// compact joins the bytes of a set after it has changed.
func (s *keptSet) compact() {
	if s.Layout != nil {
		return
	}
	s.Layout = union(s.runs)
	if len(s.Layout.Runs()) > maxRuns {
		s.Layout = intervals.NewLayout(blocks(s.Layout.Runs()))
	}
	s.runs = slices.Clip(s.Layout.Runs())
}

// blocks returns every block of some runs, joined where they touch or overlap.
func blocks(runs []intervals.Run) []intervals.Run {
	var all []intervals.Run
	for _, r := range runs {
		for i := range r.Count {
			lo := r.Lo + i*r.Stride
			all = append(all, intervals.Solid(lo, lo+r.Size))
		}
	}
	slices.SortFunc(all, func(a, b intervals.Run) int { return cmp.Compare(a.Lo, b.Lo) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi() {
			out[n-1] = intervals.Solid(out[n-1].Lo, max(out[n-1].Hi(), r.Hi()))
			continue
		}
		out = append(out, r)
	}
	return out
}
