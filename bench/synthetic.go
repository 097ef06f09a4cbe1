package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// synthetic is a large trace of a program that does not exist: the pattern of
// one kind of program, without its races.
type synthetic struct {
	name, title string
	ranks       int
	kernel      func(*script) error
	bookends    *bookends // nil: those of MPI
}

func synthetics() []synthetic {
	return []synthetic{
		{name: "halo", title: "halo, 26 records a step", ranks: 2, kernel: haloScript(50000)},
		{name: "grid", title: "whole grid, 40000 records a step", ranks: 2, kernel: gridScript(100, 4000)},
		{name: "ring", title: "ring, 8 records a step", ranks: 2, kernel: ringScript(400, 100)},
		{name: "halo16", title: "halo of 16 processes", ranks: 16}, // of package synth
	}
}

// write writes the files of all processes.
func (s synthetic) write(ctx context.Context, dir string) error {
	if s.kernel == nil {
		_, err := synth.Generate(ctx, dir, synth.Config{Pattern: synth.Halo, Ranks: s.ranks, Accesses: 10_000_000})
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for rank := range s.ranks {
		if err := s.writeFile(filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", rank)), rank); err != nil {
			return err
		}
	}
	return nil
}

func (s synthetic) writeFile(path string, rank int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	out := bufio.NewWriterSize(f, 1<<20)
	w, err := trace.NewWriter(out, trace.Header{Run: [16]byte{1}, Rank: rank, Ranks: s.ranks, Host: "bench"})
	if err != nil {
		return err
	}
	p := &script{w: w, rank: rank, ranks: s.ranks, stacks: map[int]uint32{}}
	model := cmp.Or(s.bookends, &bookends{begin: (*script).begin, end: (*script).end})
	if err := model.define(w); err != nil {
		return err
	}
	for _, do := range []func(*script) error{model.begin, s.kernel, model.end} {
		if err := do(p); err != nil {
			return err
		}
	}
	return out.Flush()
}

const (
	windowBase  = uint64(0x10_0000_0000) // where each process's window begins
	windowBytes = int64(1) << 32
	buffersBase = uint64(0x20_0000_0000) // and its other memory
	window      = trace.CommWorld<<32 + 1
	element     = 8 // MPI_DOUBLE
	doubleType  = 1
	intType     = 2
)

// script writes the trace of one process. Errors of the writer stay with it,
// and are reported by end.
type script struct {
	w           *trace.Writer
	rank, ranks int
	stacks      map[int]uint32 // by line
	elements    uint64
}

func (p *script) begin() error {
	p.w.Info("program", "synthetic")
	p.w.Comm(&trace.Comm{ID: trace.CommWorld, Rank: p.rank, Size: p.ranks, Ranks: []trace.RankRun{{First: 0, Stride: 1, Count: int64(p.ranks)}}})
	p.w.Type(&trace.Type{ID: doubleType, Combiner: trace.Named, Name: "MPI_DOUBLE", Size: 8, Extent: 8})
	p.w.Type(&trace.Type{ID: intType, Combiner: trace.Named, Name: "MPI_INT", Size: 4, Extent: 4})
	p.call(1, "MPI_Init", nil)
	p.call(2, "MPI_Win_create", trace.Args{
		"base": windowBase, "size": windowBytes, "disp_unit": element, "comm": trace.CommWorld, "win": window, "model": 1,
	})
	return p.call(3, "MPI_Win_fence", trace.Args{"win": window})
}

func (p *script) end() error {
	p.call(4, "MPI_Win_free", trace.Args{"win": window})
	p.call(5, "MPI_Finalize", nil)
	return p.close()
}

func (p *script) close() error {
	p.w.End(trace.End{Accesses: p.elements, Units: 1})
	return p.w.Close()
}

// stack is the call stack of a line of the program.
func (p *script) stack(line int) (uint32, error) {
	id, ok := p.stacks[line]
	if ok {
		return id, nil
	}
	id, err := p.w.StackAt(
		trace.Source{Func: "kernel", File: "synthetic.c", Line: uint32(line)},
		trace.Source{Func: "main", File: "synthetic.c", Line: 1000},
	)
	p.stacks[line] = id
	return id, err
}

func (p *script) call(line int, name string, args trace.Args) error {
	stack, err := p.stack(line)
	if err != nil {
		return err
	}
	return p.w.CallNamed(name, stack, args)
}

// callAt is call, of one that begins at a time, ns.
func (p *script) callAt(begin int64, line int, name string, args trace.Args) error {
	stack, err := p.stack(line)
	if err != nil {
		return err
	}
	return p.w.CallNamedAt(begin, begin+1, name, stack, args)
}

// access writes a run of adjacent numbers.
func (p *script) access(line int, store bool, addr, count uint64) error {
	stack, err := p.stack(line)
	if err != nil {
		return err
	}
	p.elements += count
	return p.w.Access(&trace.Access{Addr: addr, Size: element, Stride: element, Count: count, Stack: stack, Store: store})
}

// atomic writes an atomic load of a number.
func (p *script) atomic(line int, addr uint64) error {
	stack, err := p.stack(line)
	if err != nil {
		return err
	}
	p.elements++
	return p.w.Access(&trace.Access{Addr: addr, Size: element, Stride: element, Count: 1, Stack: stack, Atomic: true})
}

// exchange writes a message to the next process, and one from that before.
func (p *script) exchange() error {
	right, left := (p.rank+1)%p.ranks, (p.rank+p.ranks-1)%p.ranks
	return p.call(13, "MPI_Sendrecv", trace.Args{
		"sendbuf": buffersBase + 1<<40, "sendcount": 1, "sendtype": intType, "dest": right,
		"recvbuf": buffersBase + 1<<41, "recvcount": 1, "recvtype": intType, "source": left,
		"comm": trace.CommWorld, "status": []int{left, 0, 4, 0},
	})
}

// put writes a put of adjacent numbers to an offset in the target's window.
func (p *script) put(line, target int, from uint64, to, count int) error {
	return p.call(line, "MPI_Put", trace.Args{
		"origin_addr": from, "origin_count": count, "origin_datatype": doubleType, "target_rank": target,
		"target_disp": to, "target_count": count, "target_datatype": doubleType, "win": window,
	})
}

func (p *script) neighbours() []int {
	var n []int
	if p.rank > 0 {
		n = append(n, p.rank-1)
	}
	if p.rank < p.ranks-1 {
		n = append(n, p.rank+1)
	}
	return n
}

// haloScript is a stencil with its halo in a window: in each step a put of a
// row to each neighbour, a fence, loads of the own halo, a fence.
func haloScript(steps int) func(*script) error {
	const row, loads = 1000, 10
	return func(p *script) error {
		for range steps {
			for _, target := range p.neighbours() {
				p.put(10, target, buffersBase, p.rank*row, row)
			}
			p.call(11, "MPI_Win_fence", trace.Args{"win": window})
			for i := range loads {
				p.access(20+i, false, windowBase+uint64(i)*row*element/loads, row)
			}
			if err := p.call(12, "MPI_Win_fence", trace.Args{"win": window}); err != nil {
				return err
			}
		}
		return nil
	}
}

// gridScript is a stencil with both its grids in a window: in each step a put
// of the outermost row to each neighbour, a fence, four loads and a store of each
// row, a fence.
func gridScript(steps, rows int) func(*script) error {
	const columns = 1000
	grid := (rows + 2) * columns
	return func(p *script) error {
		at := func(g, row int) uint64 { return windowBase + uint64(g*grid+row*columns)*element }
		for step := range steps {
			now, next := step%2, (step+1)%2
			for _, target := range p.neighbours() {
				from, to := at(now, 1), now*grid+(rows+1)*columns
				if target > p.rank {
					from, to = at(now, rows), now*grid
				}
				p.put(10, target, from, to, columns)
			}
			p.call(11, "MPI_Win_fence", trace.Args{"win": window})
			for r := 1; r <= rows; r++ { // each of them is a place of its own, as with a compiler
				p.access(20, false, at(now, r-1)+element, columns-2)
				p.access(21, false, at(now, r+1)+element, columns-2)
				p.access(22, false, at(now, r), columns-2)
				p.access(23, false, at(now, r)+2*element, columns-2)
				p.access(24, true, at(next, r)+element, columns-2)
			}
			if err := p.call(12, "MPI_Win_fence", trace.Args{"win": window}); err != nil {
				return err
			}
		}
		return nil
	}
}

// ringScript is a ring of puts and flushes under lock_all, each told to the
// neighbour by a message, with a barrier now and then (bench/programs/ring.c).
func ringScript(barriers, steps int) func(*script) error {
	const block = 16
	return func(p *script) error {
		p.call(10, "MPI_Win_lock_all", trace.Args{"win": window})
		right := (p.rank + 1) % p.ranks
		for range barriers {
			for step := range steps {
				slot := step % p.ranks * block
				p.put(11, right, buffersBase, slot, block)
				p.call(12, "MPI_Win_flush", trace.Args{"rank": right, "win": window})
				p.exchange()
				p.access(14, false, windowBase+uint64(slot)*element, block)
			}
			if err := p.call(15, "MPI_Barrier", trace.Args{"comm": trace.CommWorld}); err != nil {
				return err
			}
		}
		return p.call(16, "MPI_Win_unlock_all", trace.Args{"win": window})
	}
}
