//go:build !quick

package tracer

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// TestKilledWhileCompacting: whatever the instruction at which a process is killed that
// makes its records compact, the chunk says what it said before.
func TestKilledWhileCompacting(t *testing.T) {
	t.Parallel()
	const size = 8192
	program := filepath.Join(t.TempDir(), "steps")
	out, err := exec.CommandContext(t.Context(), "gcc", "-std=gnu11", "-O2", "-Wall", "-Werror", "-Iruntime", "-o", program,
		"testdata/steps.c", "runtime/compact.c", "runtime/index.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var head bytes.Buffer
	w, err := trace.NewWriter(&head, trace.Header{Ranks: 1})
	require.NoError(t, err)
	require.NoError(t, w.Close())

	for _, kind := range []string{"calls", "accesses"} {
		states, err := exec.CommandContext(t.Context(), program, kind).Output()
		require.NoError(t, err)
		require.Zero(t, len(states)%size)
		said := map[string]int{}
		used := func(state []byte) uint32 { return binary.LittleEndian.Uint32(state[20:]) }
		for at := 0; at < len(states); at += size {
			var lines bytes.Buffer
			err := trace.Dump(t.Context(), bytes.NewReader(append(bytes.Clone(head.Bytes()), states[at:at+size]...)), &lines)
			var cut *trace.Cut
			require.ErrorAs(t, err, &cut)
			require.Contains(t, cut.Reason, "no end record", "state %d", at/size)
			said[lines.String()]++
		}
		require.Len(t, said, 1)
		for lines, n := range said {
			require.Equal(t, 60, strings.Count(lines, `"call"`)+strings.Count(lines, `"access"`)/2, lines)
			require.Greater(t, n, 10)
		}
		require.Less(t, used(states[len(states)-size:]), used(states[:size])/3)
	}
}
