package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
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
  1: shmem_init
  2: mcchk_Symmetric_data
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
