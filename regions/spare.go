package regions

// mostSpare is how many separate regions, timestamps and accesses the regions
// that are not in use may have room for, where there are few processes.
const mostSpare = 1 << 15

// release takes a region back that was searched, and what it holds. What models
// have kept refers to all but its loads, stores and series.
func (s *pool) release(r *Region) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(r.locals)
	s.putMoments(r.moments)
	if len(r.ForChecks) > 0 {
		return
	}
	s.putCalls(r.Calls)
	r.capacity = r.hasRoom()
	if n := s.spareRegions + r.capacity; n <= s.scale*mostSpare {
		r.reset()
		s.regions, s.spareRegions = append(s.regions, r), n
	}
}

// region returns a region of that many processes that holds nothing.
func (s *pool) region(processes int) *Region {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.regions); n > 0 {
		r := s.regions[n-1]
		s.regions[n-1] = nil
		s.regions, s.spareRegions = s.regions[:n-1], s.spareRegions-r.capacity
		return r
	}
	return &Region{
		Segments: make([][]Segment, processes), First: make([]int32, processes),
		contents: contents{lines: lines{processes: processes}, locals: make([]*room, processes), moments: make([]moments, processes)},
	}
}

// hasRoom returns what a region has room for, as mostSpare counts.
func (r *Region) hasRoom() int {
	n := cap(r.Calls)
	if r.Clock != nil {
		n += r.Clock.Stamps()
	}
	for _, all := range r.Segments {
		n += 1 + cap(all)
	}
	return n
}

// reset lets go of all that the region holds but its room.
func (r *Region) reset() {
	for i, all := range r.Segments {
		clear(all)
		r.Segments[i] = all[:0]
	}
	n := r.processes
	clear(r.locals[n:])
	r.Segments, r.First, r.locals = r.Segments[:n], r.First[:n], r.locals[:n]
	clear(r.Calls)
	clear(r.Carried)
	clear(r.Exposures)
	clear(r.lockSets)
	*r = Region{
		Clock: r.Clock, Segments: r.Segments, First: r.First, Calls: r.Calls[:0], Carried: r.Carried[:0], Exposures: r.Exposures[:0],
		contents: contents{lines: lines{processes: r.processes}, locals: r.locals, moments: r.moments, lockSets: r.lockSets[:0], capacity: r.capacity},
	}
}
