package trace

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// source is where the bytes of a trace lie: in a file of their own, or in an
// archive.
type source struct {
	path string // as errors name it
	file string
	at   int64
	size int64
	// piece: of the file only size bytes from at on; otherwise all that it has
	// when it is read.
	piece bool
}

// isArchive reports whether a file may hold traces by its name.
func isArchive(path string) bool { return strings.HasSuffix(path, ".tar") }

// inArchive lists the trace files in a tar archive, at any depth of folders.
func inArchive(path string) (found []source, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("%s: %w", path, err)
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse || !isTrace(h.Name) {
			continue
		}
		if isSparse(h) {
			return found, fmt.Errorf("%s: %s is stored with holes: pack without --sparse", path, h.Name)
		}
		at, err := f.Seek(0, io.SeekCurrent) // the reader reads no further than the header
		if err != nil {
			return found, err
		}
		found = append(found, source{path: path + ":" + h.Name, file: path, at: at, size: h.Size, piece: true})
	}
}

func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}
