package clocks

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
)

// page is what is kept of a process in a slab.
type page struct {
	floor int64   // the latest event of earlier slabs
	times []int64 // of events, for a Table
	jumps []jump

	mu    sync.Mutex
	sends []sent
}

// sent is something that left a process, and what came of it.
type sent struct {
	at      int64 // uncorrected
	room    int64 // by how much more it may be put forward
	to      int32 // who waited for it; nobody: it is one of those that came to a meeting
	arrived int64 // when the call that did was over
}

// lastFirst sorts what was sent last to the front.
func lastFirst(a, b sent) int { return cmp.Compare(b.at, a.at) }

// nobody is where there is no process.
const nobody = -1

// met is who waited for a meeting in a slab.
type met struct {
	come    []*departure
	waiters []waiter
}

// waiter is a call that waited for the first that came to a meeting.
type waiter struct {
	rank    int32
	size    int
	at, end int64 // when it was over: uncorrected, and corrected
}

func (p *page) empty(floor int64) {
	p.floor, p.times, p.jumps, p.sends = floor, p.times[:0], p.jumps[:0], p.sends[:0]
}

func (p *page) event(at int64, survey bool) {
	if survey {
		p.times = append(p.times, at)
	}
}

func (p *page) send(s sent) {
	p.mu.Lock()
	p.sends = append(p.sends, s)
	p.mu.Unlock()
}

// limit keeps that those which came to a meeting may not be moved beyond what waited for them.
func (f *Forward) limit(m *met) {
	slices.SortFunc(m.waiters, func(a, b waiter) int { return b.size - a.size })
	latency := max(f.src.Latency.Host, f.src.Latency.Network) + slack
	room, next := int64(math.MaxInt64), 0
	for i := len(m.come) - 1; i >= 0; i-- {
		for ; next < len(m.waiters) && m.waiters[next].size > i; next++ {
			room = min(room, m.waiters[next].end-latency)
		}
		d := m.come[i]
		if d.known.Load() {
			f.pages[d.rank].send(sent{at: d.shown, room: room - d.at, to: nobody})
		}
	}
}

// encode appends a page. Without survey what only a Table needs is left out.
func (p *page) encode(to []byte, survey bool) []byte {
	to = binary.AppendVarint(to, p.floor)
	at := int64(0)
	put := func(t int64) {
		to = binary.AppendVarint(to, t-at)
		at = t
	}
	to = binary.AppendUvarint(to, uint64(len(p.times)))
	for _, t := range p.times {
		put(t)
	}
	to = binary.AppendUvarint(to, uint64(len(p.jumps)))
	for i := range p.jumps {
		j := &p.jumps[i]
		put(j.at)
		to = binary.AppendVarint(to, j.before)
		to = binary.AppendVarint(to, j.height())
		to = binary.AppendVarint(to, j.at-j.past)
	}
	slices.SortFunc(p.sends, lastFirst)
	to = binary.AppendUvarint(to, uint64(len(p.sends)))
	for i := range p.sends {
		s := &p.sends[i]
		put(s.at)
		to = binary.AppendVarint(to, s.room)
		if survey {
			to = binary.AppendVarint(to, int64(s.to))
			to = binary.AppendVarint(to, s.arrived-s.at)
		}
	}
	return to
}

// decoder reads what encode and others wrote.
type decoder struct {
	b  []byte
	at int64
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.b)
	d.b = d.b[size:]
	return n
}

func (d *decoder) count() int {
	n, size := binary.Uvarint(d.b)
	d.b = d.b[size:]
	return int(n)
}

// time reads a time that is kept by what it differs from the last one.
func (d *decoder) time() int64 {
	d.at += d.int()
	return d.at
}

func (p *page) decode(b []byte, survey bool) {
	d := decoder{b: b}
	p.empty(d.int())
	for range d.count() {
		p.times = append(p.times, d.time())
	}
	for range d.count() {
		j := jump{at: d.time(), before: d.int()}
		j.after = j.before + d.int()
		j.past = j.at - d.int()
		p.jumps = append(p.jumps, j)
	}
	for range d.count() {
		s := sent{at: d.time(), room: d.int(), to: nobody}
		if survey {
			s.to = int32(d.int())
			s.arrived = s.at + d.int()
		}
		p.sends = append(p.sends, s)
	}
}

// encodeMet appends a meeting, for a Table.
func encodeMet(to []byte, m *met) []byte {
	to = binary.AppendUvarint(to, uint64(len(m.come)))
	at := int64(0)
	for _, d := range m.come {
		to = binary.AppendVarint(to, int64(d.rank))
		to = binary.AppendVarint(to, d.shown-at)
		at = d.shown
	}
	to = binary.AppendUvarint(to, uint64(len(m.waiters)))
	for i := range m.waiters {
		w := &m.waiters[i]
		to = binary.AppendVarint(to, int64(w.rank))
		to = binary.AppendUvarint(to, uint64(w.size))
		to = binary.AppendVarint(to, w.at-at)
		at = w.at
	}
	return to
}

func decodeMet(d *decoder) *crowd {
	c := &crowd{}
	d.at = 0
	for range d.count() {
		c.come = append(c.come, start{rank: int(d.int()), at: times{d.time()}})
	}
	for range d.count() {
		w := waiter{rank: int32(d.int()), size: d.count()}
		w.at = d.time()
		c.waiters = append(c.waiters, w)
	}
	c.missing = len(c.come)
	return c
}

// slabFile is a temporary file of slabs. It has no name any more, so that nothing is left of
// it however the program ends. A slab is how long the pages of the processes are, the pages,
// and what is behind them.
type slabFile struct {
	f     *os.File
	begin []int64 // of each slab, and the end of the last
	buf   []byte
	pages []byte
}

func (s *slabFile) create() (err error) {
	if s.f, err = os.CreateTemp("", "mcchk-clocks-"); err != nil {
		return err
	}
	s.begin = []int64{0}
	if err := os.Remove(s.f.Name()); err != nil {
		s.f.Close()
		return err
	}
	return nil
}

func (s *slabFile) close() {
	if s.f != nil {
		s.f.Close()
	}
}

func (s *slabFile) count() int { return len(s.begin) - 1 }

// write adds a slab.
func (s *slabFile) write(ranks int, page func(rank int, to []byte) []byte, mets []met) error {
	s.buf, s.pages = s.buf[:0], s.pages[:0]
	for rank := range ranks {
		before := len(s.pages)
		s.pages = page(rank, s.pages)
		s.buf = binary.AppendUvarint(s.buf, uint64(len(s.pages)-before))
	}
	s.buf = append(s.buf, s.pages...)
	for i := range mets {
		s.buf = encodeMet(s.buf, &mets[i])
	}
	at := s.begin[len(s.begin)-1]
	if _, err := s.f.WriteAt(s.buf, at); err != nil {
		return fmt.Errorf("correcting times: %w", err)
	}
	s.begin = append(s.begin, at+int64(len(s.buf)))
	return nil
}

// read reads a slab: its pages, and what is behind them. Both are good until the next.
func (s *slabFile) read(n int, ranks int, buf []byte) (pages [][]byte, behind, room []byte, err error) {
	size := int(s.begin[n+1] - s.begin[n])
	buf = slices.Grow(buf[:0], size)[:size]
	if _, err := s.f.ReadAt(buf, s.begin[n]); err != nil {
		return nil, nil, buf, fmt.Errorf("correcting times: %w", err)
	}
	d := decoder{b: buf}
	pages = make([][]byte, ranks)
	sizes := make([]int, ranks)
	for rank := range sizes {
		sizes[rank] = d.count()
	}
	rest := d.b
	for rank, n := range sizes {
		pages[rank], rest = rest[:n], rest[n:]
	}
	return pages, rest, buf, nil
}
