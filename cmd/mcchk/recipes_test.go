//go:build !quick

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	racyProgram = `#include <mpi.h>
int main(int argc, char **argv)
{
	int memory[4] = {0}, value = 0, sum;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
	BEFORE
	MPI_Win_unlock(0, win);
	AFTER
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum;
}
`
	useOfValue = "sum = value;"
)

// project is a folder with a program, and the environment for mcchk in PATH,
// also under the names of compilers.
func project(t *testing.T, racy bool, files map[string]string) (dir string, env []string) {
	t.Helper()
	for _, program := range []string{"mpicc.mpich", "mpiexec.mpich", "mpicc.openmpi", "gcc", "clang", "llvm-link", "make", "cmake"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "install it: make packages")
	}
	dir = t.TempDir()
	before, after := "", useOfValue
	if racy {
		before, after = after, before
	}
	program := strings.NewReplacer("BEFORE", before, "AFTER", after).Replace(racyProgram)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(program), 0o600))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"mcchk", "mcchk-cc"} {
		require.NoError(t, os.Symlink(self, filepath.Join(bin, name)))
	}
	return dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MCCHK_MPICC=mpicc.mpich")
}

// status runs a command and returns its exit status and what it prints.
func status(t *testing.T, dir string, env []string, argv ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "%s:\n%s", strings.Join(argv, " "), out)
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestMakeRecipe(t *testing.T) {
	makefile := blocks(t, "ci.md", "make")[0]
	for name, racy := range map[string]bool{"racy": true, "clean": false} {
		t.Run(name, func(t *testing.T) {
			dir, env := project(t, racy, map[string]string{"Makefile": makefile})
			got, out := status(t, dir, env, "make", "check", "MPIEXEC=mpiexec.mpich -n 2")
			if racy {
				require.NotZero(t, got, out)
				require.Contains(t, out, "[MC103]")
			} else {
				require.Zero(t, got, out)
				require.Contains(t, out, "no race found")
			}
		})
	}
}

func TestCTestRecipe(t *testing.T) {
	lists := blocks(t, "ci.md", "cmake")[0]
	for name, racy := range map[string]bool{"racy": true, "clean": false} {
		t.Run(name, func(t *testing.T) {
			dir, env := project(t, racy, map[string]string{"CMakeLists.txt": lists})
			mpiexec, err := exec.LookPath("mpiexec.mpich")
			require.NoError(t, err)
			got, out := status(t, dir, env, "cmake", "-S", ".", "-B", "build", "-DCMAKE_C_COMPILER=mcchk-cc", "-DMPIEXEC_EXECUTABLE="+mpiexec)
			require.Zero(t, got, out)
			got, out = status(t, dir, env, "cmake", "--build", "build")
			require.Zero(t, got, out)
			got, out = status(t, filepath.Join(dir, "build"), env, "ctest", "--output-on-failure")
			if racy {
				require.NotZero(t, got, out)
				require.Contains(t, out, "[MC103]")
			} else {
				require.Zero(t, got, out)
			}
		})
	}
}

// TestBaselineElsewhere: a baseline of two processes, gcc and MPICH holds for
// three processes, clang and Open MPI, in another folder.
func TestBaselineElsewhere(t *testing.T) {
	dir, env := project(t, true, nil)
	run := func(dir, mpi, compiler, n string, flags ...string) (int, string) {
		got, out := status(t, dir, env, "mcchk", "cc", "--mpicc", "mpicc."+mpi, "--compiler", compiler, "-O1", "-g", "-o", "app", "app.c")
		require.Zero(t, got, out)
		command := append([]string{"mcchk", "run"}, flags...)
		return status(t, dir, env, append(command, "--", "mpiexec."+mpi, "-n", n, "./app")...)
	}
	got, out := run(dir, "mpich", "gcc", "2", "--write-baseline", "baseline.json")
	require.Equal(t, exitFindings, got, out)

	other := filepath.Join(dir, "other", "place")
	require.NoError(t, os.MkdirAll(other, 0o755))
	source, err := os.ReadFile(filepath.Join(dir, "app.c"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(other, "app.c"), append([]byte("/* lines\n   more */\n"), source...), 0o600))
	env = append(env, strings.Fields(openMPI)...)
	got, out = run(other, "openmpi", "clang", "3", "--baseline", "../../baseline.json")
	require.Equal(t, exitOK, got, out)
	require.Contains(t, out, "nothing new found (1 accepted)")
	require.NotContains(t, out, "were not found")
}
