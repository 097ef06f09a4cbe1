package mpi

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// Fetched says from which places of windows atomic operations of a run may fetch what others have
// left. An update that nobody can fetch orders nothing, however often it is made: sums
// that are gathered by MPI_Accumulate, to be read after a synchronization, are such.
type Fetched struct {
	all  bool
	wins map[int64]*fetchedFrom
}

// fetchedFrom is where operations may fetch in one window.
type fetchedFrom struct {
	whole  bool // anywhere
	places map[fetchedAt]bool
}

// fetchedAt is a place of a window, as operations name it.
type fetchedAt struct{ rank, disp int64 }

// mostFetchedAt is how many places of a window are told apart.
const mostFetchedAt = 1 << 14

// add adds what others may fetch in the window, and reports whether that was not known.
func (x *fetchedFrom) add(whole bool, places map[fetchedAt]bool) bool {
	if x.whole {
		return false
	}
	n := len(x.places)
	for at := range places {
		x.places[at] = true
	}
	if x.whole = whole || len(x.places) > mostFetchedAt; x.whole {
		x.places = nil
		return true
	}
	return len(x.places) > n
}

// of returns where operations may fetch in a window, to be added to.
func (f *Fetched) of(win int64) *fetchedFrom {
	x := f.wins[win]
	if x == nil {
		x = &fetchedFrom{places: map[fetchedAt]bool{}}
		f.wins[win] = x
	}
	return x
}

// pieceBytes is how large the pieces of memory are of which words count as fetched together.
const pieceBytes = 256

// piecesOf returns the pieces that some bytes lie in, the first and the last.
func piecesOf(addr, size uint64) (first, last uint64) {
	return addr / pieceBytes, (addr + max(size, 1) - 1) / pieceBytes
}

// fetchesAny reports whether operations may fetch any of some words that lie one behind the other in a
// member's part of a window.
func (m *Model) fetchesAny(w *window, member int32, first core.WordKey, n int) bool {
	for i := range n {
		if m.fetches(w, member, nth(first, i)) {
			return true
		}
	}
	return false
}

// fetches reports whether operations may fetch any of a word that lies in a member's part of a window.
func (m *Model) fetches(w *window, member int32, k core.WordKey) bool {
	if m.whose != nil {
		m.fetched, m.whose = m.whose(), nil
	}
	if m.fetched == nil || m.fetched.all || k.Owner != w.members[member] {
		return true
	}
	x := m.fetched.wins[w.ID]
	if x == nil || x.whole {
		return x != nil
	}
	if w.fetched == nil {
		w.fetched = x.pieces(w)
	}
	first, last := piecesOf(k.Addr, k.Bytes)
	return w.fetched[fetchedPiece{member, first}] || w.fetched[fetchedPiece{member, last}]
}

// fetchedPiece is a piece of the memory of a window's member.
type fetchedPiece struct {
	member int32
	number uint64
}

// pieces returns the pieces of memory that places of a window lie in.
func (x *fetchedFrom) pieces(w *window) map[fetchedPiece]bool {
	all := map[fetchedPiece]bool{}
	for at := range x.places {
		if i := w.target(at.rank); i >= 0 && w.known[i] {
			first, last := piecesOf(w.base[i]+w.unit[i]*uint64(at.disp), mostValueBytes)
			all[fetchedPiece{i, first}], all[fetchedPiece{i, last}] = true, true
		}
	}
	return all
}

// FetchScan finds out of the calls of one process from which places of windows it fetches.
type FetchScan struct {
	Fetched
	fetches  bool // it does, somewhere
	unplaced bool // it has windows of which it is not known here where they lie
	made     []memoryOf
	atomics  map[uint64]bool // pages on which there are atomic operations of the language
	fns      map[*trace.Fn]scanned
}

// memoryOf is the memory of the process that a window exposes.
type memoryOf struct {
	win    int64
	lo, hi uint64
}

// meets reports whether some of it lies on one of the pages.
func (x memoryOf) meets(pages map[uint64]bool) bool {
	for page := range pages {
		if x.lo < (page+1)*pageBytes && x.hi > page*pageBytes {
			return true
		}
	}
	return false
}

const noArg = -1

// scanned is what a function is to a scan, with the places of its arguments; noArg: none.
type scanned struct {
	kind                                scanKind
	win, number, base, size, rank, disp int // base: or the address of an atomic operation
}

// pageBytes is how large pages of FetchScan.atomics are, and mostPages how many are told apart.
const pageBytes, mostPages = 4096, 1 << 12

type scanKind uint8

const (
	scanNothing  scanKind = iota
	scanFetch             // may fetch a word
	scanMake              // makes a window
	scanAtomic            // an atomic operation of the language
	scanUnplaced          // makes or fills a window, of which it is not known here where it lies
	scanAnywhere          // may fetch from any memory
)

// NewFetchScan returns a scan that has seen no call yet.
func NewFetchScan() *FetchScan {
	return &FetchScan{Fetched: Fetched{wins: map[int64]*fetchedFrom{}}, atomics: map[uint64]bool{}, fns: map[*trace.Fn]scanned{}}
}

// Done reports whether further calls cannot change anything.
func (s *FetchScan) Done() bool { return s.all }

// Call takes the next call of the process.
func (s *FetchScan) Call(c *trace.Call) {
	f, known := s.fns[c.Fn]
	if !known {
		f = scannedOf(c.Fn)
		s.fns[c.Fn] = f
	}
	switch f.kind {
	case scanFetch:
		if c.Args[f.number].Int == 0 {
			break
		}
		x := s.of(c.Args[f.win].Int)
		s.fetches = true
		if f.rank < 0 || f.disp < 0 {
			x.add(true, nil)
		} else if !x.whole {
			x.places[fetchedAt{c.Args[f.rank].Int, c.Args[f.disp].Int}] = true
			x.add(false, nil)
		}
	case scanMake:
		if id := c.Args[f.win].Int; id != 0 {
			lo := uint64(c.Args[f.base].Int)
			s.made = append(s.made, memoryOf{id, lo, lo + uint64(c.Args[f.size].Int)})
		}
	case scanAtomic:
		addr := uint64(c.Args[f.base].Int)
		s.atomics[addr/pageBytes], s.atomics[(addr+7)/pageBytes] = true, true
		s.fetches = true
		s.all = s.all || len(s.atomics) > mostPages
	case scanUnplaced:
		s.unplaced = true
	case scanAnywhere:
		s.all = true
	}
}

// scannedOf says what a function is to a scan. Of windows that are made or filled in another
// way than by MPI_Win_create and MPI_Win_allocate, it is not known here where they lie, and so
// it is of what other models do.
func scannedOf(fn *trace.Fn) scanned {
	f := scanned{win: fn.Arg("win"), number: fn.Arg("number"), base: max(fn.Arg("base"), fn.Arg("baseptr")), size: fn.Arg("size")}
	r := table[fn.Name]
	switch {
	case fn.Name == trace.AtomicNote:
		f.kind, f.base = scanAtomic, fn.Arg("addr")
	case r == nil && !trace.IsNote(fn.Name):
		f.kind = scanAnywhere
	case r == nil:
	case fn.Name == "MPI_Win_allocate_shared", fn.Name == "MPI_Win_shared_query", fn.Name == "MPI_Win_create_dynamic", fn.Name == "MPI_Win_attach":
		f.kind = scanUnplaced
	case r.op != (operationRole{}) && f.win >= 0 && f.number >= 0 && fn.Arg("result_addr") >= 0:
		f.kind, f.rank, f.disp = scanFetch, noArg, noArg
		if r.op.role == SwapTarget || fn.Arg("result_count") < 0 { // of one element, of a predefined datatype
			f.rank, f.disp = fn.Arg("target_rank"), fn.Arg("target_disp")
		}
	case fn.Arg("comm") >= 0 && f.win >= 0 && f.base >= 0 && f.size >= 0:
		f.kind = scanMake
	}
	return f
}

// FetchedBy returns what the scans of all processes have found together: what is fetched in
// one window may have been left through another one with memory in common, of which both count whole.
func FetchedBy(scans []*FetchScan) *Fetched {
	f := &Fetched{wins: map[int64]*fetchedFrom{}}
	fetches, unplaced := false, false
	for _, s := range scans {
		f.all, fetches, unplaced = f.all || s.all, fetches || s.fetches, unplaced || s.unplaced
		for win, x := range s.wins {
			f.of(win).add(x.whole, x.places)
		}
		for _, x := range s.made {
			if x.meets(s.atomics) {
				f.of(x.win).add(true, nil)
			}
		}
		slices.SortFunc(s.made, func(a, b memoryOf) int { return cmp.Compare(a.lo, b.lo) })
	}
	f.all = f.all || fetches && unplaced
	for more := true; more; {
		more = false
		for _, s := range scans {
			more = f.spread(s.made) || more
		}
	}
	return f
}

// spread adds the windows that share memory with one in which is fetched. made is sorted by
// where memory begins. It reports whether there were any.
func (f *Fetched) spread(made []memoryOf) (more bool) {
	for len(made) > 0 {
		n, hi, fetched := 0, made[0].hi, false
		for n < len(made) && (n == 0 || made[n].lo < hi) {
			hi, fetched = max(hi, made[n].hi), fetched || f.wins[made[n].win] != nil
			n++
		}
		if fetched && n > 1 {
			for _, x := range made[:n] {
				more = f.of(x.win).add(true, nil) || more
			}
		}
		made = made[n:]
	}
	return more
}
