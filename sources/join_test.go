package sources

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJoin(t *testing.T) {
	text := memory{"a.c": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "b.c": "old\n"}
	keep := func(places ...Place) *Reader { return NewReader(Keep(places, text), nil) }
	first := keep(Place{"a.c", 1}, Place{"b.c", 1})
	text["b.c"] = "new\n"
	second := keep(Place{"a.c", 12}, Place{"b.c", 1})

	joined, differ := Join([]*Reader{first, nil, second})
	require.Equal(t, []string{"b.c"}, differ)
	require.Equal(t, "old", joined.Line("b.c", 1))
	for line, want := range map[int]string{1: "1", 5: "5", 6: "", 7: "", 8: "8", 12: "12"} {
		require.Equal(t, want, joined.Line("a.c", line), line)
	}
	require.Empty(t, first.Line("a.c", 12), "those joined stay as they are")

	joined, differ = Join([]*Reader{NewReader(nil, text), second})
	require.Empty(t, differ)
	require.Equal(t, "new", joined.Line("b.c", 1))
}
