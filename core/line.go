package core

import "slices"

// line is what is taken in the order in which it was added.
type line[T any] struct {
	all   []T
	taken int // those of all that were
}

func (l *line[T]) len() int { return len(l.all) - l.taken }

// at returns the one that is taken behind i others.
func (l *line[T]) at(i int) T { return l.all[l.taken+i] }

func (l *line[T]) add(x T) {
	if l.taken > 0 && len(l.all) == cap(l.all) && l.taken >= l.len() {
		n := copy(l.all, l.all[l.taken:])
		clear(l.all[n:])
		l.all, l.taken = l.all[:n], 0
	}
	l.all = append(l.all, x)
}

// take takes the first; there must be one.
func (l *line[T]) take() T {
	var none T
	x := l.all[l.taken]
	l.all[l.taken] = none
	if l.taken++; l.taken == len(l.all) {
		l.all, l.taken = l.all[:0], 0
	}
	return x
}

// putBack makes x the first.
func (l *line[T]) putBack(x T) { l.all = slices.Insert(l.all, l.taken, x) }
