package shmem

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// lowest returns the lowest bytes of a value as a number without a sign.
func lowest(v int64, bytes uint64) int64 {
	shift := 64 - 8*min(bytes, 8)
	return int64(uint64(v) << shift >> shift)
}

// condition is what a wait waits for.
type condition struct {
	cmp    int64
	value  int64
	bytes  uint64
	signed bool
}

// Comparisons, as traces have them.
const (
	equal = iota + 1
	notEqual
	greater
	greaterEqual
	less
	lessEqual
)

// extend returns the number that the lowest bytes of a value are.
func (t condition) extend(v int64) int64 {
	shift := 64 - 8*min(t.bytes, 8)
	if t.signed {
		return v << shift >> shift
	}
	return lowest(v, t.bytes)
}

// met reports whether a value meets the condition.
func (t condition) met(v int64) bool {
	a, b := t.extend(v), t.extend(t.value)
	below := a < b
	if !t.signed {
		below = uint64(a) < uint64(b)
	}
	switch t.cmp {
	case equal:
		return a == b
	case notEqual:
		return a != b
	case greater:
		return !below && a != b
	case greaterEqual:
		return !below
	case less:
		return below
	case lessEqual:
		return below || a == b
	}
	return false
}

// valid reports whether it is one that a call can have.
func (t condition) valid() bool {
	return t.cmp >= equal && t.cmp <= lessEqual && t.bytes > 0 && t.bytes <= 8
}

// wrote notes an update of one element; op is nil where it is complete on return. What
// the PE has done before comes before what those do who see it, and they see that it is
// complete, with what takes effect before it: data, and what fences have put there. It
// returns nil where nobody can see it.
func (p *pe) wrote(c *call, t *transfer, at place, op *operation, bytes uint64, update core.Update, data *operation) *core.WordOp {
	if !p.m.seen(at, bytes) {
		return nil
	}
	w := p.Issue(at.word(bytes), c.Begin, update, op == nil)
	own, chains := &parts{}, t.x.before(p, t.owner)
	for _, x := range []*operation{data, op} {
		if x != nil {
			x.shown, *own = own, append(*own, x.shows()...)
		}
	}
	own.keep()
	if op != nil {
		op.word = w
		w.CompletedBy(t.x)
	}
	if len(*own) > 0 || len(chains) > 0 {
		w.OnSeen(func(by *core.Strand, alone bool) {
			if alone {
				own.seen(behind(by))
			}
			p.seeChains(by, chains)
		}, func() bool {
			return own.past() && !slices.ContainsFunc(chains, func(c chained) bool { return !c.past() })
		})
	}
	return w
}

// covers notes a write of several elements, or of one of which the value is not known, of which
// some may be what PEs wait for. Who finds one knows what fences have put before it, and of the
// write itself nothing: the others may come later.
func (p *pe) covers(t *transfer, op *operation) {
	for _, w := range p.Covers(t.c.Begin) {
		w.CompletedBy(t.x)
		op.covers = append(op.covers, w)
		if chains := t.x.before(p, t.owner); len(chains) > 0 {
			w.OnSeen(func(by *core.Strand, _ bool) { p.seeChains(by, chains) }, func() bool {
				return !slices.ContainsFunc(chains, func(c chained) bool { return !c.past() })
			})
		}
	}
}

// behind is the moment from which on a strand knows of what it has found: an atomic operation that
// finds what a put has left meets that.
func behind(by *core.Strand) regions.Point {
	now := by.Now()
	now.Pos++
	return now
}

// seeChains notes that a strand has seen an operation behind what fences have put before it.
func (p *pe) seeChains(by *core.Strand, chains []chained) {
	at := behind(by)
	for _, c := range chains {
		c.see(by, p.m.Index(), at)
	}
}

// await orders the PE after the writes that met the conditions of a call, each of which
// is of one place.
func (p *pe) await(c *call, list []awaited) {
	problem := core.Problem{
		Kind: core.NotUnderstood, Rank: p.Rank, Fn: c.Fn.Name, Call: p.Info(c.Call), MayOrder: true,
		Text: "which update it saw cannot be told from the values",
	}
	unsure := func() { p.m.Report(problem) }
	var all []core.Fetched
	for _, w := range list {
		at, _, ok := p.at(w.addr, p.Rank)
		switch {
		case !ok:
			p.notSymmetric(c, argIvar, w.addr)
			return
		case !w.valid():
			c.SetBad()
			return
		}
		k := at.word(w.bytes)
		met := unsure
		if w.more() {
			met = nil
		}
		there := p.Look(k, c.Begin, met)
		if there == nil { // values are ignored
			continue
		}
		all = append(all, core.Fetched{Op: there, Bits: lowest(w.before, w.bytes), Before: c.Begin})
		if w.more() {
			all = append(all, core.Fetched{Op: p.Expect(k, c.Begin, w.enough, there, unsure)})
		}
	}
	p.Fetch(c.Call, all, c.End)
}
