//go:build !quick

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mcchk/mcchk/trace"
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

// pooledProgram has threads that work between fences, and an error in its second epoch. Then
// it does not end.
const pooledProgram = `#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#define WORKERS 2

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int epoch, left, *w;

static void *work(void *p)
{
	pthread_mutex_lock(&mutex);
	for (int seen = 0;;) { /* each waits before main sees that it is done */
		while (epoch == seen)
			pthread_cond_wait(&changed, &mutex);
		seen = epoch;
		pthread_mutex_unlock(&mutex);
		w[8 + (p != NULL)] = seen;
		pthread_mutex_lock(&mutex);
		left--;
		pthread_cond_signal(&done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int rank, level, v = 3;
	pthread_t workers[WORKERS];
	MPI_Win win;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w, &win);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, i ? &v : NULL);
	MPI_Win_fence(0, win);
	for (int e = 1; e <= 5; e++) {
		pthread_mutex_lock(&mutex);
		epoch = e;
		left = WORKERS;
		pthread_cond_broadcast(&changed);
		while (left > 0)
			pthread_cond_wait(&done, &mutex);
		pthread_mutex_unlock(&mutex);
		if (e == 2 && rank == 0)
			MPI_Put(&v, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
		if (e == 2 && rank == 1)
			w[0] = 5;
		MPI_Win_fence(0, win);
	}
	sleep(600);
	MPI_Finalize();
}
`

// TestLiveThreads: a finding is told while the program runs although several threads of its
// processes record, none of which fills a chunk.
func TestLiveThreads(t *testing.T) {
	dir, env := plainProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(pooledProgram), 0o600))
	got, out := status(t, dir, env, "mcchk", "cc", "-g", "-O1", "-pthread", "-o", "app", "app.c")
	require.Zero(t, got, out)
	got, out = status(t, dir, env, "mcchk", "run", "--live", "--stop-on", "error", "--timeout", "5m", "--format", "short", "--", "mpiexec.mpich", "-n", "2", "./app")
	require.Equal(t, exitFindings, got, out)
	require.Contains(t, out, "mcchk: found: app.c:47: error: MPI_Put")
	require.Contains(t, out, "the program was ended at a finding (--stop-on)")
}

// wideProgram stores more between two calls than a small trace has room for. With arguments
// it has a race (r) or none, and then does not end.
const wideProgram = `#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int *w;
	unsigned x = 1;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(1 << 20, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w, &win);
	for (int k = 0; k < (argc > 2 ? 8 : 2); k++) {
		MPI_Win_fence(0, win);
		if (k == 0 && argc > 1 && argv[1][0] == 'r')
			MPI_Put(&k, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		for (int i = 0; i < 50000; i++) {
			x = x * 1103515245u + 12345u;
			w[x >> 14] = i;
		}
	}
	MPI_Win_fence(0, win);
	if (argc > 2)
		sleep(600);
	MPI_Win_free(&win);
	MPI_Finalize();
}
`

// TestLiveFull: where traces have no room, recording ends, what is lost is counted, and
// nothing is said of what was not seen; or the program waits, and nothing is lost.
func TestLiveFull(t *testing.T) {
	dir, env := plainProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(wideProgram), 0o600))
	got, out := status(t, dir, env, "mcchk", "cc", "-g", "-O1", "-o", "app", "app.c")
	require.Zero(t, got, out)
	run := func(full string) (int, string) {
		return status(t, dir, env, "mcchk", "run", "--live", "--max-disk", "128KiB", "--when-full", full, "--format", "short", "--", "mpiexec.mpich", "-n", "2", "./app")
	}
	got, out = run("drop")
	require.Equal(t, exitFailure, got, out)
	require.Contains(t, out, "recording stops, the program goes on")
	require.Regexp(t, `caveat: \d+ events were lost: the traces took all that --max-disk allows`, out)
	require.Regexp(t, `undecided: 2 ranks, .* LOST [1-9]\d* calls and [1-9]\d* accesses`, out)

	got, out = run("wait")
	require.Zero(t, got, out)
	require.Regexp(t, `no race found: 2 ranks, .* [1-9]\d+ stores, .* nothing lost`, out)
}

// TestResume: of traces that were given back to an analysis that was killed, there are the
// findings that were told, and never the verdict that there are none.
func TestResume(t *testing.T) {
	dir, env := plainProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.c"), []byte(wideProgram), 0o600))
	got, out := status(t, dir, env, "mcchk", "cc", "-g", "-O1", "-o", "app", "app.c")
	require.Zero(t, got, out)
	for kind, want := range map[string]string{"racy": "race (", "fine": "undecided: "} {
		told, err := os.Create(filepath.Join(dir, kind+".told"))
		require.NoError(t, err)
		defer told.Close()
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "mcchk"), "run", "--live", "--max-disk", "256KiB", "-o", kind, "--", "mpiexec.mpich", "-n", "2", "./app", kind, "on")
		cmd.Dir, cmd.Env, cmd.Stderr = dir, env, told
		require.NoError(t, cmd.Start())
		var run *trace.Dir
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(told.Name())
			require.NoError(t, err)
			run, err = trace.OpenDir(filepath.Join(dir, kind))
			_, kept := os.Stat(filepath.Join(dir, kind, "found-so-far"))
			return err == nil && kept == nil && slices.ContainsFunc(run.Files, func(f trace.File) bool { return f.Header.GivenBack }) &&
				(kind == "fine" || strings.Contains(string(text), "mcchk: found: "))
		}, 2*time.Minute, 50*time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())

		got, out = status(t, dir, env, "mcchk", "watch", kind)
		require.Equal(t, exitFailure, got, out)
		require.Contains(t, out, "'mcchk watch --resume "+kind+"' reports what had been found by then")
		_, out = status(t, dir, env, "mcchk", "watch", "--resume", kind, "--format", "short")
		require.Contains(t, out, want)
		require.Contains(t, out, "caveat: the analysis was ended from outside after ")
		for _, f := range run.Files { // the program goes on, unless mpiexec has noticed
			if err := unix.Kill(f.Header.PID, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
				require.NoError(t, err)
			}
		}
	}
}
