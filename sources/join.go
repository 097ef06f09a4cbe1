package sources

import (
	"maps"
	"slices"
)

// Join returns a reader that has the lines which several have, and the names of files
// that were not the same for all of them: of such a file the lines are those of the first
// reader that kept some. Files that are read are those of the first.
func Join(readers []*Reader) (joined *Reader, differ []string) {
	kept := &Stored{files: map[string]*storedFile{}}
	var files Files
	for i, r := range readers {
		if r == nil {
			continue
		}
		if i == 0 {
			files = r.files
		}
		if r.stored == nil {
			continue
		}
		kept.leftOut = max(kept.leftOut, r.stored.leftOut)
		for _, name := range slices.Sorted(maps.Keys(r.stored.files)) {
			f, old := r.stored.files[name], kept.files[name]
			switch {
			case old == nil:
				kept.files[name] = f
			case old.hash != f.hash:
				if !slices.Contains(differ, name) {
					differ = append(differ, name)
				}
			default:
				kept.files[name] = old.with(f)
			}
		}
	}
	return NewReader(kept, files), differ
}

// with returns a file with the lines of two of the same text.
func (f *storedFile) with(g *storedFile) *storedFile {
	lines := map[int]string{}
	for _, s := range slices.Concat(f.stretches, g.stretches) {
		for i, text := range s.lines {
			lines[s.first+i] = text
		}
	}
	out := &storedFile{hash: f.hash, leftOut: min(f.leftOut, g.leftOut)}
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		if k := len(out.stretches) - 1; k >= 0 && out.stretches[k].end() == n {
			out.stretches[k].lines = append(out.stretches[k].lines, lines[n])
			continue
		}
		out.stretches = append(out.stretches, stretch{n, []string{lines[n]}})
	}
	return out
}
