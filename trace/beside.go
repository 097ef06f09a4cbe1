package trace

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Beside is a file that lies beside traces.
type Beside struct {
	io.ReadCloser
	Path string // "x.tar:traces/symbols.json" in an archive
}

// OpenBeside opens the file of a name that lies beside the traces of a directory:
// in the directory itself, otherwise in the first, by path, of the folders and
// archives that hold traces. The error wraps fs.ErrNotExist where there is none.
func (d *Dir) OpenBeside(name string) (*Beside, error) {
	var folders, archives []string
	for _, f := range d.Files {
		if f.source.piece {
			archives = append(archives, f.source.file)
		} else if f.source.file != "" {
			folders = append(folders, filepath.Dir(f.source.file))
		}
	}
	slices.Sort(folders)
	slices.Sort(archives)
	for _, folder := range append([]string{d.Path}, slices.Compact(folders)...) {
		if b, err := openRegular(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	for _, archive := range slices.Compact(archives) {
		if b, err := openInArchive(archive, name); !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	return nil, fmt.Errorf("%s: %w", filepath.Join(d.Path, name), fs.ErrNotExist)
}

func openRegular(path string) (*Beside, error) {
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
	return &Beside{f, path}, nil
}

// openInArchive opens the first file of a name in a tar archive, at any depth of
// folders.
func openInArchive(archive, name string) (*Beside, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			err = fs.ErrNotExist
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		if h.Typeflag == tar.TypeReg && path.Base(h.Name) == name && !isSparse(h) {
			return &Beside{struct {
				io.Reader
				io.Closer
			}{r, f}, archive + ":" + h.Name}, nil
		}
	}
}
