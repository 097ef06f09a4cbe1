package main

import "github.com/mcchk/mcchk/trace"

// Patterns of the growth matrix in which processes are ordered by what they fetch.
const (
	ticketCounter = "ticket counter" // all add to a word of process 0
	ownFlag       = "own flag"       // each polls a word of its own, which nobody changes
	flagRing      = "ring of flags"  // each sets the next one's flag, and polls its own
	spinLock      = "spin lock"      // that each holds in its turn, while the others try
	sharedSum     = "shared sum"     // all add to a word of process 0, which itself does not fetch
	watchedSum    = "watched sum"    // process 0 adds to a word of its own, which all others poll
)

var algorithms = []string{ticketCounter, ownFlag, flagRing, spinLock, sharedSum, watchedSum}

// turnTime is how long the turn of one process takes, ns.
const turnTime = 1000

// algorithm is a step of the process in such a pattern: one turn of each that takes part.
func (w *matrixProcess) algorithm(n int) {
	if !w.active {
		return
	}
	turns, mine := 1, 0
	if w.all {
		turns, mine = w.ranks, w.rank
	}
	for k := range turns {
		turn := n*turns + k
		w.now = int64(turn+1) * turnTime
		switch {
		case k != mine && w.operation == spinLock:
			w.now += turnTime / 3
			w.swap(0, 0, 1, 1)
		case k != mine:
		case w.operation == ticketCounter:
			w.fetch(0, sumOp, 1, int64(turn))
		case (w.operation == sharedSum || w.operation == watchedSum) && w.rank == 0:
			w.add(0, 1)
		case w.operation == sharedSum:
			w.fetch(0, sumOp, 1, int64(turn))
		case w.operation == watchedSum:
			w.fetch(0, noOp, 0, int64(n+1))
		case w.operation == ownFlag:
			w.fetch(w.rank, noOp, 0, 0)
		case w.operation == spinLock:
			w.swap(0, 0, 1, 0)
			w.now += turnTime / 2
			w.replace(0, 0)
		case w.operation == flagRing:
			w.replace((w.rank+1)%w.ranks, int64(n+1))
			seen := 0
			if w.all {
				seen = n + min(w.rank, 1) // of the others, the first has had no turn before this one
			}
			for range 2 {
				w.fetch(w.rank, noOp, 0, int64(seen))
			}
		}
	}
}

// fetch makes an operation on the word of a process that finds a value, and completes it.
func (w *matrixProcess) fetch(target int, op, operand, found int64) {
	w.update(target, "MPI_Fetch_and_op", trace.Args{"datatype": wordType, "op": op, "operand": operand}, found)
}

// swap makes a compare-and-swap that finds a value, and completes it.
func (w *matrixProcess) swap(target int, compare, operand, found int64) {
	w.update(target, "MPI_Compare_and_swap", trace.Args{"datatype": wordType, "operand": operand, "compare": compare, "compare_addr": buffersBase + 1<<31}, found)
}

// replace writes the word of a process, and completes that.
func (w *matrixProcess) replace(target int, operand int64) { w.accumulate(target, replaceOp, operand) }

// add adds to the word of a process, and completes that.
func (w *matrixProcess) add(target int, operand int64) { w.accumulate(target, sumOp, operand) }

func (w *matrixProcess) accumulate(target int, op, operand int64) {
	w.update(target, "MPI_Accumulate", trace.Args{
		"origin_count": 1, "origin_datatype": wordType, "target_count": 1, "target_datatype": wordType, "op": op, "operand": operand,
	}, -1)
}

// update makes an operation on the word of a process, and completes it, if that is not left
// to the end. found is what it fetches; -1: nothing.
func (w *matrixProcess) update(target int, name string, a trace.Args, found int64) {
	w.number++
	a["origin_addr"], a["target_rank"], a["target_disp"], a["win"], a["number"] = buffersBase, target, 0, window, w.number
	if found >= 0 {
		a["result_addr"] = buffersBase + 1<<30
		if w.done == byNothing { // what pending operations fetch into one buffer is known of the last only
			a["result_addr"] = buffersBase + 1<<30 + 8*uint64(w.number)
		}
	}
	w.callAt(w.now, 23, name, a)
	if found >= 0 {
		w.numbers, w.values = append(w.numbers, w.number), append(w.values, found)
	}
	if w.done == byNothing {
		return
	}
	w.call(24, "MPI_Win_"+w.done, trace.Args{"rank": target, "win": window})
	w.tell(24)
}

// tell says what operations have fetched that are complete.
func (w *matrixProcess) tell(line int) error {
	if len(w.numbers) == 0 {
		return nil
	}
	numbers, values := w.numbers, w.values
	w.numbers, w.values = nil, nil
	return w.call(line, "mcchk_Fetched", trace.Args{"numbers": numbers, "values": values})
}
