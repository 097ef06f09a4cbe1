//go:build !quick

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mcchk/mcchk/trace"
)

// endlessProgram passes values around until there is a file called stop, and makes one called
// there in a step that it is told. With "racy" its first step lacks a fence.
const endlessProgram = `#include <mpi.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, *w, v = 3, sum = 0, over = 0;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Win_allocate(1 << 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w, &win);
	MPI_Win_fence(0, win);
	for (int step = 0; !over; step++) {
		MPI_Put(&v, 1, MPI_INT, (rank + 1) % size, step % 1000, 1, MPI_INT, win);
		if (step > 0 || argv[2][0] != 'r')
			MPI_Win_fence(0, win);
		sum += w[step % 1000];
		for (int i = 0; i < 300; i++)
			w[2000 + (unsigned)(i * 7919 + step) % 10000] += i;
		MPI_Win_fence(0, win);
		if (rank == 0 && step == atoi(argv[1]))
			close(open("there", O_CREAT | O_WRONLY, 0600));
		over = rank == 0 && (sum == -1 || access("stop", F_OK) == 0);
		MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	MPI_Win_free(&win);
	MPI_Finalize();
}
`

// kill is one kill of something while a program is analysed.
type kill struct {
	victim  string // launcher, process or analyser
	racy    bool
	bounded bool // --max-disk
	step    int  // of the program in which it happens, or soon after
}

// TestLiveKilled kills launchers, processes and analysers at random points of runs that are
// analysed meanwhile: nothing hangs, a race that lies before that point is reported, and
// nothing is said of what was not seen. With MCCHK_SOAK there are 200 kills.
func TestLiveKilled(t *testing.T) {
	dir, env := plainProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(endlessProgram), 0o600))
	got, out := status(t, dir, env, "mcchk", "cc", "-g", "-O1", "-o", "app", "app.c")
	require.Zero(t, got, out)
	n, seed := 10, uint64(1)
	if os.Getenv("MCCHK_SOAK") != "" {
		n, seed = 200, uint64(time.Now().UnixNano())
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		k := kill{
			victim: []string{"launcher", "process", "analyser"}[i%3], racy: rng.IntN(2) == 0, bounded: rng.IntN(2) == 0,
			step: rng.IntN(400),
		}
		t.Run(fmt.Sprintf("%d", i), func(t *testing.T) { k.try(t, dir, env, seed) })
	}
}

func (k kill) try(t *testing.T, dir string, env []string, seed uint64) {
	for _, name := range []string{"there", "stop"} {
		os.Remove(filepath.Join(dir, name))
	}
	kind := map[bool]string{true: "racy", false: "fine"}[k.racy]
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{"run", "--live", "--keep", "-o", "traces", "--format", "short"}
	if k.bounded {
		args = []string{"run", "--live", "--max-disk", "1MiB", "-o", "traces", "--format", "short"}
	}
	args = append(args, "--", "mpiexec.mpich", "-n", "2", "./app", strconv.Itoa(k.step), kind)
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", "mcchk"), args...)
	var told bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &told, &told
	cmd.WaitDelay = 10 * time.Second // what the launcher leaves may hold them open
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "there"))
		return err == nil
	}, time.Minute, time.Millisecond)
	run, err := trace.OpenDir(filepath.Join(dir, "traces"))
	require.NoError(t, err)
	require.Len(t, run.Files, 2)
	defer func() {
		for _, f := range run.Files {
			unix.Kill(f.Header.PID, unix.SIGKILL) // most are gone by now
		}
	}()
	switch k.victim {
	case "launcher":
		for _, pid := range children(t, cmd.Process.Pid) {
			require.NoError(t, unix.Kill(pid, unix.SIGKILL))
		}
	case "process":
		require.NoError(t, unix.Kill(run.Files[k.step%2].Header.PID, unix.SIGKILL))
	case "analyser":
		require.NoError(t, cmd.Process.Kill())
	}
	cmd.Wait() // the exit status follows
	what := fmt.Sprintf("%+v of seed %d", k, seed)
	require.NoError(t, ctx.Err(), what)
	got, out := cmd.ProcessState.ExitCode(), told.String()
	found := strings.Contains(out, "mcchk: found: ")
	if k.victim == "analyser" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600))
		got, out = status(t, dir, env, "mcchk", "watch", "--resume", "traces", "--format", "short")
	}
	k.judge(t, got, what+"\n"+out, found)
}

// judge says whether a report and an exit status are right. An analyser that was killed may
// have given back what it had not analysed yet; but what it has found and told is reported.
func (k kill) judge(t *testing.T, got int, out string, found bool) {
	unknown := k.victim == "analyser" && k.bounded && !found && got != exitFindings
	switch {
	case k.racy && !unknown:
		require.Equal(t, exitFindings, got, out)
		require.Contains(t, out, "race (1 error")
	case !k.racy && k.victim == "analyser" && got == 0: // nothing was given back
		require.Contains(t, out, "no race found: ")
		require.Contains(t, out, "nothing lost")
	default:
		require.Equal(t, exitFailure, got, out)
		require.Contains(t, out, "undecided: ")
		require.NotContains(t, out, "error: ")
	}
	if k.victim == "analyser" && !k.bounded && !k.racy {
		require.Zero(t, got, out)
	}
}

// children returns the processes that a process has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	var out []int
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			require.NoError(t, err)
			out = append(out, child)
		}
	}
	require.NotEmpty(t, out)
	return out
}
