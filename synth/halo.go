package synth

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// interior is the extent of a process's part of the grid in elements, the last
// dimension contiguous. Around it lies one layer that the neighbours put.
func interior(dims int) []int64 {
	if dims == 3 {
		return []int64{8, 8, 64}
	}
	return []int64{64, 64}
}

func haloShape(c *Config) shape {
	rows := int64(1)
	ext := interior(c.Dims)
	for _, n := range ext[:len(ext)-1] {
		rows *= n
	}
	faces := 2 * int64(c.Dims)
	return shape{usual: faces + rows*(faces+1), least: faces}
}

// halo is a stencil on a grid of processes. Each has two arrays in its window
// and computes the one from the other: for each row a load of each
// neighbouring row, and of the row itself shifted by one element either way,
// and a store. Before that each process puts the faces of its part into the
// outer layer of its neighbours, and they synchronise.
//
// One synchronization a step is enough, because the array that is put into is
// not the one that a neighbour may still read.
type halo struct {
	*process
	extent     []int64 // of the interior
	stride     []int64 // of an array with its outer layer, elements
	array      int64   // elements of an array
	below      []int   // neighbours by dimension, MPI_PROC_NULL at the edges
	above      []int
	neighbours []int64 // ascending, without MPI_PROC_NULL
	rows       []int64 // where the rows of the interior begin in an array
}

func startHalo(p *process) kernel {
	h := &halo{process: p, extent: interior(p.Dims), stride: make([]int64, p.Dims)}
	h.array = 1
	for d := p.Dims - 1; d >= 0; d-- {
		h.stride[d] = h.array
		h.array *= h.extent[d] + 2
	}
	h.findNeighbours()
	h.findRows()
	h.defineFaces()
	k := kernel{size: 2 * h.array, step: h.step}
	switch p.Sync {
	case SyncFence:
		k.open = func() { h.call(at(10), "MPI_Win_fence", num(0), num(window)) }
	case SyncMessages:
		k.open, k.close = h.lockAll, h.unlockAll
	}
	return k
}

// processGrid is the extent of a grid of n processes, as square as n allows.
func processGrid(n, dims int) []int {
	var grid []int
	for d := dims; d > 1; d-- {
		best := 1
		for f := 1; power(f, d) <= n; f++ {
			if n%f == 0 {
				best = f
			}
		}
		grid = append(grid, best)
		n /= best
	}
	return append(grid, n)
}

func power(x, n int) int {
	y := 1
	for range n {
		y *= x
	}
	return y
}

func (h *halo) findNeighbours() {
	grid := processGrid(h.Ranks, h.Dims)
	by := 1 // ranks between neighbours of a dimension; the last one varies fastest
	for d := h.Dims - 1; d >= 0; d-- {
		x := h.rank / by % grid[d]
		below, above := int(trace.ProcNull), int(trace.ProcNull)
		if x > 0 {
			below = h.rank - by
			h.neighbours = append(h.neighbours, int64(below))
		}
		if x < grid[d]-1 {
			above = h.rank + by
			h.neighbours = append(h.neighbours, int64(above))
		}
		h.below, h.above = append(h.below, below), append(h.above, above)
		by *= grid[d]
	}
	slices.Reverse(h.below)
	slices.Reverse(h.above)
	slices.Sort(h.neighbours)
}

func (h *halo) findRows() {
	h.rows = []int64{1}
	for d := range h.Dims - 1 {
		var rows []int64
		for _, r := range h.rows {
			for i := int64(1); i <= h.extent[d]; i++ {
				rows = append(rows, r+i*h.stride[d])
			}
		}
		h.rows = rows
	}
}

// defineFaces defines the datatypes of the faces: that of dimension d is
// faceTypes + d, and describes all elements of an array that have the same
// place in this dimension.
func (h *halo) defineFaces() {
	next := uint32(faceTypes + h.Dims)
	for d := range h.Dims {
		var rest []int
		for e := range h.Dims {
			if e != d {
				rest = append(rest, e)
			}
		}
		slices.Reverse(rest) // the fastest first
		old, size, extent := uint32(doubleType), int64(element), int64(element)
		for i, e := range rest {
			id := next
			if i == len(rest)-1 {
				id = uint32(faceTypes + d)
			} else {
				next++
			}
			n, stride := h.extent[e], h.stride[e]*element
			size, extent = size*n, extent+(n-1)*stride
			h.w.Type(&trace.Type{
				ID: id, Combiner: trace.Hvector, Size: size, Extent: extent,
				Ints: []int64{n, 1}, Addrs: []int64{stride}, Types: []int64{int64(old)},
			})
			old = id
		}
	}
}

func (h *halo) step(step, accesses int64) {
	now := step % 2 * h.array
	if h.Sync == SyncPSCW {
		h.call(at(11), "MPI_Win_post", trace.Value{List: h.neighbours}, num(0), num(window))
		h.call(at(12), "MPI_Win_start", trace.Value{List: h.neighbours}, num(0), num(window))
	}
	for d := range h.Dims {
		accesses -= h.putFaces(d, now)
	}
	switch h.Sync {
	case SyncFence:
		h.call(at(31), "MPI_Win_fence", num(0), num(window))
	case SyncPSCW:
		h.call(at(32), "MPI_Win_complete", num(window))
		h.call(at(33), "MPI_Win_wait", num(window))
	case SyncMessages:
		h.call(at(34), "MPI_Win_flush_all", num(window))
		for d := range h.Dims {
			h.exchange(at(35+2*d), buffersBase, h.below[d], buffersBase+1<<20, h.above[d], 2*d)
			h.exchange(at(36+2*d), buffersBase, h.above[d], buffersBase+1<<20, h.below[d], 2*d+1)
		}
	}
	h.compute(now, accesses)
}

// putFaces puts both faces of a dimension, and returns how many neighbours it
// has.
func (h *halo) putFaces(d int, now int64) int64 {
	corner := now
	for e := range h.Dims {
		if e != d {
			corner += h.stride[e]
		}
	}
	puts := int64(0)
	put := func(line, to int, from, layer int64) {
		if int64(to) != trace.ProcNull {
			puts++
			h.operation(at(line), "MPI_Put", windowBase+uint64(corner+from*h.stride[d])*element, to, corner+layer*h.stride[d], 1, int64(faceTypes+d), window)
		}
	}
	put(20+2*d, h.below[d], 1, h.extent[d]+1)
	put(21+2*d, h.above[d], h.extent[d], 0)
	return puts
}

// compute makes so many accesses of a sweep over the rows, or of several.
func (h *halo) compute(now, accesses int64) {
	next := h.array - now
	last := h.Dims - 1
	n := h.extent[last]
	for row := 0; accesses > 0; row = (row + 1) % len(h.rows) {
		r := h.rows[row]
		for d := 0; d <= last && accesses > 0; d++ {
			h.run(at(50+2*d), false, windowBase+uint64(now+r-h.stride[d])*element, n, 1)
			if accesses--; accesses > 0 {
				h.run(at(51+2*d), false, windowBase+uint64(now+r+h.stride[d])*element, n, 1)
				accesses--
			}
		}
		if accesses > 0 {
			h.run(at(60), true, windowBase+uint64(next+r)*element, n, 1)
			accesses--
		}
	}
}
