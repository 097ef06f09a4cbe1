package sources

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// FileName is the name under which source text lies beside the traces.
const FileName = "sources.json"

const storedVersion = 1

// maxStored bounds the file that is read, bytes: more than twice what Keep makes.
const maxStored = 2*maxKept + 1<<20

// Stored is source text that was kept with a run: some lines of some files, and
// of each file the hash of the whole. A nil Stored holds nothing. It does not
// change once it is made.
type Stored struct {
	files   map[string]*storedFile // by name, as the traces have it
	leftOut int                    // files that there was no room for
}

// storedFile is what was kept of one file.
type storedFile struct {
	hash      string    // SHA-256 of the whole, hexadecimal
	leftOut   int       // lines that there was no room for
	stretches []stretch // ascending, with lines that are not stored between them
}

// stretch is lines that follow one another.
type stretch struct {
	first int // 1-based
	lines []string
}

func (s *stretch) end() int { return s.first + len(s.lines) }

// file returns what was kept of a file; nil where that is nothing.
func (s *Stored) file(name string) *storedFile {
	if s == nil {
		return nil
	}
	return s.files[name]
}

// line returns a line, from 1 on, and whether it was kept.
func (f *storedFile) line(n int) (string, bool) {
	if f == nil {
		return "", false
	}
	i, _ := slices.BinarySearchFunc(f.stretches, n, func(s stretch, n int) int { return cmp.Compare(s.end()-1, n) })
	if i == len(f.stretches) || n < f.stretches[i].first {
		return "", false
	}
	return f.stretches[i].lines[n-f.stretches[i].first], true
}

// The file (docs/trace-format.md, "Source text").
type storedJSON struct {
	Version int        `json:"version"`
	LeftOut int        `json:"left_out,omitempty"`
	Files   []fileJSON `json:"files"`
}

type fileJSON struct {
	Name      string        `json:"name"`
	SHA256    string        `json:"sha256"`
	LeftOut   int           `json:"left_out,omitempty"`
	Stretches []stretchJSON `json:"stretches,omitempty"`
}

type stretchJSON struct {
	First  int      `json:"first"`
	Latin1 bool     `json:"latin1,omitempty"`
	Lines  []string `json:"lines"`
}

// Write writes the file, the same bytes for the same content.
func (s *Stored) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(s.json()); err != nil {
		return fmt.Errorf("write source text: %w", err)
	}
	return nil
}

// ReadStored reads what Write wrote. It takes no more memory than a few times
// the largest file that there may be, whatever it reads.
func ReadStored(r io.Reader) (*Stored, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxStored+1))
	if err != nil {
		return nil, fmt.Errorf("read source text: %w", err)
	}
	if len(data) > maxStored {
		return nil, fmt.Errorf("read source text: the file is larger than %d bytes", maxStored)
	}
	s := &Stored{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read source text: %w", err)
	}
	return s, nil
}

// MarshalJSON returns the content of the file.
func (s *Stored) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON takes the content of a file, and refuses what Write never writes.
func (s *Stored) UnmarshalJSON(data []byte) error {
	var in storedJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Version != storedVersion {
		return fmt.Errorf("version %d, this program reads version %d", in.Version, storedVersion)
	}
	s.leftOut, s.files = in.LeftOut, map[string]*storedFile{}
	for _, f := range in.Files {
		if s.files[f.Name] != nil {
			return fmt.Errorf("%q is there twice", f.Name)
		}
		kept := &storedFile{hash: f.SHA256, leftOut: f.LeftOut}
		for _, t := range f.Stretches {
			kept.stretches = append(kept.stretches, stretch{t.First, t.Lines})
		}
		s.files[f.Name] = kept
	}
	return nil
}

func (s *Stored) json() storedJSON {
	out := storedJSON{Version: storedVersion, Files: []fileJSON{}}
	if s == nil {
		return out
	}
	out.LeftOut = s.leftOut
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		f := s.files[name]
		file := fileJSON{Name: name, SHA256: f.hash, LeftOut: f.leftOut}
		for _, t := range f.stretches {
			file.Stretches = append(file.Stretches, stretchOf(t))
		}
		out.Files = append(out.Files, file)
	}
	return out
}

// stretchOf writes lines that are not UTF-8 with a character for each byte.
func stretchOf(t stretch) stretchJSON {
	out := stretchJSON{First: t.first, Lines: t.lines}
	if !slices.ContainsFunc(t.lines, func(line string) bool { return !utf8.ValidString(line) }) {
		return out
	}
	out.Latin1, out.Lines = true, make([]string, len(t.lines))
	for i, line := range t.lines {
		runes := make([]rune, len(line))
		for k := range len(line) {
			runes[k] = rune(line[k])
		}
		out.Lines[i] = string(runes)
	}
	return out
}

// UnmarshalJSON refuses a file that makes no sense before the next one is read.
func (f *fileJSON) UnmarshalJSON(data []byte) error {
	type plain fileJSON
	if err := json.Unmarshal(data, (*plain)(f)); err != nil {
		return err
	}
	if hash, err := hex.DecodeString(f.SHA256); err != nil || len(hash) != hashSize || f.Name == "" || f.LeftOut < 0 {
		return fmt.Errorf("the file %q has no name, no SHA-256 or no number of lines left out", f.Name)
	}
	end := 0
	for _, t := range f.Stretches {
		if t.First <= end {
			return fmt.Errorf("%q: line %d is out of order", f.Name, t.First)
		}
		end = t.First + len(t.Lines)
	}
	return nil
}

// UnmarshalJSON takes lines back to what they were in their file.
func (t *stretchJSON) UnmarshalJSON(data []byte) error {
	type plain stretchJSON
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.First < 1 || t.First > math.MaxInt32 || len(t.Lines) == 0 {
		return fmt.Errorf("%d lines from line %d on", len(t.Lines), t.First)
	}
	for i, line := range t.Lines {
		if strings.Contains(line, "\n") {
			return fmt.Errorf("line %d is several", t.First+i)
		}
		if t.Latin1 {
			text, err := fromLatin1(line)
			if err != nil {
				return fmt.Errorf("line %d: %w", t.First+i, err)
			}
			t.Lines[i] = text
		}
	}
	return nil
}

func fromLatin1(text string) (string, error) {
	line := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return "", errors.New("a character that stands for no byte")
		}
		line = append(line, byte(r))
	}
	return string(line), nil
}
