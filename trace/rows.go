package trace

import (
	"iter"
	"math"
	"math/bits"
)

// Rows is an access and its repetitions at equal distances, as a loop over the
// rows of a matrix makes them: N accesses, of which the one with number k
// begins at Addr + k·Pitch. Where a loop makes several accesses in each row,
// theirs alternate.
type Rows struct {
	Addr                   uint64 // of the first, as in Access
	Stride                 int64
	Count                  uint64
	Pitch                  int64 // 0 where there is one
	Size                   uint32
	Stack                  uint32
	N                      uint16 // at least 1
	At                     uint16 // which access of the stretch the first is, from 0
	Every                  uint8  // accesses of the stretch from one to the next; 0 where there is one
	Store, Atomic, Library bool
}

// RowsOf returns the rows that are a single access, the one with number at.
func RowsOf(a *Access, at int) Rows {
	return Rows{
		Addr: a.Addr, Stride: a.Stride, Count: a.Count, Size: a.Size, Stack: a.Stack, N: 1, At: uint16(at),
		Store: a.Store, Atomic: a.Atomic, Library: a.Library,
	}
}

// Access returns access k.
func (r *Rows) Access(k int) Access {
	return Access{
		Addr: r.Addr + uint64(k)*uint64(r.Pitch), Stride: r.Stride, Count: r.Count, Size: r.Size, Stack: r.Stack,
		Store: r.Store, Atomic: r.Atomic, Library: r.Library,
	}
}

// Number returns which access of the stretch access k is, from 0.
func (r *Rows) Number(k int) int { return int(r.At) + k*int(r.Every) }

// Span returns the bytes from the beginning of an access to its end.
func (r *Rows) Span() uint64 { return uint64(r.Stride)*(r.Count-1) + uint64(r.Size) }

// Bounds returns a range of addresses that holds all accesses, half-open.
func (r *Rows) Bounds() (lo, hi uint64) {
	last := r.Addr + uint64(r.N-1)*uint64(r.Pitch)
	return min(r.Addr, last), max(r.Addr, last) + r.Span()
}

// Within returns the accesses, as a range of numbers, that bytes in [lo, hi)
// may belong to.
func (r *Rows) Within(lo, hi uint64) (from, to int) {
	n := int(r.N)
	first, last := r.Addr, r.Addr+uint64(n-1)*uint64(r.Pitch)
	pitch, span := uint64(r.Pitch), r.Span()
	if r.Pitch < 0 {
		first, last, pitch = last, first, -pitch
	}
	if hi <= first || lo >= last+span {
		return 0, 0
	}
	to = n
	if pitch > 0 {
		if lo >= first+span {
			from = int((lo-first-span)/pitch) + 1
		}
		if hi <= last {
			to = int((hi-first-1)/pitch) + 1
		}
	}
	if r.Pitch < 0 {
		return n - to, n - from
	}
	return from, to
}

// Part returns the accesses with the numbers from from to before to.
func (r *Rows) Part(from, to int) Rows {
	p := *r
	p.Addr += uint64(from) * uint64(r.Pitch)
	p.At = uint16(r.Number(from))
	if p.N = uint16(to - from); p.N == 1 {
		p.Pitch, p.Every = 0, 0
	}
	return p
}

// fewColumns is how many elements a row has at most that are taken one by one.
const fewColumns = 16

// HasColumns reports whether the rows are few elements each, which lie beside those of the next
// row and beyond those of all rows from one another, so that all rows are few accesses too.
func (r Rows) HasColumns() bool {
	pitch := uint64(max(r.Pitch, -r.Pitch))
	return r.Count > 1 && r.Count <= fewColumns && uint64(r.N) > r.Count && r.Stride > 0 && pitch >= uint64(r.Size) &&
		pitch <= uint64(r.Stride)/uint64(r.N)
}

// Columns returns how many elements a row has.
func (r *Rows) Columns() int { return int(r.Count) }

// Column returns element k of all rows, as one access.
func (r *Rows) Column(k int) Access {
	a := r.Access(0)
	a.Addr += uint64(k) * uint64(r.Stride)
	if a.Stride, a.Count = r.Pitch, uint64(r.N); r.Pitch < 0 {
		a.Addr, a.Stride = a.Addr-uint64(r.N-1)*uint64(-r.Pitch), -r.Pitch
	}
	return a
}

// alike reports whether the accesses of two rows differ in their place only.
func (r *Rows) alike(s *Rows) bool {
	return r.Stack == s.Stack && r.Size == s.Size && r.Count == s.Count && r.Stride == s.Stride &&
		r.Store == s.Store && r.Atomic == s.Atomic && r.Library == s.Library
}

// InOrder visits the accesses of the rows of a Stretch in program order.
func InOrder(rows []Rows) iter.Seq[Access] {
	return func(yield func(Access) bool) {
		for len(rows) > 0 {
			loop := rows[:max(1, rows[0].Every)]
			for k := range int(loop[0].N) {
				for i := range loop {
					if k < int(loop[i].N) && !yield(loop[i].Access(k)) {
						return
					}
				}
			}
			rows = rows[len(loop):]
		}
	}
}

// Stretch is accesses of one strand without anything between them, and what
// holds for all of them together.
type Stretch struct {
	Rows          []Rows
	Len           int    // accesses
	Lo, Hi        uint64 // a range of addresses that holds all of them, half-open
	Loads, Stores uint64 // elements
	Counted       bool   // they were told with those of their chunk
}

// MaxStretch is how many rows a Stretch of a Batch has at most: the fewer, the
// closer are its bounds. MaxLen is how many accesses it has at most.
const (
	MaxStretch = 128
	MaxLen     = 1 << 15
)

// StretchOf returns the stretch of one access.
func StretchOf(a *Access) Stretch {
	var s Stretch
	s.Rows = []Rows{RowsOf(a, 0)}
	s.add(&s.Rows[0])
	return s
}

// add counts an access that was added to the rows.
func (s *Stretch) add(r *Rows) {
	if s.Len == 0 {
		s.Lo = r.Addr
	}
	s.count(r.Count, r)
	s.Len++
}

// count counts elements that were added to a row.
func (s *Stretch) count(elements uint64, r *Rows) {
	lo, hi := r.Bounds()
	s.Lo, s.Hi = min(s.Lo, lo), max(s.Hi, hi)
	if r.Store {
		s.Stores += elements
	} else {
		s.Loads += elements
	}
}

// folder makes rows of the accesses of a stretch, one after the other. Where
// the last ones are three rounds of a loop, of which each goes on at the same
// distance from the one before, the loop's accesses become one Rows each, and
// grow from then on as long as they come as expected.
type folder struct {
	period int // accesses in a round of the loop under way; 0: none
	at     int // which of them comes next
	first  int // index of the first of them among the rows
	single int // rows behind the last loop
	misses int // how often no loop was found, though a place came again, since there was one
	coming [maxPeriod]expected
	latest [64]uint8             // number of the last row with a stack, by part of its identifier, from 1
	before [MaxStretch + 1]uint8 // number of the row before it of which the same holds, by number
}

// tries is how many earlier accesses of a place are taken for those of the round
// before.
const tries = 8

// Where no loop was found so often, it is looked for only every so many rows: accesses
// at irregular places are most of what such a trace has.
const (
	patience = 256
	seldom   = 8
)

// maxPeriod is how many accesses a round has at most.
const maxPeriod = 32

// expected is the record of an access of a loop, as it is written.
type expected struct {
	head, addr, stride, count uint64
	pitch                     uint64
	most                      uint64 // address at which it may begin
}

// begin begins with the first row of a stretch.
func (f *folder) begin(rows []Rows) {
	f.period, f.single = 0, 1
	clear(f.latest[:])
	f.latest[rows[0].Stack%uint32(len(f.latest))] = 1
}

// follow takes the accesses of records as long as they are those that the loop
// under way expects, and the stretch has room. It returns how many these are.
func (f *folder) follow(records []byte, s *Stretch) int {
	coming, at := f.coming[:f.period], f.at
	most := min(len(records)/accessSize, MaxLen-s.Len)
	n := 0
	for ; n < most; n++ {
		raw := (*[accessSize]byte)(records[n*accessSize:])
		e := &coming[at]
		if le.Uint64(raw[:]) != e.head || le.Uint64(raw[8:]) != e.addr || le.Uint64(raw[24:]) != e.count ||
			le.Uint64(raw[16:]) != e.stride && e.count != 1 || e.addr > e.most {
			break
		}
		e.addr += e.pitch
		if at++; at == len(coming) {
			at = 0
		}
	}
	f.grow(n, s)
	return n
}

// grow adds the next n accesses of the loop.
func (f *folder) grow(n int, s *Stretch) {
	for i := range min(n, f.period) { // the i-th that comes next, and every one a round later
		r := &s.Rows[f.first+(f.at+i)%f.period]
		more := (n - i + f.period - 1) / f.period
		r.N += uint16(more)
		s.count(uint64(more)*r.Count, r)
	}
	s.Len += n
	f.at = (f.at + n) % f.period
}

// add adds an access.
func (f *folder) add(a *Access, s *Stretch) {
	next := RowsOf(a, s.Len)
	if f.period > 0 {
		e := &f.coming[f.at]
		if a.Addr == e.addr && next.alike(&s.Rows[f.first+f.at]) {
			e.addr += e.pitch // the stride in the record is negative
			f.grow(1, s)
			return
		}
		f.period, f.single = 0, 0
		clear(f.latest[:])
	}
	s.Rows = append(s.Rows, next)
	s.add(&next)
	f.single++
	n := len(s.Rows)
	last := &f.latest[a.Stack%uint32(len(f.latest))]
	f.before[n] = *last
	*last = uint8(n)
	if f.misses >= patience && n%seldom != 0 {
		return
	}
	other := n
	for range tries {
		other = int(f.before[other])
		period := n - other
		if other == 0 || period > maxPeriod || 2*period >= f.single {
			return
		}
		if f.loop(s.Rows[n-1-2*period:], period) {
			s.Rows = s.Rows[:n-1-period]
			f.period, f.first, f.at, f.misses = period, n-1-2*period, 1%period, 0
			return
		}
		f.misses++
	}
}

// loop makes rows of two rounds and the first access of a third, and reports
// whether it could.
func (f *folder) loop(rows []Rows, period int) bool {
	a, b := rows[:period], rows[period:2*period]
	third := &rows[2*period]
	if third.Addr-b[0].Addr != b[0].Addr-a[0].Addr || !third.alike(&b[0]) {
		return false
	}
	for i := range a {
		if !a[i].alike(&b[i]) {
			return false
		}
	}
	for i := range a {
		r := &a[i]
		r.Pitch, r.Every, r.N = int64(b[i].Addr-r.Addr), uint8(period), 2
		if i == 0 {
			r.N = 3
		}
		f.coming[i] = expected{
			head: r.head(), addr: r.Addr + uint64(r.N)*uint64(r.Pitch), stride: uint64(r.Stride), count: r.Count,
			pitch: uint64(r.Pitch), most: math.MaxUint64 - r.Span(),
		}
	}
	return true
}

// head is the first word of the record of each access.
func (r *Rows) head() uint64 {
	return uint64(RecordAccess) | uint64(accessFlags(r.Store, r.Atomic, r.Library))<<8 | uint64(r.Size)<<16 | uint64(r.Stack)<<32
}

// plain reports whether an access is normal as it is; most are.
func (a *Access) plain() bool {
	over, span := bits.Mul64(a.Count-1, uint64(a.Stride))
	hi := a.Addr + span + uint64(a.Size)
	return over == 0 && a.Stride > 0 && a.Count >= 2 && a.Size != 0 && hi > a.Addr && span <= math.MaxUint64/2
}
