package tracer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Names of what mcchk keeps in a trace directory, apart from the traces.
const (
	RunFile     = "run.json"     // a RunRecord
	SymbolsFile = "symbols.json" // source places, made after the run
	SourcesFile = "sources.json" // their text, made after the run
)

// Variables that tell the run-time where to write, and which run it is part of.
const (
	envTraceDir = "MCCHK_TRACE_DIR"
	envRunID    = "MCCHK_RUN_ID"
	envMaxTrace = "MCCHK_MAX_TRACE"
	envLive     = "MCCHK_LIVE"
	envMaxDisk  = "MCCHK_MAX_DISK"
	envWhenFull = "MCCHK_WHEN_FULL"
)

// killDelay is how long a program that was asked to end may take.
const killDelay = 5 * time.Second

// ErrNoTraces says that a program ended without having written a trace.
var ErrNoTraces = errors.New("no traces were written: was the program compiled with mcchk cc (or another of its compilers), and did it come to MPI_Init, shmem_init or gaspi_proc_init, where traces begin (MPI_Session_init begins none)?")

// ErrTimeout says that a program was ended because it ran longer than allowed.
var ErrTimeout = errors.New("the program ran longer than allowed")

// RunOptions say what Run starts.
type RunOptions struct {
	Dir string // trace directory; made when it does not exist
	// Number is that of one of several runs of a program, from 1: its traces go to
	// RunDir. With the first, those of earlier runs are removed. 0: there is one run.
	Number  int
	Command []string // launcher and program, such as mpiexec -n 2 ./app
	WorkDir string   // "" means the current one
	Env     []string // nil means os.Environ()
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Timeout time.Duration // 0: none
	Version string        // of mcchk, for the record

	// MaxTrace is how many bytes the traces of all processes may have together; each
	// may write an equal part of them. Recording ends there. 0: no limit.
	MaxTrace int64

	// Live has the traces written so that they can be analysed while the program runs
	// (trace.FollowDir). Started, if set, is called when the directory is ready for them.
	// All traces together take MaxDisk bytes at most, each an equal part: the program waits
	// until something was analysed and given back, or with Drop is not recorded further.
	// 0: no limit.
	Live    bool
	Started func()
	MaxDisk int64
	Drop    bool

	// Preload loads the run-time into a program that was not compiled with mcchk: its
	// calls are recorded, its loads and stores are not. MPICC is the compiler wrapper of
	// the MPI library that it uses; "" means $MCCHK_MPICC, else mpicc.
	Preload bool
	MPICC   string
}

// RunRecord is what run.json holds.
type RunRecord struct {
	Command []string   `json:"command"`
	WorkDir string     `json:"work_dir"`
	Run     string     `json:"run"` // identifier, 32 hexadecimal digits
	Version string     `json:"mcchk"`
	Start   time.Time  `json:"start"`
	End     *time.Time `json:"end,omitempty"`  // none while the program runs
	Exit    *int       `json:"exit,omitempty"` // its exit status, 128 + n after signal n
	// Signal is the signal that ended the command itself, as it ends a launcher; 0: none.
	Signal int `json:"signal,omitempty"`
}

// Exit is how a program ended. Of a program under a launcher, it is how the launcher
// did: its status may stand for a signal that ended a process, and need not.
type Exit struct {
	Status int            // 128 + n after signal n
	Signal syscall.Signal // that ended it; 0: none
}

// String says how the program ended, as the rest of a sentence.
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("was ended by signal %d (%v)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exited with status %d", e.Status)
}

// Run starts a program with a fresh trace directory and waits for it. SIGINT
// and SIGTERM sent to this process are passed on to it (but not an interrupt
// typed at a terminal, which reaches it anyway). How the program ended is valid
// unless it could not be started; an error is trouble of the tracing, among them
// ErrNoTraces and ErrTimeout.
func Run(ctx context.Context, o RunOptions) (exit Exit, err error) {
	if len(o.Command) == 0 {
		return Exit{}, errors.New("no program to run")
	}
	t := newTools(o.WorkDir, o.Env)
	t.stdin, t.stdout, t.stderr = o.Stdin, orDiscard(o.Stdout), orDiscard(o.Stderr)
	path, err := t.look(o.Command[0])
	if err != nil {
		return Exit{}, fmt.Errorf("program to run: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Exit{}, err
	}
	if o.Number <= 1 {
		if err := prepareTraceDir(dir); err != nil {
			return Exit{}, err
		}
	}
	if o.Number > 0 {
		dir = RunDir(dir, o.Number)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Exit{}, fmt.Errorf("trace directory: %w", err)
		}
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return Exit{}, err
	}
	workDir, err := filepath.Abs(o.WorkDir)
	if err != nil {
		return Exit{}, err
	}
	record := RunRecord{Command: o.Command, WorkDir: workDir, Run: hex.EncodeToString(id[:]), Version: o.Version, Start: time.Now().UTC()}
	if err := record.write(dir); err != nil {
		return Exit{}, err
	}
	variables := []string{envTraceDir + "=" + dir, envRunID + "=" + record.Run, envMaxTrace + "=" + sizeInKiB(o.MaxTrace)}
	if o.Live {
		variables = append(variables, envLive+"=1", envMaxDisk+"="+sizeInKiB(o.MaxDisk))
		if o.Drop {
			variables = append(variables, envWhenFull+"=drop")
		}
	}
	if o.Preload {
		v, err := preload(ctx, &t, o.MPICC)
		if err != nil {
			return Exit{}, err
		}
		variables = append(variables, v)
	}
	t.env = launcherEnvironment(t, path, o.Command, variables)
	watched := watchSize(dir, o.MaxTrace, t.stderr)
	if o.Started != nil {
		o.Started()
	}
	exit, err = supervise(ctx, &t, path, o.Command, o.Timeout)
	watched()
	if ctx.Err() != nil || errors.Is(err, ErrTimeout) {
		endStragglers(record.Run)
	}
	if e := replaced(dir, record.Run); e != nil {
		return exit, e
	}
	end := time.Now().UTC()
	record.End, record.Exit, record.Signal = &end, &exit.Status, int(exit.Signal)
	if e := record.write(dir); e != nil { // the disk is full, perhaps: the record made before the run stays
		fmt.Fprintf(t.stderr, "mcchk: how the run ended was not recorded: %v\n", e)
	}
	if err == nil {
		err = checkTraces(dir)
	}
	if o.Preload && errors.Is(err, ErrNoTraces) {
		err = ErrNotLoaded
	}
	return exit, err
}

func (r *RunRecord) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(dir, RunFile), append(data, '\n'))
}

// ReadRunRecord reads the run.json of a trace directory. The error wraps
// fs.ErrNotExist when there is none.
func ReadRunRecord(dir string) (*RunRecord, error) {
	path := filepath.Join(dir, RunFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(RunRecord)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// isTraceFile tells trace files by name: rank-<number>.mcct, or so compressed;
// rank-<number>-<process id>.mcct where a second process was of that rank.
func isTraceFile(name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, ".zst"), "rank-")
	if !ok {
		return false
	}
	number, ok := strings.CutSuffix(rest, ".mcct")
	return ok && number != "" && strings.Trim(number, "0123456789-") == "" && number[0] != '-'
}

// runPrefix is what the directories of several runs are called, before their numbers.
const runPrefix = "run-"

// RunDir is the directory for the traces of one of several runs, from 1, below the one
// that they have in common.
func RunDir(dir string, number int) string {
	return filepath.Join(dir, runPrefix+strconv.Itoa(number))
}

// RunDirs returns the directories of several runs below a directory, by number; none
// where it holds something else.
func RunDirs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var numbers []int
	for _, e := range entries {
		number, isRun := strings.CutPrefix(e.Name(), runPrefix)
		n, err := strconv.Atoi(number)
		if !isRun || err != nil || strconv.Itoa(n) != number {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, e.Name(), RunFile)); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var out []string
	for _, n := range numbers {
		out = append(out, RunDir(dir, n))
	}
	return out
}

// spawnedDir holds, in the trace directory, a directory for each group of processes that was
// started by MPI_Comm_spawn: a world of its own.
const spawnedDir = "spawned"

// SpawnedDirs returns the directories with the traces of processes that the program of a
// trace directory started by MPI_Comm_spawn, in the order in which they began.
func SpawnedDirs(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, spawnedDir))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789-") == "" && e.IsDir() {
			out = append(out, filepath.Join(dir, spawnedDir, e.Name()))
		}
	}
	return out
}

// prepareTraceDir makes an empty trace directory: it creates it, or removes the
// traces of an earlier run, or of several. A directory with other files in it that was not a
// trace directory before is refused, and nothing but traces is ever removed.
func prepareTraceDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("trace directory: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("trace directory: %w", err)
	}
	earlier := append(RunDirs(dir), SpawnedDirs(dir)...)
	var ours, made []string
	foreign, wasTraced := "", len(earlier) > 0
	for _, e := range entries {
		name := e.Name()
		switch {
		case slices.Contains(earlier, filepath.Join(dir, name)), name == spawnedDir && len(SpawnedDirs(dir)) > 0:
		case e.Type().IsRegular() && (isTraceFile(name) || name == RunFile):
			ours, wasTraced = append(ours, name), true
		case e.Type().IsRegular() && (name == SymbolsFile || name == SourcesFile):
			made = append(made, name)
		case foreign == "":
			foreign = name
		}
	}
	if foreign == "" && len(made) > 0 {
		foreign = made[0] // without a trace they may be anybody's
	}
	if foreign != "" && !wasTraced {
		return fmt.Errorf("trace directory %s: holds other files (%s) and no traces; give a new or empty directory", dir, foreign)
	}
	for _, name := range append(ours, made...) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("trace directory: %w", err)
		}
	}
	for _, run := range earlier {
		if err := prepareTraceDir(run); err != nil {
			return err
		}
		_ = os.Remove(run) // unless somebody put something else there
	}
	_ = os.Remove(filepath.Join(dir, spawnedDir))
	return nil
}

// RemoveTraces removes the traces of a run from their directory; what tells of the run stays.
func RemoveTraces(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isTraceFile(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func checkTraces(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isTraceFile(e.Name()) }) {
		return ErrNoTraces
	}
	return nil
}

// hostOptions are those with which Open MPI's launchers start processes on
// other hosts.
var hostOptions = []string{
	"-H", "-host", "--host", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "--default-hostfile", "-rf", "--rankfile",
}

// launcherEnvironment returns the environment in which the variables reach all
// processes. Those of one host inherit them, and Slurm's and MPICH's launchers hand
// them on to other hosts. Open MPI's does that only for what it is told; it refuses
// to be told in two ways, so a command that exports variables itself (-x) is left alone.
func launcherEnvironment(t tools, path string, command, variables []string) []string {
	const list = "OMPI_MCA_mca_base_env_list"
	env := append(slices.Clone(t.env), variables...)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !slices.Contains([]string{"orterun", "prterun"}, filepath.Base(real)) {
		return env
	}
	if slices.Contains(command[1:], "-x") || !slices.ContainsFunc(command[1:], func(word string) bool { return slices.Contains(hostOptions, word) }) {
		return env
	}
	var names []string
	if earlier := t.getenv(list); earlier != "" {
		names = append(names, earlier)
	}
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return append(env, list+"="+strings.Join(names, ";"))
}

// supervise runs a program to its end, passes signals on, and ends it when its
// time is over or the context is cancelled.
func supervise(ctx context.Context, t *tools, path string, command []string, timeout time.Duration) (Exit, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w (%v)", ErrTimeout, timeout))
		defer cancel()
	}
	cmd := t.command(ctx, path, command[1:])
	cmd.Args[0] = command[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.stdin, t.stdout, t.stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return Exit{}, fmt.Errorf("program to run: %w", err)
	}
	done := make(chan struct{})
	defer close(done)
	go forward(signals, done, cmd.Process, inForeground())
	err := cmd.Wait()
	status := cmd.ProcessState
	if ctx.Err() != nil && err != nil { // a launcher may say that all went well when it was ended
		return exitOf(status), context.Cause(ctx)
	}
	var exitError *exec.ExitError
	if err != nil && !errors.As(err, &exitError) && !errors.Is(err, exec.ErrWaitDelay) {
		return exitOf(status), err
	}
	return exitOf(status), nil
}

func exitOf(p *os.ProcessState) Exit {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return Exit{Status: 128 + int(w.Signal()), Signal: w.Signal()}
	}
	return Exit{Status: p.ExitCode()}
}

// forward passes signals on until done. A program that is gone needs none. In
// the foreground of a terminal an interrupt has reached the program already, and
// launchers take a second one as a demand to end at once, without cleaning up.
func forward(signals <-chan os.Signal, done <-chan struct{}, p *os.Process, foreground bool) {
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGINT || !foreground {
				_ = p.Signal(s)
			}
		case <-done:
			return
		}
	}
}

// inForeground reports whether this process belongs to the foreground group of
// its terminal, so that keys such as Ctrl-C reach it and its children alike.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
