package tracer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcchk/mcchk/trace"
)

// Free space of a trace directory, in bytes, below which Doctor warns, and
// below which nothing can be recorded: each process begins with 256 KiB.
const (
	littleSpace = 1 << 30
	noSpace     = 1 << 20
)

// traceDir looks at the place where traces will be written.
func (d *examination) traceDir(dir string) {
	const check = "trace directory"
	place, err := nearestExisting(dir)
	if err == nil {
		err = unix.Access(place, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		d.add(check, Problem, "choose another with mcchk run -o, or change its permissions", "%s cannot be written: %v", dir, err)
		return
	}
	var s unix.Statfs_t
	if err := unix.Statfs(place, &s); err != nil {
		d.add(check, Warning, "", "the free space of %s cannot be read: %v", place, err)
		return
	}
	free := s.Bavail * uint64(s.Bsize)
	const fix = "make room, or choose another with mcchk run -o; when the disk is full recording stops and the verdict is undecided"
	switch {
	case free < noSpace:
		d.add(check, Problem, fix, "%s: the disk is full (%d KiB are free)", dir, free>>10)
	case free < littleSpace:
		d.add(check, Warning, fix, "%s: only %d MiB are free", dir, free>>20)
	default:
		d.add(check, OK, "", "%s can be written, %d GiB are free", dir, free>>30)
	}
}

// nearestExisting returns the path, or the folder above it in which it would be
// made. It is an error when that is no folder.
func nearestExisting(path string) (string, error) {
	for {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s is a file", path)
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		path = filepath.Dir(path)
	}
}

// traces looks at a directory of traces.
func (d *examination) traces(dir string) {
	const check = "traces"
	t, err := trace.OpenDir(dir)
	switch {
	case errors.Is(err, trace.ErrNoTraces):
		d.add(check, Problem, "record a run with: mcchk run -o "+dir+" -- COMMAND", "%v", err)
		return
	case errors.Is(err, trace.ErrMixedRuns):
		d.add(check, Problem, "give each run a directory of its own (mcchk run -o), and move the files of the others elsewhere", "%v", err)
		return
	case errors.Is(err, fs.ErrPermission):
		d.add(check, Problem, "change the permissions of the directory and its files", "%v", err)
		return
	case err != nil:
		d.add(check, Problem, "record the run again", "%v", err)
		return
	}
	if n := len(t.Missing); n > 0 {
		d.add(check, Problem, "copy all rank files into one directory; a program on several hosts needs one that all of them see",
			"%d of %d processes have no readable trace", n, t.Ranks)
	} else {
		d.add(check, OK, "", "of all %d processes of one run", t.Ranks)
	}
	for i, bad := range t.Bad {
		if i == maxNamed {
			d.add("trace file", Problem, "", "%d more cannot be read", len(t.Bad)-i)
			break
		}
		d.add("trace file", Problem, "record the run again", "%v", bad.Err)
	}
	d.complete(t)
	d.recordedBuild(t.Files[0].Path)
	d.runRecord(dir)
	d.symbolTable(dir)
}

// complete reads traces to their ends.
func (d *examination) complete(t *trace.Dir) {
	const check = "end of traces"
	var cut []string
	for _, f := range t.Files {
		if text := endsEarly(t, f); text != "" {
			cut = append(cut, text)
		}
	}
	const fix = "look for what ended the process or the recording, and record the run again: the verdict on what there is will not be that there is no race"
	for i, text := range cut {
		if i == maxNamed {
			d.add(check, Problem, "", "%d more are not complete", len(cut)-i)
			break
		}
		d.add(check, Problem, fix, "%s", text)
	}
	if len(cut) == 0 && len(t.Files) > 0 {
		d.add(check, OK, "", "each can be read up to the end of its process")
	}
}

// endsEarly says why a trace is not complete, or nothing.
func endsEarly(t *trace.Dir, f trace.File) string {
	rank := int(f.Header.Rank)
	r, err := t.Open(rank)
	if err != nil {
		return fmt.Sprintf("that of rank %d cannot be read: %v", rank, err)
	}
	defer r.Close()
	for {
		var e trace.Event
		switch err := r.ReadEvent(&e); {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return fmt.Sprintf("that of rank %d cannot be read: %v", rank, err)
		case r.Cut() != nil:
			return fmt.Sprintf("that of rank %d ends early (%s; offset %d)", rank, r.Cut().Reason, r.Cut().Offset)
		default:
			return ""
		}
	}
}

// recordedBuild compares how the program of a trace was built with the library
// that it ran with.
func (d *examination) recordedBuild(path string) {
	r, err := trace.Open(path)
	if err != nil {
		return // a bad file, told already
	}
	defer r.Close()
	var first trace.Event
	if err := r.ReadEvent(&first); err != nil { // what is said of the build comes before
		d.add("traces", Problem, "record the run again", "%s holds no event: %v", path, err)
		return
	}
	var info BuildInfo
	builds, libraries := r.Info("build"), r.Info("mpi.library")
	if len(builds) == 0 || len(libraries) == 0 || json.Unmarshal([]byte(builds[0]), &info) != nil {
		return
	}
	d.build("the program", &info)
	d.libraryOfRun(info.MPI, libraries[0])
}

// libraryOfRun compares the library that a program was compiled for, such as
// "MPICH 4.0.2", with what MPI_Get_library_version said when it ran.
func (d *examination) libraryOfRun(compiled, ran string) {
	const check = "MPI library of compilation and run"
	ran, _, _ = strings.Cut(strings.ReplaceAll(ran, "\t", " "), "\n")
	at := strings.LastIndexByte(compiled, ' ')
	if at < 0 {
		return
	}
	family, version := compiled[:at], compiled[at+1:]
	switch {
	case !strings.Contains(ran, family):
		d.add(check, Warning, "compile and run with the same library; see LD_LIBRARY_PATH and the modules loaded",
			"compiled for %s, but it ran with %s", compiled, ran)
	case !strings.Contains(ran, version):
		d.add(check, Warning, "compile it again with the library it runs with", "compiled for %s, but it ran with another version: %s", compiled, ran)
	default:
		d.add(check, OK, "", "%s", compiled)
	}
}

// runRecord says how the run ended.
func (d *examination) runRecord(dir string) {
	const check = "run"
	r, err := ReadRunRecord(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add(check, OK, "", "not started by mcchk run: how it ended is not known")
	case err != nil:
		d.add(check, Warning, "", "%v", err)
	case r.Exit == nil:
		d.add(check, Warning, "wait for its end, or record it again", "it has not ended, or mcchk run was killed: the traces may be cut")
	case *r.Exit != 0:
		d.add(check, Warning, "see the program's messages; its traces are usable up to that point", "the program %v", Exit{*r.Exit, syscall.Signal(r.Signal)})
	default:
		d.add(check, OK, "", "the program exited with status 0")
	}
}

// symbolTable looks for the source lines.
func (d *examination) symbolTable(dir string) {
	const check = "source lines"
	if _, err := os.Stat(filepath.Join(dir, SymbolsFile)); err != nil {
		d.add(check, Warning, "analyse on the machine of the run, where the program is", "they are not stored with the traces: %v", err)
		return
	}
	text := "with their text"
	if _, err := os.Stat(filepath.Join(dir, SourcesFile)); err != nil {
		text = "without their text, which reports take from the files if they are available"
	}
	d.add(check, OK, "", "stored with the traces, %s", text)
}
