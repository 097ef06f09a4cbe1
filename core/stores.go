package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// What writes to words and is no operation on them: plain stores of the process whose
// memory they are in, of which each leaves a value that is not known, and writes of calls.

// longestWord bounds the bytes of a word, pageBits has how many of the lower bits of an
// address tell words of a page apart.
const longestWord, pageBits = 32, 12

// places are where the words of a process are of which something is known, and perhaps some
// others.
type places struct {
	pages  map[uint64][]WordKey // by the page that they begin in, in the order in which they came
	lo, hi uint64               // all lie in it
	n      int
	most   int // n at which those are left out of which nothing is known
}

// add adds a word.
func (x *places) add(m *Machine, k WordKey) {
	const few = 64
	page := k.Addr >> pageBits
	if slices.Contains(x.pages[page], k) {
		return
	}
	if x.pages == nil {
		*x = places{pages: map[uint64][]WordKey{}, lo: k.Addr, most: few}
	}
	if x.n >= x.most {
		*x = places{pages: x.known(m), lo: x.lo, hi: x.hi}
		for _, all := range x.pages {
			x.n += len(all)
		}
		x.most = 2*x.n + few
	}
	x.pages[page] = append(x.pages[page], k)
	x.n++
	x.lo, x.hi = min(x.lo, k.Addr), max(x.hi, k.Addr+k.Bytes)
}

// known returns the words of which something is known.
func (x *places) known(m *Machine) map[uint64][]WordKey {
	pages := map[uint64][]WordKey{}
	for page, all := range x.pages {
		all = slices.DeleteFunc(all, func(k WordKey) bool {
			return m.words.all[k] == nil && !m.words.held.has(k) && !m.processes[k.Owner].hidden.awaited[k]
		})
		if len(all) > 0 {
			pages[page] = all
		}
	}
	return pages
}

func byAddress(a, b WordKey) int {
	return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Bytes, b.Bytes))
}

// meets reports whether some words may lie in [lo, hi), at least in part.
func (x *places) meets(lo, hi uint64) bool { return lo < x.hi && x.lo < hi }

// in returns the words that lie in [lo, hi), at least in part; in no order.
func (x *places) in(lo, hi uint64) []WordKey {
	if !x.meets(lo, hi) {
		return nil
	}
	var found []WordKey
	look := func(all []WordKey) {
		for _, k := range all {
			if k.Addr < hi && lo < k.Addr+k.Bytes {
				found = append(found, k)
			}
		}
	}
	if first, last := (max(lo, longestWord)-longestWord)>>pageBits, (hi-1)>>pageBits; last-first < uint64(len(x.pages)) {
		for page := first; page <= last; page++ {
			look(x.pages[page])
		}
	} else {
		for _, all := range x.pages {
			look(all)
		}
	}
	return found
}

// writing is where the present call writes to words, and where it does so by operations on
// them.
type writing struct {
	to, by []memoryOf
	hidden []hiddenWrite
}

// memoryOf is some memory of a process.
type memoryOf struct {
	owner  int32
	lo, hi uint64
}

func bytesOf(k WordKey) memoryOf { return memoryOf{k.Owner, k.Addr, k.Addr + k.Bytes} }

// writes notes an access of the present call.
func (s *Strand) writes(a *regions.Access, owner int32) {
	if a.Kind != regions.Write && a.Kind != regions.AtomicWrite {
		return
	}
	w, p := &s.m.writing, s.m.processes[owner]
	lo, hi := a.Layout.Bounds(a.Base)
	if p.words.meets(lo, hi) {
		w.to = append(w.to, memoryOf{owner, lo, hi})
	}
	p.hidden.meets(p, lo, hi, func(k WordKey, x memoryOf) {
		if a.Layout.Meets(a.Base, intervals.Solid(x.lo, x.hi)) {
			w.hidden = append(w.hidden, hiddenWrite{word: k, to: x, at: s.Now()})
		}
	})
}

// wrote forgets what words hold to which the call before has written otherwise than by
// operations on them.
func (m *Machine) wrote() {
	for _, x := range m.writing.to {
		if !x.madeOf(m.writing.by) {
			m.disturb(x)
		}
	}
	for _, x := range m.writing.hidden {
		if !slices.Contains(m.writing.by, x.to) {
			m.processes[x.to.owner].hidden.note(m, x.word, x.at, x.op)
		}
	}
	m.writing.to, m.writing.by, m.writing.hidden = m.writing.to[:0], m.writing.by[:0], m.writing.hidden[:0]
}

// madeOf reports whether some memory is nothing but these words, of which none meets another.
func (x memoryOf) madeOf(words []memoryOf) bool {
	size := uint64(0)
	for _, w := range words {
		if w.owner == x.owner && w.lo >= x.lo && w.hi <= x.hi {
			size += w.hi - w.lo
		}
	}
	return size >= x.hi-x.lo
}

// disturb forgets what the words in some memory hold.
func (m *Machine) disturb(x memoryOf) {
	for _, k := range m.processes[x.owner].words.in(x.lo, x.hi) {
		if w := m.words.all[k]; w != nil {
			w.disturb()
		}
		m.words.held.recall(k)
	}
}

// disturb notes that it is not known what the word holds.
func (w *word) disturb() {
	w.disturbed = true
	if first := w.versions[0]; first.number == 0 && first == w.last() {
		w.presumed = 0
		w.hold(first, Value{})
	}
}

// overwrites notices stores of the strand to words of its process.
func (s *Strand) overwrites(st *trace.Stretch) {
	for _, k := range s.stored(st) {
		if s.team != nil { // else whoever waits has made the store itself
			s.hidden.meets(s.Process, k.Addr, k.Addr+k.Bytes, func(k WordKey, _ memoryOf) { s.hidden.note(s.m, k, s.Now(), nil) })
		}
		w := s.m.words.all[k]
		if w == nil {
			if !s.m.words.held.has(k) { // nobody has read it yet
				continue
			}
			w = s.m.word(k) // others may wait for what comes behind the store
		}
		w.forgetStores(s)
		s.store(w, s.Now(), s.callEnded)
	}
}

// store notes a store of the strand to a word, at a moment behind a call that was over at a time, ns.
func (s *Strand) store(w *word, at regions.Point, began int64) {
	w.stored = true
	op := s.visit(w, nil, began, blur, false)
	op.Complete(at)
	op.done = math.MaxInt64 // when it was is not known
}

// blur is the Update of what leaves an unknown value.
func blur(Value) (Value, bool) { return Value{}, true }

const (
	mostRecent  = 16 // that are kept
	recentRows  = 4  // of the last ones of a stretch
	recentBytes = 32 // of the longest
)

// recentStores are the last short stores of a strand: to a word of its own that nobody has read yet, as when
// it puts itself into the queue of a lock.
type recentStores struct {
	stores [mostRecent]recentStore
	n      int
}

type recentStore struct {
	lo, hi uint64
	at     Moment
	began  int64
}

// note notes the stores of a stretch.
func (x *recentStores) note(s *Strand, st *trace.Stretch) {
	rows := st.Rows[max(0, len(st.Rows)-recentRows):]
	for i := range rows {
		r := &rows[i]
		if lo, hi := r.Bounds(); r.Store && hi-lo <= recentBytes && !s.told(r.Atomic) {
			x.stores[x.n%mostRecent] = recentStore{lo, hi, s.Moment(), s.callEnded}
			x.n++
		}
	}
}

// storedBefore notes the last stores of the process to a word that somebody comes to now.
func (p *Process) storedBefore(w *word) {
	p.first.storedBefore(w)
	if p.team != nil {
		for _, s := range p.team.others {
			s.storedBefore(w)
		}
	}
}

func (s *Strand) storedBefore(w *word) {
	x, lo, hi := &s.recent, w.key.Addr, w.key.Addr+w.key.Bytes
	for i := x.n - 1; i >= max(0, x.n-mostRecent); i-- {
		st := &x.stores[i%mostRecent]
		if st.at.Region == s.m.index && st.at.At.Line == s.line && st.lo < hi && lo < st.hi {
			at := st.at.At
			if s.m.IsPast(st.at) { // all know of it
				at = regions.BeforeRegion(s.Rank)
			}
			s.store(w, at, st.began)
			return
		}
	}
}

// stored returns the words of its process that the strand stores to; by address. Words may be
// many where each stretch has few stores: these are what is looked up.
func (s *Strand) stored(st *trace.Stretch) []WordKey {
	if !s.words.meets(st.Lo, st.Hi) {
		return nil
	}
	var found []WordKey
	for i := range st.Rows {
		r := &st.Rows[i]
		if !r.Store || s.told(r.Atomic) {
			continue
		}
		for _, k := range s.words.in(r.Bounds()) {
			if stores(r, k.Addr, k.Addr+k.Bytes) {
				found = append(found, k)
			}
		}
	}
	if len(found) > 1 {
		slices.SortFunc(found, byAddress)
		found = slices.Compact(found)
	}
	return found
}

// forgetStores takes the strand's stores off a word that nobody has come to since: another
// one is to follow.
func (w *word) forgetStores(s *Strand) {
	if len(w.versions) > 1 || w.blocked.n > 0 || len(w.visitors) != 1 || w.visitors[0].strand != s {
		return
	}
	w.visitors[0].drop(func(op *WordOp) bool { return op.issued == nil })
}

// stores reports whether some of several stores are to memory [lo, hi).
func stores(r *trace.Rows, lo, hi uint64) bool {
	if !r.Store {
		return false
	}
	from, to := r.Within(lo, hi)
	for k := from; k < to; k++ {
		a := r.Access(k)
		first := uint64(0) // of the elements, that ends behind lo
		if end := a.Addr + uint64(a.Size); lo >= end && a.Stride != 0 {
			first = (lo-end)/uint64(a.Stride) + 1
		}
		if at := a.Addr + first*uint64(a.Stride); first < a.Count && at < hi && lo < at+uint64(a.Size) {
			return true
		}
	}
	return false
}

// TellsAtomics says that atomic stores of the language in the strand's process are told by
// Atomic from now on.
func (s *Strand) TellsAtomics() { s.atomics = true }

// told reports whether a load or store is one of an operation that Atomic tells of.
func (s *Strand) told(atomic bool) bool { return atomic && s.atomics }

// NewMemory says that memory [lo, hi) of the strand's process is used for something else from
// now on, and that it may have been written to unseen: nothing is known of words there.
func (s *Strand) NewMemory(lo, hi uint64) {
	s.m.disturb(memoryOf{s.Rank, lo, hi})
	for _, k := range s.words.in(lo, hi) {
		if w := s.m.words.all[k]; w != nil && w.blocked.n == 0 {
			delete(s.m.words.all, k)
		}
	}
}

// blind reports whether something may write to memory of a process that is not recorded.
func (m *Machine) blind(rank int32) bool {
	if len(m.absent) > 0 {
		return true
	}
	x, ok := m.processes[rank].stream.(informed)
	return ok && slices.ContainsFunc(x.Info("tracer.mode"), func(mode string) bool { return mode == "preload" || mode == "none" })
}

// informed is a Stream that tells of its process, in docs/trace-format.md's terms.
type informed interface{ Info(key string) []string }

// missed notes that something was not recorded of what the strand did.
func (s *Strand) missed(calls bool) {
	for _, p := range s.m.processes {
		if calls || p == s.Process {
			s.m.disturb(memoryOf{p.Rank, 0, math.MaxUint64})
		}
	}
}
