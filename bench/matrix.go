package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/trace"
)

// The growth matrix: every operation, load and store, completed in every way,
// between every synchronization, to the same bytes, moving ones or columns of a matrix,
// by one process or all; and order through the values of words (algorithm). Each of these patterns is repeated matrixSteps times and eight times as
// often: what then takes more than ten times as long or as much memory grows
// faster than the run.
const (
	matrixSteps  = 500
	matrixFactor = 8
	matrixAim    = 10
	matrixRanks  = 3
	// Below these, figures are those of starting and of chance.
	matrixSeconds = 0.03
	matrixBytes   = 16 << 20
	// How often a pattern is measured before it counts as one that grows too fast.
	matrixTries = 4
	// matrixLimit is the processor time, in seconds, that an analysis may take; more
	// counts as for ever.
	matrixLimit = 20.0
)

// pattern is one entry of the matrix: what a step does.
type pattern struct {
	operation string // an MPI function without its prefix, or what the program itself does
	done      string // how the operation is completed
	epoch     string // what the step has around it
	order     string // what the processes are ordered by
	bytes     string // which bytes it is to
	all       bool   // all processes make the operation; otherwise process 0
}

// Bytes of a pattern.
const (
	sameBytes   = "same bytes"   // of each process, in all steps
	movingBytes = "moving bytes" // of each process and step
	sharedBytes = "shared bytes" // of all processes, in all steps: most of these patterns race
	patchBytes  = "columns"      // of a matrix, one of each process and step, by a datatype made for it
)

func (p pattern) String() string {
	who := "one process"
	if p.all {
		who = "all processes"
	}
	return strings.Join([]string{p.operation, p.done, p.epoch, p.order, p.bytes, who}, ", ")
}

// What the operations are that are no calls.
const (
	plainLoad   = "load"
	plainStore  = "store"
	loadOrStore = "load and store"
	atomicLoad  = "atomic load"
)

// How operations are completed, other than by flushes.
const (
	byUnlock  = "unlock"
	byFence   = "fence"
	byTheEnd  = "complete"
	byRequest = "request"
	byNothing = "never"
	byItself  = "at once"
)

// What a step has around it.
const (
	sharedLock  = "shared lock"
	uniqueLock  = "exclusive lock"
	lockAllEach = "lock_all"
	throughout  = "one lock_all for all"
	fences      = "fences"
	noPrecede   = "fences that assert"
	postStart   = "post and start"
	noEpoch     = "no epoch"
)

// What orders the processes behind a step.
const (
	noOrder    = "no order"
	byMessages = "messages"
	byPart     = "barriers of some"
	byBarrier  = "barriers of all"
	byRareOnes = "a barrier every 100 steps"
)

var matrixFlushes = []string{"flush", "flush_local", "flush_all", "flush_local_all"}

// matrix returns all patterns.
func matrix() (all []pattern) {
	add := func(operations, done, epochs, orders []string) {
		for _, p := range operations {
			for _, d := range done {
				for _, e := range epochs {
					for _, o := range orders {
						for _, bytes := range []string{sameBytes, movingBytes} {
							for _, everybody := range []bool{false, true} {
								all = append(all, pattern{p, d, e, o, bytes, everybody})
							}
						}
						if d != byItself {
							all = append(all, pattern{p, d, e, o, sharedBytes, true})
						}
						if d != byItself && !single(p) {
							all = append(all, pattern{p, d, e, o, patchBytes, true})
						}
					}
				}
			}
		}
	}
	operations := []string{"Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"}
	requests := []string{"Rput", "Rget", "Raccumulate", "Rget_accumulate"}
	both := slices.Concat(operations, requests)
	orders := []string{noOrder, byMessages, byPart, byBarrier, byRareOnes}
	locks := []string{sharedLock, uniqueLock, lockAllEach}
	add(both, slices.Concat(matrixFlushes, []string{byNothing}), []string{throughout}, orders)
	add(both, slices.Concat(matrixFlushes, []string{byUnlock}), locks, orders)
	add(requests, []string{byRequest}, append(locks, throughout), orders)
	add(operations, []string{byFence}, []string{fences, noPrecede}, []string{noOrder})
	add(operations, []string{byTheEnd}, []string{postStart}, []string{noOrder, byMessages, byRareOnes})
	add([]string{plainLoad, plainStore, atomicLoad, loadOrStore}, []string{byItself}, append(locks, noEpoch, throughout, fences, postStart), orders)
	for _, algorithm := range algorithms {
		for _, done := range []string{"flush", "flush_local", byNothing} {
			for _, order := range orders {
				for _, everybody := range []bool{false, true} {
					all = append(all, pattern{algorithm, done, throughout, order, sharedBytes, everybody})
				}
			}
		}
	}
	return all
}

// matrixCost is what an analysis took.
type matrixCost struct{ seconds, bytes float64 }

func (c matrixCost) least(d matrixCost) matrixCost {
	return matrixCost{min(c.seconds, d.seconds), min(c.bytes, d.bytes)}
}

// matrix measures all patterns, or those whose names have a text in them, and
// prints what grows faster than the run.
func (o options) matrix(ctx context.Context, out io.Writer, work string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // so that what is live is known often
	match, err := o.matcher()
	if err != nil {
		return err
	}
	var all []repeated
	for _, p := range allPatterns() {
		if match.MatchString(p.String()) {
			all = append(all, p)
		}
	}
	lines := [][]string{{"pattern", "s", "s, 8 times", "ratio", "MiB", "MiB, 8 times", "ratio"}}
	var time, memory []float64
	shown := isatty.IsTerminal(os.Stderr.Fd())
	for i, p := range all {
		if shown {
			fmt.Fprintf(os.Stderr, "\r%d of %d ", i+1, len(all))
		}
		short, long, err := grow(ctx, p, filepath.Join(work, "matrix"))
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		t, m := growthOf(short, long)
		time, memory = append(time, t), append(memory, m)
		if max(t, m) > matrixAim {
			fmt.Fprintf(os.Stderr, "\r%s: time %.1f, memory %.1f\n", p, t, m)
			cell := func(f float64) string { return fmt.Sprintf("%.3g", f) }
			lines = append(lines, []string{p.String(), cell(short.seconds), cell(long.seconds), cell(t), cell(short.bytes / mebi), cell(long.bytes / mebi), cell(m)})
		}
	}
	fmt.Fprint(os.Stderr, "\r")
	title := fmt.Sprintf("Growth of %d patterns from %d to %d steps of %d processes: %d take more than %d times the processor time or memory.\nMedian of the ratios: time %.2f, memory %.2f; largest: %.2f, %.2f",
		len(all), matrixSteps, matrixFactor*matrixSteps, matrixRanks, len(lines)-1, matrixAim, median(time), median(memory), slices.Max(time), slices.Max(memory))
	table(out, title, lines)
	return nil
}

// growthOf returns how many times as much the longer run took, in time and memory;
// 0 where that is too little to tell.
func growthOf(short, long matrixCost) (time, memory float64) {
	if long.seconds > matrixSeconds {
		time = long.seconds / short.seconds
	}
	if long.bytes > matrixBytes {
		memory = long.bytes / short.bytes
	}
	return time, memory
}

// grow measures both runs, again while they seem to grow too fast.
func grow(ctx context.Context, p repeated, dir string) (short, long matrixCost, err error) {
	defer os.RemoveAll(dir)
	sizes := []int{matrixSteps, matrixFactor * matrixSteps}
	for _, n := range sizes {
		if err := p.trace(n).write(ctx, filepath.Join(dir, strconv.Itoa(n))); err != nil {
			return short, long, err
		}
	}
	for try := range matrixTries {
		var costs [2]matrixCost
		for i, n := range sizes {
			if costs[i], err = matrixRun(ctx, filepath.Join(dir, strconv.Itoa(n))); err != nil {
				return short, long, err
			}
		}
		if try == 0 {
			short, long = costs[0], costs[1]
		} else {
			short, long = short.least(costs[0]), long.least(costs[1])
		}
		if t, m := growthOf(short, long); max(t, m) <= matrixAim || long.seconds > matrixLimit {
			break
		}
	}
	return short, long, nil
}

// matrixRun analyses traces in this process.
func matrixRun(ctx context.Context, dir string) (matrixCost, error) {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	before, most := live[0].Value.Uint64(), uint64(0)
	look := func() {
		metrics.Read(live)
		most = max(most, live[0].Value.Uint64())
	}
	stop, stopped := make(chan bool), make(chan bool)
	start := processorTime()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				look()
				if processorTime()-start > matrixLimit {
					cancel()
				}
			}
		}
	}()
	res, err := analysis.Run(limited, dir, analysis.Options{})
	took := processorTime() - start
	close(stop)
	<-stopped
	runtime.GC()
	look()
	runtime.KeepAlive(res)
	switch {
	case err != nil:
		return matrixCost{}, err
	case ctx.Err() != nil:
		return matrixCost{}, context.Cause(ctx)
	case limited.Err() != nil:
		return matrixCost{seconds: math.Inf(1)}, nil
	}
	if len(res.Caveats) > 0 {
		return matrixCost{}, fmt.Errorf("the trace is not understood: %s", res.Caveats[0].Text)
	}
	return matrixCost{seconds: took, bytes: max(1<<20, float64(most)-float64(before))}, nil
}

// processorTime returns what the process has used so far, seconds.
func processorTime() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// What the traces name.
const (
	matrixRequest = 77
	partComm      = trace.CommWorld + 1
	sumOp         = 5
	replaceOp     = 6
	noOp          = 7
	wordType      = 99
	columnTypes   = 100     // the first
	columnRows    = 24      // elements of a column
	columnWidth   = 1 << 15 // elements of a row of the matrix
)

// trace is that of repeated.
func (p pattern) trace(n int) synthetic { return synthetic{ranks: matrixRanks, kernel: p.script(n)} }

// script writes the trace of a process that repeats the pattern n times.
func (p pattern) script(n int) func(*script) error {
	return func(s *script) error {
		w := p.begin(s)
		for step := range n {
			w.step(step)
			w.inOrder(step)
		}
		return w.end()
	}
}

// inOrder orders the processes behind a step.
func (w *matrixProcess) inOrder(step int) {
	switch {
	case w.order == byMessages:
		w.exchange()
	case w.order == byPart && w.rank < 2:
		w.call(31, "MPI_Barrier", trace.Args{"comm": int64(partComm)})
	case w.order == byBarrier, w.order == byRareOnes && rare(step):
		w.call(32, "MPI_Barrier", trace.Args{"comm": trace.CommWorld})
	}
}

// matrixProcess is one process of a pattern.
type matrixProcess struct {
	pattern
	*script
	active bool
	target int
	number int64 // of operations on words
	now    int64 // when the next one begins, ns
	// What operations have fetched that was not told yet, and their numbers.
	numbers, values []int64
}

func (p pattern) begin(s *script) *matrixProcess {
	w := &matrixProcess{pattern: p, script: s, active: p.all || s.rank == 0, target: (s.rank + 1) % s.ranks}
	if p.bytes == sharedBytes {
		w.target = 0
	}
	s.w.Op(sumOp, "MPI_SUM")
	s.w.Op(replaceOp, "MPI_REPLACE")
	s.w.Op(noOp, "MPI_NO_OP")
	s.w.Type(&trace.Type{ID: wordType, Combiner: trace.Named, Name: "MPI_INT64_T", Size: element, Extent: element})
	if s.rank < 2 && p.order == byPart {
		s.w.Comm(&trace.Comm{ID: partComm, Rank: s.rank, Size: 2, Ranks: []trace.RankRun{{First: 0, Stride: 1, Count: 2}}})
	}
	if p.epoch == throughout {
		s.call(20, "MPI_Win_lock_all", trace.Args{"assert": 0, "win": window})
		ticket := int64(0)
		if p.bytes == sharedBytes {
			ticket = int64(s.rank)
		}
		w.ticket(w.target, ticket)
	}
	return w
}

// ticket notes who had locks on a target before.
func (w *matrixProcess) ticket(target int, n int64) {
	w.call(20, "mcchk_Lock_ticket", trace.Args{"rank": target, "win": window, "ticket": n})
}

func (w *matrixProcess) end() error {
	if w.epoch != throughout {
		return nil
	}
	if err := w.call(40, "MPI_Win_unlock_all", trace.Args{"win": window}); err != nil {
		return err
	}
	return w.tell(40)
}

// step is one step of the process. In those with fences and exposure epochs all
// processes take part.
func (w *matrixProcess) step(n int) {
	if slices.Contains(algorithms, w.operation) {
		w.algorithm(n)
		return
	}
	switch w.epoch {
	case fences, noPrecede:
		assert := int64(0)
		if w.epoch == noPrecede {
			assert = trace.AssertNoPrecede
		}
		w.call(21, "MPI_Win_fence", trace.Args{"assert": assert, "win": window})
		w.work(n)
		w.call(28, "MPI_Win_fence", trace.Args{"assert": 0, "win": window})
	case postStart:
		w.exposed(n)
	default:
		if w.active {
			w.passive(n)
		}
	}
}

// exposed lets every active process access the next one, which exposes its memory.
func (w *matrixProcess) exposed(n int) {
	var origins []int // that access this process
	for r := range w.ranks {
		if target := (r + 1) % w.ranks; (w.all || r == 0) && (w.bytes == sharedBytes && w.rank == 0 || w.bytes != sharedBytes && target == w.rank) {
			origins = append(origins, r)
		}
	}
	accessed := len(origins) > 0
	if accessed {
		w.call(21, "MPI_Win_post", trace.Args{"group": origins, "assert": 0, "win": window})
	}
	if w.active {
		w.call(22, "MPI_Win_start", trace.Args{"group": []int{w.target}, "assert": 0, "win": window})
		w.work(n)
		w.call(27, "MPI_Win_complete", trace.Args{"win": window})
	}
	if accessed {
		w.call(28, "MPI_Win_wait", trace.Args{"win": window})
	}
}

// passive is a step under a lock, or without any epoch.
func (w *matrixProcess) passive(n int) {
	ticket := int64(n)
	if w.bytes == sharedBytes {
		ticket = int64(n*w.ranks + w.rank)
	}
	own := w.done == byItself // loads and stores are protected by locks of their process
	target := w.target
	if own {
		target = w.rank
	}
	switch w.epoch {
	case sharedLock:
		w.call(21, "MPI_Win_lock", trace.Args{"lock_type": trace.LockShared, "rank": target, "assert": 0, "win": window, "ticket": ticket})
	case uniqueLock:
		w.call(21, "MPI_Win_lock", trace.Args{"lock_type": trace.LockExclusive, "rank": target, "assert": 0, "win": window, "ticket": ticket})
	case lockAllEach:
		w.call(21, "MPI_Win_lock_all", trace.Args{"assert": 0, "win": window})
		w.ticket(target, ticket)
	}
	w.work(n)
	switch w.done {
	case "flush", "flush_local":
		w.call(24, "MPI_Win_"+w.done, trace.Args{"rank": target, "win": window})
	case "flush_all", "flush_local_all":
		w.call(24, "MPI_Win_"+w.done, trace.Args{"win": window})
	case byRequest:
		w.call(25, "MPI_Wait", trace.Args{"request": matrixRequest, "status": []int{0, 0, 0, 0}})
	}
	switch w.epoch {
	case sharedLock, uniqueLock:
		w.call(28, "MPI_Win_unlock", trace.Args{"rank": target, "win": window})
	case lockAllEach:
		w.call(28, "MPI_Win_unlock_all", trace.Args{"win": window})
	}
}

// work makes the operation, or the loads and stores, of one step.
func (w *matrixProcess) work(n int) {
	if !w.active {
		return
	}
	slot := uint64(w.rank)
	switch w.bytes {
	case movingBytes, patchBytes:
		slot += uint64(n+1) * uint64(w.ranks)
	case sharedBytes:
		slot = 0
	}
	switch addr := windowBase + slot*element; w.operation {
	case plainLoad:
		w.access(23, false, addr, 1)
	case plainStore:
		w.access(23, true, addr, 1)
	case loadOrStore:
		w.access(22, false, addr, 1)
		w.access(23, true, addr, 1)
	case atomicLoad:
		w.atomic(23, addr)
	default:
		w.call(23, "MPI_"+w.operation, w.arguments(n, slot))
	}
}

// single reports whether an operation is to one element.
func single(operation string) bool {
	return operation == "Fetch_and_op" || operation == "Compare_and_swap"
}

// arguments are those of a one-sided operation of one element, or one column.
func (w *matrixProcess) arguments(n int, slot uint64) trace.Args {
	count, typ, apart := 1, doubleType, uint64(element)
	if w.bytes == patchBytes {
		count, typ, apart = columnRows, doubleType, columnRows*element
	}
	from, to := buffersBase+slot*apart, buffersBase+1<<30+slot*apart
	a := trace.Args{"origin_addr": from, "target_rank": w.target, "target_disp": slot, "win": window}
	if single(w.operation) {
		a["datatype"] = doubleType
	} else {
		a["origin_count"], a["origin_datatype"], a["target_count"], a["target_datatype"] = count, typ, 1, doubleType
	}
	if w.bytes == patchBytes {
		column := uint32(columnTypes + n)
		w.w.Type(&trace.Type{
			ID: column, Combiner: trace.Vector, Size: columnRows * element, Extent: ((columnRows-1)*columnWidth + 1) * element,
			Ints: []int64{columnRows, 1, columnWidth}, Types: []int64{doubleType},
		})
		a["target_datatype"] = int64(column)
	}
	lower := strings.ToLower(w.operation)
	if strings.Contains(lower, "accumulate") || w.operation == "Fetch_and_op" {
		a["op"] = sumOp
	}
	switch {
	case strings.HasSuffix(lower, "get_accumulate"):
		a["result_addr"], a["result_count"], a["result_datatype"] = to, count, typ
	case single(w.operation):
		a["result_addr"] = to
	}
	if w.operation == "Compare_and_swap" {
		a["compare_addr"] = buffersBase + 1<<31 + slot*element
	}
	if strings.HasPrefix(w.operation, "R") {
		a["request"] = int64(matrixRequest)
	}
	return a
}
