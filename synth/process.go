package synth

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/mcchk/mcchk/trace"
)

// The memory of every process. Addresses are of the process's own address
// space, displacements in windows count elements of 8 bytes.
const (
	windowBase  = uint64(0x10_0000_0000) // of the pattern's window
	plantedBase = uint64(0x40_0000_0000) // of the window of the planted races
	buffersBase = uint64(0x60_0000_0000) // memory outside of windows
	plantBuffer = uint64(0x80_0000_0000) // the same for planted races
	element     = 8

	window          = trace.CommWorld<<32 + 1
	plantedWindow   = trace.CommWorld<<32 + 2
	uncheckedWindow = trace.CommWorld<<32 + 3 // that is locked with MPI_MODE_NOCHECK only

	doubleType = 1 // MPI_DOUBLE
	longType   = 2 // MPI_LONG
	faceTypes  = 3 // first of those that a pattern defines
	sumOp      = 1 // MPI_SUM
)

// Source files of the programs, and lines of main.c that all share.
const (
	patternSource = "pattern.c"
	plantSource   = "planted.c"
	mainSource    = "main.c"
)

const (
	lineInit = iota + 7
	lineCreate
	lineOpen
	lineKernel
	lineClose
	lineFree
	lineFinalize
)

// block is the number of elements of a run of loads or stores, and of a put,
// where the pattern does not say otherwise.
const block = 16

// buffer of the writer of one file, bytes.
const fileBuffer = 1 << 20

// Totals is what traces hold.
type Totals struct {
	Calls      int64 `json:"calls"`
	Operations int64 `json:"operations"` // one-sided ones among them
	Runs       int64 `json:"runs"`       // records of loads or stores
	Loads      int64 `json:"loads"`      // elements in them
	Stores     int64 `json:"stores"`
}

func (t *Totals) add(u Totals) {
	t.Calls += u.Calls
	t.Operations += u.Operations
	t.Runs += u.Runs
	t.Loads += u.Loads
	t.Stores += u.Stores
}

// process writes the trace of one process. Errors of the writer stay with it
// until its Close.
type process struct {
	*plan
	rank     int
	w        *trace.Writer
	totals   Totals
	rng      *rand.Rand
	now      int64                     // ns, the end of the last call
	times    func() (begin, end int64) // of each call; nil: they follow one another
	stacks   map[place]uint32          // those defined so far
	fns      map[string]*trace.Fn
	args     []trace.Value // of the call being written
	todo     []sideOfPlant // planted accesses that are still to come, by step
	filled   int64         // runs that fill wrote
	planting bool          // plantStack was called
}

// place is a line of a source file.
type place struct {
	file string
	line int
}

// writeFile writes the file of a rank. It appears under its name when it is whole.
func (p *plan) writeFile(ctx context.Context, dir string, rank int) (t Totals, err error) {
	name := fmt.Sprintf("rank-%d.mcct", rank)
	if p.Compress {
		name += ".zst"
	}
	f, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return t, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = os.Rename(f.Name(), filepath.Join(dir, name))
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(0o644); err != nil {
		return t, err
	}
	if !p.Compress {
		out := bufio.NewWriterSize(f, fileBuffer)
		if t, err = p.writeTo(ctx, out, rank); err != nil {
			return t, err
		}
		return t, out.Flush()
	}
	out, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(fileBuffer))
	if err != nil {
		return t, err
	}
	if t, err = p.writeTo(ctx, out, rank); err != nil {
		out.Close()
		return t, err
	}
	return t, out.Close()
}

// writeTo writes the trace of a rank.
func (p *plan) writeTo(ctx context.Context, out io.Writer, rank int) (Totals, error) {
	h := trace.Header{Rank: rank, Ranks: p.Ranks, PID: 1000 + rank, Host: "synthetic"}
	binary.LittleEndian.PutUint64(h.Run[:], mix(p.Seed, uint64(p.Ranks), uint64(p.Accesses), uint64(p.Steps)))
	copy(h.Run[8:], p.Pattern)
	if p.Timing != nil {
		h.Host = p.Timing.Host(rank)
		h.Monotonic, h.Realtime = p.Timing.Start(rank)
	}
	w, err := trace.NewWriter(out, h)
	if err != nil {
		return Totals{}, err
	}
	q := &process{
		plan: p, rank: rank, w: w, stacks: map[place]uint32{}, fns: map[string]*trace.Fn{},
		rng: rand.New(rand.NewPCG(p.Seed, uint64(rank))), todo: p.plants.of(rank),
	}
	if p.Timing != nil {
		q.times = p.Timing.Calls(rank)
		for _, c := range p.Timing.Clocks(rank) {
			w.Clock(c)
		}
	}
	if err := q.program(ctx); err != nil {
		return q.totals, err
	}
	w.End(trace.End{Accesses: uint64(q.totals.Loads + q.totals.Stores), Units: 1})
	return q.totals, w.Close()
}

// program writes everything between MPI_Init and MPI_Finalize.
func (p *process) program(ctx context.Context) error {
	run := p.pattern.start(p)
	p.w.Info("program", "synthetic "+p.Pattern)
	p.w.Comm(&trace.Comm{ID: trace.CommWorld, Rank: p.rank, Size: p.Ranks, Ranks: []trace.RankRun{{First: 0, Stride: 1, Count: int64(p.Ranks)}}})
	p.w.Type(&trace.Type{ID: doubleType, Combiner: trace.Named, Name: "MPI_DOUBLE", Size: element, Extent: element})
	p.w.Type(&trace.Type{ID: longType, Combiner: trace.Named, Name: "MPI_LONG", Size: element, Extent: element})
	p.w.Op(sumOp, "MPI_SUM")
	p.main(lineInit, "MPI_Init", nil)
	p.create(windowBase, run.size, window)
	if p.Races > 0 {
		p.create(plantedBase, int64(p.Races), plantedWindow)
		p.main(lineOpen, "MPI_Win_lock_all", trace.Args{"win": plantedWindow})
	}
	if run.open != nil {
		run.open()
	}
	for step := range p.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.plantsOf(step)
		accesses := p.budget(p.rank, step)
		run.step(step, accesses)
		p.wrote(accesses)
	}
	if run.close != nil {
		run.close()
	}
	if p.Races > 0 {
		p.main(lineClose, "MPI_Win_unlock_all", trace.Args{"win": plantedWindow})
		p.main(lineFree, "MPI_Win_free", trace.Args{"win": plantedWindow})
	}
	p.main(lineFree, "MPI_Win_free", trace.Args{"win": window})
	p.main(lineFinalize, "MPI_Finalize", nil)
	return nil
}

func (p *process) create(base uint64, elements int64, win int64) {
	p.main(lineCreate, "MPI_Win_create", trace.Args{
		"base": base, "size": elements * element, "disp_unit": element, "comm": trace.CommWorld, "win": win, "model": 1,
	})
}

// main writes a call of the program's frame, with its arguments by name.
func (p *process) main(line int, name string, args trace.Args) {
	begin, end := p.next()
	p.w.CallNamedAt(begin, end, name, p.stack(place{mainSource, line}), args)
}

// next counts a call, and says when it begins and ends, ns.
func (p *process) next() (begin, end int64) {
	p.totals.Calls++
	if p.times != nil {
		return p.times()
	}
	p.now += 2
	return p.now - 1, p.now
}

// call writes a call with its arguments in the order of its definition. It
// costs a tenth of main.
func (p *process) call(at place, name string, args ...trace.Value) {
	fn := p.fns[name]
	if fn == nil {
		fn, _ = p.w.Define(name, nil) // without it the call fails, and the writer keeps the error
		p.fns[name] = fn
	}
	p.args = append(p.args[:0], args...)
	begin, end := p.next()
	p.w.Call(&trace.Call{Fn: fn, Begin: begin, End: end, Returned: true, Stack: p.stack(at), Args: p.args})
}

func num[T int | int64 | uint64](n T) trace.Value { return trace.Value{Int: int64(n)} }

// operation writes a put or a get of count elements of a datatype.
func (p *process) operation(at place, name string, local uint64, target int, disp, count, datatype, win int64) {
	p.totals.Operations++
	p.call(at, name, num(local), num(count), num(datatype), num(target), num(disp), num(count), num(datatype), num(win))
}

// accumulate adds a number to one at the target.
func (p *process) accumulate(at place, local uint64, target int, disp int64) {
	p.totals.Operations++
	p.call(at, "MPI_Accumulate", num(local), num(1), num(longType), num(target), num(disp), num(1), num(longType), num(sumOp), num(window), num(0), num(0), trace.Value{})
}

func (p *process) flush(at place, target int, win int64) {
	p.call(at, "MPI_Win_flush", num(target), num(win))
}

// exchange sends a block to one process and receives one from another; either
// may be MPI_PROC_NULL.
func (p *process) exchange(at place, send uint64, to int, receive uint64, from, tag int) {
	status := []int64{int64(from), int64(tag), block * element, 0}
	if int64(from) == trace.ProcNull {
		status = []int64{trace.ProcNull, trace.AnyTag, 0, 0}
	}
	p.call(at, "MPI_Sendrecv",
		num(send), num(block), num(doubleType), num(to), num(tag),
		num(receive), num(block), num(doubleType), num(from), num(tag),
		num(trace.CommWorld), trace.Value{List: status})
}

// run writes a run of loads or stores of elements that are stride elements
// apart.
func (p *process) run(at place, store bool, addr uint64, count, stride int64) {
	p.totals.Runs++
	if store {
		p.totals.Stores += count
	} else {
		p.totals.Loads += count
	}
	p.w.Access(&trace.Access{Addr: addr, Size: element, Stride: stride * element, Count: uint64(count), Stack: p.stack(at), Store: store})
}

// Runs that fill writes go over so many blocks and source lines.
const (
	fillBlocks = 64
	fillLines  = 4
)

// fill writes loads of memory that nobody writes, the fillBlocks blocks from
// an address on: what a program does besides its communication.
func (p *process) fill(addr uint64, accesses int64) {
	for range max(0, accesses) {
		k := p.filled
		p.filled++
		p.run(place{patternSource, 90 + int(k%fillLines)}, false, addr+uint64(k%fillBlocks)*block*element, block, 1)
	}
}

// stack returns the call stack of a place.
func (p *process) stack(at place) uint32 {
	id, ok := p.stacks[at]
	if ok {
		return id
	}
	if at.file == plantSource {
		return p.plantStack(at)
	}
	frames := []trace.Source{{Func: "main", File: mainSource, Line: lineKernel}}
	if at.file == mainSource {
		frames[0].Line = uint32(at.line)
	} else {
		frames = []trace.Source{{Func: "step", File: at.file, Line: uint32(at.line)}, frames[0]}
	}
	id, _ = p.w.StackAt(frames...) // the writer keeps the error
	p.stacks[at] = id
	return id
}

// Program counters of planted accesses, below those that the writer invents.
const (
	plantCaller = uint64(1) << 47
	plantStep   = 16
)

// plantStack defines the call stack of a planted access. A process uses each
// once, and there may be many: so they are not kept.
func (p *process) plantStack(at place) uint32 {
	if !p.planting {
		p.planting = true
		p.w.Source(&trace.Source{PC: plantCaller, Func: "main", File: mainSource, Line: lineKernel})
	}
	pc := plantCaller + plantStep*uint64(at.line)
	p.w.Source(&trace.Source{PC: pc, Func: "planted", File: at.file, Line: uint32(at.line)})
	id := uint32(at.line)
	p.w.Stack(id, []uint64{pc, plantCaller})
	return id
}

// mix makes one number of several, such that they all matter (SplitMix64).
func mix(numbers ...uint64) uint64 {
	h := uint64(0)
	for _, n := range numbers {
		h += n + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
