package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReasonsAreExplained(t *testing.T) {
	list, err := Functions()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("unobserved.tbl"))
	require.NoError(t, err)
	seen := 0
	for _, f := range list {
		if f.Unobserved != "" {
			require.Empty(t, f.Args, f.Name)
			require.Regexp(t, `(?m)^#   `+f.Unobserved+` `, string(text), f.Name)
			seen++
		}
	}
	require.Greater(t, seen, 200)
}
