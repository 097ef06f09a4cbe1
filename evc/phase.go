package evc

import "math"

// vector is a timestamp in vector form: the component of the strand apart from
// the others, so that to tick copies nothing. The component of the strand among
// the others means nothing, and is no greater.
type vector struct {
	others page
	own    uint32
	strand int32
}

// phase is what the timestamps of a phase have in common: where it counts from,
// and the pages of vectors.
type phase struct {
	pages
	number uint32   // of phases in the concurrent region before it
	below  []uint32 // separate regions of each strand before it; nil: none
	// brought has the pages of earlier phases as those of this one.
	brought map[foreign]page
}

// foreign is a page of an earlier phase.
type foreign struct {
	phase uint32
	page  page
}

func newPhase(strands int) *phase { return &phase{pages: newPages(strands)} }

// reset makes it the first of another concurrent region.
func (p *phase) reset() {
	p.pages.reset()
	clear(p.brought)
	p.number, p.below = 0, nil
}

// above returns the number of a separate region in the phase, and whether it
// belongs to an earlier one.
func (p *phase) above(strand int, n uint32) (uint32, bool) {
	below := p.of(strand)
	return n - below, n <= below
}

func (p *phase) of(strand int) uint32 {
	if strand >= len(p.below) {
		return 0
	}
	return p.below[strand]
}

// Strands is that of Clock.
func (p *phase) Strands() int { return p.strands }

// next returns the phase of that many strands that begins floor above.
func (p *phase) next(floor []uint32, strands int) *phase {
	q := newPhase(strands)
	q.number, q.below = p.number+1, make([]uint32, len(floor))
	for i, n := range floor {
		q.below[i] = p.of(i) + n
	}
	return q
}

// since returns what a component of an earlier phase is in this one.
func (p *phase) since(from *phase, strand int, n uint32) uint32 {
	return n - min(n, p.of(strand)-from.of(strand))
}

// bring returns a vector of an earlier phase as one of this one.
func (p *phase) bring(from *phase, v vector) vector {
	if from == p {
		return v
	}
	v.own = p.since(from, int(v.strand), v.own)
	if from.width != p.width {
		v.others = p.bringFlat(from, v.others)
		return v
	}
	v.others = p.bringPage(from, v.others, from.height, 0)
	for height := from.height; height < p.height && v.others != 0; height++ {
		var room [onePage]uint32
		room[0] = uint32(v.others)
		v.others = p.add(room[:p.width])
	}
	return v
}

// bringFlat brings the page that is a vector of a phase with fewer strands.
func (p *phase) bringFlat(from *phase, a page) page {
	of := foreign{from.number, a}
	b, ok := p.brought[of]
	if ok || a == 0 {
		return b
	}
	since := page(p.used)
	for i, n := range from.words(a) {
		if n = p.since(from, i, n); n > 0 {
			b = p.put(b, p.height, i, n, since)
		}
	}
	p.bringAs(of, b)
	return b
}

// bringAs notes what a page of an earlier phase is in this one.
func (p *phase) bringAs(of foreign, b page) {
	if p.brought == nil {
		p.brought = map[foreign]page{}
	}
	p.brought[of] = b
}

// bringPage brings a page with the components from the strand first on.
func (p *phase) bringPage(from *phase, a page, height, first int) page {
	if a == 0 {
		return 0
	}
	of := foreign{from.number, a}
	if b, ok := p.brought[of]; ok {
		return b
	}
	var room [onePage]uint32
	words, any := room[:p.width], false
	for i, word := range from.words(a) {
		switch {
		case word == 0:
			continue
		case height > 0:
			words[i] = uint32(p.bringPage(from, page(word), height-1, first+i<<(pageShift*height)))
		default:
			words[i] = p.since(from, first+i, word)
		}
		any = any || words[i] > 0
	}
	var b page
	if any {
		b = p.add(words)
	}
	p.bringAs(of, b)
	return b
}

// component returns a component of a vector.
func (p *phase) component(v vector, strand int) uint32 {
	if strand == int(v.strand) {
		return v.own
	}
	return p.at(v.others, strand)
}

// gather returns the vector with these components as one of the strand; v is
// changed.
func (p *phase) gather(v []uint32, strand int) vector {
	w := vector{own: v[strand], strand: int32(strand)}
	v[strand] = 0
	since := page(p.used)
	for i, n := range v {
		if n > 0 {
			w.others = p.put(w.others, p.height, i, n, since)
		}
	}
	return w
}

// owned returns the vector as one of the strand.
func (p *phase) owned(v vector, strand int) vector {
	if int(v.strand) == strand {
		return v
	}
	since, own := page(p.used), p.component(v, strand)
	others := p.put(v.others, p.height, int(v.strand), v.own, since)
	return vector{others: others, own: own, strand: int32(strand)}
}

// upper returns the least upper bound of two vectors, with the strand of the first.
func (p *phase) upper(v, w vector) vector {
	since := page(p.used)
	v.own = max(v.own, p.component(w, int(v.strand)))
	v.others = p.join(v.others, w.others, p.height)
	if v.strand != w.strand && w.own > p.at(v.others, int(w.strand)) {
		v.others = p.put(v.others, p.height, int(w.strand), w.own, since)
	}
	return v
}

// upperAll returns the least upper bound of a vector and others, with the strand of the
// first. Pages that are made on the way change in place.
func (p *phase) upperAll(v vector, others []vector) vector {
	since := page(p.used)
	for _, w := range others {
		v.own = max(v.own, p.component(w, int(v.strand)))
		v.others = p.joinInto(v.others, w.others, p.height, since)
		if v.strand != w.strand && w.own > p.at(v.others, int(w.strand)) {
			v.others = p.put(v.others, p.height, int(w.strand), w.own, since)
		}
	}
	return v
}

// isZero reports whether every component is 0.
func (p *phase) isZero(v vector) bool { return v.own == 0 && v.others == 0 }

// lowest takes the least of each component of several vectors.
type lowest struct {
	of    *phase
	since int
	least page
	any   bool
}

func (p *phase) lowest() lowest { return lowest{of: p, since: p.used} }

// add takes in what an active strand knows. Its own present separate region is
// not over. It reports whether a component may be left that is not 0.
func (l *lowest) add(v vector) bool {
	v.own -= min(1, v.own)
	return l.addAll(v)
}

// addAll takes in what a strand will know that is still to begin.
func (l *lowest) addAll(v vector) bool {
	p := l.of
	others := p.put(v.others, p.height, int(v.strand), v.own, page(p.used))
	if l.any {
		others = p.least(l.least, others, p.height)
	}
	l.least, l.any = others, true
	return l.least != 0
}

// floor returns the least components, of no vectors the greatest number, and
// gives up the pages that they were found with.
func (l *lowest) floor() []uint32 {
	floor := make([]uint32, l.of.strands)
	if l.any {
		l.of.spread(floor, l.least, l.of.height, 0)
	} else {
		for i := range floor {
			floor[i] = math.MaxUint32
		}
	}
	l.of.used = l.since
	return floor
}
