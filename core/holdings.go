package core

import "github.com/mcchk/mcchk/regions"

// Holdings are how many of the things a Machine holds that grow with the length of a
// concurrent region and are never written to files.
type Holdings struct {
	Pending    int64 // accesses that are not complete
	OpenBytes  int64 // about what they take
	Separate   int64 // separate regions of the phase
	StampBytes int64 // what a timestamp takes, on average
	Landmarks  int64 // in them
	Accesses   int64 // of calls, complete ones that are held one by one
	Apart      int64 // all accesses that are held one by one
}

// apartBytes is about what a pending access takes that is held by itself.
const apartBytes = 600

// Holdings counts what is held.
func (m *Machine) Holdings() Holdings {
	apart := int64(m.store.CarriedCount()) // accesses that are held one by one
	open, carried := m.store.CarriedOpen()
	h, moments := Holdings{Pending: apart + int64(open)}, int64(carried)
	for p := range m.pending.all {
		if p.open == nil {
			apart++
			h.Pending++
		} else {
			moments += int64(p.open.Moments())
			h.Pending += int64(p.open.Len())
		}
	}
	h.OpenBytes = apart*apartBytes + moments*regions.OpenBytes
	bytes := int64(0)
	for _, p := range m.paths {
		h.Separate += int64(len(p.segs))
		for i := range p.segs {
			bytes += int64(m.clock.Size(p.segs[i].Stamp))
			h.Landmarks += int64(len(p.segs[i].Landmarks))
		}
	}
	h.StampBytes = bytes / max(1, h.Separate)
	h.Accesses = int64(m.store.CallCount())
	h.Apart = apart + h.Accesses
	return h
}
