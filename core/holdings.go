package core

// Holdings are how many of the things a Machine holds that grow with the length of a
// concurrent region and are never written to files.
type Holdings struct {
	Pending    int64 // accesses that are not complete
	Separate   int64 // separate regions of the phase
	StampBytes int64 // what a timestamp takes, on average
	Landmarks  int64 // in them
	Accesses   int64 // of calls, complete ones that are held one by one
}

// Holdings counts what is held.
func (m *Machine) Holdings() Holdings {
	h := Holdings{Pending: int64(m.store.CarriedCount())}
	for p := m.pending.first; p != nil; p = p.after {
		h.Pending++
	}
	bytes := int64(0)
	for _, s := range m.strands {
		h.Separate += int64(len(s.path.segs))
		for i := range s.path.segs {
			bytes += int64(m.clock.Size(s.path.segs[i].Stamp))
			h.Landmarks += int64(len(s.path.segs[i].Landmarks))
		}
	}
	h.StampBytes = bytes / max(1, h.Separate)
	h.Accesses = int64(m.store.CallCount())
	return h
}
