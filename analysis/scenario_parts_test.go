package analysis

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// TestScenariosInParts: of each scenario the same pairs conflict in parts of the memory as in all of it.
func TestScenariosInParts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt*"))
	require.NoError(t, err)
	for _, path := range paths {
		scenarios, err := scenario.ReadFile(path)
		require.NoError(t, err)
		for _, s := range scenarios {
			files := traceFiles(t, s.Trace)
			way := way{opts: Options{Clock: evc.Auto, Jobs: 1}}
			whole, _ := way.analyse(t, files)
			for way.parts = 2; way.parts < 4; way.parts++ {
				parts, _ := way.analyse(t, files)
				require.Equal(t, distinct(whole), distinct(parts), "%s: %s, in %d parts", path, s.Name, way.parts)
			}
		}
	}
}
