//go:build !quick

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slowProgram has an error in its first epoch, and goes on for longer than a finding may take.
const slowProgram = `#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, *w, v = 3;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w, &win);
	MPI_Win_fence(0, win);
	if (rank == 0)
		MPI_Put(&v, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
	else
		w[0] = 5;
	MPI_Win_fence(0, win);
	sleep(argc > 1 ? 600 : 0);
	MPI_Win_free(&win);
	MPI_Finalize();
}
`

// TestLive: a finding is told while the program runs, and ends it where that is asked for;
// and the report is that of an analysis afterwards.
func TestLive(t *testing.T) {
	dir, env := plainProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(slowProgram), 0o600))
	got, out := status(t, dir, env, "mcchk", "cc", "-g", "-O1", "-o", "app", "app.c")
	require.Zero(t, got, out)
	launch := []string{"mpiexec.mpich", "-n", "2", "./app"}
	run := func(options ...string) (int, string) {
		t.Helper()
		command := launch
		if options[0] == "--stop-on" {
			command = append(command, "long")
		}
		argv := append([]string{"mcchk", "run", "--live", "-o", "traces"}, options...)
		return status(t, dir, env, append(append(argv, "--"), command...)...)
	}

	got, out = run("--keep", "--format", "json=live.json")
	require.Equal(t, exitFindings, got, out)
	got, out = status(t, dir, env, "mcchk", "analyze", "traces", "--format", "json=after.json")
	require.Equal(t, exitFindings, got, out)
	live, err := os.ReadFile(filepath.Join(dir, "live.json"))
	require.NoError(t, err)
	after, err := os.ReadFile(filepath.Join(dir, "after.json"))
	require.NoError(t, err)
	require.Equal(t, string(after), string(live))

	began := time.Now()
	got, out = run("--stop-on", "error", "--format", "short")
	require.Less(t, time.Since(began), time.Minute)
	require.Equal(t, exitFindings, got, out)
	require.Contains(t, out, "mcchk: found: app.c:13: error: MPI_Put")
	require.Contains(t, out, "after MPI_Win_fence at app.c:16")
	require.Contains(t, out, "race (1 error)")
	left, err := filepath.Glob(filepath.Join(dir, "traces", "rank-*"))
	require.NoError(t, err)
	require.Empty(t, left, "the traces are not kept")

	watched := make(chan string)
	go func() {
		_, out := status(t, dir, env, "mcchk", "watch", "others", "--stop-on", "error", "--format", "short")
		watched <- out
	}()
	_, out = status(t, dir, env, append([]string{"mcchk", "run", "--live", "--no-analyze", "-o", "others", "--"}, append(launch, "long")...)...)
	told := <-watched
	require.Contains(t, told, "race (1 error)", out)
	require.Equal(t, 1, strings.Count(told, "mcchk: found: "), told)
}
