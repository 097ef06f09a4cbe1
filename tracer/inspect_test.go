package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLibraryOfALibrary: a shared library without instrumentation is a part of its own,
// once, whether the program names it, or a library that was linked with it, or both.
// Objects are parts of the library that holds them.
func TestLibraryOfALibrary(t *testing.T) {
	model := objectFacts{state: instrCall, build: &BuildInfo{Uninstrumented: []string{"lib/libstats.so", "lib/libio.so.1.2", "fast.o", "libold.a(x.o)"}}}
	for _, order := range [][]string{{"libmodel.so", "lib/libstats.so"}, {"lib/libstats.so", "libmodel.so"}} {
		n := &inspection{}
		for _, name := range order {
			facts := objectFacts{state: instrNone}
			if name == "libmodel.so" {
				facts = model
			}
			n.note(name, facts)
		}
		require.ElementsMatch(t, []string{"lib/libstats.so", "lib/libio.so.1.2", "libmodel.so(fast.o)", "libmodel.so(libold.a(x.o))"}, n.uninstrumented)
	}
}
