package core

import "slices"

// Updates of a word by different operations need not be atomic to each other while they may
// take effect at once. Where values show that one has taken effect to whoever issues the other,
// they do not, whether or not the first is complete by then.

// serial is the words of a region that processes update by different operations.
type serial struct {
	words []*word
	vague bool // of words that are not there, updates may be pending
}

// Does says by which operation the update changes the word.
func (op *WordOp) Does(operation string) {
	if op == nil {
		return
	}
	w, own := op.word, op.word.visitor(op.strand)
	op.does = operation
	several := false
	for _, v := range w.visitors {
		if v.strand.Process == op.strand.Process {
			continue // their own order is another matter
		}
		for _, x := range v.latest {
			if x.does != operation {
				several = true
				w.crossed = w.crossed || !x.hadEffect(op)
			}
		}
	}
	if several && !w.several {
		w.several = true
		w.m.words.serial.words = append(w.m.words.serial.words, w)
	}
	if i := slices.IndexFunc(own.latest, func(x *WordOp) bool { return x.does == operation }); i >= 0 {
		own.latest[i] = op
	} else {
		own.latest = append(own.latest, op)
	}
}

// Cross says that an update of a word of which nothing is known may take effect with any other at
// once.
func (s *Strand) Cross(k WordKey) {
	if w := s.m.words.all[k]; w != nil {
		w.crossed = true
	} else {
		s.m.words.serial.vague = true
	}
}

// hadEffect reports whether the strand of an operation knew that the update had taken effect when
// it issued the operation. So it had those that its strand issued before.
func (op *WordOp) hadEffect(then *WordOp) bool {
	switch {
	case op.completeFor(then.strand):
		return true
	case then.floor == nil:
		return false
	case op.made != nil:
		return op.made.number <= then.floor.number
	}
	return op.saw != nil && op.saw.number < then.floor.number
}

// serialWords returns the words of the phase that is over which Region.Serial has.
func (m *Machine) serialWords() map[WordKey]bool {
	x := &m.words.serial
	if len(x.words) == 0 {
		return nil
	}
	all := map[WordKey]bool{}
	for _, w := range x.words {
		before, there := all[w.key] // it was forgotten meanwhile, and begun again
		all[w.key] = (before || !there) && !w.crossed && !w.open
	}
	x.words = slices.DeleteFunc(x.words, func(w *word) bool { return m.words.all[w.key] != w })
	return all
}
