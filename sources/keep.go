package sources

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is kept with a run.
const (
	// Around is how many lines are kept before and behind each that was
	// recorded: those that reports show, and two more.
	Around = 4
	// maxKept bounds what is kept, bytes, counted as they stand in the file.
	maxKept = 8 << 20
	// maxLine bounds a line, bytes. A longer one was not written by people.
	maxLine = 4096

	// What the form of the file takes: for a line, with a share of what a stretch
	// takes, and for a file.
	lineForm, fileForm = 48, 160

	hashSize = sha256.Size
)

// Place is a line that was recorded.
type Place struct {
	File string // as the traces name it
	Line int    // 1-based
}

// candidate is a line that might be kept.
type candidate struct {
	file     string
	line     int
	distance int // from the next line that was recorded
	text     string
}

// Keep reads the files that places are in, and returns their lines with some
// around each. Where there is no room for all, what was recorded goes before
// what is around it. Files that cannot be read are passed over.
func Keep(places []Place, files Files) *Stored {
	recorded := map[string][]int{}
	for _, p := range places {
		if p.Line >= 1 && p.File != "" && utf8.ValidString(p.File) {
			recorded[p.File] = append(recorded[p.File], p.Line)
		}
	}
	s := &Stored{files: map[string]*storedFile{}}
	room := maxKept
	var candidates []candidate
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		data, err := files.ReadFile(name)
		if err != nil {
			continue
		}
		if size := fileForm + formed(name); size <= room {
			room -= size
			s.files[name] = &storedFile{hash: hashOf(data)}
			candidates = append(candidates, around(name, linesOf(data), recorded[name])...)
		} else {
			s.leftOut++
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	lines := map[string][]candidate{}
	for _, c := range candidates {
		size := lineForm + formed(c.text)
		if len(c.text) > maxLine || size > room {
			s.files[c.file].leftOut++
			continue
		}
		room -= size
		lines[c.file] = append(lines[c.file], c)
	}
	for name, kept := range lines {
		s.files[name].stretches = stretchesOf(kept)
	}
	return s
}

// around returns the recorded lines of a file, with the statements in Fortran that they end, and those
// around them, ascending.
func around(name string, lines []string, recorded []int) []candidate {
	distance := map[int]int{}
	for _, at := range recorded {
		first := Begins(name, at, func(n int) string {
			if n > len(lines) {
				return ""
			}
			return lines[n-1]
		})
		for n := max(first-Around, 1); n <= min(at+Around, len(lines)); n++ {
			d := max(at-n, n-at)
			if old, ok := distance[n]; !ok || d < old {
				distance[n] = d
			}
		}
	}
	var out []candidate
	for _, n := range slices.Sorted(maps.Keys(distance)) {
		out = append(out, candidate{name, n, distance[n], strings.Clone(lines[n-1])})
	}
	return out
}

// stretchesOf joins lines of one file that follow one another.
func stretchesOf(kept []candidate) []stretch {
	slices.SortFunc(kept, func(a, b candidate) int { return cmp.Compare(a.line, b.line) })
	var out []stretch
	for _, c := range kept {
		if n := len(out); n == 0 || out[n-1].end() != c.line {
			out = append(out, stretch{first: c.line})
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, c.text)
	}
	return out
}

// linesOf takes a file apart. A line has the carriage return that ends it in some
// files, but no line feed.
func linesOf(data []byte) []string {
	lines := strings.Split(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// formed is at least half of how many bytes a text takes in the file.
func formed(text string) int {
	n := len(text)
	for i := range len(text) {
		switch b := text[i]; {
		case b == '\t' || b == '\r' || b == '"' || b == '\\':
			n++
		case b < ' ':
			n += 5
		}
	}
	return n
}
