package shmem

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Fetched says which places of symmetric memory PEs may fetch from, or wait for. An update
// that nobody can see orders nothing, however often it is made: histograms and lists that
// are filled by puts of single elements, to be read after a barrier, are such.
type Fetched struct {
	all    bool
	places map[spot]bool
	waited []map[waited]bool // of each PE, for what in its own memory it waits; nil: that is not known
}

// waited is what a PE waits for.
type waited struct{ addr, bytes uint64 }

// spot is a piece of a block: so many places in a row count as one.
type spot struct {
	blockKey
	piece uint64
}

// spotBytes is how large pieces are, and mostSpots how many are told apart.
// mostWaits bounds what a PE waits for.
const spotBytes, mostSpots, mostWaits = 256, 1 << 18, 1 << 16

// in reports whether somebody may fetch any of so many bytes at a place; of a nil Fetched
// that is not known, and so it is possible.
func (f *Fetched) in(at place, bytes uint64) bool {
	if f == nil || f.all {
		return true
	}
	for piece := at.offset / spotBytes; piece <= (at.offset+max(bytes, 1)-1)/spotBytes; piece++ {
		if f.places[spot{at.block.key, piece}] {
			return true
		}
	}
	return false
}

// FetchScan finds out of the calls of one PE what it fetches, or waits for.
type FetchScan struct {
	Fetched
	blocks []scannedBlock // by address
	made   int            // blocks of the symmetric heap so far
	shown  bool           // shmem_ptr has returned memory of another PE
	own    bool           // the PE has called functions of OpenSHMEM
	waits  map[waited]bool
	fns    map[*trace.Fn]scanned
}

// scannedBlock is where a block lies in the memory of the PE.
type scannedBlock struct {
	lo, hi uint64
	key    blockKey
}

// scanned is what a function is to a scan, with the places of its arguments; noArg: none.
type scanned struct {
	kind                                                    scanKind
	own                                                     bool // it is one of OpenSHMEM
	addr, size, count, number, result, module, offset, base int
}

type scanKind uint8

const (
	scanNothing  scanKind = iota
	scanFetch             // may fetch words
	scanWait              // waits for some
	scanData              // tells where static data lies
	scanMake              // makes a block
	scanChange            // makes a block of another one
	scanFree              // gives a block up
	scanShow              // returns memory of another PE
	scanAtomic            // an atomic operation of the language
	scanAnywhere          // may fetch from any memory
)

const noArg = -1

// NewFetchScan returns a scan that has seen no call yet.
func NewFetchScan() *FetchScan {
	return &FetchScan{Fetched: Fetched{places: map[spot]bool{}}, waits: map[waited]bool{}, fns: map[*trace.Fn]scanned{}}
}

// Done reports whether further calls cannot change anything, or are too many: of a program
// that is not one of OpenSHMEM so far it is enough that it may fetch anywhere.
func (s *FetchScan) Done() bool { return s.all && (!s.own || len(s.waits) > mostWaits) }

// Call takes the next call of the PE.
func (s *FetchScan) Call(c *trace.Call) {
	f, known := s.fns[c.Fn]
	if !known {
		f = scannedOf(c.Fn)
		s.fns[c.Fn] = f
	}
	s.own = s.own || f.own
	value := func(arg int) uint64 {
		if arg == noArg {
			return 0
		}
		return uint64(c.Args[arg].Int)
	}
	switch f.kind {
	case scanFetch, scanWait:
		bytes, n := uint64(8), uint64(1) // of a signal
		if f.size != noArg {
			bytes = value(f.size)
		}
		if f.number != noArg {
			n = value(f.number)
		}
		s.fetches(value(f.addr), n*bytes)
		if f.kind == scanWait {
			for i := uint64(0); i < n && len(s.waits) <= mostWaits; i++ {
				s.waits[waited{value(f.addr) + i*bytes, bytes}] = true
			}
		}
	case scanData:
		s.add(value(f.base), value(f.size), blockKey{data: dataKey{int64(value(f.module)), int64(value(f.offset))}})
	case scanMake:
		size := value(f.size)
		if f.count != noArg {
			size *= value(f.count)
		}
		s.make(size, value(f.result))
	case scanChange:
		old, size, base := value(f.addr), value(f.size), value(f.result)
		if old != 0 && size != 0 && base == 0 {
			return
		}
		s.remove(old)
		s.make(size, base)
	case scanFree:
		s.remove(value(f.addr))
	case scanShow:
		s.shown = s.shown || value(f.result) != 0
	case scanAtomic:
		if addr := value(f.addr); s.block(addr) != nil || !s.shown {
			s.fetches(addr, value(f.size))
			return
		}
		s.all = true
	case scanAnywhere:
		s.all = true
	}
}

// make notes that a block was made; base is 0 where that failed.
func (s *FetchScan) make(size, base uint64) {
	if size == 0 {
		return
	}
	key := blockKey{heap: s.made + 1}
	if s.made++; base != 0 {
		s.add(base, size, key)
	}
}

func (s *FetchScan) add(lo, size uint64, key blockKey) {
	if size > 0 {
		i, _ := s.search(lo)
		s.blocks = slices.Insert(s.blocks, i, scannedBlock{lo, lo + size, key})
	}
}

func (s *FetchScan) remove(lo uint64) {
	if b := s.block(lo); b != nil {
		i, _ := s.search(b.lo)
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// search returns the place of the first block that begins at an address or behind it.
func (s *FetchScan) search(lo uint64) (int, bool) {
	return slices.BinarySearchFunc(s.blocks, lo, func(b scannedBlock, lo uint64) int { return cmp.Compare(b.lo, lo) })
}

// block returns the block that has an address; nil: none.
func (s *FetchScan) block(addr uint64) *scannedBlock {
	i, found := s.search(addr)
	if !found {
		i--
	}
	if i < 0 || addr >= s.blocks[i].hi {
		return nil
	}
	return &s.blocks[i]
}

// fetches notes that so many bytes may be fetched from.
func (s *FetchScan) fetches(addr, bytes uint64) {
	b := s.block(addr)
	if b == nil || bytes == 0 {
		return
	}
	last := min(addr+bytes, b.hi) - 1
	for piece := (addr - b.lo) / spotBytes; piece <= (last-b.lo)/spotBytes; piece++ {
		s.places[spot{b.key, piece}] = true
	}
	s.all = s.all || len(s.places) > mostSpots
}

// scannedOf says what a function is to a scan. What other models fetch is not looked at more
// closely.
func scannedOf(fn *trace.Fn) scanned {
	e, _ := lookup(fn.Name)
	switch {
	case e != nil:
	case fn.Name == trace.AtomicNote:
		return scanned{kind: scanAtomic, addr: fn.Arg("addr"), size: fn.Arg("size")}
	case strings.HasPrefix(fn.Name, "MPI_") && fn.Arg("result_addr") == noArg, trace.IsNote(fn.Name):
		return scanned{}
	default:
		return scanned{kind: scanAnywhere}
	}
	f := scanned{
		kind: e.scan, own: true, addr: noArg, size: fn.Arg("size"), count: fn.Arg("count"), number: fn.Arg("nelems"), result: fn.Arg("result"),
		module: fn.Arg("module"), offset: fn.Arg("offset"), base: fn.Arg("base"),
	}
	var names []string
	switch f.kind {
	case scanFetch, scanWait:
		names = []string{"dest", "source", "ivar", "ivars", "sig_addr"}
	case scanChange, scanFree:
		names = []string{"ptr"}
	}
	for _, name := range names {
		if f.addr = fn.Arg(name); f.addr != noArg {
			break
		}
	}
	return f
}

// FetchedBy returns what the scans of all PEs have found together, by their numbers; nil: there
// is none of it.
func FetchedBy(scans []*FetchScan) *Fetched {
	f := &Fetched{places: map[spot]bool{}}
	for _, s := range scans {
		if s == nil { // there is no trace of it
			f.waited = append(f.waited, nil)
			continue
		}
		f.all = f.all || s.all
		maps.Copy(f.places, s.places)
		waits := s.waits
		if s.Done() { // further ones were not looked at
			waits = nil
		}
		f.waited = append(f.waited, waits)
	}
	return f
}

// learnFetched finds out what PEs fetch, unless it has.
func (m *Model) learnFetched() {
	if m.whose == nil {
		return
	}
	m.fetched, m.whose = m.whose(), nil
	for _, p := range m.pes {
		if m.fetched == nil || int(p.Rank) >= len(m.fetched.waited) || m.fetched.waited[p.Rank] == nil {
			p.AwaitsAny()
			continue
		}
		for w := range m.fetched.waited[p.Rank] {
			p.Awaits(w.addr, w.bytes)
		}
	}
}

// seen reports whether somebody may fetch any of so many bytes at a place, or wait for them.
func (m *Model) seen(at place, bytes uint64) bool { return m.fetched.in(at, bytes) }
