package analysis

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/trace"
)

// TestPutsUnderALock: of an element that was put many times, each time under a lock, it is
// known what it holds, so that nothing is given up of others.
func TestPutsUnderALock(t *testing.T) {
	var run strings.Builder
	run.WriteString(`
function mcchk_Symmetric_data base:p=0x1000 size:i=0x1000 offset:i=0 module:i=1
function shmem_init
function shmem_barrier_all
function shmem_set_lock lock:p=0x1300 ticket:i=0
function shmem_clear_lock lock:p=0x1300
function shmem_long_p dest:p=0x1100 value:i=1 pe:i=0 size:i=8
function shmem_long_atomic_set dest:p=0x1200 value:i=1 pe:i=0 size:i=8 old:i=0
function shmem_long_atomic_fetch source:p=0x1200 pe:i=0 size:i=8 result:i=1
every rank
  mcchk_Symmetric_data
  1: shmem_init
`)
	const puts = 1200 // more than are kept where their order is open
	for i := range puts {
		fmt.Fprintf(&run, "rank %d\n  10: shmem_set_lock ticket=%d\n  11: shmem_long_p value=%d\n  12: shmem_clear_lock\n", i%2, i, i)
	}
	run.WriteString(`
every rank
  20: shmem_barrier_all
rank 0
  21: shmem_long_atomic_set
rank 1
  22: shmem_long_atomic_fetch
every rank
  23: shmem_barrier_all
`)
	s, err := scenario.Parse("puts", run.String())
	require.NoError(t, err)
	res := inMemoryWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto})
	require.Empty(t, res.Findings)
	require.Empty(t, res.Caveats)
}

// TestOwnerSetsWhatOthersCleared: a word that was cleared in the region before is set by its
// owner, who waits until it is cleared again. It finds it cleared at once, by rank 0, which
// found it set, and is not back from that.
func TestOwnerSetsWhatOthersCleared(t *testing.T) {
	s, err := scenario.Parse("clear", `
function mcchk_Symmetric_data base:p=0x1000 size:i=0x1000 offset:i=0 module:i=1
function shmem_init
function shmem_barrier_all
function shmem_fence
function shmem_set_lock lock:p=0x1300 ticket:i=0
function shmem_clear_lock lock:p=0x1300
function shmem_int_p dest:p=0x1000 value:i=1 pe:i=1 size:i=4
function shmem_long_atomic_set dest:p=0x1100 value:i=0 pe:i=1 size:i=8 old:i=0
function shmem_long_wait_until ivar:p=0x1100 cmp:i=1 cmp_value:i=0 size:i=8 before:i=0
every rank
  mcchk_Symmetric_data
  1: shmem_init
rank 0
  3: shmem_long_atomic_set
every rank
  4: shmem_barrier_all
rank 1
  5: store 0x1100 size=8
  6: shmem_set_lock
  7: shmem_clear_lock
rank 0
  8: shmem_set_lock ticket=1
  9: shmem_int_p
  10: shmem_fence
  11: shmem_long_atomic_set old=1
  12: shmem_clear_lock
rank 1
  13: shmem_long_wait_until
  14: load 0x1000
every rank
  15: shmem_barrier_all
`)
	require.NoError(t, err)
	var files [][]byte
	for rank := range 2 {
		lines, err := s.Trace.Lines(rank)
		require.NoError(t, err)
		for i, line := range strings.SplitAfter(lines, "\n") {
			switch {
			case strings.Contains(line, `"old:i":1`):
				lines = strings.Replace(lines, line, strings.Replace(line, "{", `{"begin":100,"end":200,`, 1), 1)
			case strings.Contains(line, "wait_until") && i > 0 && !strings.Contains(line, `"fn"`):
				lines = strings.Replace(lines, line, strings.Replace(line, "{", `{"begin":150,"end":151,`, 1), 1)
			}
		}
		var file bytes.Buffer
		require.NoError(t, trace.Pack(t.Context(), strings.NewReader(lines), &file))
		files = append(files, file.Bytes())
	}
	res := inMemoryWith(t, files, Options{Clock: evc.Auto})
	require.Empty(t, res.Findings)
	require.Empty(t, res.Caveats)
}
