package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "traces")
	release, err := Claim(dir)
	require.NoError(t, err)
	_, err = Claim(dir)
	require.ErrorContains(t, err, "another mcchk run is at work there")
	release()
	require.NoDirExists(t, dir, "nothing came of it")

	release, err = Claim(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, RunFile), nil, 0o644))
	release()
	require.DirExists(t, dir)
}

// A run whose directory another run took meanwhile must not be judged by the traces there, nor
// spoil them.
func TestReplacedTraces(t *testing.T) {
	dir := t.TempDir()
	_, _, err := script(t, dir, writeTrace+`echo '{"run": "0123"}' > $MCCHK_TRACE_DIR/run.json`)
	require.ErrorContains(t, err, "were replaced by those of another mcchk run")
	record, err := ReadRunRecord(dir)
	require.NoError(t, err)
	require.Equal(t, "0123", record.Run)
}
