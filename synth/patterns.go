package synth

import "github.com/mcchk/mcchk/trace"

// Names of patterns.
const (
	LockOptions = "lockopts"
	Halo        = "halo"
	AllToAll    = "alltoall"
	HotCounter  = "hot-counter"
	HotBlock    = "hot-block"
	Ring        = "ring"
	Random      = "random"
)

// patternInfo is one kind of program.
type patternInfo struct {
	name  string
	Text  string // one line for people
	shape func(*Config) shape
	start func(*process) kernel
}

// shape is how many accesses a process makes in a step.
type shape struct {
	usual int64 // where the number of steps is free
	least int64 // fewer are not possible
	once  bool  // there is one step, however many accesses
}

// kernel is a pattern in one process. open is called once after the windows
// are created, step for each step with the number of accesses to make, close
// once at the end. open and close may be nil, and make no accesses.
type kernel struct {
	size  int64 // of the window, elements
	open  func()
	step  func(step, accesses int64)
	close func()
}

func patterns() []patternInfo {
	fixed := func(usual, least int64) func(*Config) shape {
		return func(*Config) shape { return shape{usual: usual, least: least} }
	}
	once := func(*Config) shape { return shape{usual: 1000, once: true} }
	return []patternInfo{
		{LockOptions, "locks of the next process, exclusive, shared and unchecked; a barrier ends a step", fixed(6, 6), startLockOptions},
		{Halo, "a stencil on a 2-D or 3-D grid of processes, with its grids in a window", haloShape, startHalo},
		{AllToAll, "a put and a message to another process in each step, to all in turn; no barrier", fixed(2, 2), startAllToAll},
		{HotCounter, "MPI_Fetch_and_op of all processes on one counter", once, startHotCounter},
		{HotBlock, "MPI_Get of all processes from one block", once, startHotBlock},
		{Ring, "a message to the next process in each step, and nothing else that orders", fixed(2, 2), startRing},
		{Random, "operations, loads, stores and synchronization drawn at random", fixed(8, 0), startRandom},
	}
}

// Patterns returns the names of the patterns.
func Patterns() []string {
	var names []string
	for _, p := range patterns() {
		names = append(names, p.name)
	}
	return names
}

// Describe returns one line about a pattern, or "".
func Describe(pattern string) string {
	p, _ := patternOf(pattern)
	return p.Text
}

func patternOf(name string) (patternInfo, bool) {
	for _, p := range patterns() {
		if p.name == name {
			return p, true
		}
	}
	return patternInfo{}, false
}

// at is a line of the pattern's source.
func at(line int) place { return place{patternSource, line} }

// lockAll and unlockAll are the open and close of patterns that use one epoch.
func (p *process) lockAll()   { p.call(at(10), "MPI_Win_lock_all", num(0), num(window)) }
func (p *process) unlockAll() { p.call(at(40), "MPI_Win_unlock_all", num(window)) }

func (p *process) barrier(line int) { p.call(at(line), "MPI_Barrier", num(trace.CommWorld)) }

func (p *process) lock(line int, kind int64, target int, assert, win, ticket int64) {
	p.call(at(line), "MPI_Win_lock", num(kind), num(target), num(assert), num(win), num(ticket))
}

func (p *process) unlock(line, target int, win int64) {
	p.call(at(line), "MPI_Win_unlock", num(target), num(win))
}

// neighbour is the process so many ranks further on, or back.
func (p *process) neighbour(by int) int { return ((p.rank+by)%p.Ranks + p.Ranks) % p.Ranks }

// startLockOptions: in each step a process uses its own block 0 under an exclusive lock
// and puts into that of the next process under another; both then read its block
// 1 under shared locks; it puts into block 2 of the one after that under a lock
// with MPI_MODE_NOCHECK, of a window that has no others. Which of the two exclusive locks of a process comes
// first is drawn, the shared ones follow them. A barrier ends the step.
//
// It locks itself before it locks the next one, and process 0 is always locked
// by itself first: so the processes can never wait for each other in a circle.
func startLockOptions(p *process) kernel {
	const locks = 4 // of each process in a step, without the unchecked ones
	next, after := p.neighbour(1), p.neighbour(2)
	ownFirst := func(target int, step int64) int64 {
		if target == 0 {
			return 1
		}
		return int64(mix(p.Seed, uint64(target), uint64(step)) & 1)
	}
	own := func(b uint64) uint64 { return windowBase + b*block*element }
	return kernel{
		size:  (3 + fillBlocks) * block,
		open:  func() { p.create(own(2), block, uncheckedWindow) },
		close: func() { p.main(lineFree, "MPI_Win_free", trace.Args{"win": uncheckedWindow}) },
		step: func(step, accesses int64) {
			first := step * locks
			p.lock(11, trace.LockExclusive, p.rank, 0, window, first+1-ownFirst(p.rank, step))
			p.run(at(12), true, own(0), block, 1)
			p.run(at(13), false, own(0), block, 1)
			p.unlock(14, p.rank, window)
			p.lock(15, trace.LockExclusive, next, 0, window, first+ownFirst(next, step))
			p.operation(at(16), "MPI_Put", buffersBase, next, 0, block, doubleType, window)
			p.unlock(17, next, window)
			p.lock(18, trace.LockShared, next, 0, window, first+2)
			p.operation(at(19), "MPI_Get", buffersBase+block*element, next, block, block, doubleType, window)
			p.unlock(20, next, window)
			p.lock(21, trace.LockShared, p.rank, 0, window, first+3)
			p.run(at(22), false, own(1), block, 1)
			p.unlock(23, p.rank, window)
			p.lock(24, trace.LockShared, after, trace.AssertNoCheck, uncheckedWindow, -1)
			p.operation(at(25), "MPI_Put", buffersBase, after, 0, block, doubleType, uncheckedWindow)
			p.unlock(26, after, uncheckedWindow)
			p.fill(own(3), accesses-6)
			p.barrier(27)
		},
	}
}

// startAllToAll: in step s a process puts a block into that of the process 1 + s mod
// (n-1) ranks further on, tells it by a message, and loads what it was told of.
// The blocks of a process are by origin, and used again in every other round of
// n-1 steps: by then everybody has heard from everybody.
func startAllToAll(p *process) kernel {
	n := int64(p.Ranks)
	return kernel{
		size:  (2*n + fillBlocks) * block,
		open:  p.lockAll,
		close: p.unlockAll,
		step: func(step, accesses int64) {
			by, round := int(1+step%(n-1)), step/(n-1)%2
			to, from := p.neighbour(by), p.neighbour(-by)
			slot := func(origin int) int64 { return (round*n + int64(origin)) * block }
			p.operation(at(11), "MPI_Put", buffersBase, to, slot(p.rank), block, doubleType, window)
			p.flush(at(12), to, window)
			p.exchange(at(13), buffersBase+1<<20, to, buffersBase+1<<21, from, 0)
			p.run(at(14), false, windowBase+uint64(slot(from))*element, block, 1)
			p.fill(windowBase+uint64(2*n)*block*element, accesses-2)
		},
	}
}

// startHotCounter: all processes add to the first element of process 0.
func startHotCounter(p *process) kernel {
	return kernel{
		size:  1,
		open:  p.lockAll,
		close: p.unlockAll,
		step: func(_, accesses int64) {
			for range accesses {
				p.totals.Operations++
				p.call(at(11), "MPI_Fetch_and_op", num(buffersBase), num(buffersBase+element), num(longType), num(0), num(0), num(sumOp), num(window), num(0), num(0))
				p.flush(at(12), 0, window)
			}
		},
	}
}

// startHotBlock: all processes get the first block of process 0.
func startHotBlock(p *process) kernel {
	return kernel{
		size:  block,
		open:  p.lockAll,
		close: p.unlockAll,
		step: func(_, accesses int64) {
			for range accesses {
				p.operation(at(11), "MPI_Get", buffersBase, 0, 0, block, doubleType, window)
				p.flush(at(12), 0, window)
			}
		},
	}
}

// startRing: in each step a process stores a block of its window, sends it to the next
// process, and loads what it received. What is in the window and what orders
// are messages alone.
func startRing(p *process) kernel {
	next, previous := p.neighbour(1), p.neighbour(-1)
	own := func(b uint64) uint64 { return windowBase + b*block*element }
	return kernel{
		size: (2 + fillBlocks) * block,
		open: p.lockAll, close: p.unlockAll,
		step: func(_, accesses int64) {
			p.run(at(11), true, own(0), block, 1)
			p.exchange(at(12), own(0), next, own(1), previous, 0)
			p.run(at(13), false, own(1), block, 1)
			p.fill(own(2), accesses-2)
		},
	}
}
