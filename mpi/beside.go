package mpi

import (
	"cmp"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
)

// Several threads of a process may complete an operation beside each other: each does, for
// what comes after it. So an operation that was completed, and of which another thread may
// know that it was issued and not that it was completed, is kept until all know that. What
// was issued and completed within one separate region is no such one: whoever knows of
// something in it knows of all.

// shared is an operation that several threads may complete.
type shared struct {
	number        uint64
	issued        moment
	region        int  // in which it is listed
	reads         bool // it changes nothing at its target
	local, remote completed
	words         []*core.WordOp
	fetches       []*fetch
}

// completed is accesses of an operation that a thread has completed first at a moment.
type completed struct {
	accesses []*core.Pending
	at       core.Moment
}

// besideOps are the operations of a process on a window that several threads may complete.
type besideOps struct {
	byTarget map[int32]*besideTarget
	targets  []*besideTarget
}

// besideTarget is those to one target.
type besideTarget struct {
	rank  int32 // in the window
	lines []*besideLine
	dealt map[dealer]uint64 // the number up to which they were
	n     int               // of them
	limit int               // of n, at which those are forgotten that all know of
}

// besideLine is those that one line issued, in the order of issue.
type besideLine struct {
	line int32
	ops  []*shared
}

// dealer is who has dealt with which operations: those of which it knew.
type dealer struct {
	by, issued int32 // lines
	parts      sides
}

// fewBeside is how many operations are kept at least before some are forgotten.
const fewBeside = 64

// sharedBy returns an operation that is about to be completed as one that other threads may
// complete too; nil: none can.
func (m *Model) sharedBy(p *process, e *epochs, op *operation) *sharedParts {
	if !p.Threaded() {
		return nil
	}
	now := m.now(p)
	if op.issued.region == now.region && op.issued.at.Line == now.at.Line && op.issued.at.Seg == now.at.Seg || !p.Beside() {
		return nil
	}
	if op.shared == nil || op.shared.region != now.region {
		op.shared = &shared{number: op.number, issued: op.issued, region: now.region, reads: op.reads, words: op.words, fetches: op.fetches}
		for _, f := range op.fetches {
			f.shared = true
		}
		e.beside.add(p, op.target, op.shared)
	}
	return &sharedParts{op.shared, p.Moment()}
}

// sharedParts is a shared operation that is completed at a moment.
type sharedParts struct {
	*shared
	at core.Moment
}

// keep keeps accesses that are about to be completed.
func (x *sharedParts) keep(part sides, accesses ...*core.Pending) {
	if x == nil || len(accesses) == 0 {
		return
	}
	for _, a := range accesses {
		a.Keep()
	}
	c := &x.local
	if part == targets {
		c = &x.remote
	}
	*c = completed{slices.Clone(accesses), x.at}
}

func (b *besideOps) add(p *process, target int32, op *shared) {
	t := b.byTarget[target]
	if t == nil {
		if b.byTarget == nil {
			b.byTarget = map[int32]*besideTarget{}
		}
		t = &besideTarget{rank: target, dealt: map[dealer]uint64{}, limit: fewBeside}
		b.byTarget[target], b.targets = t, append(b.targets, t)
	}
	if t.n >= t.limit {
		t.forget(p)
	}
	l := t.line(op.issued.at.Line)
	i := len(l.ops)
	for i > 0 && l.ops[i-1].number > op.number {
		i--
	}
	l.ops = slices.Insert(l.ops, i, op)
	t.n++
}

// line returns the operations that a line issued.
func (t *besideTarget) line(line int32) *besideLine {
	i, found := slices.BinarySearchFunc(t.lines, line, func(l *besideLine, line int32) int { return cmp.Compare(l.line, line) })
	if !found {
		t.lines = slices.Insert(t.lines, i, &besideLine{line: line})
	}
	return t.lines[i]
}

// forget forgets those of which all know that they are complete.
func (t *besideTarget) forget(p *process) {
	over := func(c completed) bool { return c.accesses == nil || p.m.IsPast(c.at) }
	t.n = 0
	for _, l := range t.lines {
		l.ops = slices.DeleteFunc(l.ops, func(x *shared) bool {
			if !over(x.local) || !over(x.remote) {
				return false
			}
			for _, f := range x.fetches {
				p.forgetFetch(f)
			}
			return true
		})
		t.n += len(l.ops)
	}
	t.limit = max(fewBeside, 2*t.n)
}

// show: a strand has completed what it knows of, also what other strands have completed
// before in the replay. It adds to told what operations have fetched.
func (b *besideOps) show(p *process, target int32, parts sides, told []core.Fetched) []core.Fetched {
	for _, t := range b.targets {
		if target != anyTarget && t.rank != target {
			continue
		}
		for _, l := range t.lines {
			who := dealer{p.Now().Line, l.line, parts}
			known := sort.Search(len(l.ops), func(i int) bool { return !p.m.isPast(l.ops[i].issued, p) })
			if known == 0 {
				continue
			}
			first := sort.Search(known, func(i int) bool { return l.ops[i].number >= t.dealt[who] })
			for _, x := range l.ops[first:known] {
				told = x.show(p, parts, told)
			}
			t.dealt[who] = max(t.dealt[who], l.ops[known-1].number+1)
		}
	}
	return told
}

// show is that of besideOps, of one operation.
func (x *shared) show(p *process, parts sides, told []core.Fetched) []core.Fetched {
	if x.reads {
		parts |= targets
	}
	if parts&buffers != 0 && x.local.show(p) {
		told = fetchedBy(told, x.fetches)
	}
	if parts&targets != 0 && x.remote.show(p) {
		for _, w := range x.words {
			w.Complete(p.Now())
		}
	}
	return told
}

// show says that accesses are complete for what comes after the strand too. It reports
// whether it did not know of that.
func (c completed) show(p *process) bool {
	if c.accesses == nil || p.ComesAfter(c.at) {
		return false
	}
	for _, a := range c.accesses {
		a.Seen(p.Now())
	}
	return true
}
