package regions

// Object is what exposes memory to other processes, as reports tell of it: a
// window of MPI, for example.
type Object struct {
	ID      int64
	Number  int       // 1 for the first of its kind in the run
	Kind    string    // "window"
	Name    string    // that the program gave it; "" if none
	Called  string    // what it is called in place of its number, where programs number it themselves: "segment id 1"; otherwise ""
	Created *CallInfo // by the lowest rank
	Mode    Mode      // how it is to be used, where that matters to its model
}

// Exposed is memory of a process that an object exposes.
type Exposed struct {
	*Object
	Base uint64 // address that offsets in the object count from; 0: offsets are addresses
	// Lo and Hi bound the memory around the address asked for: addresses, half-open.
	Lo, Hi   uint64
	Unit     uint64    // of displacements that the owner gave, bytes; 0: none
	Attached *CallInfo // that added the memory to the object after its creation; otherwise nil
}

// Exposure is what exposed memory in a region. It is asked in the goroutine of the
// replay, or once the replay is over: objects that processes were still making
// when it was taken are known as they became; no other change touches it.
type Exposure interface {
	// At returns what exposes the byte at addr of a process, and whether
	// anything does. Where several objects do, that with the identifier prefer
	// comes first, then the oldest.
	At(owner int32, addr uint64, prefer int64) (Exposed, bool)
	// Made returns the call that made an object, as Object.Created; nil where
	// that is not known.
	Made(id int64) *CallInfo
	// Parts returns all memory of a process that objects expose, the oldest
	// object first.
	Parts(owner int32) []Exposed
}

// ExposedAt is Exposure.At of all that exposed memory in a region.
func ExposedAt(all []Exposure, owner int32, addr uint64, prefer int64) (Exposed, bool) {
	var found Exposed
	any := false
	for _, x := range all {
		if e, ok := x.At(owner, addr, prefer); ok && (!any || e.ID == prefer) {
			found, any = e, true
		}
	}
	return found, any
}

// ExposedParts is Exposure.Parts of all that exposed memory in the region.
func (r *Region) ExposedParts(owner int32) []Exposed {
	var all []Exposed
	for _, x := range r.Exposures {
		all = append(all, x.Parts(owner)...)
	}
	return all
}
