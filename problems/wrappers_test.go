package problems

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// TestWrappers: a function is taken for a wrapper where most findings lie in it and several
// lines call it; not where one does, nor where it is named as one already.
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
	put := frame("put", "lib/window.c", 7)
	apart := func(i int) int { return 10 + i }
	require.Equal(t, []Wrapper{{"put", "lib/window.c", 3, 3}}, Wrappers(many(3, put, apart)))
	require.Empty(t, Wrappers(many(2, put, apart)), "too few")
	require.Empty(t, Wrappers(many(4, put, func(int) int { return 10 })), "one caller: the mistake may be there")
	elsewhere := many(3, frame("swap", "other.c", 3), func(int) int { return 10 })
	require.Empty(t, Wrappers(append(many(3, put, apart), elsewhere...)), "not most")
	named := put
	named.Layer = symbols.Wrapper
	require.Empty(t, Wrappers(many(3, named, apart)), "it is named already, and the lines are the application's")
}
