package core

import (
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Who has seen an update of a word comes after it at that word, though the call that completes it
// may come later: what was fetched is there (MPI 4.1, 12.7). So of each word it is noted in which
// order its updates took effect, and which of them a strand has seen from when on.

// effects is that of one word, also where nothing else is held of it. Its updates are counted: what
// others have seen before the region counts as update 0.
type effects struct {
	first   int // the number of what the word held at first
	updates []effect
	seen    []seenEffects
}

// effect is an update that has taken effect.
type effect struct {
	op     *WordOp
	number int // ascending
}

// seenEffects is a moment from which on a strand knew of the updates up to a number.
type seenEffects struct {
	at     regions.Point
	number int
}

// effectsOf returns those of a word of which nothing else is held any more, or nothing yet.
func (w *words) effectsOf(k WordKey) *effects {
	e := w.effects[k]
	if e == nil {
		e = &effects{first: 1}
		w.effects[k] = e
	} else if n := len(e.updates); n > 0 {
		e.first = e.updates[n-1].number + 1
	}
	return e
}

// took notes that an update of the word has taken effect. Those of the language are complete at once.
func (w *word) took(op *WordOp) {
	if !op.order.language && !w.m.opts.OrderOnly {
		w.effects.updates = append(w.effects.updates, effect{op, w.effects.first + op.made.number})
	}
}

// fewSeen is how many of the last moments are looked at for one of the same strand, as of one that polls.
const fewSeen = 8

// sees notes that a strand knows of the updates up to a version.
func (w *word) sees(s *Strand, v *version) {
	e, number := w.effects, w.effects.first+v.number
	if len(e.updates) == 0 {
		return
	}
	for i := len(e.seen) - 1; i >= max(0, len(e.seen)-fewSeen); i-- {
		if e.seen[i].at.Line == s.line && e.seen[i].number >= number {
			return
		}
	}
	e.seen = append(e.seen, seenEffects{s.Now(), number})
}

// over reports whether the update is complete for all that is to come. One that fetches is, as far as
// words know, where what it fetched is known: MPI_Win_flush_local alone, and no flush, is too rare to keep it.
func (e effect) over(m *Machine) bool {
	switch op := e.op; {
	case op.complete:
		return op.region != m.index || m.IsPast(Moment{op.completed, op.region})
	case op.told.Pos > 0:
		return op.region != m.index || m.IsPast(Moment{op.told, op.region})
	}
	return false
}

// forget forgets what no access that is to come can meet. It reports whether nothing is left.
func (e *effects) forget(m *Machine) bool {
	e.updates = slices.DeleteFunc(e.updates, func(x effect) bool { return x.over(m) })
	if len(e.updates) == 0 {
		e.seen = nil
		return true
	}
	e.seen = slices.DeleteFunc(e.seen, func(x seenEffects) bool { return x.number < e.updates[0].number })
	return false
}

// carry returns what is left of it in the region that begins, where all know what anybody has seen.
// versions are how many the word begins with.
func (e *effects) carry(versions int) *effects {
	most := 0
	for _, x := range e.seen {
		most = max(most, x.number)
	}
	again := &effects{first: 2 - versions}
	for _, seen := range []bool{true, false} {
		for _, x := range e.updates {
			if x.op.complete || x.op.told.Pos > 0 || x.op.strand.team != nil || (x.number <= most) != seen {
				continue
			}
			number := 1
			if seen {
				number = 0
			}
			again.updates = append(again.updates, effect{x.op, number})
		}
	}
	return again
}

// effectsOfPhase returns what Region.Effects has of the phase that is over.
func (m *Machine) effectsOfPhase() map[WordKey]*regions.Effects {
	var all map[WordKey]*regions.Effects
	for k, e := range m.words.effects {
		if len(e.updates) == 0 || len(e.seen) == 0 && e.updates[0].number > 0 {
			continue
		}
		out := regions.NewEffects(len(e.updates), len(e.seen))
		for _, x := range e.updates {
			out.Took(x.op.issuer(), x.op.pos, x.number)
		}
		for _, x := range e.seen {
			out.Saw(x.at, x.number)
		}
		if all == nil {
			all = map[WordKey]*regions.Effects{}
		}
		all[k] = out
	}
	return all
}

// issuer is the line of the strand that has issued the update; before the region: of the first one of
// its process.
func (op *WordOp) issuer() int32 {
	if op.region != op.word.m.index {
		return op.strand.Rank
	}
	return op.strand.line
}
