package fingerprint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

const source = "int f(void) {\n  MPI_Get(a, 1);\n  x = a[0];\n}\n"

// moved is source with two lines more above, and other white space.
const moved = "\n\nint f(void) {\n\tMPI_Get(a,  1);\n\tx = a[0];\n}\n"

// oneFile is a machine on which every file has that text.
type oneFile string

func (f oneFile) ReadFile(string) ([]byte, error) { return []byte(f), nil }

func (f oneFile) ModTime(string) time.Time { return time.Time{} }

func reading(text string) *sources.Reader { return sources.NewReader(nil, oneFile(text)) }

// example is a get at the first and a load at the second line of dir/f.c.
func example(dir string, get, load int) *conflicts.Finding {
	stack := func(line int) []symbols.Frame {
		return []symbols.Frame{{Func: "f", File: dir + "/f.c", Line: line, Offset: 0x1234, Module: dir + "/app"}}
	}
	return &conflicts.Finding{
		Rule:   "MC103",
		First:  conflicts.Side{Rank: 3, Call: "MPI_Get", Role: "origin buffer", Stack: stack(get)},
		Second: conflicts.Side{Rank: 3, Role: "load", Stack: stack(load)},
		Owner:  3, Lo: 0x7000, Hi: 0x7004, Ranks: []int{3}, Count: 4,
	}
}

func TestHashKeeps(t *testing.T) {
	want := Of(example("/home/u", 2, 3), reading(source)).Hash()
	swapped := example("/home/u", 2, 3)
	swapped.First, swapped.Second = swapped.Second, swapped.First
	other := example("/builds/42", 2, 3)
	other.First.Rank, other.Second.Rank, other.Owner, other.Lo, other.Count, other.Ranks = 0, 0, 0, 1, 99, []int{0, 1}
	for name, got := range map[string]Finding{
		"sides the other way round":    Of(swapped, reading(source)),
		"other ranks, address, folder": Of(other, reading(source)),
		"other lines and white space":  Of(example("/home/u", 4, 5), reading(moved)),
	} {
		require.Equal(t, want, got.Hash(), name)
	}
}

func TestHashTellsApart(t *testing.T) {
	base := example("/home/u", 2, 3)
	all := map[string]string{"": Of(base, reading(source)).Hash()}
	add := func(name string, f *conflicts.Finding, s *sources.Reader) {
		hash := Of(f, s).Hash()
		for other, h := range all {
			require.NotEqual(t, h, hash, "%s and %s", name, other)
		}
		all[name] = hash
	}
	rule := *base
	rule.Rule = "MC101"
	add("rule", &rule, reading(source))
	function := example("/home/u", 2, 3)
	function.First.Stack[0].Func = "g"
	add("function", function, reading(source))
	call := example("/home/u", 2, 3)
	call.First.Call = "MPI_Rget"
	add("call", call, reading(source))
	for name, class := range map[string]regions.Class{"a segment deleted under a target": regions.Target, "the segment of a buffer deleted": regions.OwnBuffer} {
		f := example("/home/u", 2, 3)
		f.Rule, f.First.Call, f.First.Role, f.First.Class = conflicts.RuleGaspiDeleted, "gaspi_write", "source", class
		add(name, f, reading(source))
	}
	for name, class := range map[string]regions.Class{"two targets": regions.Target, "target and buffer": regions.OwnBuffer} {
		both := example("/home/u", 2, 2)
		both.First.Class = regions.Target
		both.Second = conflicts.Side{Rank: 4, Call: "MPI_Get", Role: "result buffer", Class: class, Stack: both.First.Stack}
		add(name, both, reading(source))
	}
	alone := *base
	alone.Second = conflicts.Side{}
	add("one side", &alone, reading(source))
	add("another line's text", example("/home/u", 2, 1), reading(source))
	caller := example("/home/u", 2, 3)
	caller.First.Stack = append(caller.First.Stack, symbols.Frame{Func: "main", File: "m.c", Line: 1})
	add("another way there", caller, reading(source))
	other := example("/home/u", 2, 3)
	other.First.Stack = append(other.First.Stack, symbols.Frame{Func: "main", File: "m.c", Line: 2})
	add("a third way", other, reading(source))
	window := example("/home/u", 2, 3)
	window.First.Made = conflicts.SyncPoint{Call: "MPI_Win_create", Stack: []symbols.Frame{{Func: "f", File: "f.c", Line: 1}}}
	add("another window", window, reading(source))
	for _, role := range []string{"origin buffer", "result buffer", "compare buffer"} {
		gone := example("/home/u", 2, 3)
		gone.Rule, gone.First.Call, gone.First.Role = conflicts.RuleMemoryGone, "MPI_Compare_and_swap", role
		add("memory given up, "+role, gone, reading(source))
	}
	add("no source", base, nil)
	add("no source, another line", example("/home/u", 2, 4), nil)
}

// TestPathsThatCount: what a library does on the way, and how deep a recursion is,
// says nothing.
func TestPathsThatCount(t *testing.T) {
	with := func(frames ...symbols.Frame) string {
		f := example("/home/u", 2, 3)
		f.First.Stack = append(f.First.Stack, frames...)
		return Of(f, reading(source)).Hash()
	}
	user := symbols.Frame{Func: "main", File: "m.c", Line: 1}
	again := symbols.Frame{Func: "f", File: "/home/u/f.c", Line: 3}
	library := symbols.Frame{Func: "apply", Module: "/lib/libx.so", Offset: 5, Layer: symbols.Library}
	want := with(user)
	require.Equal(t, want, with(library, user))
	require.Equal(t, want, with(again, again, user))
	require.NotEqual(t, want, with(symbols.Frame{Func: "apply", Module: "/home/u/app", Offset: 5}, user))
	require.Equal(t,
		with(symbols.Frame{Func: "apply", Module: "/home/u/app", Offset: 5}, user),
		with(symbols.Frame{Func: "apply", Module: "/home/u/app", Offset: 6}, user), "an offset, where the function is known")
}

func TestInnermost(t *testing.T) {
	f := example("/home/u", 2, 3)
	f.First.Stack = append(f.First.Stack, symbols.Frame{Func: "main", File: "m.c", Line: 1})
	want, err := ReadInnermost([]byte(`{"rule": "MC103", "sides": [
		{"call": "MPI_Get", "function": "f", "file": "f.c", "line": 2, "text": "MPI_Get(a, 1);"},
		{"call": "load", "function": "f", "file": "f.c", "line": 3, "text": "x = a[0];"}]}`))
	require.NoError(t, err)
	require.Equal(t, want, Innermost(f, reading(source)))
	f.First.Stack = nil
	got := Innermost(f, nil)
	require.Equal(t, "MC103: MPI_Get and load (f, f.c:3)", got.String())
	_, err = ReadInnermost([]byte("[]"))
	require.Error(t, err)
}

func TestSameLines(t *testing.T) {
	with := Of(example("/a", 2, 3), reading(source))
	without := Of(example("/b", 2, 3), sources.NewReader(nil, nil))
	require.NotEqual(t, with.Hash(), without.Hash())
	require.True(t, with.SameLines(without))
	require.True(t, without.SameLines(with))
	require.False(t, with.SameLines(Of(example("/b", 2, 4), nil)))
	require.False(t, with.SameLines(Of(example("/b", 2, 3), reading("\nother\ntext\n"))), "both texts are known")
}

func TestWithoutDebugInformation(t *testing.T) {
	f := &conflicts.Finding{Rule: "MC301", First: conflicts.Side{Call: "MPI_Put", Role: "put", Stack: []symbols.Frame{{Module: "/x/app", Offset: 0x10}}}}
	got := Of(f, reading(source))
	require.Equal(t, Finding{Rule: "MC301", Sides: []Side{{Call: "MPI_Put", Path: []Frame{{File: "app", Offset: 0x10}}}}}, got)
	require.Equal(t, "MC301: MPI_Put (app)", got.String())
	f.First.Stack = nil
	require.Equal(t, "MC301: MPI_Put", Of(f, nil).String())
}

func TestString(t *testing.T) {
	require.Equal(t, "MC103: MPI_Get (f, f.c:2) and load (f, f.c:3)", Of(example("/a", 2, 3), reading(source)).String())
}
