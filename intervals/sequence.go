package intervals

// Sequence is a Layout with the order in which data fill its bytes: that of a
// datatype's type map, which may go back and forth in memory. A Sequence is not
// changed once built and may be shared.
type Sequence struct {
	layout *Layout
	size   uint64 // bytes of data; those that lie at one address count each
	parts  []Part // in order; nil where the order is that of the addresses
}

// Part is Count copies of a Sequence, the first At bytes behind the base address,
// each Step bytes behind the one before.
type Part struct {
	Of    *Sequence
	At    int64
	Count uint64
	Step  int64
}

// Nothing is the sequence without bytes.
var Nothing = &Sequence{layout: Empty}

// Ascending returns the sequence of the bytes of solid runs that do not overlap, in
// the order of their addresses. It keeps the slice, as NewLayout does.
func Ascending(runs ...Run) *Sequence {
	l := NewLayout(runs)
	return &Sequence{layout: l, size: l.Bytes()}
}

// Chain returns the bytes of all parts, one part after the other.
func Chain(parts ...Part) *Sequence {
	all := make([]*Layout, 0, len(parts))
	out := &Sequence{}
	ascends, end := true, int64(0)
	for _, x := range parts {
		if x.Count == 0 || x.Of.size == 0 {
			continue
		}
		l := x.Of.layout.Repeat(x.Count, x.Step).Shifted(x.At)
		ascends = ascends && x.ascends() && (len(all) == 0 || l.lo >= end)
		end = l.hi
		all = append(all, l)
		out.size += x.Count * x.Of.size
	}
	if len(all) == 1 {
		out.layout = all[0]
	} else {
		out.layout = Join(all...)
	}
	if !ascends {
		out.parts = parts
	}
	return out
}

// ascends reports whether the order of the part's bytes is that of their
// addresses.
func (x *Part) ascends() bool {
	return x.Of.parts == nil && (x.Count <= 1 || x.Step >= x.Of.layout.hi-x.Of.layout.lo)
}

// Repeat returns count copies of the sequence, one after the other, step bytes
// apart.
func (s *Sequence) Repeat(count uint64, step int64) *Sequence {
	if count == 1 {
		return s
	}
	return Chain(Part{Of: s, Count: count, Step: step})
}

// Shifted returns the sequence moved by d bytes.
func (s *Sequence) Shifted(d int64) *Sequence {
	if d == 0 {
		return s
	}
	return Chain(Part{Of: s, At: d, Count: 1})
}

// Layout returns the bytes without their order.
func (s *Sequence) Layout() *Layout { return s.layout }

// First returns where the first n bytes of data lie.
func (s *Sequence) First(n uint64) *Layout {
	switch {
	case n >= s.size:
		return s.layout
	case s.parts == nil:
		return s.layout.first(n)
	}
	var all []*Layout
	for _, x := range s.parts {
		if n == 0 {
			break
		}
		if x.Count == 0 || x.Of.size == 0 {
			continue
		}
		whole := min(n/x.Of.size, x.Count)
		n -= whole * x.Of.size
		all = append(all, x.Of.layout.Repeat(whole, x.Step).Shifted(x.At))
		if whole < x.Count {
			all = append(all, x.Of.First(n).Shifted(x.At+int64(whole)*x.Step))
			break
		}
	}
	return Join(all...)
}
