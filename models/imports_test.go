package models

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOthersKnowNoModel: what models say of conflicts is asked for here only, so
// that another one changes nothing else.
func TestOthersKnowNoModel(t *testing.T) {
	const module = "github.com/mcchk/mcchk/"
	found := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			switch strings.Trim(spec.Path.Value, `"`) {
			case module + "mpi/judge", module + "mpi/words":
				require.Equal(t, "models", filepath.Base(filepath.Dir(path)), path)
				found++
			}
		}
		return nil
	}))
	require.Positive(t, found)
}
