package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Plain stores of a process to words in its own memory, where its model says that they
// count (SeeStores): each leaves a value that is not known.

// longestWord bounds the bytes of a word.
const longestWord = 32

// SeeStores says that a store of its owner leaves an unknown value in a word.
func (m *Machine) SeeStores() { m.words.stores = true }

// ownWords finds the words of all processes anew.
func (m *Machine) ownWords() {
	m.words.fewer = false
	if !m.words.stores {
		return
	}
	for _, p := range m.processes {
		p.words = p.words[:0]
	}
	for k := range m.words.all {
		p := m.processes[k.Owner]
		p.words = append(p.words, k)
	}
	for _, p := range m.processes {
		slices.SortFunc(p.words, func(a, b WordKey) int { return cmp.Compare(a.Addr, b.Addr) })
	}
}

// seesStores reports whether the process has words to which stores are noticed.
func (p *Process) seesStores() bool { return len(p.words) > 0 || len(p.remembered.all) > 0 }

// overwrites notices stores of the strand to words of its process.
func (s *Strand) overwrites(st *trace.Stretch) {
	stored := func(k WordKey) bool {
		return slices.ContainsFunc(st.Rows, func(r trace.Rows) bool { return stores(&r, k.Addr, k.Addr+k.Bytes) })
	}
	s.m.wordsIn(disturbance{s.Rank, st.Lo, st.Hi}, func(w *word) {
		if !stored(w.key) {
			return
		}
		began := int64(0)
		if s.call.Call != nil { // a thread may begin with stores
			began = s.call.End
		}
		op := s.Overwrite(w.key, began)
		op.Complete(s.Now())
		op.done = math.MaxInt64 // when it was is not known
	}, func(k WordKey) {
		if stored(k) {
			s.m.words.held.recall(k)
		}
	})
}

// stores reports whether some of several stores are to memory [lo, hi).
func stores(r *trace.Rows, lo, hi uint64) bool {
	first, last := r.Addr, r.Access(int(r.N)-1).Addr
	if !r.Store || hi <= min(first, last) || lo >= max(first, last)+r.Span() {
		return false
	}
	for k := range int(r.N) {
		a := r.Access(k)
		for i := range a.Count {
			if at := a.Addr + i*uint64(a.Stride); at < hi && lo < at+uint64(a.Size) {
				return true
			}
		}
	}
	return false
}
