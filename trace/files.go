package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// files are the files of a directory that are read side by side. Of thousands
// only some are open at a time: one that was not read for a while is closed, and
// opened again when its turn comes.
type files struct {
	most   int          // to be open
	read   atomic.Int64 // bytes read of all of them
	common common       // to what they define

	mu   sync.Mutex
	free sync.Cond   // a file became idle, or was closed
	open int         // files that are open
	idle []*lazyFile // open, and nobody reads; the one that was read last comes last
}

const (
	mostFiles  = 512
	leastFiles = 16
)

// newFiles returns files that leave half of those that the process may have
// open to others.
func newFiles() *files {
	most := mostFiles
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur/2 < uint64(most) {
		most = max(int(limit.Cur/2), leastFiles)
	}
	fs := &files{most: most, common: common{fns: map[string]*Fn{}}}
	fs.free.L = &fs.mu
	return fs
}

// lazyFile is a file, or a piece of one, that is open only while it is read. It is
// for one goroutine.
type lazyFile struct {
	all  *files
	path string
	from int64 // of the piece
	at   int64 // of the next byte in the file
	end  int64 // of the piece; < 0: that of the file

	os     *os.File // guarded by all.mu while the file is idle
	closed bool
}

// newFile returns a reader for size bytes of a file; < 0 means all that follow.
func (fs *files) newFile(path string, at, size int64) *lazyFile {
	end := int64(-1)
	if size >= 0 {
		end = at + size
	}
	return &lazyFile{all: fs, path: path, from: at, at: at, end: end}
}

// Read reads on.
func (f *lazyFile) Read(p []byte) (int, error) {
	switch left := f.end - f.at; {
	case f.closed:
		return 0, fmt.Errorf("%s: %w", f.path, os.ErrClosed)
	case f.end >= 0 && left <= 0:
		return 0, io.EOF
	case f.end >= 0 && int64(len(p)) > left:
		p = p[:left]
	}
	if err := f.take(); err != nil {
		return 0, err
	}
	n, err := f.os.ReadAt(p, f.at)
	f.at += int64(n)
	f.all.read.Add(int64(n))
	if errors.Is(err, io.EOF) {
		if cerr := f.drop(); cerr != nil {
			return n, cerr
		}
		if n > 0 || len(p) == 0 {
			err = nil // the next call says so
		}
		return n, err
	}
	f.giveBack()
	return n, err
}

// ReadAt reads from an offset in the piece, which does not count as read. It reads
// less than p has room for only with an error.
func (f *lazyFile) ReadAt(p []byte, off int64) (int, error) {
	if at := f.from + off; f.closed || f.end >= 0 && at+int64(len(p)) > f.end {
		return 0, io.ErrUnexpectedEOF
	}
	if err := f.take(); err != nil {
		return 0, err
	}
	n, err := f.os.ReadAt(p, f.from+off)
	f.giveBack()
	return n, err
}

// Seek goes on from where the file was read, and tells where that is.
func (f *lazyFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent {
		return 0, fmt.Errorf("%s: %w", f.path, errors.ErrUnsupported)
	}
	f.at += offset
	f.all.read.Add(offset)
	return f.at - f.from, nil
}

// take opens the file unless it is open, and keeps others from closing it.
func (f *lazyFile) take() error {
	fs := f.all
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.os != nil {
		for i, g := range fs.idle {
			if g == f {
				fs.idle = append(fs.idle[:i], fs.idle[i+1:]...)
				break
			}
		}
		return nil
	}
	for fs.open >= fs.most {
		if len(fs.idle) == 0 {
			fs.free.Wait()
			continue
		}
		old := fs.idle[0]
		fs.idle = fs.idle[1:]
		fs.open--
		err := old.os.Close()
		old.os = nil
		if err != nil {
			return err
		}
	}
	fs.open++
	fs.mu.Unlock()
	opened, err := os.Open(f.path)
	fs.mu.Lock()
	if err != nil {
		fs.open--
		fs.free.Signal()
		return err
	}
	f.os = opened
	return nil
}

func (f *lazyFile) giveBack() {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.all.idle = append(f.all.idle, f)
	f.all.free.Signal()
}

// drop closes the file, which this goroutine has taken.
func (f *lazyFile) drop() error {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.all.open--
	err := f.os.Close()
	f.os = nil
	f.all.free.Signal()
	return err
}

// Close closes the file for good.
func (f *lazyFile) Close() error {
	f.closed = true
	f.all.mu.Lock()
	isOpen := f.os != nil
	f.all.mu.Unlock()
	if !isOpen {
		return nil
	}
	if err := f.take(); err != nil {
		return err
	}
	if f.os == nil {
		return nil
	}
	return f.drop()
}
