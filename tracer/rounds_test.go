//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoundsOfPolls: of rounds of polls that find the same, with nothing in between, the first few and
// the last are recorded; those between which something was done or found all are.
func TestRoundsOfPolls(t *testing.T) {
	t.Parallel()
	const program = `
#include <mpi.h>
#include <string.h>

static MPI_Win win;
static long *memory;

static long fetch(int at, MPI_Op op, long value)
{
	long found;
	MPI_Fetch_and_op(&value, &found, MPI_LONG, 0, at, op, win);
	MPI_Win_flush(0, win);
	return found;
}

static long swap(long compare, long value)
{
	long found;
	MPI_Compare_and_swap(&value, &compare, &found, MPI_LONG, 0, 0, win);
	MPI_Win_flush(0, win);
	return found;
}

int main(int argc, char **argv)
{
	int bad = 0;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(10 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win);
	memset(memory, 0, 10 * sizeof(long));
	MPI_Win_lock_all(0, win);
	const char *how = argv[1];
	for (int i = 0; i < 1000; i++) {
		if (strcmp(how, "reads") == 0)
			bad |= fetch(0, MPI_NO_OP, 0) != 0;
		if (strcmp(how, "swaps") == 0)
			bad |= swap(1, 2) != 0;
		if (strcmp(how, "both") == 0)
			bad |= fetch(0, MPI_NO_OP, 0) != 0 || swap(1, 2) != 0 || fetch(1, MPI_NO_OP, 0) != 0;
		if (strcmp(how, "additions") == 0)
			bad |= fetch(0, MPI_SUM, 1) != i;
		if (strcmp(how, "exchange") == 0)
			bad |= swap(i % 2, 1 - i % 2) != i % 2;
		if (strcmp(how, "places") == 0)
			bad |= fetch(i % 10, MPI_NO_OP, 0) != 0;
		if (strcmp(how, "stores") == 0) {
			bad |= fetch(0, MPI_NO_OP, 0) != 0;
			((volatile long *)memory)[5] = i;
		}
		if (strcmp(how, "flag") == 0) {
			int flag;
			bad |= fetch(0, MPI_NO_OP, 0) != 0;
			MPI_Initialized(&flag);
			MPI_Win_flush(0, win);
			MPI_Barrier(MPI_COMM_SELF);
		}
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return bad;
}
`
	for _, library := range []string{"mpich", "openmpi"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{library, "gcc"}, map[string]string{"app.c": program})
			b.cc("-O2", "-g", "app.c", "-o", "app")
			for how, want := range map[string]int{
				"reads": 4, "swaps": 4, "both": 12, "additions": 1000, "exchange": 1000, "places": 1000, "stores": 1000, "flag": 1000,
			} {
				rec := readFile(t, rankFile(b.traced(1, "app", how), 0))
				require.Empty(t, rec.lost)
				fetched := map[int64]bool{}
				for _, e := range rec.all("mcchk_Fetched") {
					for _, n := range e.arg["numbers"].List {
						fetched[n] = true
					}
				}
				n, last := 0, uint64(0)
				for _, e := range rec.events {
					if e.access != nil {
						continue
					}
					require.Greater(t, e.Seq, last)
					require.GreaterOrEqual(t, e.End, e.Begin)
					if last = e.Seq; e.Fn.Name == "MPI_Fetch_and_op" || e.Fn.Name == "MPI_Compare_and_swap" {
						require.True(t, fetched[e.arg["number"].Int])
						n++
					}
				}
				if want < 1000 {
					require.LessOrEqual(t, n, want, how)
					require.GreaterOrEqual(t, n, want/2, how)
				} else {
					require.Equal(t, want, n, how)
				}
			}
		})
	}
}
