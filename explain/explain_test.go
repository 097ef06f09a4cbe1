package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// toy is a model with puts that one call completes, and a barrier that completes
// too. It proposes nothing of its own.
type toy struct{}

func (toy) Instead(string) string { return "" }
func (toy) Terms() Terms {
	return Terms{Rank: "rank", Process: "process", Processes: "processes", Object: "heap", Wait: "a toy barrier", Between: "a toy barrier", Order: "toy barrier", Complete: "toy_quiet", GivesUp: "toy_free does both", OwnAtomic: "an atomic operation", LockOfAll: "all"}
}

func (toy) Call(fn string) Call {
	return Call{Fence: fn == "toy_barrier", Waits: fn == "toy_barrier", Only: fn == "toy_quiet"}
}

func (toy) Completing(w *Wording, s *conflicts.Side) Completing {
	if !s.Pending {
		return Completing{}
	}
	return Completing{How: "call toy_quiet"}
}

func (toy) Idle(string, *conflicts.Side, *conflicts.Side) string                         { return "completes nothing" }
func (toy) Copy(*conflicts.Side) bool                                                    { return false }
func (toy) OutOfScope(*conflicts.Side) bool                                              { return false }
func (toy) Message(*Wording) string                                                      { return "" }
func (toy) Late(*Wording, *conflicts.Side, *conflicts.Side) []conflicts.Fix              { return nil }
func (toy) Order(*Wording, *conflicts.Side, *conflicts.Side) []conflicts.Fix             { return nil }
func (toy) Atomic(*Wording, *conflicts.Side, *conflicts.Side) (f conflicts.Fix, ok bool) { return }
func (toy) Lock(*Wording, *conflicts.Side, *conflicts.Side) (f conflicts.Fix, ok bool)   { return }

func at(line int) []symbols.Frame {
	return []symbols.Frame{{Func: "main", File: "a.c", Line: line}}
}

func sync(fn string, rank, line int) conflicts.SyncPoint {
	return conflicts.SyncPoint{Call: fn, Rank: rank, Event: uint64(line), Stack: at(line)}
}

// TestToyModel: another model needs its words only.
func TestToyModel(t *testing.T) {
	put := func(rank, line int, done string) conflicts.Side {
		s := conflicts.Side{Rank: rank, Call: "toy_put", Role: "put", Class: regions.Target, Write: true, Pending: true, Stack: at(line), Started: sync("toy_barrier", rank, 1)}
		if done != "" {
			s.Done = sync(done, rank, 30)
		}
		return s
	}
	buffer := func(s conflicts.Side) conflicts.Side {
		s.Class = regions.OwnBuffer
		return s
	}
	load := func(rank, line int) conflicts.Side {
		return conflicts.Side{Rank: rank, Role: "load", Class: regions.Local, Stack: at(line), Started: sync("toy_barrier", rank, 1), Done: sync("toy_barrier", rank, 40)}
	}
	freed := conflicts.Side{Rank: 1, Role: "free", Class: regions.GivenUp, Write: true, Stack: at(20)}
	tests := []struct {
		name    string
		f       conflicts.Finding
		message string
		why     string
		fixes   []string
	}{
		{
			name:    "a put and a load of its target",
			f:       conflicts.Finding{Rule: conflicts.RuleLocalRemote, First: put(0, 10, "toy_quiet"), Second: load(1, 20), Owner: 1, Window: 1},
			message: "toy_put by rank 0 and load by rank 1 conflict in the heap of rank 1, and nothing orders them",
			why:     "toy_put (line 10) of rank 0 may access the bytes until toy_quiet (line 30); the load (line 20) of rank 1 lies between toy_barrier (line 1) and toy_barrier (line 40); nothing makes one wait for the other",
			fixes: []string{
				"let rank 1 wait for rank 0 (a toy barrier) after toy_quiet (line 30) and before the load (line 20), so that the load reads what toy_put wrote",
				"the other way round: move toy_put (line 10) after the load (line 20), with rank 0 waiting for rank 1 in between (a toy barrier), so that the load reads the value from before toy_put",
			},
		},
		{
			name:    "a load before the barrier that completes a put",
			f:       conflicts.Finding{Rule: conflicts.RuleBuffer, First: put(0, 10, "toy_barrier"), Second: load(0, 20), Began: 1, Window: 1},
			message: "toy_put and load, both by rank 0, conflict in the heap of rank 0, and nothing orders them",
			why:     "toy_put (line 10) is not complete until toy_barrier (line 30), and the load (line 20) comes before that",
			fixes:   []string{"call toy_quiet between toy_put (line 10) and the load (line 20)", "move the load (line 20) after toy_barrier (line 30)"},
		},
		{
			name: "a thread that was made after something else",
			f: conflicts.Finding{Rule: conflicts.RuleBuffer, First: buffer(put(0, 30, "toy_barrier")), Second: conflicts.Side{Rank: 0, Thread: 2, Role: "load",
				Class: regions.Local, Stack: at(20), Started: sync("toy_wait", 0, 40)}, Began: 1},
			message: "load from the put of toy_put before it completes",
			why: "toy_put (line 30) is not complete until toy_barrier (line 30) of the main thread, and nothing makes thread 2 wait for that before the load (line 20); " +
				"toy_wait (line 40) is called by the main thread before the load (line 20), but completes nothing",
			fixes: []string{"call toy_quiet between toy_put (line 30) and the load (line 20)",
				"in rank 0, let thread 2 wait for the main thread after toy_barrier (line 30) and before the load (line 20) (join, mutex or critical, barrier, depend clause, taskwait)"},
		},
		{
			name:    "two puts of one process",
			f:       conflicts.Finding{Rule: conflicts.RuleSameOrigin, First: put(0, 10, ""), Second: put(0, 20, ""), Began: 1, Window: 1},
			message: "toy_put and toy_put, both by rank 0, conflict in the heap of rank 0 before the first completes",
			why:     "no call completes toy_put (line 10) in the recorded run, so toy_put (line 20) may touch the bytes at the same time",
			fixes:   []string{"call toy_quiet between toy_put (line 10) and toy_put (line 20), so that the value of toy_put (line 20) remains", "use different places of the heap"},
		},
		{
			name:    "a buffer that goes before its put is complete", // nothing completes it then
			f:       conflicts.Finding{Rule: conflicts.RuleBuffer, First: buffer(put(0, 10, "")), Second: load(0, 20), Began: 1, Window: 1},
			message: "load from the put of toy_put before it completes",
			why:     "no call completes toy_put (line 10) as long as its buffer is there, so the load (line 20) may touch the bytes at the same time",
			fixes:   []string{"call toy_quiet between toy_put (line 10) and the load (line 20)"},
		},
		{
			name:    "memory that is freed",
			f:       conflicts.Finding{Rule: conflicts.RuleMemoryGone, Class: conflicts.Usage, First: put(0, 10, "toy_quiet"), Second: freed, Owner: 1},
			message: "the target memory of toy_put by rank 0 is freed by rank 1, and nothing orders the two",
			why:     "toy_put (line 10) of rank 0 may access the memory when rank 1 frees it (line 20), and no synchronization orders the two",
			fixes:   []string{"complete the operation and synchronize the two processes before the memory is released: toy_free does both"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(toy{}, &tt.f)
			require.Equal(t, tt.message, w.Message())
			e := w.Explain()
			require.Equal(t, tt.why, e.Why)
			var fixes []string
			for _, f := range e.Fixes {
				fixes = append(fixes, f.Text)
			}
			require.Equal(t, tt.fixes, fixes)
			require.NotContains(t, fmt.Sprint(e), "MPI")
			require.False(t, strings.Contains(fmt.Sprint(e), "window"))
		})
	}
}

// TestTaskThatWaits: of two tasks that one thread executed, each is named by what it does.
func TestTaskThatWaits(t *testing.T) {
	f := conflicts.Finding{Rule: conflicts.RuleLocalRemote, Owner: 1, Window: 1,
		First:  conflicts.Side{Rank: 0, Call: "toy_put", Role: "put", Class: regions.Target, Write: true, Pending: true, Stack: at(10), Done: sync("toy_quiet", 0, 30)},
		Second: conflicts.Side{Rank: 1, Thread: 2, Role: "load", Class: regions.Local, Stack: at(20), Passed: sync("toy_wait", 1, 15)}}
	f.Second.Passed.Thread = 2
	e := New(toy{}, &f).Explain()
	require.Contains(t, e.Why, "a task of rank 1 waits for it with toy_wait (line 15), but nothing puts the load (line 20), by another task, behind that")
	require.Equal(t, "in rank 1, let the task of the load (line 20) wait for that of toy_wait (line 15) before it (barrier, depend clause, taskwait)", e.Fixes[0].Text)
}

// TestCopyOfArgument: what one statement of Fortran allocates, passes on and frees is the compiler's.
func TestCopyOfArgument(t *testing.T) {
	for file, copied := range map[string]bool{"a.f90": true, "A.F": true, "a.c": false} {
		stack := []symbols.Frame{{Func: "main", File: file, Line: 10}}
		f := conflicts.Finding{Rule: conflicts.RuleMemoryGone, Class: conflicts.Usage,
			First:  conflicts.Side{Rank: 1, Call: "toy_put", Role: "put", Class: regions.OwnBuffer, Pending: true, Stack: stack},
			Second: conflicts.Side{Rank: 1, Role: "free", Class: regions.GivenUp, Write: true, Stack: stack},
			Block:  conflicts.Block{Size: 8, Stack: stack}}
		require.Equal(t, copied, strings.Contains(New(toy{}, &f).Message(), "a copy that the compiler made"), file)
		f.Block.Stack = at(9)
		require.NotContains(t, New(toy{}, &f).Message(), "a copy that the compiler made", file)
	}
}
