package core

import (
	"maps"

	"github.com/mcchk/mcchk/evc"
)

// Words of which it is not known for certain in which order their updates took effect, since a value
// contradicts the order that was taken. Who has fetched from them may come after more than he is known
// to. With Options.FullOrder and Options.Doubtful, he comes after all that was issued: what conflicts
// then is not ordered by these words, whatever their updates' order was.

// doubt reports that the operation's value contradicts what was taken for certain.
func (op *WordOp) doubt(text string) {
	m := op.word.m
	m.Report(Problem{Kind: Values, Rank: op.strand.Rank, Text: text})
	if m.doubtful == nil {
		m.doubtful = map[WordKey]bool{}
	}
	m.doubtful[op.word.key] = true
	o := &m.problems.mayOrder
	o.add("values of atomic operations", op.strand.Rank)
	o.several = true
	o.unknown = o.unknown || op.word.shows // chained accesses are complete where an update was seen, which one is not known
}

// followed reports whether all that was ever written to the word is known, but for what it held at
// first: a value that does not fit contradicts the order that was taken.
func (w *word) followed() bool {
	return w.last().number > 0 && !w.disturbed && !w.stored && !w.m.blind(w.key.Owner)
}

// Doubtful returns the words whose values contradicted the order that was taken.
func (m *Machine) Doubtful() map[WordKey]bool { return maps.Clone(m.doubtful) }

// ordersAll reports whether who has fetched from the word comes after all that was issued for it.
func (w *word) ordersAll() bool { return w.m.opts.FullOrder && w.m.opts.Doubtful[w.key] }

// issues returns what comes before the issue of any update of the word so far.
func (w *word) issues() evc.Time {
	time := w.last().before.time
	for _, v := range w.visitors {
		for _, op := range v.queue {
			if op.issued != nil {
				time = w.m.clock.Join(time, op.issued.time)
			}
		}
	}
	return time
}
