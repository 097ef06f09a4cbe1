package mpi

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Fetched says in which windows of a run atomic operations may fetch what others have
// left. An update that nobody can fetch orders nothing, however often it is made: sums
// that are gathered by MPI_Accumulate, to be read after a synchronization, are such.
type Fetched struct {
	all  bool
	wins map[int64]bool
}

// in reports whether operations may fetch words of a window; of a nil Fetched that is not
// known, and so it is possible.
func (f *Fetched) in(win int64) bool { return f == nil || f.all || f.wins[win] }

// FetchScan finds out of the calls of one process in which windows it fetches.
type FetchScan struct {
	Fetched
	made    []memoryOf
	atomics map[uint64]bool // pages on which there are atomic operations of the language
	fns     map[*trace.Fn]scanned
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

// scanned is what a function is to a scan, with the places of its arguments; noArg: none.
type scanned struct {
	kind                    scanKind
	win, number, base, size int // base: or the address of an atomic operation
}

// pageBytes is how large pages of FetchScan.atomics are, and mostPages how many are told apart.
const pageBytes, mostPages = 4096, 1 << 12

type scanKind uint8

const (
	scanNothing  scanKind = iota
	scanFetch             // may fetch a word
	scanMake              // makes a window
	scanAtomic            // an atomic operation of the language
	scanAnywhere          // may fetch from any memory
)

// NewFetchScan returns a scan that has seen no call yet.
func NewFetchScan() *FetchScan {
	return &FetchScan{Fetched: Fetched{wins: map[int64]bool{}}, atomics: map[uint64]bool{}, fns: map[*trace.Fn]scanned{}}
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
		if c.Args[f.number].Int != 0 {
			s.wins[c.Args[f.win].Int] = true
		}
	case scanMake:
		if id := c.Args[f.win].Int; id != 0 {
			lo := uint64(c.Args[f.base].Int)
			s.made = append(s.made, memoryOf{id, lo, lo + uint64(c.Args[f.size].Int)})
		}
	case scanAtomic:
		addr := uint64(c.Args[f.base].Int)
		s.atomics[addr/pageBytes], s.atomics[(addr+7)/pageBytes] = true, true
		s.all = s.all || len(s.atomics) > mostPages
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
		f.kind = scanAnywhere
	case r.op != (operationRole{}) && f.win >= 0 && f.number >= 0 && fn.Arg("result_addr") >= 0:
		f.kind = scanFetch
	case fn.Arg("comm") >= 0 && f.win >= 0 && f.base >= 0 && f.size >= 0:
		f.kind = scanMake
	}
	return f
}

// FetchedBy returns what the scans of all processes have found together: what is fetched in
// one window may have been left through another one with memory in common.
func FetchedBy(scans []*FetchScan) *Fetched {
	f := &Fetched{wins: map[int64]bool{}}
	for _, s := range scans {
		f.all = f.all || s.all
		maps.Copy(f.wins, s.wins)
		for _, x := range s.made {
			if x.meets(s.atomics) {
				f.wins[x.win] = true
			}
		}
		slices.SortFunc(s.made, func(a, b memoryOf) int { return cmp.Compare(a.lo, b.lo) })
	}
	for n := -1; n != len(f.wins); {
		n = len(f.wins)
		for _, s := range scans {
			f.spread(s.made)
		}
	}
	return f
}

// spread adds the windows that share memory with one in which is fetched. made is sorted by
// where memory begins.
func (f *Fetched) spread(made []memoryOf) {
	for len(made) > 0 {
		n, hi, fetched := 0, made[0].hi, false
		for n < len(made) && (n == 0 || made[n].lo < hi) {
			hi, fetched = max(hi, made[n].hi), fetched || f.wins[made[n].win]
			n++
		}
		if fetched {
			for _, x := range made[:n] {
				f.wins[x.win] = true
			}
		}
		made = made[n:]
	}
}
