package regions

import "iter"

// lines says whose the lines of a region are. Line i is that of the first strand of
// process i; those of other strands come behind them.
type lines struct {
	processes int
	of        []int32           // by line, from processes on: the process
	others    map[int32][]int32 // by process: its other lines
}

// Process returns the process that a line belongs to.
func (x *lines) Process(line int32) int32 {
	if int(line) < x.processes {
		return line
	}
	return x.of[int(line)-x.processes]
}

// Processes returns the number of processes.
func (x *lines) Processes() int { return x.processes }

// Threaded reports whether a process has more than one line.
func (x *lines) Threaded(rank int32) bool { return len(x.others[rank]) > 0 }

// Lines visits the lines of a process, that of its first strand first.
func (x *lines) Lines(rank int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if !yield(rank) {
			return
		}
		for _, line := range x.others[rank] {
			if !yield(line) {
				return
			}
		}
	}
}

// add adds a line of a process, and returns it.
func (x *lines) add(rank int32) int32 {
	line := int32(x.processes + len(x.of))
	x.of = append(x.of, rank)
	if x.others == nil {
		x.others = map[int32][]int32{}
	}
	x.others[rank] = append(x.others[rank], line)
	return line
}

// addLines adds lines of processes.
func (r *Region) addLines(of []int32) {
	for _, rank := range of {
		r.add(rank)
		r.Segments, r.First, r.locals = append(r.Segments, nil), append(r.First, 0), append(r.locals, nil)
	}
}

// AddLine adds a line of a process to the region under way, and returns its number.
func (s *Storage) AddLine(rank int32) int32 {
	s.region.addLines([]int32{rank})
	s.locals = append(s.locals, locals{})
	return int32(len(s.locals) - 1)
}
