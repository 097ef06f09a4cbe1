package gaspi

import (
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
)

// ledger is what strands of a process have done with notifications, each in its order:
// what a strand knows of one line (regions.Point) is the first entries, up to some. So
// what it knows of all takes a number for each line, however long they are.
type ledger struct{ lines []*ledgerLine }

// ledgerLine is the entries of one line.
type ledgerLine struct {
	line    int32
	gone    int // entries that all know, which are not kept
	entries []ledgerEntry
	heard   map[int32]int // by line: how many it has learned of besides those that it comes after
}

type ledgerEntry struct {
	*notification
	at core.Moment
}

// entryAt names an entry. The zero value is of none.
type entryAt struct {
	in     *ledgerLine
	number int
}

// firstOf is the first entries of a line.
type firstOf struct {
	in *ledgerLine
	n  int
}

// add adds an entry that a strand makes now.
func (l *ledger) add(p *process, n *notification) entryAt {
	now := p.Moment()
	for _, x := range l.lines {
		if x.line == now.At.Line {
			x.entries = append(x.entries, ledgerEntry{n, now})
			return entryAt{x, x.gone + len(x.entries) - 1}
		}
	}
	x := &ledgerLine{line: now.At.Line, entries: []ledgerEntry{{n, now}}, heard: map[int32]int{}}
	l.lines = append(l.lines, x)
	return entryAt{x, 0}
}

// known returns which entries a strand comes after.
func (l *ledger) known(s *core.Strand) []firstOf {
	var list []firstOf
	for _, x := range l.lines {
		if n := x.known(s); n > 0 {
			list = append(list, firstOf{x, n})
		}
	}
	return list
}

// known returns how many of the entries a strand comes after.
func (x *ledgerLine) known(s *core.Strand) int {
	return x.gone + sort.Search(len(x.entries), func(i int) bool { return !s.ComesAfter(x.entries[i].at) })
}

// forget forgets entries that all know.
func (l *ledger) forget(m *Model) {
	for _, x := range l.lines {
		n := sort.Search(len(x.entries), func(i int) bool { return !m.IsPast(x.entries[i].at) })
		if n > 0 {
			x.gone, x.entries = x.gone+n, slices.Clone(x.entries[n:])
		}
	}
}

// include reports whether an entry is among the first entries of some lines.
func include(list []firstOf, x entryAt) bool {
	for _, f := range list {
		if f.in == x.in {
			return x.number < f.n
		}
	}
	return false
}

// join returns the entries of two lists.
func join(list, more []firstOf) []firstOf {
	for _, f := range more {
		i := slices.IndexFunc(list, func(x firstOf) bool { return x.in == f.in })
		if i < 0 {
			list = append(list, f)
			continue
		}
		list[i].n = max(list[i].n, f.n)
	}
	return list
}

// news returns the entries of a list that a strand neither comes after nor has learned of,
// which it is about to.
func news(list []firstOf, s *core.Strand) (all []*notification) {
	for _, f := range list {
		x := f.in
		first := max(x.heard[s.Now().Line], x.known(s))
		for i := first; i < f.n; i++ {
			all = append(all, x.entries[i-x.gone].notification)
		}
		x.heard[s.Now().Line] = max(first, f.n)
	}
	return all
}
