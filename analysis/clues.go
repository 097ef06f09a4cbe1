package analysis

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trial"
)

// clues notes what a replay shows of how its processes wait for each other, beside what it
// knows itself: it is the core.Observer of the run as it was.
type clues struct {
	*trial.Scan
	ops   [][]polled   // one-sided operations, by rank, in program order
	sends []trial.Need // of sends that may wait for their receives
	weak  map[lacking]bool
	now   []current // of each process
	left  int       // how many more operations and sends are noted
}

// polled is an operation.
type polled struct {
	models.Polled
	region int
	call   conflicts.SyncPoint // without its stack
	stack  uint32
	begin  int64
}

// current is the call that a process makes, and what that does not return before.
type current struct {
	pos             uint64
	sends, receives bool // its message is received, it has received one
}

// lacking is a memory order that some atomic operation of the language at a place does not have:
// where a compare-and-exchange fails, there are others that load.
type lacking struct {
	at    stackKey
	order string
}

// sent is the mark of a message of a call that may not return before it is received.
type sent struct {
	rank int
	pos  uint64
}

func newClues(scan *trial.Scan, ranks int) *clues {
	return &clues{Scan: scan, ops: make([][]polled, ranks), weak: map[lacking]bool{}, now: make([]current, ranks), left: trial.MostNoted}
}

// Call is that of core.Observer.
func (n *clues) Call(c *core.ObservedCall) {
	n.Scan.Call(c)
	now := &n.now[c.Rank]
	now.pos = c.Pos
	now.sends, now.receives = models.Blocks(c.Call.Fn.Name)
	for _, order := range [...]string{conflicts.Acquire, conflicts.Release} {
		if models.Lacks(c.Call, order) {
			n.weak[lacking{stackKey{c.Rank, c.Call.Stack}, order}] = true
		}
	}
	if what, ok := models.Polls(c.Call); ok && n.left > 0 {
		n.left--
		n.ops[c.Rank] = append(n.ops[c.Rank], polled{what, n.Scan.Regions(), conflicts.SyncPoint{Call: c.Call.Fn.Name, Rank: int(c.Rank), Event: c.Pos}, c.Call.Stack, c.Call.Begin})
	}
}

// Signal is that of core.Observer.
func (n *clues) Signal(rank int32) core.Mark {
	if now := &n.now[rank]; now.sends {
		return sent{int(rank), now.pos}
	}
	return nil
}

// Wait is that of core.Observer.
func (n *clues) Wait(rank int32, on core.Mark) {
	if m, ok := on.(sent); ok && n.now[rank].receives && n.left > 0 {
		n.left--
		n.sends = append(n.sends, trial.Need{Rank: m.rank, Pos: m.pos, Of: int(rank), At: n.now[rank].pos})
	}
}
