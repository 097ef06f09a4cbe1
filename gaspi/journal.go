package gaspi

import (
	"cmp"
	"slices"
	"sort"
)

// Where processes have threads, several strands may complete an operation, each for
// itself. What a strand knows of the operations of one line of its process (regions.Point)
// is the first of them, up to some; and what a strand has dealt with once, those of its
// line need not look at again in the region. So each operation is looked at once for each
// line, however many calls complete it.

// journal is operations of a process, in the order in which they were issued.
type journal struct {
	lines []*journalLine
	now   map[int32]*journalLine         // those of the region, by the line that issues them
	dealt map[int32]map[*journalLine]int // by line that completes or sees them: how many
	posts []*notification                // of the region, that say which of them they come behind
	next  int                            // the number of the next one
}

// journalLine is the operations of one line in a region, or those of before.
type journalLine struct{ entries []entryOf }

type entryOf struct {
	*operation
	number int // in the journal
}

// mark is the first operations of a line, up to a number.
type mark struct {
	line *journalLine
	end  int
}

// before is the line of operations from before the region.
const before = -1

// add adds an operation that a line issues.
func (j *journal) add(line int32, op *operation) {
	if j.now == nil {
		j.now = map[int32]*journalLine{}
	}
	l := j.now[line]
	if l == nil {
		l = &journalLine{}
		j.now[line], j.lines = l, append(j.lines, l)
	}
	l.entries = append(l.entries, entryOf{op, j.next})
	j.next++
}

// known returns which operations the strand knows of.
func (j *journal) known(p *process) []mark {
	var marks []mark
	for _, l := range j.lines {
		n := len(l.entries)
		if n > 0 && !p.knowsOf(l.entries[n-1].operation) {
			n = sort.Search(n, func(i int) bool { return !p.knowsOf(l.entries[i].operation) })
		}
		if n > 0 {
			marks = append(marks, mark{l, l.entries[n-1].number + 1})
		}
	}
	return marks
}

// pending reports whether any operation is not complete at its source.
func (j *journal) pending() bool {
	return slices.ContainsFunc(j.lines, func(l *journalLine) bool {
		return slices.ContainsFunc(l.entries, func(e entryOf) bool { return e.shared.free == nil })
	})
}

// upTo returns the operations from before the region that have a lower number than one.
func (j *journal) upTo(number int) []mark {
	if l := j.now[before]; l != nil {
		return []mark{{l, number}}
	}
	return nil
}

// deal visits those of some operations that a line has not dealt with yet.
func (j *journal) deal(line int32, marks []mark, with func(*operation)) {
	if j.dealt == nil {
		j.dealt = map[int32]map[*journalLine]int{}
	}
	dealt := j.dealt[line]
	if dealt == nil {
		dealt = map[*journalLine]int{}
		j.dealt[line] = dealt
	}
	for _, m := range marks {
		if m.end <= dealt[m.line] {
			continue
		}
		for _, e := range m.line.entries[m.line.below(dealt[m.line]):m.line.below(m.end)] {
			with(e.operation)
		}
		dealt[m.line] = m.end
	}
}

// below returns how many operations of the line have a lower number than one.
func (l *journalLine) below(number int) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].number >= number })
}

// settle forgets operations, where a region begins: what is left is known to all strands,
// in the order in which it was issued.
func (j *journal) settle(over func(*operation) bool) {
	for _, n := range j.posts {
		if !n.taken {
			j.settlePost(n)
		}
	}
	var kept []entryOf
	for _, l := range j.lines {
		for _, e := range l.entries {
			if !over(e.operation) {
				kept = append(kept, e)
			}
		}
	}
	*j = journal{next: j.next}
	if len(kept) == 0 {
		return
	}
	slices.SortFunc(kept, func(a, b entryOf) int { return cmp.Compare(a.number, b.number) })
	l := &journalLine{kept}
	j.now, j.lines = map[int32]*journalLine{before: l}, []*journalLine{l}
}

// forget forgets the first operations of each line, as far as they are over, and notifications that
// nobody will see any more.
func (j *journal) forget(over func(*operation) bool) {
	j.posts = slices.DeleteFunc(j.posts, func(n *notification) bool { return n.taken })
	for _, l := range j.lines {
		n := slices.IndexFunc(l.entries, func(e entryOf) bool { return !over(e.operation) })
		if n < 0 {
			n = len(l.entries)
		}
		l.entries = slices.Clone(l.entries[n:])
	}
}

// settlePost says which operations a notification comes behind in terms of numbers: all
// below one, and some others.
func (j *journal) settlePost(n *notification) {
	end := map[*journalLine]int{}
	for _, m := range n.marks {
		end[m.line] = m.end
	}
	n.upTo = j.next
	for _, l := range j.lines {
		if i := l.below(end[l]); i < len(l.entries) {
			n.upTo = min(n.upTo, l.entries[i].number)
		}
	}
	for _, m := range n.marks {
		for _, e := range m.line.entries[m.line.below(n.upTo):m.line.below(m.end)] {
			n.own = append(n.own, e.operation)
		}
	}
	n.marks, n.listed = nil, false
}
