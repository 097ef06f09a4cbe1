package problems

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// TestWrappers: a file is taken for a wrapper where most findings lie in it and several lines
// of others call it; not where one does, nor where it works on the memory itself, or is named
// as a wrapper already.
func TestWrappers(t *testing.T) {
	frame := func(fn, file string, line int) symbols.Frame {
		return symbols.Frame{Func: fn, File: file, Line: line}
	}
	many := func(n int, through symbols.Frame, from func(i int) int) []conflicts.Finding {
		var out []conflicts.Finding
		for i := range n {
			out = append(out, conflicts.Finding{
				Rule: "MC301", Class: conflicts.Usage, Severity: conflicts.Error,
				First: conflicts.Side{Call: "MPI_Put", Stack: []symbols.Frame{through, frame("work", "app.c", from(i)), frame("main", "app.c", 9)}},
			})
		}
		return out
	}
	put, get := frame("put", "lib/window.c", 7), frame("get", "lib/window.c", 14)
	apart := func(i int) int { return 10 + i }
	same := func(int) int { return 10 }
	require.Equal(t, []Wrapper{{"lib/window.c", 3, 3}}, Wrappers(many(3, put, apart)))
	require.Equal(t, []Wrapper{{"lib/window.c", 4, 3}}, Wrappers(append(many(3, put, apart), many(1, get, apart)...)), "two functions")
	require.Empty(t, Wrappers(many(2, put, apart)), "too few")
	require.Empty(t, Wrappers(many(4, put, same)), "one caller: the mistake may be there")
	require.Empty(t, Wrappers(append(many(3, put, apart), many(3, frame("swap", "other.c", 3), same)...)), "not most")
	require.Empty(t, Wrappers(append(many(3, put, apart), many(1, frame("put", "lib/window.c", 8), apart)...)), "a function with several calls")
	store := many(1, put, apart)
	store[0].First.Call = ""
	require.Empty(t, Wrappers(append(many(3, put, apart), store...)), "it stores")
	named := put
	named.Layer = symbols.Wrapper
	require.Empty(t, Wrappers(many(3, named, apart)), "it is named already, and the lines are the application's")
}
