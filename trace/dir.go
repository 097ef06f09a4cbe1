package trace

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Errors of OpenDir that a caller may tell apart with errors.Is.
var (
	// ErrNoTraces: the directory holds no trace files.
	ErrNoTraces = errors.New("no trace files (rank-N.mcct or rank-N.mcct.zst)")
	// ErrMixedRuns: the files come from different runs of a program.
	ErrMixedRuns = errors.New("trace files of different runs")
)

// File is a trace file of a directory.
type File struct {
	Path   string
	Header Header
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
}

// OpenDir finds the trace files in a directory and one level below it, and
// reads their headers. Where a plain file and its .zst stand side by side, the
// plain one counts. It is an error when there are none (ErrNoTraces), when
// they are of different runs (ErrMixedRuns), when two are of one rank, and
// when the header of none can be read.
func OpenDir(path string) (*Dir, error) {
	paths, err := traceFiles(path)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoTraces)
	}
	d := &Dir{Path: path}
	for _, p := range paths {
		r, err := Open(p)
		if err != nil {
			d.Bad = append(d.Bad, BadFile{Path: p, Err: err})
			continue
		}
		d.Files = append(d.Files, File{Path: p, Header: r.Header()})
		r.Close()
	}
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

// traceFiles lists the trace files of dir and its subdirectories by path.
func traceFiles(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the directory that holds the traces of all processes (its own is %s)", dir, filepath.Dir(dir))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		info, err := os.Stat(p) // follows links
		if err != nil {
			continue // a link to nothing
		}
		if !info.IsDir() {
			found[p] = info.Mode().IsRegular() && isTrace(p)
			continue
		}
		inner, err := os.ReadDir(p)
		if err != nil {
			return nil, err
		}
		for _, e := range inner {
			q := filepath.Join(p, e.Name())
			info, err := os.Stat(q)
			found[q] = err == nil && info.Mode().IsRegular() && isTrace(q)
		}
	}
	var paths []string
	for p, is := range found {
		if plain, zst := strings.CutSuffix(p, ".zst"); is && !(zst && found[plain]) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths, nil
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
	return Open(d.Files[i].Path)
}
