package tracer

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// placesSection is where the plug-ins leave, for each unit, how many loads and stores in
// its code need no test, have one, and are announced behind a loop.
const placesSection = ".mcchk_places"

// places are those of all units of a binary that were compiled with a plug-in.
type places struct{ without, tested, announced uint64 }

// placesOf returns what the units of a binary say, nothing where none does.
func placesOf(f *elf.File) (p places) {
	s := f.Section(placesSection)
	if s == nil {
		return p
	}
	data, err := s.Data()
	if err != nil {
		return p
	}
	for ; len(data) >= 24; data = data[24:] {
		p.without += binary.LittleEndian.Uint64(data)
		p.tested += binary.LittleEndian.Uint64(data[8:])
		p.announced += binary.LittleEndian.Uint64(data[16:])
	}
	return p
}

func (p places) String() string {
	return fmt.Sprintf("of %d places in the code that load or store memory others might know of, %d are recorded by whole loops, %d have a test, "+
		"%d need none: the memory is never known outside of its function", p.without+p.tested+p.announced, p.announced, p.tested, p.without)
}
