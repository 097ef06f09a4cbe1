package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// forgetWords forgets what can not be fetched any more of all words, or all of them
// where a region begins.
func (m *Machine) forgetWords() {
	for _, p := range m.processes {
		p.hidden.forget(m)
	}
	if m.words.all == nil || m.words.region != m.index {
		before, had := m.words.all, m.words.effects
		m.wrote()
		m.words = words{all: map[WordKey]*word{}, effects: map[WordKey]*effects{}, region: m.index, debt: m.words.debt, held: m.words.held}
		for _, k := range wordsInOrder(before) {
			if again := before[k].carry(); again != nil {
				m.words.all[k], again.effects = again, had[k].carry(len(again.versions))
				m.words.effects[k] = again.effects
			}
		}
		for k, e := range had {
			if m.words.all[k] == nil {
				m.words.effects[k] = e.carry(1)
			}
		}
		for _, e := range had { // operations that go on know their words, and so all before them
			e.updates, e.seen = nil, nil
		}
	}
	for _, k := range wordsInOrder(m.words.all) {
		if w := m.words.all[k]; w.forget() {
			m.words.serial.vague = m.words.serial.vague || w.unfinished()
			w.leave()
			delete(m.words.all, k)
		}
	}
	for k, e := range m.words.effects {
		if e.forget(m) && m.words.all[k] == nil {
			delete(m.words.effects, k)
		}
	}
}

// mostShowing bounds the updates that are kept of a word which are complete, but of which
// somebody may yet see that others are.
const mostShowing = 16

// carry returns what is left of a word in the region that begins: updates of which
// somebody may yet see that they are complete, or by which that others are, or of which the
// order is open, and the others beside them, which order nobody any more; nil: nothing is.
func (w *word) carry() *word {
	matters := func(op *WordOp) bool { return op.shows() && !op.complete }
	switch {
	case slices.ContainsFunc(w.versions, func(v *version) bool { return matters(v.by) }),
		slices.ContainsFunc(w.visitors, func(v *visitor) bool { return slices.ContainsFunc(v.queue, matters) }):
	case slices.ContainsFunc(w.versions, func(v *version) bool { return v.by.shows() }):
		w.versions = w.versions[max(0, len(w.versions)-1-mostShowing):] // who comes after the last comes after all
	default:
		if !w.leave() {
			return nil
		}
		n := 0
		for _, v := range w.visitors {
			n += len(v.queue)
		}
		if w.m.words.carried += n; w.m.words.carried > mostCarried {
			w.m.remember(w.key, held{lost: true})
			return nil
		}
		w.versions = w.versions[len(w.versions)-1:]
	}
	again := &word{m: w.m, key: w.key, presumed: w.presumed, lost: w.lost, open: w.open, disturbed: w.disturbed, stored: w.stored, shows: w.shows}
	if w.versions[0].number > 0 {
		again.presumed = 0
	}
	for i, v := range w.versions {
		x := &version{number: i, by: v.by, value: v.value}
		w.m.give(&x.before, evc.Time{})
		again.versions = append(again.versions, x)
		if x.by != nil {
			again.adopt(x.by)
			x.by.made = x
			if x.by.complete {
				again.visitor(x.by.strand).saw(x.by.completed, x)
			}
		}
	}
	var queued []*WordOp
	for _, v := range w.visitors {
		queued = append(queued, v.queue...)
	}
	if w.m.threaded { // strands of a process become one
		slices.SortStableFunc(queued, func(a, b *WordOp) int { return cmp.Compare(a.began, b.began) })
	}
	for _, op := range queued {
		again.adopt(op)
		op.floor = again.versions[0]
		op.after = slices.DeleteFunc(op.after, func(x *WordOp) bool { return x.made != nil || x.update == nil })
		again.visitor(op.strand).push(op)
	}
	return again
}

// adopt takes an update of the region before over. It becomes one of the first strand of its
// process: others have no line there yet, or will have none.
func (w *word) adopt(op *WordOp) {
	op.word, op.region, op.peers, op.strand = w, w.m.index, nil, op.strand.first
	if op.fetches && op.made == nil && !op.blocked && !op.over.given {
		w.reading++
	}
	if op.complete { // so everybody knows of that
		op.completed, op.also = regions.BeforeRegion(op.strand.Rank), nil
	}
	if op.issued != nil {
		op.issued = &Signal{}
		w.m.give(op.issued, evc.Time{})
	}
}

// forget forgets the versions before the last that all strands know of. It reports
// whether nothing is left.
func (w *word) forget() bool {
	idle := !w.visited && w.blocked.n == 0
	w.visited = false
	if w.reading == 0 && w.blocked.n == 0 {
		for _, v := range w.visitors {
			v.dropHidden()
		}
	}
	for _, v := range w.visitors {
		idle = idle && len(v.queue) == 0
	}
	until := w.last().number
	for op := range w.blocked.all() {
		if v := w.least(op); v != nil {
			until = min(until, v.number)
		}
	}
	n := 0
	for n+2 < len(w.versions) && w.versions[n].number < until && w.m.past(&w.versions[n+2].before) && !w.versions[n].by.shows() {
		n++
	}
	for i, x := range w.versions {
		if i < n {
			x.by = nil // which keeps the version before
		}
		x.letGo(w.m.clock)
	}
	w.versions = slices.Delete(w.versions, 0, n)
	for _, v := range w.visitors {
		for i, seen := range v.seen {
			v.seen[i] = slices.DeleteFunc(seen, func(x sighting) bool { return x.version.number < w.versions[0].number })
		}
		v.seen = slices.DeleteFunc(v.seen, func(seen []sighting) bool { return len(seen) == 0 })
	}
	return idle && w.m.past(&w.last().before) && !slices.ContainsFunc(w.versions, func(v *version) bool { return v.by.shows() })
}

// unfinished reports whether a last update of somebody is not complete.
func (w *word) unfinished() bool {
	return slices.ContainsFunc(w.visitors, func(v *visitor) bool {
		return slices.ContainsFunc(v.latest, func(op *WordOp) bool { return !op.complete })
	})
}

// letGo forgets the times of a version that tell nobody anything any more: a time keeps the
// vectors of its phase.
func (v *version) letGo(clock evc.Clock) {
	letGo(&v.before.time, clock)
	letGo(&v.published, clock)
	letGo(&v.head.released, clock)
	if v.by != nil && v.by.issued != nil {
		letGo(&v.by.issued.time, clock)
	}
}

func letGo(t *evc.Time, clock evc.Clock) {
	if !t.IsZero() && clock.Past(*t) {
		*t = evc.Time{}
	}
}

// dropHidden drops the updates that are not placed and that nobody can fetch any more: all that is
// to come knows that a later one of the strand is complete, which leaves its value whatever was there.
func (v *visitor) dropHidden() {
	last := len(v.queue) - 1
	for ; last > 0; last-- {
		op := v.queue[last]
		if fixed, _ := op.update(Value{}); fixed.Known && op.complete && v.strand.m.IsPast(Moment{op.completed, op.region}) {
			break
		}
	}
	if last <= 0 {
		return
	}
	if i := slices.IndexFunc(v.queue[:last], (*WordOp).shows); i >= 0 {
		last = i
	}
	until := v.queue[last].turn
	v.drop(func(op *WordOp) bool {
		if op.turn >= until {
			return false
		}
		op.settled()
		op.seen, op.shown = nil, nil
		return true
	})
}

// wordsInOrder returns words in an order that is always the same: what is remembered of them
// depends on it.
func wordsInOrder(of map[WordKey]*word) []WordKey {
	all := slices.Collect(maps.Keys(of))
	slices.SortFunc(all, func(a, b WordKey) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), byAddress(a, b)) })
	return all
}
