// Package sources gives the source lines that reports show and that findings are
// recognized by. They are those that were kept with the run (Keep, Stored), so
// that they can be shown wherever the traces are, and whatever became of the
// files since; only what was not kept is read from the files themselves.
package sources

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Files reads source files.
type Files interface {
	// ReadFile returns the content of a file.
	ReadFile(path string) ([]byte, error)
	// ModTime returns when a file was changed last; the zero time where that is
	// not known.
	ModTime(path string) time.Time
}

// Disk reads the files of this machine: regular ones, up to a size that no source
// file has.
type Disk struct{}

// maxSource bounds a source file, bytes.
const maxSource = 64 << 20

// ReadFile returns the content of a file.
func (Disk) ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSource {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxSource)
	}
	return data, nil
}

// ModTime returns when a file was changed last.
func (Disk) ModTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Reader gives lines of source files. Each file is read once at most, and only
// when somebody asks for it. A nil Reader has no lines. It is safe for concurrent
// use.
type Reader struct {
	stored *Stored
	files  Files

	mu   sync.Mutex
	read map[string]*present
}

// present is a file as it is now.
type present struct {
	lines   []string // none where it is missing, or is not what it was
	changed bool     // it is there, and not what it was at the run
}

// NewReader returns a reader of lines that were kept with a run, nil where none
// were, and of files, nil where none are at hand.
func NewReader(stored *Stored, files Files) *Reader {
	return &Reader{stored: stored, files: files}
}

// Line returns a line of a file, from 1 on and without its line feed; "" where
// that is neither kept nor in the file. A file that has changed since the run has
// no lines but those kept.
func (r *Reader) Line(path string, line int) string {
	if r == nil || path == "" || line < 1 {
		return ""
	}
	if text, ok := r.stored.file(path).line(line); ok {
		return text
	}
	if lines := r.present(path).lines; line <= len(lines) {
		return lines[line-1]
	}
	return ""
}

// Changed reports whether a file of which lines were kept is there, and is not
// what it was when the run ended.
func (r *Reader) Changed(path string) bool {
	return r != nil && r.stored.file(path) != nil && r.present(path).changed
}

// Newer reports whether the lines of a file are those that it has now, and it was
// changed after a moment.
func (r *Reader) Newer(path string, than time.Time) bool {
	return r != nil && r.files != nil && r.stored.file(path) == nil && r.files.ModTime(path).After(than)
}

func (r *Reader) present(path string) *present {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.read[path]; p != nil {
		return p
	}
	p := &present{}
	if r.files != nil {
		if data, err := r.files.ReadFile(path); err == nil {
			kept := r.stored.file(path)
			if p.changed = kept != nil && kept.hash != hashOf(data); !p.changed {
				p.lines = linesOf(data)
			}
		}
	}
	if r.read == nil {
		r.read = map[string]*present{}
	}
	r.read[path] = p
	return p
}
