package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
)

// liveProgram is of bench/programs, and liveUpdates are its updates in an epoch, of
// elements of liveElements: so many that each takes some bytes of the traces.
const (
	liveProgram  = "epochs"
	liveUpdates  = 200_000
	liveElements = 10_000_000
	liveEpochs   = 10
	liveWrong    = 3 // epochs with errors, of the long run and of the short one
	shortEpochs  = 12
	liveSetup    = "openmpi"
	liveDisk     = "256MiB"
)

func liveArgs(epochs, wrong int) []string {
	args := []string{strconv.Itoa(epochs), strconv.Itoa(liveUpdates), strconv.Itoa(liveElements)}
	if wrong > 0 {
		args = append(args, strconv.Itoa(wrong))
	}
	return args
}

// liveWay is a way to run a program.
type liveWay struct {
	title   string
	options []string // of mcchk run
}

// live measures what an analysis meanwhile costs a program.
func (o options) live(ctx context.Context, out io.Writer, work string) error {
	if err := checkTaskset(); err != nil {
		return err
	}
	l, binary, err := o.liveBinary(ctx, work)
	if err != nil {
		return err
	}
	ways := []liveWay{
		{"recorded alone", []string{"--no-analyze"}},
		{"--live", []string{"--live"}},
		{"--live --max-disk 32MiB", []string{"--live", "--max-disk", "32MiB"}},
	}
	lines := [][]string{{"program", "cores for it", "for the analysis", "kernel s", "cpu s", "median", "aim", ""}}
	for _, cores := range []struct{ program, analysis, title string }{{"0", "1", "another"}, {"0", "0", "the same"}} {
		times := make([][]float64, len(ways))
		cpu := make([][]float64, len(ways))
		for range max(1, (o.rounds+1)/2) {
			for i, way := range ways {
				s, err := l.liveRun(ctx, binary, way.options, cores.program, cores.analysis)
				if err != nil {
					return fmt.Errorf("%s: %w", way.title, err)
				}
				times[i], cpu[i] = append(times[i], s.seconds), append(cpu[i], s.cpu)
			}
		}
		for i, way := range ways {
			ratio, aim, ok := "", "", ""
			if i > 0 {
				middle, _ := ratios(times[0], times[i])
				ratio = fmt.Sprintf("%.2f", middle)
				if cores.program != cores.analysis {
					aim, ok = verdict(middle, liveAim)
				}
			}
			lines = append(lines, []string{way.title, "one", cores.title, fmt.Sprintf("%.2f", median(times[i])), fmt.Sprintf("%.2f", median(cpu[i])), ratio, aim, ok})
		}
	}
	table(out, "A program that is analysed while it runs, against one that is recorded alone (2 processes on one core, the analysis on another, or on the same;\nkernel: its time on the wall, cpu: processor time of its slower process, median: of the ratios of neighbouring runs)", lines)
	return nil
}

// liveAim is what the kernel may take, to that of the program recorded alone, where the
// analysis has a core of its own.
const liveAim = 1.2

func (o options) liveBinary(ctx context.Context, work string) (launcher, string, error) {
	l := launcher{work: work, mcchk: filepath.Join(work, "mcchk"), level: usualLevel}
	if err := l.command(ctx, buildTimeout, nil, "go", "build", "-o", l.mcchk, "./cmd/mcchk"); err != nil {
		return l, "", err
	}
	binary, err := l.build(ctx, setup{liveSetup, "gcc"}, program{name: liveProgram, language: "c"}, true)
	return l, binary, err
}

// liveRun runs the program without errors, on some cores each for it and for mcchk.
func (l *launcher) liveRun(ctx context.Context, binary string, options []string, program, analysis string) (sample, error) {
	dir := filepath.Join(l.work, "traces")
	defer os.RemoveAll(dir)
	command := append([]string{"taskset", "-c", analysis, l.mcchk, "run", "-o", dir}, options...)
	command = append(command, "--", "taskset", "-c", program)
	command = append(append(command, l.liveLaunch(binary)...), liveArgs(liveEpochs, 0)...)
	text, err := l.output(ctx, 3*runTimeout, nil, command...)
	if err != nil {
		return sample{}, err
	}
	return parseSample(text)
}

func (l *launcher) liveLaunch(binary string) []string {
	return []string{"mpiexec." + liveSetup, "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(processes), binary}
}

// endless runs a program that writes many bytes of traces, with little room for them, and
// says how much of what it takes over time, as a picture too.
func (o options) endless(ctx context.Context, out io.Writer, work string) error {
	l, binary, err := o.liveBinary(ctx, work)
	if err != nil {
		return err
	}
	short := filepath.Join(work, "short")
	if err := l.record(ctx, binary, short); err != nil {
		return err
	}
	size, err := writtenIn(short)
	if err != nil {
		return err
	}
	whole, err := analysis.Run(ctx, short, analysis.Options{})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(short); err != nil {
		return err
	}
	// The window is written once, at the beginning.
	epochs := int(o.size / max(1, size/shortEpochs))
	run := &endlessRun{dir: filepath.Join(work, "long"), began: time.Now()}
	long, err := run.do(ctx, &l, binary, max(epochs, shortEpochs))
	if err != nil {
		return err
	}
	if err := sameFindings(whole, long); err != nil {
		return err
	}
	run.print(out, long)
	if o.picture == "" {
		return nil
	}
	f, err := os.Create(o.picture)
	if err != nil {
		return err
	}
	return errors.Join(run.draw(f), f.Close())
}

// record records a short run.
func (l *launcher) record(ctx context.Context, binary, dir string) error {
	command := append([]string{l.mcchk, "run", "--no-analyze", "-o", dir, "--"}, l.liveLaunch(binary)...)
	return l.command(ctx, 3*runTimeout, nil, append(command, liveArgs(shortEpochs, liveWrong)...)...)
}

// eventNumber is the number of an event in a trace: how many runs of loads and stores come
// before it depends on where the memory lies, and so differs from run to run.
var eventNumber = regexp.MustCompile(`"Event":\d+,`)

// sameFindings fails unless two results tell the same findings, byte for byte. That fixes
// cannot be tried without the traces is not one of them.
func sameFindings(a, b *analysis.Result) error {
	for i := range min(len(a.Findings), len(b.Findings)) {
		x, y := a.Findings[i].Fixes, b.Findings[i].Fixes
		for k := range min(len(x), len(y)) {
			x[k].Trial, y[k].Trial = conflicts.Trial{}, conflicts.Trial{}
		}
	}
	first, err := json.Marshal(a.Findings)
	if err != nil {
		return err
	}
	second, err := json.Marshal(b.Findings)
	if err != nil {
		return err
	}
	first, second = eventNumber.ReplaceAll(first, nil), eventNumber.ReplaceAll(second, nil)
	if len(a.Findings) > 0 && bytes.Equal(first, second) && a.Verdict == b.Verdict && len(b.Caveats) == 0 {
		return nil
	}
	before := ""
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			first, second = first[max(0, i-200):min(len(first), i+200)], second[max(0, i-200):min(len(second), i+200)]
			before = "…"
			break
		}
	}
	return fmt.Errorf("the long run (%s, %d findings, caveats %v) differs from the short one (%s, %d findings):\n%s%s\n%[6]s%[8]s",
		b.Verdict, len(b.Findings), b.Caveats, a.Verdict, len(a.Findings), before, first, second)
}

// liveMoment is how things are at a time.
type liveMoment struct {
	at            float64 // seconds
	written, disk float64 // MiB
	memory        float64 // MiB
	behind        float64 // seconds
}

type endlessRun struct {
	dir     string
	began   time.Time
	moments []liveMoment
	told    []float64 // when findings were told, seconds
	seconds float64
	cpu     float64
	peak    float64 // MiB
}

// do runs the program, and analyses it in this process.
func (r *endlessRun) do(ctx context.Context, l *launcher, binary string, epochs int) (*analysis.Result, error) {
	command := append([]string{l.mcchk, "run", "--live", "--no-analyze", "--max-disk", liveDisk, "-o", r.dir, "--"}, l.liveLaunch(binary)...)
	command = append(command, liveArgs(epochs, liveWrong)...)
	runtime.GC()
	r.began = time.Now()
	before := ownTime()
	var over atomic.Bool
	failed := make(chan error, 1)
	go func() {
		err := l.command(ctx, 3*time.Hour, nil, command...)
		over.Store(true)
		failed <- err
	}()
	var behind atomic.Int64
	end := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				r.look(time.Duration(behind.Load()))
			}
		}
	})
	res, err := analysis.Live(ctx, r.dir, analysis.LiveOptions{
		Options: analysis.Options{Progress: func(p analysis.Progress) { behind.Store(int64(p.BehindFor)) }},
		Over:    over.Load,
		Told:    func(*conflicts.Finding) { r.told = append(r.told, time.Since(r.began).Seconds()) },
	})
	close(end)
	wait.Wait()
	r.seconds, r.cpu = time.Since(r.began).Seconds(), ownTime()-before
	return res, errors.Join(err, <-failed)
}

func ownTime() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// look notes how things are.
func (r *endlessRun) look(behind time.Duration) {
	m := liveMoment{at: time.Since(r.began).Seconds(), behind: behind.Seconds()}
	_ = filepath.WalkDir(r.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it is yet to be made
		}
		if info, err := d.Info(); err == nil {
			m.written += float64(info.Size()) / mebi
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				m.disk += float64(s.Blocks) * 512 / mebi
			}
		}
		return nil
	})
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseFloat(fields[1], 64)
			m.memory = pages * float64(os.Getpagesize()) / mebi
		}
	}
	r.peak = max(r.peak, m.memory)
	r.moments = append(r.moments, m)
}

func (r *endlessRun) print(out io.Writer, res *analysis.Result) {
	most := func(figure func(liveMoment) float64) (most float64) {
		for _, m := range r.moments {
			most = max(most, figure(m))
		}
		return most
	}
	told := "-"
	if len(r.told) > 0 {
		told = fmt.Sprintf("%.1f s", r.told[0])
	}
	table(out, fmt.Sprintf("A program that writes much, under --live --max-disk %s (looked at once a second)", liveDisk), [][]string{
		{"what", "figure"},
		{"traces written", fmt.Sprintf("%.2f GiB", most(func(m liveMoment) float64 { return m.written })/1024)},
		{"loads and stores, concurrent regions", fmt.Sprintf("%d, %d", res.Basis.Loads+res.Basis.Stores, res.Basis.Regions)},
		{"time", fmt.Sprintf("%.0f s", r.seconds)},
		{"processor time of the analysis", fmt.Sprintf("%.0f s", r.cpu)},
		{"traces on disk, at most", fmt.Sprintf("%.0f MiB", most(func(m liveMoment) float64 { return m.disk }))},
		{"memory of the analysis, at most", fmt.Sprintf("%.0f MiB", r.peak)},
		{"behind the program, at most", fmt.Sprintf("%.1f s", most(func(m liveMoment) float64 { return m.behind }))},
		{"first finding told after", told},
		{"findings", "those of a run of " + strconv.Itoa(shortEpochs) + " epochs that was recorded whole, byte for byte"},
	})
}

// writtenIn returns how long the files of a folder are.
func writtenIn(dir string) (int64, error) {
	all := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, "rank-*"))
	for _, f := range files {
		info, e := os.Stat(f)
		if e != nil {
			return 0, e
		}
		all += info.Size()
	}
	if err == nil && all == 0 {
		err = errors.New("nothing was written")
	}
	return all, err
}

// checkTaskset reports a missing command by the Debian package it is in.
func checkTaskset() error {
	if _, err := exec.LookPath("taskset"); err != nil {
		return errors.New("taskset not found; install with: apt-get install util-linux")
	}
	return nil
}
