package evc

// page is the number of a page. 0 is a page of zeros, of whatever height.
type page uint32

// pages holds vectors as trees of pages, which vectors have in common where they
// are equal: of thousands of components few are not zero, or not those of the
// vector that one was made of. A page of the least height has components, others
// the numbers of pages. Few components are one page. A page never changes once
// the vector that it was made for is there, and no page has zeros only.
//
// Pages are numbers in large pieces of memory without pointers, so that garbage
// collection does not look at them; they are given up all at once.
type pages struct {
	strands int
	width   int // words of a page
	height  int // of the roots; those with components have 0
	chunks  [][]uint32
	used    int // pages, that of zeros among them
}

const (
	onePage   = 64 // components that are one page
	pageShift = 4  // the width of the pages of more components, as a power of 2
	// chunkShift is how many pages a chunk has, as a power of 2; the first is
	// smaller to begin with, firstChunk pages.
	chunkShift = 12
	firstChunk = 16
	keptChunks = 64 // chunks that later pages use again
)

func newPages(strands int) pages {
	p := pages{strands: strands, width: strands, used: 1}
	if strands > onePage {
		p.width = 1 << pageShift
		for n := (strands - 1) >> pageShift; n > 0; n >>= pageShift {
			p.height++
		}
	}
	return p
}

// reset gives up all pages, and keeps some of the memory.
func (p *pages) reset() {
	p.used = 1
	if len(p.chunks) > keptChunks {
		clear(p.chunks[keptChunks:])
		p.chunks = p.chunks[:keptChunks]
	}
}

// grown returns how many bytes pages take beyond those taken already, and adds
// them there.
func (p *pages) grown(taken *int) uint32 {
	n := 4*p.width*(p.used-1) - *taken
	*taken += n
	return uint32(n)
}

func (p *pages) words(a page) []uint32 {
	i := int(a&(1<<chunkShift-1)) * p.width
	return p.chunks[a>>chunkShift][i : i+p.width]
}

// add returns a page with these words, as many as its width.
func (p *pages) add(words []uint32) page {
	chunk, i := p.used>>chunkShift, p.used&(1<<chunkShift-1)*p.width
	switch {
	case chunk == len(p.chunks):
		n := 1 << chunkShift
		if chunk == 0 {
			n = firstChunk
		}
		p.chunks = append(p.chunks, make([]uint32, n*p.width))
	case i == len(p.chunks[chunk]): // the first
		p.chunks[chunk] = append(make([]uint32, 0, 2*i), p.chunks[chunk]...)[:2*i]
	}
	copy(p.chunks[chunk][i:i+p.width], words)
	p.used++
	return page(p.used - 1)
}

// index returns which word of a page has to do with a strand.
func (p *pages) index(strand, height int) int {
	if p.height == 0 {
		return strand
	}
	return strand >> (pageShift * height) & (1<<pageShift - 1)
}

// at returns a component of the vector with this root.
func (p *pages) at(a page, strand int) uint32 {
	for height := p.height; a != 0; height-- {
		word := p.words(a)[p.index(strand, height)]
		if height == 0 {
			return word
		}
		a = page(word)
	}
	return 0
}

// put returns the vector with n for a component. Pages from since on are of no
// other vector and change in place.
func (p *pages) put(a page, height, strand int, n uint32, since page) page {
	i, word := p.index(strand, height), n
	if height > 0 {
		var below page
		if a != 0 {
			below = page(p.words(a)[i])
		}
		word = uint32(p.put(below, height-1, strand, n, since))
	}
	switch {
	case a == 0 && word == 0:
		return 0
	case a == 0:
		var zeros [onePage]uint32
		a = p.add(zeros[:p.width])
	case p.words(a)[i] == word:
		return a
	case a < since:
		a = p.add(p.words(a))
	}
	p.words(a)[i] = word
	return a
}

// join returns the greater of each component; one of the two where that is it.
func (p *pages) join(a, b page, height int) page {
	switch {
	case a == b || b == 0:
		return a
	case a == 0:
		return b
	}
	var room [onePage]uint32
	x, y, z := p.words(a), p.words(b), room[:p.width]
	y, z = y[:len(x)], z[:len(x)]
	isX, isY := uint32(0), uint32(0) // 0 where they are
	for i, n := range x {
		m := y[i]
		if height > 0 {
			z[i] = uint32(p.join(page(n), page(m), height-1))
		} else {
			z[i] = max(n, m)
		}
		isX |= z[i] ^ n
		isY |= z[i] ^ m
	}
	switch {
	case isX == 0:
		return a
	case isY == 0:
		return b
	}
	return p.add(z)
}

// joinInto is join, in the first where that is a page from since on, and so of no other vector.
func (p *pages) joinInto(a, b page, height int, since page) page {
	if a < since || a == b || b == 0 {
		return p.join(a, b, height)
	}
	for i := range p.width {
		switch n, m := p.words(a)[i], p.words(b)[i]; {
		case height == 0:
			p.words(a)[i] = max(n, m)
		case n != m:
			joined := p.joinInto(page(n), page(m), height-1, since)
			p.words(a)[i] = uint32(joined)
		}
	}
	return a
}

// least returns the lesser of each component.
func (p *pages) least(a, b page, height int) page {
	switch {
	case a == b:
		return a
	case a == 0 || b == 0:
		return 0
	}
	var room [onePage]uint32
	x, y, z := p.words(a), p.words(b), room[:p.width]
	any := uint32(0)
	for i, n := range x {
		if height > 0 {
			z[i] = uint32(p.least(page(n), page(y[i]), height-1))
		} else {
			z[i] = min(n, y[i])
		}
		any |= z[i]
	}
	if any == 0 {
		return 0
	}
	return p.add(z)
}

// spread writes the components of a vector that are not zero, from the strand
// first on.
func (p *pages) spread(v []uint32, a page, height, first int) {
	if a == 0 {
		return
	}
	for i, word := range p.words(a) {
		switch {
		case word == 0:
		case height > 0:
			p.spread(v, page(word), height-1, first+i<<(pageShift*height))
		default:
			v[first+i] = word
		}
	}
}
