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
	writes  map[WordKey][]regions.Point // the last of each strand
}

// anywhere stands for all words of a process whose words are not told apart.
var anywhere WordKey

// hiddenWrite is a write of a call to a word, and to which memory of it: an operation on that
// hides nothing.
type hiddenWrite struct {
	word WordKey
	to   memoryOf
	at   regions.Point
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

// note notes a write to a word.
func (h *hidden) note(m *Machine, k WordKey, at regions.Point) {
	if h.region != m.index || h.writes == nil {
		h.region, h.writes = m.index, map[WordKey][]regions.Point{}
	}
	all := h.writes[k]
	if i := slices.IndexFunc(all, func(x regions.Point) bool { return x.Line == at.Line }); i >= 0 {
		all[i] = at
		return
	}
	h.writes[k] = append(all, at)
}

// hides reports whether a write of an unknown value may have left what an operation has found,
// of which its strand does not know that it was issued.
func (op *WordOp) hides() bool {
	h := &op.word.m.processes[op.word.key.Owner].hidden
	k := op.word.key
	if h.any {
		k = anywhere
	}
	return h.region == op.region && slices.ContainsFunc(h.writes[k], func(at regions.Point) bool { return !op.strand.Knows(at) })
}
