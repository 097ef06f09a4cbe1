//go:build !quick

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A put that is not complete at the barrier meets a get; with FLUSH it is.
const (
	plainProgram = `#include <mpi.h>
static void exchange(MPI_Win win, int *value, int right)
{
	MPI_Put(value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
	FLUSH
}
int main(int argc, char **argv)
{
	int memory = 0, value = 1, got, rank, ranks;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	exchange(win, &value, (rank + 1) % ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Get(&got, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	pythonProgram = `import array
from mpi4py import MPI


def exchange(win, values, right):
    win.Put(values, right)
    FLUSH


def main():
    comm = MPI.COMM_WORLD
    rank = comm.Get_rank()
    win = MPI.Win.Create(array.array("d", [0] * 8), comm=comm)
    values, got = array.array("d", [rank] * 8), array.array("d", [0] * 8)
    win.Lock_all()
    exchange(win, values, (rank + 1) % comm.Get_size())
    comm.Barrier()
    win.Get(got, rank)
    win.Unlock_all()
    win.Free()


main()
`
	openMPI = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1"
)

// TestPreload: programs that mcchk did not compile.
func TestPreload(t *testing.T) {
	for _, mpi := range []string{"openmpi", "mpich"} {
		t.Run(mpi, func(t *testing.T) {
			dir, env := plainProject(t)
			preload := func(flush string) (int, string) {
				t.Helper()
				program := strings.Replace(plainProgram, "FLUSH", flush, 1)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(program), 0o600))
				got, out := status(t, dir, env, "mpicc."+mpi, "-g", "-O2", "-fomit-frame-pointer", "-fno-inline", "-o", "app", "app.c")
				require.Zero(t, got, out)
				return status(t, dir, env, "mcchk", "run", "--preload", "--mpicc", "mpicc."+mpi, "--", "mpiexec."+mpi, "-n", "2", "./app")
			}
			got, out := preload("")
			require.Equal(t, exitFindings, got, out)
			require.Contains(t, out, "app.c:4: error: MPI_Put")
			require.Contains(t, out, "exchange (app.c:4) < main (app.c:16)")
			require.Contains(t, out, "app.c:18: MPI_Get")
			got, out = preload("MPI_Win_flush(right, win);")
			require.Equal(t, exitFailure, got, out)
			require.Contains(t, out, "none of its loads and stores")
			require.Contains(t, out, "\nundecided: 2 ranks")
		})
	}
	t.Run("python", func(t *testing.T) {
		dir, env := plainProject(t)
		const python = "/usr/bin/python3" // which Debian's mpi4py is for
		require.NoError(t, exec.Command(python, "-c", "import mpi4py").Run(), "install python3-mpi4py: make packages")
		preload := func(flush string) (int, string) {
			program := strings.Replace(pythonProgram, "FLUSH", flush, 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "app.py"), []byte(program), 0o600))
			return status(t, dir, env, "mcchk", "run", "--preload", "--mpicc", "mpicc.openmpi", "--", "mpiexec.openmpi", "-n", "2", python, "app.py")
		}
		got, out := preload("pass")
		require.Equal(t, exitFindings, got, out)
		require.Contains(t, out, "app.py:6: error: MPI_Put")
		require.Contains(t, out, "win.Put(values, right)")
		require.Contains(t, out, "exchange (app.py:6) < main (app.py:16)")
		require.Contains(t, out, "app.py:18: MPI_Get")
		got, out = preload("win.Flush(right)")
		require.Equal(t, exitFailure, got, out)
		require.Contains(t, out, "\nundecided: 2 ranks")
	})
}

// TestPreloadOfAnotherLibrary: what is loaded has to fit the program's MPI library.
func TestPreloadOfAnotherLibrary(t *testing.T) {
	dir, env := plainProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(strings.Replace(plainProgram, "FLUSH", "", 1)), 0o600))
	got, out := status(t, dir, env, "mpicc.openmpi", "-o", "app", "app.c")
	require.Zero(t, got, out)
	got, out = status(t, dir, env, "mcchk", "run", "--preload", "--mpicc", "mpicc.mpich", "--", "mpiexec.openmpi", "-n", "2", "./app")
	require.Equal(t, exitFailure, got, out)
	require.Contains(t, out, `but what --preload loads was built for MPICH: name the compiler of the program's library with --mpicc`)
	require.Contains(t, out, "no traces were written")
}

// plainProject is a folder, and the environment for mcchk and both MPI libraries.
func plainProject(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, env = project(t, false, nil)
	return dir, append(env, strings.Fields(openMPI)...)
}
