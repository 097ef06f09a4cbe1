package regions

import "sync"

// recycler keeps the storage of loads and stores of regions that have been
// searched, for the regions to come. They are most of a large trace, and come
// and go with every region. It keeps no more than a few of the largest regions
// need.
type recycler struct {
	mu      sync.Mutex
	spare   [][]Local
	room    int // elements in spare
	largest int // elements of the largest region so far
}

const (
	firstRoom = 16      // elements of new storage
	smallRoom = 1 << 18 // elements that are kept in any case
)

// get returns empty storage.
func (r *recycler) get() []Local {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.spare); n > 0 {
		s := r.spare[n-1]
		r.spare = r.spare[:n-1]
		r.room -= cap(s)
		return s[:0]
	}
	return make([]Local, 0, firstRoom)
}

func (r *recycler) put(locals [][]Local) {
	size := 0
	for _, s := range locals {
		size += cap(s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.largest = max(r.largest, size)
	for _, s := range locals {
		if r.room+cap(s) <= max(smallRoom, 2*r.largest) {
			r.spare = append(r.spare, s)
			r.room += cap(s)
		}
	}
}
