package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/mcchk/mcchk/trace"
)

// Locks that are taken again and again in one concurrent region: those of the models, and
// those that programs build of atomic operations. What is protected is a number of process 0.

// lockRanks is how many processes take the lock.
const lockRanks = 4

// lockAim is how many times the memory of fewer acquisitions more of them may take.
const lockAim = 1.05

// lockTurn is one acquisition.
type lockTurn struct {
	number int
	mine   bool
	drawn  int // the turn in which its ticket was drawn
	random *rand.Rand
}

// begin returns when the turn of that number begins, ns.
func (lockTurn) begin(number int) int64 { return int64(number+1) * turnTime }

// lockCase is a way to take a lock.
type lockCase struct {
	title string
	model *bookends // nil: MPI
	turn  func(w *matrixProcess, t lockTurn)
}

func lockCases() []lockCase {
	return []lockCase{
		{"shmem_set_lock", openSHMEM, (*matrixProcess).shmemLock},
		{"OpenSHMEM, compare-and-swap in a loop", openSHMEM, (*matrixProcess).shmemSwap},
		{"OpenSHMEM, tickets", openSHMEM, (*matrixProcess).shmemTicket},
		{"MPI_Win_lock, exclusive", nil, (*matrixProcess).mpiLock},
		{"MPI_Compare_and_swap in a loop", nil, (*matrixProcess).mpiSwap},
		{"tickets by MPI_Fetch_and_op", nil, (*matrixProcess).mpiTicket},
	}
}

// trace is that of so many acquisitions. The holders follow one another at random; each has
// drawn its ticket at any time since it held the lock before.
func (c lockCase) trace(acquisitions int) synthetic {
	kernel := func(s *script) error {
		w := &matrixProcess{script: s}
		if c.model == nil {
			epoch := throughout
			if c.title == "MPI_Win_lock, exclusive" {
				epoch = uniqueLock
			}
			w = pattern{"Put", "flush", epoch, noOrder, sharedBytes, true}.begin(s)
		}
		holders := rand.New(rand.NewPCG(3, 0))
		own := rand.New(rand.NewPCG(4, uint64(s.rank)))
		var held [lockRanks]int // the last turn of each, from 1
		drawn := 0
		for n := range acquisitions {
			holder := holders.IntN(lockRanks)
			drawn = max(drawn, held[holder]+holders.IntN(n-held[holder]+1))
			held[holder] = n + 1
			c.turn(w, lockTurn{number: n, mine: holder == s.rank, drawn: drawn, random: own})
		}
		if c.model == nil {
			return w.end()
		}
		return nil
	}
	return synthetic{ranks: lockRanks, kernel: kernel, bookends: c.model}
}

// Words and numbers of process 0.
const (
	lockWord   = windowBase
	servedWord = windowBase + element
	protected  = windowBase + 1<<12
)

func (w *matrixProcess) shmemLock(t lockTurn) {
	if !t.mine {
		return
	}
	w.callAt(t.begin(t.number), 20, "shmem_set_lock", trace.Args{"lock": lockBase, "ticket": t.number})
	w.shmemProtected()
	w.call(27, "shmem_clear_lock", trace.Args{"lock": lockBase})
}

func (w *matrixProcess) shmemProtected() {
	w.call(22, "shmem_long_g", trace.Args{"source": protected, "pe": 0, "size": element})
	w.call(23, "shmem_long_p", trace.Args{"dest": protected, "value": 1, "pe": 0, "size": element})
}

// polls returns at which of the moments that a turn has those poll who wait for its end.
func (t lockTurn) polls() (at []int64) {
	for k := range int64(2) {
		if t.random.IntN(2) == 0 {
			at = append(at, t.begin(t.number)+turnTime*(k+1)/4)
		}
	}
	return at
}

func (w *matrixProcess) shmemSwap(t lockTurn) {
	swap := func(at int64, found int) {
		w.callAt(at, 20, "shmem_long_atomic_compare_swap", trace.Args{"dest": lockWord, "value": 1, "cond": 0, "pe": 0, "size": element, "result": found})
	}
	if !t.mine {
		for _, at := range t.polls() {
			swap(at, 1)
		}
		return
	}
	swap(t.begin(t.number), 0)
	w.shmemProtected()
	w.call(24, "shmem_quiet", nil)
	w.callAt(t.begin(t.number)+turnTime*3/4, 25, "shmem_long_atomic_set", trace.Args{"dest": lockWord, "value": 0, "pe": 0, "size": element, "old": 1})
	w.call(26, "shmem_quiet", nil)
}

func (w *matrixProcess) shmemTicket(t lockTurn) {
	if !t.mine {
		return
	}
	w.callAt(t.begin(t.drawn)-turnTime/8+int64(t.number-t.drawn), 20, "shmem_long_atomic_fetch_inc", trace.Args{"dest": lockWord, "pe": 0, "size": element, "result": t.number})
	for n := max(t.drawn, t.number-4); n <= t.number; n++ {
		w.callAt(t.begin(n), 21, "shmem_long_atomic_fetch", trace.Args{"source": servedWord, "pe": 0, "size": element, "result": n})
	}
	w.shmemProtected()
	w.call(24, "shmem_quiet", nil)
	w.callAt(t.begin(t.number)+turnTime*3/4, 25, "shmem_long_atomic_inc", trace.Args{"dest": servedWord, "pe": 0, "size": element, "old": t.number})
	w.call(26, "shmem_quiet", nil)
}

func (w *matrixProcess) mpiProtected() {
	w.put(22, 0, buffersBase, 1<<9, 1)
	w.call(23, "MPI_Win_flush", trace.Args{"rank": 0, "win": window})
}

func (w *matrixProcess) mpiLock(t lockTurn) {
	if !t.mine {
		return
	}
	w.callAt(t.begin(t.number), 20, "MPI_Win_lock", trace.Args{"lock_type": trace.LockExclusive, "rank": 0, "win": window, "ticket": t.number})
	w.put(22, 0, buffersBase, 1<<9, 1)
	w.call(27, "MPI_Win_unlock", trace.Args{"rank": 0, "win": window})
}

func (w *matrixProcess) mpiSwap(t lockTurn) {
	if !t.mine {
		for _, at := range t.polls() {
			w.now = at
			w.swap(0, 0, 1, 1)
		}
		return
	}
	w.now = t.begin(t.number)
	w.swap(0, 0, 1, 0)
	w.mpiProtected()
	w.now += turnTime * 3 / 4
	w.replace(0, 0)
}

func (w *matrixProcess) mpiTicket(t lockTurn) {
	if !t.mine {
		return
	}
	w.now = t.begin(t.drawn) - turnTime/8 + int64(t.number-t.drawn)
	w.fetch(0, sumOp, 1, int64(t.number))
	for n := max(t.drawn, t.number-4); n <= t.number; n++ {
		w.now = t.begin(n)
		w.fetch(0, noOp, 0, int64(n))
	}
	w.mpiProtected()
	w.now += turnTime * 3 / 4
	w.add(0, 1)
}

// locks measures how the memory of an analysis grows with the acquisitions of a lock.
func (o options) locks(ctx context.Context, out io.Writer, work string) error {
	l := launcher{work: work, mcchk: filepath.Join(work, "mcchk")}
	if err := l.command(ctx, buildTimeout, nil, "go", "build", "-o", l.mcchk, "./cmd/mcchk"); err != nil {
		return err
	}
	match, err := o.matcher()
	if err != nil {
		return err
	}
	lines := [][]string{{"lock", "acquisitions", "MiB of traces", "cpu s", "peak MiB", "live MiB", "peak", "live", "aim", ""}}
	for _, c := range lockCases() {
		if !match.MatchString(c.title) {
			continue
		}
		var first lockCost
		for i, n := range []int{o.acquisitions, 10 * o.acquisitions} {
			cost, err := c.measure(ctx, l.mcchk, filepath.Join(work, "locks"), n)
			if err != nil {
				return fmt.Errorf("%s: %w", c.title, err)
			}
			line := []string{
				c.title, fmt.Sprint(n), fmt.Sprintf("%.0f", cost.traces), fmt.Sprintf("%.1f", cost.cpu),
				fmt.Sprintf("%.0f", cost.peak), fmt.Sprintf("%.0f", cost.live), "", "", "", "",
			}
			if i == 0 {
				first = cost
			} else {
				peak, live := cost.peak/first.peak, cost.live/first.live
				aim, ok := verdict(max(peak, live), lockAim)
				line = append(line[:6], fmt.Sprintf("%.3g", peak), fmt.Sprintf("%.3g", live), aim, ok)
			}
			lines = append(lines, line)
		}
	}
	table(out, "Memory of locks that are taken ever again", lines)
	return nil
}

// lockCost is what an analysis took.
type lockCost struct {
	growthCost
	traces, live float64 // MiB; live: most that was in use when garbage was collected
}

func (c lockCase) measure(ctx context.Context, mcchk, dir string, acquisitions int) (cost lockCost, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := c.trace(acquisitions).write(ctx, dir); err != nil {
		return cost, err
	}
	size, err := bytesIn(dir)
	if err != nil {
		return cost, err
	}
	cmd := exec.CommandContext(ctx, mcchk, "analyze", "--format", "json="+os.DevNull, dir)
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=25") // so that what is live is known often
	began := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		return cost, fmt.Errorf("%w\n%s", err, text[:min(len(text), 1<<12)])
	}
	cost = lockCost{costOf(cmd.ProcessState, time.Since(began)), float64(size) / mebi, 0}
	for _, m := range liveHeap.FindAllSubmatch(text, -1) {
		live, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return cost, err
		}
		cost.live = max(cost.live, live)
	}
	if cost.live == 0 {
		return cost, errors.New("GODEBUG=gctrace=1 says nothing")
	}
	return cost, nil
}

// liveHeap is the live heap in what GODEBUG=gctrace=1 writes, MiB.
var liveHeap = regexp.MustCompile(`(?m)^gc \d+ @.*\d+->\d+->(\d+) MB`)
