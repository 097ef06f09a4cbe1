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
	"time"

	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// memoryLimit is the --max-memory with which the cases are analysed, and memoryMiB
// the same.
const (
	memoryLimit = "256MiB"
	memoryMiB   = 256
	// memoryTimeout is how long an analysis may take.
	memoryTimeout = 10 * time.Minute
)

// memoryCase is a trace of which an analysis holds much: one long concurrent
// region, for the most part.
type memoryCase struct {
	title  string
	trace  synthetic
	config synth.Config // instead of trace, where that has no kernel
}

// memoryCases are what needs most memory.
func memoryCases() []memoryCase {
	repeat := func(title string, n int, p pattern) memoryCase {
		return memoryCase{title: title, trace: synthetic{ranks: matrixRanks, kernel: p.script(n)}}
	}
	return []memoryCase{
		repeat("1,000,000 Fetch_and_op, each with flush_local", 1_000_000, pattern{"Fetch_and_op", "flush_local", throughout, noOrder, sameBytes, false}),
		repeat("20,000 times shared lock, put, unlock", 20_000, pattern{"Put", byUnlock, sharedLock, noOrder, movingBytes, false}),
		repeat("80,000 times exclusive lock, put to the same bytes, unlock", 80_000, pattern{"Put", byUnlock, uniqueLock, noOrder, sharedBytes, true}),
		repeat("80,000 times shared lock, put to the same bytes, unlock", 80_000, pattern{"Put", byUnlock, sharedLock, noOrder, sharedBytes, true}),
		repeat("80,000 times shared lock, Fetch_and_op on the same bytes, unlock", 80_000, pattern{"Fetch_and_op", byUnlock, sharedLock, noOrder, sharedBytes, true}),
		{title: "random updates of a shared-memory window, 32,000,000 accesses", trace: synthetic{ranks: sharedRanks, kernel: sharedScript(4_000_000)}},
		{title: "random puts of 8 bytes, 2,000,000", trace: synthetic{ranks: 4, kernel: randomPuts(500_000, 64)}},
		{title: "random puts of 8 bytes, completed together at the end, 2,000,000", trace: synthetic{ranks: 4, kernel: randomPuts(500_000, 0)}},
		repeat("messages, 3,000,000", 1_000_000, pattern{plainLoad, byItself, throughout, byMessages, movingBytes, true}),
		repeat("barriers of two of three processes, 1,000,000", 1_000_000, pattern{"Put", "flush", throughout, byPart, movingBytes, true}),
		{title: "100,000 findings", config: synth.Config{Pattern: synth.Halo, Ranks: 16, Accesses: 3_000_000, Races: 100_000}},
	}
}

const sharedRanks = 4

// sharedScript is updates of random numbers in the parts of all processes of a
// window of shared memory, under lock_all; n by each process. Those of each
// process are to numbers of its own.
func sharedScript(n int) func(*script) error {
	const (
		shared = window + 1
		slots  = 1 << 24 // numbers in a part
		bytes  = slots * element
	)
	return func(p *script) error {
		// The parts lie one behind the other, at another address in each process.
		first := uint64(0x30_0000_0000) + uint64(p.rank)<<36
		part := func(rank int) uint64 { return first + uint64(rank)*bytes }
		p.call(10, "MPI_Win_allocate_shared", trace.Args{
			"size": bytes, "disp_unit": element, "comm": trace.CommWorld, "baseptr": part(p.rank), "win": shared, "model": 1,
		})
		for r := range p.ranks {
			p.call(10, "mcchk_Shared_segment", trace.Args{"win": shared, "rank": r, "base": part(r), "size": bytes})
		}
		p.call(11, "MPI_Win_lock_all", trace.Args{"assert": 0, "win": shared})
		random := rand.New(rand.NewPCG(1, uint64(p.rank)))
		for range n {
			slot := random.Uint64N(slots/uint64(p.ranks))*uint64(p.ranks) + uint64(p.rank)
			addr := part(random.IntN(p.ranks)) + slot*element
			p.access(12, false, addr, 1)
			if err := p.access(12, true, addr, 1); err != nil {
				return err
			}
		}
		p.call(13, "MPI_Win_unlock_all", trace.Args{"win": shared})
		return p.call(14, "MPI_Win_free", trace.Args{"win": shared})
	}
}

// randomPuts is puts of one number to random places, n by each process, with a
// flush after every so many; 0: with none but the end of the epoch.
func randomPuts(n, flush int) func(*script) error {
	const slots = 1 << 24
	return func(p *script) error {
		p.call(10, "MPI_Win_lock_all", trace.Args{"assert": 0, "win": window})
		random := rand.New(rand.NewPCG(2, uint64(p.rank)))
		for i := range n {
			slot := random.IntN(slots/p.ranks)*p.ranks + p.rank
			if err := p.put(11, random.IntN(p.ranks), buffersBase, slot, 1); err != nil {
				return err
			}
			if flush > 0 && i%flush == flush-1 {
				p.call(12, "MPI_Win_flush_all", trace.Args{"win": window})
			}
		}
		return p.call(13, "MPI_Win_unlock_all", trace.Args{"win": window})
	}
}

// memory measures what an analysis takes of memory at most.
func (o options) memory(ctx context.Context, out io.Writer, work string) error {
	l := launcher{work: work, mcchk: filepath.Join(work, "mcchk")}
	if err := l.command(ctx, buildTimeout, nil, "go", "build", "-o", l.mcchk, "./cmd/mcchk"); err != nil {
		return err
	}
	dir := filepath.Join(work, "memory")
	defer os.RemoveAll(dir)
	match, err := o.matcher()
	if err != nil {
		return err
	}
	lines := [][]string{{"case", "MiB of traces", "wall s", "cpu s", "outcome", "peak MiB", "aim", ""}}
	for _, c := range memoryCases() {
		if !match.MatchString(c.title) {
			continue
		}
		if err := c.write(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		size, err := bytesIn(dir)
		if err != nil {
			return err
		}
		cost, outcome, err := c.run(ctx, l.mcchk, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		aim, ok := verdict(cost.peak, memoryMiB)
		lines = append(lines, []string{
			c.title, fmt.Sprintf("%.0f", float64(size)/mebi), fmt.Sprintf("%.1f", cost.wall), fmt.Sprintf("%.1f", cost.cpu),
			outcome, fmt.Sprintf("%.0f", cost.peak), aim, ok,
		})
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	table(out, "Most memory ever resident at --max-memory "+memoryLimit, lines)
	return nil
}

// write writes the trace.
func (c *memoryCase) write(ctx context.Context, dir string) error {
	if c.trace.kernel != nil {
		return c.trace.write(ctx, dir)
	}
	_, err := synth.Generate(ctx, dir, c.config)
	return err
}

// bytesIn returns the size of the files of a directory, bytes.
func bytesIn(dir string) (size int64, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		info, e := f.Info()
		if e != nil {
			return 0, e
		}
		size += info.Size()
	}
	return size, err
}

// outcomeOf names what came out by the exit status of mcchk analyze.
func outcomeOf(status int) (string, error) {
	switch status {
	case 0:
		return "no race found", nil
	case 1:
		return "race", nil
	case 3:
		return "too large", nil
	}
	return "", fmt.Errorf("exit status %d", status)
}

// run analyses the trace.
func (c *memoryCase) run(ctx context.Context, mcchk, dir string) (cost growthCost, outcome string, err error) {
	ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, mcchk, "analyze", "--max-memory", memoryLimit, "--format", "json="+os.DevNull, dir)
	began := time.Now()
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return cost, "", fmt.Errorf("%w\n%s", errors.Join(err, ctx.Err()), text)
	}
	if outcome, err = outcomeOf(cmd.ProcessState.ExitCode()); err != nil {
		return cost, "", fmt.Errorf("%w\n%s", err, text)
	}
	return costOf(cmd.ProcessState, time.Since(began)), outcome, nil
}
