package spelling

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	words := []string{"analyze", "explain", "MC103"}
	tests := []struct{ in, want string }{
		{"analyse", "analyze"}, {"mc103", "MC103"}, {"MC13", "MC103"}, {"explian", "explain"}, {"dump", ""}, {"", ""},
	}
	for _, test := range tests {
		require.Equal(t, test.want, Nearest(test.in, words), test.in)
	}
	require.Equal(t, " (did you mean explain?)", DidYouMean("explan", words))
	require.Empty(t, DidYouMean("zzzzzzz", words))
}
