package core

import (
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Writes to words that waits are for, of which it is not known what they leave. Nothing is
// known of a word that nobody has read; a wait that finds it as it should be takes that for
// what it held at first, but for what was written so.

// hidden are the writes of unknown values to the words of a process, in the present concurrent
// region.
type hidden struct {
	awaited map[WordKey]bool // the words that waits are for
	any     bool             // which they are is not known: all of its memory counts as one
	region  int
	writes  map[WordKey][]hiddenWrites // of each strand
}

// hiddenWrites are those of a strand to a word.
type hiddenWrites struct {
	last regions.Point
	n    int       // of which nobody has been found yet who has found what they left
	told []*WordOp // those of them that Covers tells of, unless they are too many
}

// mostTold bounds how many are remembered.
const mostTold = 64

// anywhere stands for all words of a process whose words are not told apart.
var anywhere WordKey

// hiddenWrite is a write of a call to a word, and to which memory of it: an operation on that
// hides nothing.
type hiddenWrite struct {
	word WordKey
	to   memoryOf
	at   regions.Point
	op   *WordOp // that it is, by Covers; or nil
}

// Awaits says that waits of the strand's process are for a word of its memory.
func (s *Strand) Awaits(addr, bytes uint64) {
	h, k := &s.hidden, WordKey{Owner: s.Rank, Addr: addr, Bytes: bytes}
	if h.awaited == nil {
		h.awaited = map[WordKey]bool{}
	}
	h.awaited[k] = true
	s.words.add(s.m, k)
}

// AwaitsAny says that waits of the strand's process may be for any words of its memory.
func (s *Strand) AwaitsAny() { s.hidden = hidden{any: true} }

// meets yields the words of a process that a write to [lo, hi) of its memory may hide, and where
// that has to write to.
func (h *hidden) meets(p *Process, lo, hi uint64, yield func(WordKey, memoryOf)) {
	switch {
	case h.any:
		yield(anywhere, memoryOf{p.Rank, lo, hi})
	case len(h.awaited) > 0:
		for _, k := range p.words.in(lo, hi) {
			if h.awaited[k] {
				yield(k, bytesOf(k))
			}
		}
	}
}

// note notes a write to a word, which Covers tells of by an operation, or not.
func (h *hidden) note(m *Machine, k WordKey, at regions.Point, op *WordOp) {
	if h.region != m.index || h.writes == nil {
		h.region, h.writes = m.index, map[WordKey][]hiddenWrites{}
	}
	all := h.writes[k]
	i := slices.IndexFunc(all, func(x hiddenWrites) bool { return x.last.Line == at.Line })
	if i < 0 {
		i, all = len(all), append(all, hiddenWrites{})
		h.writes[k] = all
	}
	x := &all[i]
	x.last = at
	if len(x.told) == mostTold {
		x.forget()
	}
	if x.n++; op == nil || len(x.told) == mostTold {
		x.told = nil
	} else {
		x.told = append(x.told, op)
	}
}

// forget forgets, where a phase or a region ends, what tells nothing any more.
func (h *hidden) forget(m *Machine) {
	if h.region != m.index {
		h.writes = nil
	}
	for _, all := range h.writes {
		for i := range all {
			all[i].forget()
			for _, op := range all[i].told {
				letGo(&op.issued.time, m.clock)
			}
		}
	}
}

// forget forgets those of which it is known who found what they left.
func (x *hiddenWrites) forget() {
	if x.n > len(x.told) {
		return
	}
	x.told = slices.DeleteFunc(x.told, func(op *WordOp) bool { return op.made != nil })
	x.n = len(x.told)
}

// Covers tells of what the present call has written so far to words that waits are for, as a part
// of more: it leaves a value that is not known, and whoever finds that comes after what the strand
// has done before. That matters where nothing else can have ended a wait.
func (s *Strand) Covers(began int64) (ops []*WordOp) {
	if s.m.opts.IgnoreValues {
		return nil
	}
	all := s.m.writing.hidden
	for i := range all {
		x := &all[i]
		if x.op != nil || x.word == anywhere || s.m.processes[x.word.Owner].Threaded() {
			continue
		}
		w := s.m.word(x.word)
		w.disturb()
		x.op = &WordOp{
			strand: s, word: w, region: s.m.index, began: began, pos: s.pos, issued: s.publish(), fn: s.call.Fn.Name, stack: s.call.Stack,
			update: func(Value) (Value, bool) { return Value{}, true },
		}
		ops = append(ops, x.op)
	}
	return ops
}

// uncover lets a wait have been ended, or have found, what a call has written to the word as a part
// of more, if nothing else can have done so. It reports whether that is so.
func (op *WordOp) uncover() bool {
	c := op.covered()
	if c == nil {
		return false
	}
	w := op.word
	v := w.visitor(c.strand)
	for len(v.queue) > 0 && v.queue[0].pos < c.pos { // what the strand issued before has taken effect
		x := v.queue[0]
		w.take(x)
		if x.blocked {
			x.sees(x.saw, false)
		}
	}
	v.queue = slices.Insert(v.queue, 0, c)
	v.turns++
	v.number()
	w.take(c)
	op.sees(c.made, true)
	return true
}

// covered returns the one part of a write that can have left what a wait found; nil: there is none, or
// there are several, or others of which nothing is known.
func (op *WordOp) covered() (only *WordOp) {
	m, k := op.word.m, op.word.key
	h := &m.processes[k.Owner].hidden
	if op.unsure == nil || op.strand.team != nil || h.any || h.region != op.region || m.blind(k.Owner) {
		return nil
	}
	for _, x := range h.writes[k] {
		if len(x.told) < x.n {
			return nil
		}
		for _, c := range x.told {
			switch {
			case c.made != nil, c.region != op.region, c.began > op.ended, c.completeFor(op.strand):
			case only != nil:
				return nil
			default:
				only = c
			}
		}
	}
	return only
}

// hides reports whether a write of an unknown value may have left what an operation has found,
// of which its strand does not know that it was issued.
func (op *WordOp) hides() bool {
	h := &op.word.m.processes[op.word.key.Owner].hidden
	k := op.word.key
	if h.any {
		k = anywhere
	}
	return h.region == op.region && slices.ContainsFunc(h.writes[k], func(x hiddenWrites) bool { return !op.strand.Knows(x.last) })
}
