package tracer

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Magic words of archives made by ar; a thin one names its members' files.
const (
	archiveMagic     = "!<arch>\n"
	thinArchiveMagic = "!<thin>\n"
	archiveHeader    = 60 // bytes before each member
)

// archiveMember is one file of an archive.
type archiveMember struct {
	name string
	data io.ReaderAt
	size int64
}

// eachMember calls f for every member of a (possibly thin) archive, except its
// indices. The format is that of System V with GNU's and BSD's long names.
func eachMember(path string, f func(archiveMember) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	magic := make([]byte, len(archiveMagic))
	if _, err := io.ReadFull(file, magic); err != nil {
		return fmt.Errorf("%s: not an archive: %w", path, err)
	}
	a := archiveReader{path: path, file: file, size: info.Size(), thin: string(magic) == thinArchiveMagic}
	if !a.thin && string(magic) != archiveMagic {
		return fmt.Errorf("%s: not an archive", path)
	}
	for offset := int64(len(magic)); offset+archiveHeader <= a.size; {
		next, err := a.member(offset, f)
		if err != nil {
			return fmt.Errorf("%s: offset %#x: %w", path, offset, err)
		}
		offset = next
	}
	return nil
}

type archiveReader struct {
	path  string
	file  *os.File
	size  int64
	thin  bool
	names []byte // GNU's table of long names
}

// member reads the member whose header is at offset and returns the offset of the next.
func (a *archiveReader) member(offset int64, f func(archiveMember) error) (int64, error) {
	header := make([]byte, archiveHeader)
	if _, err := a.file.ReadAt(header, offset); err != nil {
		return 0, err
	}
	if header[58] != '`' || header[59] != '\n' {
		return 0, fmt.Errorf("damaged archive header")
	}
	size, err := strconv.ParseInt(strings.TrimSpace(string(header[48:58])), 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("damaged archive header: size %q", header[48:58])
	}
	name := strings.TrimRight(string(header[:16]), " ")
	start := offset + archiveHeader
	special := name == "/" || name == "/SYM64/" || name == "//"
	stored := size
	if a.thin && !special {
		stored = 0
	}
	if stored > a.size-start {
		return 0, fmt.Errorf("archive member %s is cut", name)
	}
	next := start + stored + stored&1
	m := archiveMember{data: io.NewSectionReader(a.file, start, stored), size: stored}
	switch {
	case name == "//":
		a.names = make([]byte, size)
		_, err := a.file.ReadAt(a.names, start)
		return next, err
	case special || strings.HasPrefix(name, "__.SYMDEF"):
		return next, nil
	case strings.HasPrefix(name, "#1/"):
		n, err := strconv.ParseInt(name[3:], 10, 32)
		if err != nil || n < 0 || n > size || a.thin {
			return 0, fmt.Errorf("damaged archive header: name %q", name)
		}
		long := make([]byte, n)
		if _, err := a.file.ReadAt(long, start); err != nil {
			return 0, err
		}
		m.name = string(bytes.TrimRight(long, "\x00"))
		m.data, m.size = io.NewSectionReader(a.file, start+n, stored-n), stored-n
	default:
		if m.name, err = a.longName(name); err != nil {
			return 0, err
		}
	}
	if !a.thin {
		return next, f(m)
	}
	return next, a.thinMember(m, f)
}

// thinMember opens the file that a member of a thin archive stands for.
func (a *archiveReader) thinMember(m archiveMember, f func(archiveMember) error) error {
	path := m.name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(a.path), path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("archive member %q: %s is no file", m.name, path)
	}
	return f(archiveMember{name: filepath.Base(m.name), data: file, size: info.Size()})
}

// longName resolves GNU's names: "name/", or "/offset" into the table.
func (a *archiveReader) longName(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, "/")
	if !ok {
		return strings.TrimSuffix(name, "/"), nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 || n >= len(a.names) {
		return "", fmt.Errorf("damaged archive header: name %q", name)
	}
	long, _, _ := strings.Cut(string(a.names[n:]), "\n")
	return strings.TrimSuffix(long, "/"), nil
}
