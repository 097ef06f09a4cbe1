package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

var update = flag.Bool("update", false, "write the golden files anew")

func at(function, file string, line int) []symbols.Frame {
	stack := []symbols.Frame{
		{Func: function, File: file, Line: line, Column: 5, Module: "/home/u/app", Offset: 0x1234},
		{Func: "main", File: "/home/u/src/main.c", Line: 60, Module: "/home/u/app", Offset: 0x2000},
		{Func: "__libc_start_call_main", Module: "/lib/libc.so.6", Offset: 0x27000, Reason: "no debug information (compile with -g)"},
	}
	symbols.Layers{}.Mark(stack)
	return stack
}

func sync(call string, rank, line int) conflicts.SyncPoint {
	return conflicts.SyncPoint{Call: call, Rank: rank, Stack: at("exchange", "/home/u/src/halo.c", line)}
}

var goodBasis = analysis.Basis{Ranks: 4, RanksInRun: 4, Ended: 4, Windows: 1, Regions: 12, Calls: 400, Operations: 24,
	Loads: 1200, Stores: 800, Accesses: 96, Instruments: 8}

// bufferFinding: the result buffer of a get is read before the fence.
func bufferFinding() conflicts.Finding {
	return conflicts.Finding{
		Rule: conflicts.RuleBuffer, Severity: conflicts.Error, Class: conflicts.WithinEpoch,
		First: conflicts.Side{Rank: 0, Call: "MPI_Get", Role: "result buffer", Class: regions.OwnBuffer, Write: true, Pending: true, Epoch: "fence",
			Stack: at("exchange", "/home/u/src/halo.c", 29), Started: sync("MPI_Win_fence", 0, 28), Done: sync("MPI_Win_fence", 0, 33)},
		Second: conflicts.Side{Rank: 0, Role: "load", Class: regions.Local, Epoch: "fence",
			Stack: at("sum", "/home/u/src/halo.c", 31), Started: sync("MPI_Win_fence", 0, 28), Done: sync("MPI_Win_fence", 0, 33)},
		Owner: 0, Lo: 0x7ffe1000, Hi: 0x7ffe1004, Region: 2,
		Began: 1, Count: 12, Ranks: []int{0, 1, 2, 3},
		Explanation: conflicts.Explanation{
			Why: "MPI_Get (line 29) is not complete until MPI_Win_fence (line 33), and the load (line 31) comes before that",
			Sought: []conflicts.Sought{{Kind: conflicts.SoughtCompletion, From: sync("MPI_Win_fence", 0, 33),
				Text: "a call that completes MPI_Get (line 29) before the load (line 31): there is no synchronization between them"}},
			Fixes: []conflicts.Fix{
				{Kind: conflicts.FixMove, At: sync("MPI_Win_fence", 0, 33), Text: "move the load (line 31) after MPI_Win_fence (line 33)"},
				{Kind: conflicts.FixSeparate, Text: "use a second buffer"},
			},
		},
	}
}

// crossFinding: two ranks put to one place of a third.
func crossFinding() conflicts.Finding {
	put := func(rank, line int) conflicts.Side {
		return conflicts.Side{Rank: rank, Call: "MPI_Put", Role: "put", Class: regions.Target, Write: true, Pending: true, Epoch: "lock (shared)",
			Stack: at("exchange", "/home/u/src/halo.c", line), Started: sync("MPI_Win_lock", rank, 10), Done: sync("MPI_Win_unlock", rank, 14)}
	}
	return conflicts.Finding{
		Rule: conflicts.RuleRemoteRemote, Severity: conflicts.Error, Class: conflicts.AcrossProcesses,
		First: put(1, 12), Second: put(2, 13), Owner: 0, Window: 1<<32 + 1, WinNumber: 1, WinName: "window 1 (MPI_Win_create at halo.c:5)",
		Lo: 16, Hi: 24, Count: 1, Ranks: []int{1, 2},
		Explanation: conflicts.Explanation{
			Why: "both hold a shared lock on rank 0, which excludes neither",
			Sought: []conflicts.Sought{
				{Kind: conflicts.SoughtPath, From: sync("MPI_Win_unlock", 1, 14), Found: sync("MPI_Win_create", 1, 5), Text: "a message, barrier or fence from rank 1 to rank 2"},
				{Kind: conflicts.SoughtLock, Text: "locks of the same window and rank, one of them exclusive: rank 1 holds a shared lock on rank 0, rank 2 holds a shared lock on rank 0"},
			},
			Fixes: []conflicts.Fix{{Kind: conflicts.FixLock, Text: "use MPI_LOCK_EXCLUSIVE"}},
		},
	}
}

// atomicFinding has no debug information, a thread, and an operation that
// nothing completes.
func atomicFinding() conflicts.Finding {
	side := func(rank int, op string) conflicts.Side {
		return conflicts.Side{Rank: rank, Thread: uint32(rank), Call: "MPI_Accumulate", Role: "accumulate", Class: regions.Target, Write: true, Atomic: true,
			Op: op, Type: "MPI_INT", Pending: true,
			Stack: []symbols.Frame{{Func: "update", Module: "/home/u/app", Offset: 0x99, Reason: "no debug information (compile with -g)"}}}
	}
	return conflicts.Finding{
		Rule: conflicts.RuleAtomicOp, Severity: conflicts.Warning, Class: conflicts.AcrossProcesses,
		First: side(0, "MPI_SUM"), Second: side(1, "MPI_REPLACE"), Owner: 1, Window: 7, Lo: 0, Hi: 1,
		Count: 1, Ranks: []int{0, 1},
		Explanation: conflicts.Explanation{Why: "nothing orders them", Fixes: []conflicts.Fix{{Kind: conflicts.FixOperation, Text: "use one operation"}}},
	}
}

// usageFindings is one finding of each rule for usage errors.
func usageFindings() []conflicts.Finding {
	call := func(fn string, rank, line int) conflicts.Side {
		return conflicts.Side{Rank: rank, Call: fn, Role: "call", Stack: at("exchange", "/home/u/src/halo.c", line), Started: sync("MPI_Win_fence", rank, 5)}
	}
	operation := func(rank, line int, role string, class regions.Class) conflicts.Side {
		s := call("MPI_Put", rank, line)
		s.Role, s.Class = role, class
		return s
	}
	usage := func(rule string, first, second conflicts.Side) conflicts.Finding {
		return conflicts.Finding{Rule: rule, Severity: conflicts.Error, Class: conflicts.Usage, First: first, Second: second,
			Window: 1<<32 + 1, WinNumber: 1, WinName: "window 1 (MPI_Win_create at halo.c:5)", Count: 1, Ranks: []int{first.Rank},
			Explanation: conflicts.Explanation{Why: "why", Fixes: []conflicts.Fix{{Kind: conflicts.FixOther, Text: "fix"}}}}
	}
	none := conflicts.Side{}
	outside := usage(conflicts.RuleOutsideWindow, operation(0, 11, "put", regions.Target), none)
	outside.Owner, outside.Lo, outside.Hi = 1, 64, 68
	pending := operation(0, 20, "origin buffer", regions.OwnBuffer)
	pending.Pending, pending.Done = true, sync("MPI_Win_fence", 0, 30)
	returned := conflicts.Side{Rank: 0, Role: "return", Class: regions.GivenUp, Write: true, Stack: at("exchange", "/home/u/src/halo.c", 21)}
	scope := usage(conflicts.RuleMemoryGone, pending, returned)
	scope.Window, scope.WinName, scope.WinNumber, scope.Lo, scope.Hi = 0, "", 0, 0x7ffe1000, 0x7ffe1004
	target := operation(1, 22, "put", regions.Target)
	target.Pending = true
	freed := usage(conflicts.RuleMemoryGone, target, conflicts.Side{Rank: 0, Role: "free", Class: regions.GivenUp, Write: true, Stack: at("exchange", "/home/u/src/halo.c", 23)})
	freed.Lo, freed.Hi = 0, 4
	order := usage(conflicts.RuleCallOrder, call("MPI_Barrier", 0, 24), call("MPI_Bcast", 1, 25))
	order.Window, order.WinName, order.WinNumber, order.Ranks = 0, "", 0, []int{0, 1}
	return []conflicts.Finding{
		usage(conflicts.RuleOutsideEpoch, operation(0, 10, "put", regions.Target), none), outside,
		usage(conflicts.RuleNotOpened, call("MPI_Win_unlock", 0, 12), none),
		usage(conflicts.RuleMixedEpochs, call("MPI_Win_lock", 0, 14), call("MPI_Win_fence", 0, 13)),
		usage(conflicts.RuleNeverClosed, call("MPI_Win_lock", 0, 15), call("MPI_Finalize", 0, 16)),
		usage(conflicts.RuleFreedPending, call("MPI_Win_free", 0, 18), operation(0, 17, "call", "")),
		scope, freed, order,
	}
}

func samples() map[string]*analysis.Result {
	silent := goodBasis
	silent.Loads, silent.Stores, silent.Instruments = 0, 0, 0
	untouched := goodBasis
	untouched.Loads, untouched.Stores = 0, 0
	partial := goodBasis
	partial.Ranks, partial.LostAccess, partial.LostCalls = 3, 5, 1
	nowhere := bufferFinding()
	nowhere.First.Stack, nowhere.Second.Stack = nil, []symbols.Frame{{Module: "/home/u/app", Offset: 0x42, Reason: "the file is gone since the run"}}
	return map[string]*analysis.Result{
		"race": {Verdict: analysis.Race, Findings: []conflicts.Finding{bufferFinding(), crossFinding(), atomicFinding()}, Basis: goodBasis,
			Directory: "traces", Program: "./app", Library: "MPICH 4.0.2", Run: "00112233445566778899aabbccddeeff", Clock: "evc"},
		"clean": {Verdict: analysis.NoRace, Basis: goodBasis, Directory: "traces", Clock: "vector"},
		"undecided": {Verdict: analysis.Undecided, Basis: partial, Directory: "traces", Clock: "evc", Caveats: []analysis.Caveat{
			{Kind: analysis.MissingRank, Ranks: []int{2}, Text: "There is no trace of one process: copy its file beside the others."},
			{Kind: analysis.NotUnderstood, Ranks: []int{0, 1, 3}, Count: 12, Text: "12 calls of MPI_Ibarrier were not understood."}}},
		"untouched": {Verdict: analysis.NoRace, Basis: untouched, Directory: "traces", Clock: "evc"},
		"silent":    {Verdict: analysis.Undecided, Basis: silent, Directory: "traces", Clock: "evc"},
		"usage":     {Verdict: analysis.Misuse, Findings: usageFindings(), Basis: goodBasis, Directory: "traces", Clock: "evc"},
		"nowhere":   {Verdict: analysis.Race, Findings: []conflicts.Finding{nowhere}, Basis: goodBasis, Directory: "traces", Clock: "evc"},
		"runs":      severalRuns(goodBasis),
	}
}

// severalRuns is three runs, of which one has two findings, one the first of them, and one
// none, but a caveat.
func severalRuns(basis analysis.Basis) *analysis.Result {
	run := func(n int, v analysis.Verdict, fs ...conflicts.Finding) *analysis.Result {
		return &analysis.Result{Verdict: v, Findings: fs, Basis: basis, Directory: fmt.Sprintf("traces/run-%d", n), Program: "./app", Library: "MPICH 4.0.2",
			Run: strings.Repeat(strconv.Itoa(n), 32), Clock: "evc", Began: time.Date(2026, 3, 1, 10, n, 0, 0, time.UTC)}
	}
	rare := bufferFinding()
	rare.Count = 7
	cut := run(2, analysis.Undecided)
	cut.Caveats = []analysis.Caveat{{Kind: analysis.CutTrace, Ranks: []int{1}, Text: "the trace of rank 1 ends early"}}
	return analysis.Join([]*analysis.Result{run(1, analysis.Race, bufferFinding(), crossFinding()), cut, run(3, analysis.Race, rare)})
}

// fileFunc reads files for a sources.Reader.
type fileFunc func(path string) ([]byte, error)

func (f fileFunc) ReadFile(path string) ([]byte, error) { return f(path) }

func (f fileFunc) ModTime(string) time.Time { return time.Time{} }

// with returns a result whose source lines are those of some files.
func with(res *analysis.Result, files fileFunc) *analysis.Result {
	out := *res
	out.Sources = sources.NewReader(nil, files)
	return &out
}

// source stands for the file system of a user whose sources are there.
func source(path string) ([]byte, error) {
	if path != "/home/u/src/halo.c" {
		return nil, fs.ErrNotExist
	}
	var text []byte
	for i := range 40 {
		switch i + 1 {
		case 29:
			text = append(text, "\tMPI_Get(&halo, 1, MPI_INT, left, 0, 1, MPI_INT, win);"...)
		case 31:
			text = append(text, "\ttotal += halo; /* \x1b[31m */"...)
		}
		text = append(text, '\n')
	}
	return text, nil
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test ./report -update writes golden files")
	require.Equal(t, string(want), string(got))
}

func TestText(t *testing.T) {
	for name, res := range samples() {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			require.NoError(t, Text(&buf, with(res, source), Options{Dir: "/home/u/src"}))
			require.NotContains(t, buf.String(), "\x1b")
			golden(t, name+".txt", buf.Bytes())
		})
	}
}

// TestShortAlike: problems of one line and one message are told apart by the other access.
func TestShortAlike(t *testing.T) {
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis}
	for line := range 2 {
		f := crossFinding()
		f.Rule, f.Class = "MC306", conflicts.Usage
		f.First = conflicts.Side{Call: "MPI_Win_free", Stack: at("stop", "/home/u/src/halo.c", 9)}
		f.Second = conflicts.Side{Call: "MPI_Put", Stack: at("exchange", "/home/u/src/halo.c", 20+line)}
		res.Findings = append(res.Findings, f)
	}
	write := func() string {
		var b bytes.Buffer
		require.NoError(t, Short(&b, with(res, source), Options{Dir: "/home/u/src"}))
		return b.String()
	}
	text := write()
	require.Contains(t, text, "(MPI_Put at halo.c:20)\n")
	require.Contains(t, text, "(MPI_Put at halo.c:21)\n")
	res.Findings = res.Findings[:1]
	require.NotContains(t, write(), "MPI_Put at")
}

func TestShort(t *testing.T) {
	for _, name := range []string{"race", "clean", "undecided", "usage", "runs"} {
		var buf bytes.Buffer
		require.NoError(t, Short(&buf, with(samples()[name], source), Options{Dir: "/home/u/src"}))
		golden(t, name+"-short.txt", buf.Bytes())
	}
}

func TestTextInColour(t *testing.T) {
	var buf bytes.Buffer
	require.NoError(t, Text(&buf, samples()["race"], Options{Color: true}))
	golden(t, "race-colour.txt", buf.Bytes())
}

func TestJSON(t *testing.T) {
	for name, res := range samples() {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			require.NoError(t, JSON(&buf, res))
			golden(t, name+".json", buf.Bytes())
		})
	}
}

func TestJSONFollowsItsSchema(t *testing.T) {
	schema := strictSchema(t)
	for name, res := range samples() {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			require.NoError(t, JSON(&buf, res))
			value, err := jsonschema.UnmarshalJSON(&buf)
			require.NoError(t, err)
			require.NoError(t, schema.Validate(value))
		})
	}
	// The schema must notice what it is there for.
	for _, broken := range []string{`{}`, `{"version":2}`, `{"surprise":1}`} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(broken)))
		require.NoError(t, err)
		require.Error(t, schema.Validate(value))
	}
}

// strictSchema is the published schema, which allows fields of later versions,
// with every field forbidden that it does not describe.
func strictSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "docs", "report.schema.json"))
	require.NoError(t, err)
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	require.NoError(t, err)
	var forbid func(v any)
	forbid = func(v any) {
		object, ok := v.(map[string]any)
		if !ok {
			return
		}
		if _, ok := object["properties"]; ok {
			object["additionalProperties"] = false
		}
		for _, inner := range object {
			forbid(inner)
		}
	}
	forbid(doc)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("strict.json", doc))
	schema, err := compiler.Compile("strict.json")
	require.NoError(t, err)
	return schema
}

func TestInputIsUnchanged(t *testing.T) {
	res := samples()["race"]
	before, err := json.Marshal(res)
	require.NoError(t, err)
	for _, name := range Formats() {
		render, ok := Lookup(name)
		require.True(t, ok)
		require.NoError(t, render(&bytes.Buffer{}, res, Options{}))
	}
	after, err := json.Marshal(res)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, name := range Formats() {
		render, ok := Lookup(name)
		require.True(t, ok)
		require.ErrorIs(t, render(brokenWriter{}, samples()["race"], Options{}), errBroken, name)
	}
	_, ok := Lookup("nonsense")
	require.False(t, ok)
}

var errBroken = errors.New("disk full")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestRanks(t *testing.T) {
	tests := []struct {
		in   []int
		want string
	}{
		{nil, ""},
		{[]int{3}, "3"},
		{[]int{0, 4, 5, 6, 7}, "0,4-7"},
		{[]int{0, 1}, "0-1"},
		{[]int{5, 1, 5, 3}, "1,3,5"},
	}
	for _, test := range tests {
		require.Equal(t, test.want, Ranks(test.in))
	}
}

func TestMessage(t *testing.T) {
	load := conflicts.Side{Rank: 0, Role: "load", Class: regions.Local}
	store := conflicts.Side{Rank: 0, Role: "store", Class: regions.Local, Write: true}
	get := conflicts.Side{Rank: 0, Call: "MPI_Get", Role: "result buffer", Class: regions.OwnBuffer, Write: true, Pending: true}
	again, origin := get, get
	again.Event, origin.Role = 1, "origin buffer"
	put := conflicts.Side{Rank: 0, Call: "MPI_Put", Role: "origin buffer", Class: regions.OwnBuffer, Pending: true}
	irecv := conflicts.Side{Rank: 0, Call: "MPI_Irecv", Role: "receive buffer", Class: regions.CallBuffer, Write: true, Pending: true}
	send := conflicts.Side{Rank: 0, Call: "MPI_Send", Role: "send buffer", Class: regions.CallBuffer}
	remotePut := conflicts.Side{Rank: 1, Call: "MPI_Put", Role: "put", Class: regions.Target, Write: true, Pending: true}
	ownPut := conflicts.Side{Rank: 0, Call: "MPI_Put", Role: "put", Class: regions.Target, Write: true, Pending: true}
	ownGet := conflicts.Side{Rank: 0, Call: "MPI_Get", Role: "get", Class: regions.Target, Pending: true}
	tests := []struct {
		name          string
		rule          string
		first, second conflicts.Side
		window        int64
		want          string
	}{
		{"load of a get's buffer", "MC103", get, load, 0, "load from the result buffer of MPI_Get before it completes"},
		{"the other way round", "MC103", load, get, 0, "load from the result buffer of MPI_Get before it completes"},
		{"store to a put's buffer", "MC103", put, store, 0, "store to the origin buffer of MPI_Put before it completes"},
		{"two calls with one buffer", "MC103", get, put, 0, "MPI_Get and MPI_Put use the same buffer before the first completes"},
		{"one call twice", "MC104", get, again, 0, "MPI_Get and another MPI_Get use the same buffer before the first completes"},
		{"one call, one buffer", "MC104", get, get, 0, "parts of the result buffer of MPI_Get overlap"},
		{"one call, two buffers", "MC104", get, origin, 0, "result buffer and origin buffer of MPI_Get overlap"},
		{"send of a get's buffer", "MC106", get, send, 0, "MPI_Send reads the result buffer of MPI_Get before it completes"},
		{"store to a receive's buffer", "MC107", irecv, store, 0, "store to the receive buffer of MPI_Irecv before it completes"},
		{"local and remote", "MC102", load, remotePut, 1, "load by rank 0 and MPI_Put by rank 1 conflict in the window of rank 0, and nothing orders them"},
		{"message and remote", "MC106", send, remotePut, 1, "the send buffer of MPI_Send by rank 0 and MPI_Put by rank 1 conflict in the window of rank 0, and nothing orders them"},
		{"same origin", "MC104", ownPut, ownGet, 1, "MPI_Put and MPI_Get, both by rank 0, conflict in the window of rank 0 before the first completes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, Message(&conflicts.Finding{Rule: test.rule, First: test.first, Second: test.second, Window: test.window}))
		})
	}
}
