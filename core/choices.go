package core

import (
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Of several orders of the updates of a word that its values leave open, a replay takes
// one. What rests on that shows by a second replay, which takes another
// (Options.OtherOrder).

// OpenOrder is a choice that there was.
type OpenOrder struct {
	Owner      int32               // the process whose memory the word is in
	Candidates []*regions.CallInfo // some of the calls that are concerned, of different places
}

const (
	mostOpenOrders = 3 // that are told
	mostCandidates = 4
)

// Choices says what a replay has chosen.
type Choices struct {
	Open   int         // how often there was a choice, or may have been one
	Orders []OpenOrder // some of them
	words  []WordKey   // of these
	lost   int         // values of which nobody was found who left them
	odd    int         // what had to be decided against the times of the calls, or by what is not known
}

// Choices returns what was chosen so far.
func (m *Machine) Choices() Choices { return m.open }

// Unexplained reports whether there were values of which nobody was found who left them.
func (c Choices) Unexplained() bool { return c.lost > 0 }

// AsGood reports whether the order of a replay explains as much as that of another one.
func (c Choices) AsGood(as Choices) bool { return c.lost <= as.lost && c.odd <= as.odd }

// note notes how an operation is decided; odd: against the times of the calls, where
// these count.
func (c *Choices) note(x *choice, op *WordOp, odd bool) {
	if x.strange || odd {
		c.odd++
	}
	w := op.word
	if len(w.visitors) < 2 {
		return
	}
	c.Open++
	if len(c.Orders) == mostOpenOrders || slices.Contains(c.words, w.key) {
		return
	}
	all := append([]*WordOp{op}, x.steps...)
	for _, v := range w.visitors {
		all = append(all, v.queue[:min(1, len(v.queue))]...)
	}
	open := OpenOrder{Owner: w.key.Owner}
	for _, op := range all {
		r := op.strand.Rank
		if op.fn == "" || len(open.Candidates) == mostCandidates ||
			slices.ContainsFunc(open.Candidates, func(i *regions.CallInfo) bool { return i.Rank == r && i.Stack == op.stack }) {
			continue
		}
		open.Candidates = append(open.Candidates, &regions.CallInfo{CallSite: &regions.CallSite{Fn: op.fn, Rank: r, Stack: op.stack}})
	}
	c.Orders, c.words = append(c.Orders, open), append(c.words, w.key)
}
