package synth

import (
	"math/rand/v2"

	"github.com/mcchk/mcchk/trace"
)

// random draws what each process does in a step, and how they synchronise at
// its end. What it draws cannot race:
//
//   - each process has a block of its own in every process's window, which
//     nobody else uses, and completes each operation on it before the next;
//   - the counters are only added to, by accumulates with one operation;
//   - the table is only read;
//   - a process's own block in its own window is used by its loads and stores
//     alone.
//
// Buffers of gets are completed before the step ends.
type random struct {
	*process
	counters, table int64 // where they begin in the window, elements
}

const (
	randomCounters = 8
	randomTable    = 16 * block
	randomBuffers  = 64 // blocks that gets bring data to, one after the other
)

func startRandom(p *process) kernel {
	r := &random{process: p}
	r.counters = int64(p.Ranks) * block
	r.table = r.counters + randomCounters
	return kernel{
		size: r.table + randomTable,
		open: r.lockAll, close: r.unlockAll,
		step: r.step,
	}
}

func (r *random) step(step, accesses int64) {
	pending := 0
	for range accesses {
		if pending == randomBuffers {
			r.call(at(30), "MPI_Win_flush_all", num(window))
			pending = 0
		}
		if r.access(pending) {
			pending++
		}
	}
	if pending > 0 {
		r.call(at(31), "MPI_Win_flush_all", num(window))
	}
	r.synchronize(step)
}

// access makes one access at random, and reports whether it uses buffer i until
// it is completed.
func (r *random) access(i int) bool {
	target := r.rng.IntN(r.Ranks)
	mine := int64(r.rank) * block
	own := windowBase + uint64(mine)*element
	buffer := buffersBase + uint64(1+i)*block*element
	switch kind := r.rng.IntN(10); kind {
	case 0, 1:
		if target == r.rank {
			target = r.neighbour(1)
		}
		name, line := "MPI_Put", 11
		if kind == 1 {
			name, line = "MPI_Get", 12
		}
		local := buffersBase // nobody stores to what is put
		if kind == 1 {
			local = buffer
		}
		r.operation(at(line), name, local, target, mine, block, doubleType, window)
		r.flush(at(13), target, window)
	case 2:
		r.operation(at(14), "MPI_Get", buffer, target, r.table+r.rng.Int64N(randomTable-block), block, doubleType, window)
		return true
	case 3:
		r.accumulate(at(15), buffersBase, target, r.counters+r.rng.Int64N(randomCounters))
	case 4, 5:
		r.run(at(16), true, own+uint64(r.rng.IntN(block/2))*element, 1+r.rng.Int64N(block/2), 1)
	case 6, 7:
		r.run(at(17), false, own, block/2, 2)
	default:
		r.run(at(18), false, windowBase+uint64(r.table)*element, 1+r.rng.Int64N(randomTable), 1)
	}
	return false
}

// synchronize draws a synchronization for all processes alike.
func (r *random) synchronize(step int64) {
	rng := rand.New(rand.NewPCG(r.Seed, mix(uint64(step))))
	send, receive := buffersBase+1<<20, buffersBase+1<<21
	switch rng.IntN(16) {
	case 0:
		r.barrier(20)
	case 1:
		r.call(at(21), "MPI_Allreduce", num(send), num(receive), num(1), num(longType), num(sumOp), num(trace.CommWorld))
	case 2, 3:
		r.call(at(22), "MPI_Bcast", num(receive), num(1), num(longType), num(rng.IntN(r.Ranks)), num(trace.CommWorld))
	case 4, 5:
		r.call(at(23), "MPI_Reduce", num(send), num(receive), num(1), num(longType), num(sumOp), num(rng.IntN(r.Ranks)), num(trace.CommWorld))
	case 6, 7:
		// nothing
	default:
		by := 1 + rng.IntN(r.Ranks-1)
		r.exchange(at(24), send, r.neighbour(by), receive, r.neighbour(-by), 0)
	}
}
