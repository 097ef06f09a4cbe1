package core

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// What words hold that no strand is at work on. A word is forgotten with its region, or
// where nothing is done to it for a while; what it holds then is remembered, where its
// updates decide that, until something else writes there: so that the next operation on
// it does not take for the beginning of a word what is none.

// mostRemembered bounds the words of which it is remembered what they hold: the last ones,
// and at most as many before them. mostCarried bounds the updates that are kept, as long as
// their order is open, of words of which it depends on that.
const mostRemembered, mostCarried = 1 << 15, 1 << 10

// held is what a word holds; presumed: if it held at first what most do.
type held struct {
	bits     int64
	presumed bool
}

// remembered is what words hold.
type remembered struct {
	last, before map[WordKey]held
	lost         bool // of some that is not known any more
}

// remember notes what a word holds that is forgotten.
func (m *Machine) remember(k WordKey, h held) {
	r := &m.words.held
	if len(r.last) >= mostRemembered {
		r.lost = r.lost || len(r.before) > 0
		r.before, r.last = r.last, nil
	}
	if r.last == nil {
		r.last = map[WordKey]held{}
	}
	r.last[k] = h
	m.processes[k.Owner].remembers(k)
}

// recall gives back what a word holds, of which something is known again from now on.
func (r *remembered) recall(k WordKey) (held, bool) {
	h, ok := r.last[k]
	if ok {
		delete(r.last, k)
		return h, true
	}
	h, ok = r.before[k]
	delete(r.before, k)
	return h, ok
}

// has reports whether it is remembered what a word holds.
func (r *remembered) has(k WordKey) bool {
	_, last := r.last[k]
	_, before := r.before[k]
	return last || before
}

// places are where the words of a process are of which it is remembered what they hold, and
// perhaps some others; by address, but for those that came last.
type places struct {
	all    []WordKey
	sorted int
}

func byAddress(a, b WordKey) int {
	return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Bytes, b.Bytes))
}

// remembers adds a word.
func (p *Process) remembers(k WordKey) {
	x := &p.remembered
	if _, found := slices.BinarySearchFunc(x.all[:x.sorted], k, byAddress); found {
		return
	}
	const few = 64
	if x.all = append(x.all, k); len(x.all) > 2*x.sorted+few {
		p.sortRemembered()
	}
}

// sortRemembered puts all in order, and leaves out what is not remembered any more.
func (p *Process) sortRemembered() {
	x := &p.remembered
	x.all = slices.DeleteFunc(x.all, func(k WordKey) bool { return !p.m.words.held.has(k) })
	slices.SortFunc(x.all, byAddress)
	x.all = slices.Compact(x.all)
	x.sorted = len(x.all)
}

// rememberedIn visits the words of a process that lie in [lo, hi), at least in part, and
// of which it is remembered what they hold.
func (m *Machine) rememberedIn(p *Process, lo, hi uint64, visit func(WordKey)) {
	x := &p.remembered
	if x.sorted < len(x.all) {
		p.sortRemembered()
	}
	i, _ := slices.BinarySearchFunc(x.all, lo, func(k WordKey, lo uint64) int { return cmp.Compare(k.Addr+longestWord, lo+1) })
	for ; i < len(x.all) && x.all[i].Addr < hi; i++ {
		if k := x.all[i]; k.Addr+k.Bytes > lo && m.words.held.has(k) {
			visit(k)
		}
	}
}

// left returns what the word holds when all that was issued has taken effect, if that is
// known; open: it depends on the order of updates.
func (w *word) left() (h held, known, open bool) {
	v := w.last().value
	if !v.Known && w.last().number == 0 && !w.lost {
		v, h.presumed = w.initial(false), true
	}
	var lanes [][]*WordOp
	for _, x := range w.visitors {
		if len(x.queue) > 0 {
			lanes = append(lanes, x.queue)
		}
	}
	all := slices.Concat(lanes...)
	if len(lanes) > 1 && (all[0].group == "" || slices.ContainsFunc(all, func(op *WordOp) bool { return op.group != all[0].group })) {
		return h, false, true
	}
	for _, op := range all {
		if len(lanes) == 1 && op.found.Known {
			v, h.presumed = op.found, false
		}
		fixed, _ := op.update(Value{})
		if v, _ = op.update(v); fixed.Known {
			h.presumed = false
		}
	}
	h.bits = v.Bits
	return h, v.Known, false
}

// leave remembers what the word holds, which is forgotten: unless something wrote to it
// beside the operations on it, or will yet. It reports whether the order of its updates
// matters for that, and is open.
func (w *word) leave() (open bool) {
	for _, v := range w.visitors {
		if slices.ContainsFunc(v.queue, func(op *WordOp) bool { return !op.complete }) {
			return false
		}
	}
	if !w.m.words.stores || w.disturbed {
		return false
	}
	h, known, open := w.left()
	if known {
		w.m.remember(w.key, h)
	}
	return open
}

// Commutes says that updates of a word of the same group leave the same in whatever order
// they take effect.
func (op *WordOp) Commutes(group string) {
	if op != nil {
		op.group = group
	}
}

// disturbance is memory that the present call writes to, which is no operation on a word as
// far as is known yet.
type disturbance struct {
	owner  int32
	lo, hi uint64
}

// disturbs notes that an access of the present call may write. Where it turns out to be an
// operation on a word, that says more.
func (m *Machine) disturbs(a *regions.Access, owner int32) {
	if a.Kind != regions.Write && a.Kind != regions.AtomicWrite || !m.processes[owner].seesStores() {
		return
	}
	lo, hi := a.Layout.Bounds(a.Base)
	m.disturbing = append(m.disturbing, disturbance{owner, lo, hi})
}

// disturbed forgets what words hold to which something else has written than operations
// on them.
func (m *Machine) disturbed() {
	for _, x := range m.disturbing {
		m.wordsIn(x, (*word).disturb, func(k WordKey) { m.words.held.recall(k) })
	}
	m.disturbing = m.disturbing[:0]
}

// disturb notes that it is not known what the word holds.
func (w *word) disturb() {
	w.disturbed = true
	if first := w.versions[0]; first.number == 0 && first == w.last() {
		first.value, w.presumed = Value{}, 0
	}
}

// wordsIn visits the words in memory of which something is known, and those of which it is
// remembered what they hold.
func (m *Machine) wordsIn(x disturbance, now func(*word), before func(WordKey)) {
	p := m.processes[x.owner]
	i, _ := slices.BinarySearchFunc(p.words, x.lo, func(k WordKey, lo uint64) int { return cmp.Compare(k.Addr+longestWord, lo+1) })
	for ; i < len(p.words) && p.words[i].Addr < x.hi; i++ {
		if k := p.words[i]; k.Addr+k.Bytes > x.lo {
			now(m.words.all[k])
		}
	}
	m.rememberedIn(p, x.lo, x.hi, before)
}
