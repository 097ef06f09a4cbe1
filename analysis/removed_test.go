package analysis

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// correct is a run without findings, which can be replayed again.
type correct struct {
	name string
	open func(t *testing.T) *run
}

// without is the stream of a process in whose program a statement is missing.
type without struct {
	*prefetch
	gone map[uint32]bool // stacks of the calls left out
	fns  []string
}

func (w *without) ReadEvent(ev *trace.Event) error {
	for {
		err := w.prefetch.ReadEvent(ev)
		if err != nil || ev.Kind != trace.KindCall || !w.gone[ev.Call.Stack] || !slices.Contains(w.fns, ev.Call.Fn.Name) {
			return err
		}
	}
}

// removals are the synchronizations that are left out, those of one line at a time; of
// several functions all calls, as of messages with both ends.
var removals = [][]string{
	{"MPI_Win_fence"}, {"MPI_Barrier"}, {"MPI_Win_flush"}, {"MPI_Win_flush_all"}, {"MPI_Win_flush_local"},
	{"MPI_Win_flush_local_all"}, {"MPI_Wait"}, {"MPI_Waitall"}, {"MPI_Win_sync"}, {"MPI_Allreduce"}, {"MPI_Bcast"},
	{"MPI_Send", "MPI_Recv"}, {"MPI_Sendrecv"},
}

// statement is one that can be left out.
type statement struct {
	fns    []string
	stacks []map[uint32]bool // of its calls, by rank
}

// made is that a process makes calls of a function with a stack.
type made struct {
	rank  int
	stack uint32
	fn    string
}

// callsMade lists the calls of a run that was opened, and reads it to its end.
func callsMade(t *testing.T, r *run) map[made]bool {
	seen := map[made]bool{}
	for rank, reader := range r.readers {
		var ev trace.Event
		for {
			err := reader.ReadEvent(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if ev.Kind == trace.KindCall {
				seen[made{rank, ev.Call.Stack, ev.Call.Fn.Name}] = true
			}
		}
	}
	return seen
}

// removable lists the statements of a run that can be left out, by a name.
func removable(t *testing.T, c *correct) map[string]statement {
	r := c.open(t)
	defer r.close()
	n, err := r.newNamer()
	require.NoError(t, err)
	out := map[string]statement{}
	for x := range callsMade(t, r) {
		i := slices.IndexFunc(removals, func(fns []string) bool { return slices.Contains(fns, x.fn) })
		here, known := symbols.Here(n.stack(int32(x.rank), x.stack))
		if i < 0 || !known {
			continue
		}
		name := strings.Join(removals[i], " and ")
		if len(removals[i]) == 1 { // the two ends of a message are on different lines
			name += fmt.Sprintf(" (%s:%d)", filepath.Base(here.File), here.Line)
		}
		s, ok := out[name]
		if !ok {
			s = statement{removals[i], make([]map[uint32]bool, len(r.readers))}
			for k := range s.stacks {
				s.stacks[k] = map[uint32]bool{}
			}
			out[name] = s
		}
		s.stacks[x.rank][x.stack] = true
	}
	return out
}

// problemsWithout analyses a run as it would have gone without a statement.
func problemsWithout(t *testing.T, c *correct, s statement) []problems.Problem {
	r := c.open(t)
	defer r.close()
	all := prefetchAll(r.readers)
	defer all.stop()
	var streams []core.Stream
	for rank, p := range all {
		streams = append(streams, &without{p, s.stacks[rank], s.fns})
	}
	m, groups, err := r.searchIn(streams, r.replayOptions())
	require.NoError(t, err)
	n, err := r.newNamer()
	require.NoError(t, err)
	e := &evidence{Groups: groups, Usages: m.Usages(), MayOrder: m.MayOrder(), Basis: r.basis(m)}
	return problems.Of(e.conclude(n).Findings)
}

func correctRuns(t *testing.T) []correct {
	var all []correct
	dirs, err := filepath.Glob(filepath.Join("..", "fixtures", "traces", "*_right"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, c := range []synth.Config{
		{Pattern: synth.Halo, Sync: synth.SyncFence}, {Pattern: synth.Halo, Sync: synth.SyncMessages},
		{Pattern: synth.Halo, Sync: synth.SyncFence, Dims: 3}, {Pattern: synth.AllToAll}, {Pattern: synth.LockOptions},
	} {
		c.Ranks, c.Steps = 4, 3
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("%s %s %d", c.Pattern, c.Sync, c.Dims))
		_, err := synth.Generate(t.Context(), dir, c)
		require.NoError(t, err)
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		all = append(all, correct{filepath.Base(dir), func(t *testing.T) *run {
			r, err := start(t.Context(), dir, Options{})
			require.NoError(t, err)
			return r
		}})
	}
	return append(all, correctScenarios(t)...)
}

// correctScenarios are those of testdata/scenarios in which nothing is found.
func correctScenarios(t *testing.T) (all []correct) {
	paths, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt*"))
	require.NoError(t, err)
	for _, path := range paths {
		scenarios, err := scenario.ReadFile(path)
		require.NoError(t, err)
		for _, s := range scenarios {
			files := traceFiles(t, s.Trace)
			if slices.ContainsFunc(files, func(b []byte) bool { return b == nil }) {
				continue
			}
			if res := inMemoryWith(t, files, Options{Clock: evc.Auto}); res.Verdict == NoRace {
				all = append(all, correct{s.Name, func(t *testing.T) *run {
					r := runInMemory(t, files, Options{Clock: evc.Auto})
					r.unguard = func() {}
					return r
				}})
			}
		}
	}
	return all
}

// Why one statement that is missing is several problems.
const (
	asserted = "a later call asserts something that the statement made true"
	stays    = "the epoch that it closed stays open: it overlaps a later one, or its operations are never complete"
	callers  = "it stands in a function that two others call, and may be missing in these"
	messages = "several messages are left out"
	both     = "it completes one operation, and orders another"
	warned   = "there is a warning without that"
	reused   = "memory is given up while an operation still uses it, and another thread that gets it conflicts with the operation"
)

var several = map[string]string{
	"pingpong_flush_right: MPI_Win_flush (pingpong_flush_right.c:16)":                                      callers,
	"a get into the window: MPI_Win_fence (a.c:2)":                                                         asserted,
	"right: puts of others, loads, stores elsewhere and before: MPI_Win_fence (a.c:10)":                    stays,
	"a put after a fence that says there is none: MPI_Win_fence (a.c:5)":                                   asserted,
	"an update of the own memory: MPI_Win_fence (a.c:4)":                                                   asserted,
	"fences that do not synchronise: operations before and after the target's call: MPI_Send and MPI_Recv": messages,
	"fences that do not synchronise: operations before and after the target's call: MPI_Win_fence (a.c:7)": asserted,
	"right: gets, and puts elsewhere or later: MPI_Win_fence (a.c:5)":                                      asserted,
	"right: gets, and puts elsewhere or later: MPI_Win_fence (a.c:7)":                                      asserted,
	"an operation precedes a fence that completes none: MPI_Win_fence (a.c:5)":                             stays,
	"of several epochs from one line those that nothing orders: MPI_Send and MPI_Recv":                     messages,
	"right: lock after the fence that closes: MPI_Win_fence (a.c:12)":                                      stays,
	"right: all closed: MPI_Win_fence (a.c:10)":                                                            stays,
	"persistent messages, the second of two: MPI_Wait (a.c:22)":                                            both,
	"a get, with the fence before the unlock: MPI_Win_fence (a.c:8)":                                       stays,
	"accumulates of two threads: MPI_Win_fence (a.c:2)":                                                    warned,
	"accumulates of two threads: MPI_Win_fence (a.c:20)":                                                   warned,
	"MPI: an addition of which no value tells is set back: MPI_Win_flush (a.c:6)":                          warned,
	"MPI: an addition that was begun before the barrier is beside who sets back: MPI_Win_flush (a.c:8)":    warned,
	"a variable of another thread where a buffer was: MPI_Wait (a.c:15)":                                   reused,
}

// TestRemovedSynchronization: programs are made wrong by leaving out one synchronization of a
// correct one, recorded or written down. Each is one problem, or several says why it is more.
func TestRemovedSynchronization(t *testing.T) {
	wrong := 0
	left := maps.Clone(several)
	for _, c := range correctRuns(t) {
		statements := removable(t, &c)
		for _, name := range slices.Sorted(maps.Keys(statements)) {
			found := problemsWithout(t, &c, statements[name])
			if len(found) == 0 {
				continue // something else orders the same
			}
			wrong++
			key := c.name + ": " + name
			if delete(left, key); several[key] == "" {
				require.Len(t, found, 1, key)
			} else {
				require.Greater(t, len(found), 1, key)
			}
		}
	}
	require.Empty(t, left, "these are no longer several problems, or not wrong")
	require.GreaterOrEqual(t, wrong, 150)
	t.Logf("%d programs that are wrong for one missing synchronization: %d have one problem", wrong, wrong-len(several))
}
