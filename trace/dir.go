package trace

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Errors of OpenDir that a caller may tell apart with errors.Is.
var (
	// ErrNoTraces: the directory holds no trace files.
	ErrNoTraces = errors.New("no trace files (rank-N.mcct or rank-N.mcct.zst, or tar archives of such)")
	// ErrMixedRuns: the files come from different runs of a program.
	ErrMixedRuns = errors.New("trace files of different runs")
)

// File is a trace file of a directory.
type File struct {
	Path   string // "x.tar:rank-3.mcct" in an archive
	Header Header
	source source
}

// BadFile is a file with the name of a trace whose header cannot be read.
type BadFile struct {
	Path string
	Err  error // names the path and the offset
}

// Dir is the traces of one run.
type Dir struct {
	Path    string
	Run     [16]byte
	Ranks   int       // processes that the run had
	Files   []File    // by rank
	Bad     []BadFile // by path; their ranks are among Missing
	Missing []int     // ranks without a readable file, ascending

	files  *files
	bytes  int64
	follow *Following // how what is opened is read along; nil: it is not
}

// OpenDir finds the trace files in a directory and one level below it, and in
// tar archives there, and reads their headers. Where a plain file and its .zst
// stand side by side, the plain one counts. It is an error when there are none
// (ErrNoTraces), when they are of different runs (ErrMixedRuns), when two are of
// one rank, and when the header of none can be read.
//
// However many files there are, only a few are open at a time.
func OpenDir(path string) (*Dir, error) {
	found, bad, err := traceFiles(path)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && len(bad) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoTraces)
	}
	d := &Dir{Path: path, Bad: bad, files: newFiles()}
	readers, errs := openAll(newFiles(), found, nil)
	for i, r := range readers {
		if errs[i] != nil {
			d.Bad = append(d.Bad, BadFile{Path: found[i].path, Err: errs[i]})
			continue
		}
		d.Files = append(d.Files, File{Path: found[i].path, Header: r.Header(), source: found[i]})
		d.bytes += found[i].size
		r.Close()
	}
	slices.SortFunc(d.Bad, func(a, b BadFile) int { return cmp.Compare(a.Path, b.Path) })
	if len(d.Files) == 0 {
		err := fmt.Errorf("%s: no readable trace file: %w", path, d.Bad[0].Err)
		if more := len(d.Bad) - 1; more > 0 {
			err = fmt.Errorf("%w (and %d more)", err, more)
		}
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// openers is how many files are opened at once: what takes time is the file
// system.
const openers = 16

// openAll opens traces side by side. For each there is a reader or an error.
func openAll(all *files, sources []source, how *Following) ([]*Reader, []error) {
	readers, errs := make([]*Reader, len(sources)), make([]error, len(sources))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(openers, len(sources)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(sources) {
					return
				}
				readers[i], errs[i] = sources[i].open(all, how)
			}
		})
	}
	wg.Wait()
	return readers, errs
}

func (s *source) open(all *files, how *Following) (*Reader, error) {
	size := int64(-1)
	if s.piece {
		size = s.size
	}
	f := all.newFile(s.file, s.at, size)
	r, err := NewReader(f, s.path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file, r.defs.common = f, &all.common
	if !s.piece {
		r.followFile(f, how)
	}
	return r, nil
}

// traceFiles lists the traces in dir, its subdirectories and the archives there,
// by path; and the archives that cannot be read.
func traceFiles(dir string) (found []source, bad []BadFile, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a file: name the directory that holds the traces of all processes (its own is %s)", dir, filepath.Dir(dir))
	}
	paths, sizes, err := candidates(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range paths {
		plain, zst := strings.CutSuffix(p, ".zst")
		_, twice := sizes[plain]
		switch {
		case isArchive(p):
			inner, err := inArchive(p)
			if err != nil {
				bad = append(bad, BadFile{Path: p, Err: err})
			}
			found = append(found, inner...)
		case !zst || !twice:
			found = append(found, source{path: p, file: p, size: sizes[p]})
		}
	}
	return found, bad, nil
}

// candidates lists the files in dir and one level below that may be or hold
// traces, by path, and their sizes.
func candidates(dir string) (paths []string, sizes map[string]int64, err error) {
	sizes = map[string]int64{}
	var list func(dir string, below bool) error
	list = func(dir string, below bool) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := filepath.Join(dir, e.Name())
			isDir := e.IsDir() || e.Type()&os.ModeSymlink != 0
			if !isDir && !isTrace(p) && !isArchive(p) {
				continue
			}
			info, err := os.Stat(p) // follows links
			switch {
			case err != nil: // a link to nothing
			case info.IsDir() && below:
				if err := list(p, false); err != nil {
					return err
				}
			case info.Mode().IsRegular() && (isTrace(p) || isArchive(p)):
				sizes[p] = info.Size()
			}
		}
		return nil
	}
	if err := list(dir, true); err != nil {
		return nil, nil, err
	}
	return slices.Sorted(maps.Keys(sizes)), sizes, nil
}

func isTrace(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(path, ".zst"), ".mcct")
}

// check sorts the files and compares their headers.
func (d *Dir) check() error {
	slices.SortFunc(d.Files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Header.Rank, b.Header.Rank), cmp.Compare(a.Path, b.Path))
	})
	first := d.Files[0]
	d.Run, d.Ranks = first.Header.Run, first.Header.Ranks
	for _, f := range d.Files {
		if f.Header.Run != d.Run {
			return d.mixed()
		}
	}
	next := 0
	for i, f := range d.Files {
		if f.Header.Ranks != d.Ranks {
			return fmt.Errorf("%s is of a run of %d processes, %s of one of %d", first.Path, d.Ranks, f.Path, f.Header.Ranks)
		}
		if i > 0 && f.Header == d.Files[i-1].Header { // the process and the time too
			return fmt.Errorf("two copies of the trace of rank %d: %s and %s: leave one of them in the directory", f.Header.Rank, d.Files[i-1].Path, f.Path)
		}
		if i > 0 && f.Header.Rank == d.Files[i-1].Header.Rank {
			return fmt.Errorf("two files of rank %d: %s and %s: did each process start alone (by the mpiexec of another MPI library), "+
				"or did the command start several MPI programs? Give each program its own 'mcchk run'", f.Header.Rank, d.Files[i-1].Path, f.Path)
		}
		for ; next < f.Header.Rank; next++ {
			d.Missing = append(d.Missing, next)
		}
		next++
	}
	for ; next < d.Ranks; next++ {
		d.Missing = append(d.Missing, next)
	}
	return nil
}

// mixed says which files belong to which run.
func (d *Dir) mixed() error {
	runs := map[[16]byte][]string{}
	var order [][16]byte
	for _, f := range d.Files {
		run := f.Header.Run
		if runs[run] == nil {
			order = append(order, run)
		}
		name, err := filepath.Rel(d.Path, f.Path)
		if err != nil {
			name = f.Path
		}
		runs[run] = append(runs[run], name)
	}
	const most = 8
	var parts []string
	for _, run := range order {
		names := runs[run]
		text := strings.Join(names[:min(len(names), most)], ", ")
		if len(names) > most {
			text += fmt.Sprintf(" and %d more", len(names)-most)
		}
		parts = append(parts, "run "+hex.EncodeToString(run[:])+": "+text)
	}
	return fmt.Errorf("%w: %s", ErrMixedRuns, strings.Join(parts, "; "))
}

// Open opens the trace of a rank. It is an error wrapping os.ErrNotExist when
// the directory has none.
func (d *Dir) Open(rank int) (*Reader, error) {
	i, ok := slices.BinarySearchFunc(d.Files, rank, func(f File, rank int) int {
		return cmp.Compare(f.Header.Rank, rank)
	})
	if !ok {
		return nil, fmt.Errorf("%s: rank %d: %w", d.Path, rank, os.ErrNotExist)
	}
	return d.Files[i].source.open(d.files, d.follow)
}

// OpenAll opens the traces of all ranks, by rank; nil where there is none. On an
// error none is open.
func (d *Dir) OpenAll() ([]*Reader, error) {
	sources := make([]source, len(d.Files))
	for i, f := range d.Files {
		sources[i] = f.source
	}
	readers, errs := openAll(d.files, sources, d.follow)
	if err := errors.Join(errs...); err != nil {
		for _, r := range readers {
			if r != nil {
				r.Close()
			}
		}
		return nil, err
	}
	byRank := make([]*Reader, d.Ranks)
	for i, f := range d.Files {
		byRank[f.Header.Rank] = readers[i]
	}
	return byRank, nil
}

// Bytes is the size of all trace files together, as they lie on the disk.
func (d *Dir) Bytes() int64 { return d.bytes }

// BytesRead is how much has been read of what Open and OpenAll opened. It may be
// called while others read.
func (d *Dir) BytesRead() int64 {
	if d.files == nil {
		return 0
	}
	return d.files.read.Load()
}
