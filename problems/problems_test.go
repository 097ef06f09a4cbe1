package problems

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

func at(call string, line int) conflicts.SyncPoint {
	return conflicts.SyncPoint{Call: call, Stack: []symbols.Frame{{Func: "main", File: "a.c", Line: line}}}
}

// between is a conflict of two processes that nothing orders, between the calls at two
// lines.
func between(before, after int) conflicts.Finding {
	side := func(rank int) conflicts.Side {
		return conflicts.Side{
			Rank: rank, Role: "store", Stack: at("", before+1+rank).Stack,
			Before: conflicts.Turn{SyncPoint: at("MPI_Barrier", before)}, After: conflicts.Turn{SyncPoint: at("MPI_Barrier", after)},
		}
	}
	return conflicts.Finding{Rule: "MC102", Severity: conflicts.Error, Class: conflicts.AcrossProcesses, First: side(0), Second: side(1)}
}

// pending is a conflict of a process with its own operation, before the call at a line.
func pending(from, to uint64, next int) conflicts.Finding {
	return conflicts.Finding{
		Rule: "MC103", Severity: conflicts.Error, Class: conflicts.WithinEpoch, Began: 1,
		First:  conflicts.Side{Role: "origin buffer", Pending: true, Event: from, Next: at("MPI_Win_unlock", next), Done: at("MPI_Win_unlock", next)},
		Second: conflicts.Side{Role: "store", Event: to},
	}
}

// intoOne is a conflict of two operations of a process that have a variable as their buffer, at lines 10
// and 20.
func intoOne(from, to uint64, variable string) conflicts.Finding {
	f := pending(from, to, 9)
	f.Rule, f.Variable.Name = "MC104", variable
	f.First.Stack, f.Second.Stack = at("", 10).Stack, at("", 20).Stack
	f.First.Class, f.Second.Class = regions.OwnBuffer, regions.OwnBuffer
	return f
}

// endless is a finding of an operation at a line that no call completes.
func endless(f conflicts.Finding, line int) conflicts.Finding {
	f.First.Call, f.First.Stack, f.First.Done = "MPI_Irecv", at("", line).Stack, conflicts.SyncPoint{}
	return f
}

// ofBuffer is a finding of the buffer of an operation, and atTarget one of its target.
func ofBuffer(f conflicts.Finding) conflicts.Finding {
	f.First.Class, f.First.Call, f.First.Stack = regions.OwnBuffer, "MPI_Put", at("", 5).Stack
	return f
}

func atTarget(f conflicts.Finding) conflicts.Finding {
	f = ofBuffer(f)
	f.First.Class, f.Second.Rank, f.Class = regions.Target, 1, conflicts.AcrossProcesses
	return f
}

// inWindow is a finding of an operation in the window that was made at a line.
func inWindow(f conflicts.Finding, line int) conflicts.Finding {
	f.First.Made = at("MPI_Win_create", line)
	return f
}

// inFunction is a finding of an operation that another function issues.
func inFunction(f conflicts.Finding, name string) conflicts.Finding {
	f.First.Stack[0].Func = name
	return f
}

// unflushed is a conflict of two processes that are ordered, with an operation at a
// line that is not complete before the next call.
func unflushed(line, next int) conflicts.Finding {
	f := between(line, line)
	f.First.Call, f.First.Stack = "MPI_Put", at("", line).Stack
	f.Began, f.First.Pending, f.First.Next = 1, true, at("MPI_Barrier", next)
	return f
}

// elsewhere is a finding that the process of the other rank has.
func elsewhere(f conflicts.Finding) conflicts.Finding {
	f.First.Rank, f.First.Event, f.Second.Event = f.First.Rank+1, f.First.Event+100, f.Second.Event+100
	return f
}

// unordered is a conflict of two processes with the operation at a line.
func unordered(line int) conflicts.Finding {
	f := unflushed(line, 99)
	f.Began = 0
	return f
}

// outside is an operation at a line in no epoch.
func outside(line int) conflicts.Finding {
	f := usage("MC301", 0)
	f.First = unflushed(line, 99).First
	return f
}

// called is a finding of which the operation is called from lines of other functions,
// the innermost first.
func called(f conflicts.Finding, from ...int) conflicts.Finding {
	for _, line := range from {
		f.First.Stack = append(slices.Clone(f.First.Stack), symbols.Frame{Func: fmt.Sprintf("f%d", line), File: "b.c", Line: line})
	}
	return f
}

// atomic is a conflict of atomic operations between the calls at two lines.
func atomic(before, after int) conflicts.Finding {
	f := between(before, after)
	f.First.Atomic, f.Second.Atomic = true, true
	return f
}

// caller is a finding of an operation in the wrapper of a wrapper, called at a line.
func caller(line int) conflicts.Finding {
	f := called(unflushed(10, 30), 1, line)
	f.First.Next.Stack = append(slices.Clone(f.First.Next.Stack), f.First.Stack[1:]...)
	return f
}

// tried is a finding of which a fix was tried that removes some.
func tried(f conflicts.Finding, removes ...int) conflicts.Finding {
	f.Fixes = append(slices.Clone(f.Fixes), conflicts.Fix{Trial: conflicts.Trial{Tried: true, Removes: removes}})
	return f
}

// flushed is a finding of which a flush behind a line was tried that removes some.
func flushed(f conflicts.Finding, line int, removes ...int) conflicts.Finding {
	f = tried(f, removes...)
	f.Fixes[len(f.Fixes)-1].Steps = []conflicts.Step{{Do: conflicts.StepInsert, Calls: []string{"MPI_Win_flush"}, At: at("MPI_Put", line)}}
	return f
}

// polls is a finding of an operation at a line that fetches in a loop, between the calls at
// two others.
func polls(started, line, next int) conflicts.Finding {
	f := pending(1, 2, next)
	f.First.Call, f.First.Role, f.First.Stack, f.First.Started = "MPI_Fetch_and_op", "result buffer", at("", line).Stack, at("MPI_Win_flush", started)
	f.Second = f.First
	return f
}

// behind is a conflict that nothing orders, with an access between the calls at two lines.
func behind(started, next int) conflicts.Finding {
	f := unordered(15)
	f.First.Started, f.First.Next = at("MPI_Win_flush", started), at("MPI_Win_unlock", next)
	return f
}

// through is a finding of which the operation is made in a wrapper of the caller.
func through(f conflicts.Finding) conflicts.Finding {
	for i := range len(f.First.Stack) - 1 {
		f.First.Stack[i].Layer = symbols.Wrapper
	}
	return f
}

// placed is a finding whose accesses are where those of another are; of two others the first
// and the second.
func placed(f conflicts.Finding, as ...conflicts.Finding) conflicts.Finding {
	f.First.Stack, f.Second.Stack = as[0].First.Stack, as[len(as)-1].Second.Stack
	return f
}

func usage(rule string, started int) conflicts.Finding {
	return conflicts.Finding{Rule: rule, Severity: conflicts.Error, Class: conflicts.Usage, First: conflicts.Side{Started: at("MPI_Win_unlock", started)}}
}

func TestOf(t *testing.T) {
	same := between(10, 20)
	same.Second.Stack = same.First.Stack
	beside := same
	beside.First.Stack = at("", 15).Stack
	beside.Second.Stack = beside.First.Stack
	loop := same
	loop.Again = true
	warning := between(10, 20)
	warning.Severity = conflicts.Warning
	for name, tt := range map[string]struct {
		findings []conflicts.Finding
		want     [][]int
	}{
		"nothing":                            {nil, nil},
		"one":                                {[]conflicts.Finding{between(10, 20)}, [][]int{{0}}},
		"between the same calls":             {[]conflicts.Finding{between(10, 20), between(10, 20)}, [][]int{{0, 1}}},
		"in a loop, and before it":           {[]conflicts.Finding{between(5, 20), between(20, 20)}, [][]int{{0, 1}}},
		"the same call in both processes":    {[]conflicts.Finding{same, beside}, [][]int{{0}, {1}}},
		"the same call in two windows":       {[]conflicts.Finding{same, same}, [][]int{{0, 1}}},
		"the same two places":                {[]conflicts.Finding{between(10, 20), placed(between(30, 40), between(10, 20))}, [][]int{{0, 1}}},
		"one of two places":                  {[]conflicts.Finding{between(10, 20), placed(between(30, 40), between(10, 50), between(30, 40))}, [][]int{{0}, {1}}},
		"the same call in a loop":            {[]conflicts.Finding{between(10, 20), loop}, [][]int{{0, 1}}},
		"atomic operations, and a conflict":  {[]conflicts.Finding{atomic(10, 20), between(10, 20), atomic(10, 20)}, [][]int{{0, 2}, {1}}},
		"in two phases":                      {[]conflicts.Finding{between(10, 20), between(20, 30)}, [][]int{{0}, {1}}},
		"an error first":                     {[]conflicts.Finding{warning, between(10, 20)}, [][]int{{1, 0}}},
		"one flush for two":                  {[]conflicts.Finding{pending(1, 3, 9), pending(2, 4, 9)}, [][]int{{0, 1}}},
		"each its own flush":                 {[]conflicts.Finding{pending(1, 2, 9), pending(3, 4, 9)}, [][]int{{0}, {1}}},
		"one buffer for all":                 {[]conflicts.Finding{intoOne(1, 2, "x"), intoOne(2, 3, "x"), intoOne(3, 4, "y"), intoOne(4, 5, "")}, [][]int{{0, 1}, {2}, {3}}},
		"one buffer, in two functions":       {[]conflicts.Finding{intoOne(1, 2, "x"), inFunction(intoOne(2, 3, "x"), "f")}, [][]int{{0}, {1}}},
		"three that two flushes mend":        {[]conflicts.Finding{pending(1, 3, 9), pending(2, 6, 9), pending(4, 5, 9)}, [][]int{{0, 1}, {2}}},
		"before another call":                {[]conflicts.Finding{pending(1, 3, 9), pending(2, 4, 8)}, [][]int{{0}, {1}}},
		"two flushes, in two processes":      {[]conflicts.Finding{pending(1, 2, 9), pending(3, 4, 9), elsewhere(pending(1, 2, 9)), elsewhere(pending(3, 4, 9))}, [][]int{{0, 2}, {1, 3}}},
		"late before the same call":          {[]conflicts.Finding{unflushed(10, 30), unflushed(20, 30)}, [][]int{{0, 1}}},
		"late, but before another call":      {[]conflicts.Finding{unflushed(10, 30), unflushed(20, 40)}, [][]int{{0}, {1}}},
		"late, and unordered elsewhere":      {[]conflicts.Finding{unflushed(10, 30), between(40, 50)}, [][]int{{0}, {1}}},
		"one operation, late and unordered":  {[]conflicts.Finding{unordered(10), unflushed(10, 30)}, [][]int{{0, 1}}},
		"in no epoch, and so unordered":      {[]conflicts.Finding{outside(10), unordered(10)}, [][]int{{0, 1}}},
		"unordered, for want of an epoch":    {[]conflicts.Finding{unordered(10), outside(10)}, [][]int{{1, 0}}},
		"unordered, and a fix is known":      {[]conflicts.Finding{tried(unordered(10), 0, 1), outside(10)}, [][]int{{0, 1}}},
		"in no epoch, at two lines":          {[]conflicts.Finding{outside(10), outside(20)}, [][]int{{0, 1}}},
		"one function, two callers":          {[]conflicts.Finding{called(unflushed(10, 30), 1, 2), called(unflushed(10, 30), 1, 3)}, [][]int{{0, 1}}},
		"two callers of a wrapper":           {[]conflicts.Finding{called(unflushed(10, 30), 2), called(unflushed(10, 40), 3)}, [][]int{{0}, {1}}},
		"two callers of named wrappers":      {[]conflicts.Finding{through(called(unflushed(10, 30), 1, 2)), through(called(unflushed(10, 40), 1, 3))}, [][]int{{0}, {1}}},
		"no fix removes both":                {[]conflicts.Finding{tried(caller(2), 0), tried(caller(3), 1)}, [][]int{{0}, {1}}},
		"a fix of one removes both":          {[]conflicts.Finding{tried(caller(2), 0), tried(caller(3), 0, 1)}, [][]int{{1, 0}}},
		"not both were tried":                {[]conflicts.Finding{tried(caller(2), 0), caller(3), tried(caller(4), 2)}, [][]int{{0, 1}, {2}}},
		"tried, between the same calls":      {[]conflicts.Finding{tried(between(10, 20), 0), tried(between(10, 20), 1)}, [][]int{{0, 1}}},
		"tried, one operation":               {[]conflicts.Finding{tried(unordered(10), 0), tried(unflushed(10, 30), 1)}, [][]int{{0}, {1}}},
		"one operation, one was tried":       {[]conflicts.Finding{unordered(10), tried(unflushed(10, 30), 1)}, [][]int{{0, 1}}},
		"tried, with nothing else in common": {[]conflicts.Finding{tried(between(10, 20), 0, 1), tried(between(30, 40), 1)}, [][]int{{0}, {1}}},
		"tried, and each removes the other":  {[]conflicts.Finding{tried(between(10, 20), 0, 1), tried(between(30, 40), 0, 1)}, [][]int{{0}, {1}}},
		"one change removes both":            {[]conflicts.Finding{flushed(between(10, 20), 5, 0, 1), tried(between(30, 40), 1)}, [][]int{{0, 1}}},
		"it removes one of them, and more":   {[]conflicts.Finding{flushed(between(10, 20), 5, 1), tried(between(30, 40), 1)}, [][]int{{0}, {1}}},
		"it leaves a part of the one":        {[]conflicts.Finding{flushed(between(10, 20), 5, 0, 2), between(10, 20), between(30, 40)}, [][]int{{0, 1}, {2}}},
		"it leaves a part of the other":      {[]conflicts.Finding{flushed(between(10, 20), 5, 0, 1), between(30, 40), between(30, 40)}, [][]int{{0}, {1, 2}}},
		"one in what both call":              {[]conflicts.Finding{flushed(called(unflushed(10, 30), 2), 10, 0, 1), flushed(called(unflushed(10, 40), 3), 10, 0, 1)}, [][]int{{0}, {1}}},
		"behind a value that is waited for":  {[]conflicts.Finding{polls(10, 12, 20), behind(10, 20)}, [][]int{{0, 1}}},
		"elsewhere than where it is":         {[]conflicts.Finding{polls(10, 12, 20), behind(20, 30)}, [][]int{{0}, {1}}},
		"behind a value, and not for it":     {[]conflicts.Finding{tried(polls(10, 12, 20), 0), tried(behind(10, 20), 1)}, [][]int{{0}, {1}}},
		"never complete, in one function":    {[]conflicts.Finding{endless(pending(1, 3, 8), 10), endless(pending(2, 4, 9), 20)}, [][]int{{0, 1}}},
		"never complete, one after another":  {[]conflicts.Finding{endless(pending(1, 2, 8), 10), endless(pending(3, 4, 9), 20)}, [][]int{{0}, {1}}},
		"never complete, in two windows":     {[]conflicts.Finding{endless(pending(1, 3, 9), 10), inWindow(endless(pending(2, 4, 9), 20), 2)}, [][]int{{0}, {1}}},
		"never complete, in two functions":   {[]conflicts.Finding{endless(pending(1, 3, 9), 10), inFunction(endless(pending(2, 4, 9), 20), "f")}, [][]int{{0}, {1}}},
		"the misuse that comes soonest":      {[]conflicts.Finding{tried(pending(1, 9, 8), 0, 1), tried(pending(1, 3, 8), 0, 1)}, [][]int{{1, 0}}},
		"the soonest, of another change":     {[]conflicts.Finding{tried(pending(1, 9, 8), 0, 1), tried(pending(1, 3, 8), 1)}, [][]int{{0, 1}}},
		"a buffer, and the target":           {[]conflicts.Finding{ofBuffer(pending(1, 3, 8)), atTarget(pending(1, 3, 8))}, [][]int{{1, 0}}},
		"calls that one lock would allow":    {[]conflicts.Finding{usage("MC301", 7), usage("MC301", 7)}, [][]int{{0, 1}}},
		"wrong calls of different kinds":     {[]conflicts.Finding{usage("MC301", 7), usage("MC302", 7)}, [][]int{{0}, {1}}},
		"others between, in their own order": {[]conflicts.Finding{between(10, 20), usage("MC301", 7), between(10, 20)}, [][]int{{0, 2}, {1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got [][]int
			for _, p := range Of(tt.findings) {
				got = append(got, p.Findings)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestSortFixes: of the fixes that were tried those come first that remove more of their
// problem, and not those that remove more of others.
func TestSortFixes(t *testing.T) {
	fix := func(text string, removes ...int) conflicts.Fix {
		return conflicts.Fix{Text: text, Trial: conflicts.Trial{Tried: len(removes) > 0, Removes: removes}}
	}
	findings := []conflicts.Finding{between(10, 20), between(10, 20), between(30, 40), between(50, 60)}
	findings[0].Fixes = []conflicts.Fix{fix("obvious", 0, 2, 3), fix("untried"), fix("whole", 0, 1), fix("alone", 0), fix("as good", 0, 1)}
	SortFixes(findings)
	var got []string
	for _, f := range findings[0].Fixes {
		got = append(got, f.Text)
	}
	require.Equal(t, []string{"whole", "untried", "as good", "obvious", "alone"}, got)
}

// TestLoopThatWaits: what a value would have ordered that a loop waits for by loads is one problem with
// that, which is told first; what is not behind the loop, or is of another process, is not.
func TestLoopThatWaits(t *testing.T) {
	t.Parallel()
	conflict := func(rank int, wrote, read uint64) conflicts.Finding {
		f := between(10, int(20+read)) // of other calls each
		f.First = conflicts.Side{Rank: 0, Event: wrote, Call: "MPI_Put", Role: "put", Class: regions.Target, Write: true, Stack: at("", int(wrote)).Stack}
		f.Second = conflicts.Side{Rank: rank, Event: read, Role: "load", Class: regions.Local, Stack: at("", int(read)).Stack}
		return f
	}
	poll := conflict(1, 50, 150)
	poll.Second.Polls = true
	all := []conflicts.Finding{conflict(1, 40, 160), poll, conflict(1, 41, 140), conflict(2, 42, 170), conflict(1, 60, 180)}
	require.Equal(t, []Problem{{[]int{1, 0}}, {[]int{2}}, {[]int{3}}, {[]int{4}}}, Of(all))
	all[1].Second.Polls = false
	require.Len(t, Of(all), 5)
}
