package collect

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// bias is where the traces pretend that the program was loaded.
const bias = 0x5555_0000_0000

// writeTrace writes the trace of a rank with one call stack.
func writeTrace(t *testing.T, dir string, rank int, modules []trace.Module, pcs ...uint64) {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Header{Rank: rank, Ranks: 2})
	require.NoError(t, err)
	require.NoError(t, w.Stack(1, pcs))
	for i := range modules { // a module may be seen after its addresses
		require.NoError(t, w.Module(&modules[i]))
	}
	require.NoError(t, w.Close())
	name := filepath.Join(dir, "rank-"+string(rune('0'+rank))+".mcct")
	require.NoError(t, os.WriteFile(name, buf.Bytes(), 0o600))
}

func TestWriteErrors(t *testing.T) {
	_, err := Write(context.Background(), t.TempDir(), Options{})
	require.ErrorIs(t, err, trace.ErrNoTraces)

	dir := t.TempDir()
	writeTrace(t, dir, 0, nil, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Write(ctx, dir, Options{})
	require.ErrorIs(t, err, context.Canceled)
}
