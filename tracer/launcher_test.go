//go:build !quick

package tracer

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

func TestLauncherEnvironment(t *testing.T) {
	need(t, "mpicc.openmpi", "mpicc.mpich")
	const list = "OMPI_MCA_mca_base_env_list="
	traced, loaded := []string{envTraceDir + "=/t", envRunID + "=1"}, []string{envTraceDir + "=/t", envPreload + "=/l"}
	for name, c := range map[string]struct {
		command   string
		env       []string
		variables []string
		want      string
	}{
		"one host":            {"mpiexec.openmpi -n 2 ./app", nil, traced, ""},
		"hosts":               {"mpiexec.openmpi --host a,b ./app", nil, traced, "MCCHK_TRACE_DIR;MCCHK_RUN_ID"},
		"hosts and a list":    {"mpiexec.openmpi -H a,b ./app", []string{list + "X"}, traced, "X;MCCHK_TRACE_DIR;MCCHK_RUN_ID"},
		"hosts and preloaded": {"mpiexec.openmpi --host a,b ./app", nil, loaded, "MCCHK_TRACE_DIR;LD_PRELOAD"},
		"exported by hand":    {"mpiexec.openmpi -H a,b -x MCCHK_TRACE_DIR ./app", nil, traced, ""},
		"MPICH passes all":    {"mpiexec.mpich -host a,b ./app", nil, traced, ""},
		"no launcher at all":  {"sh -host x", nil, traced, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tl := newTools("", append(os.Environ(), c.env...))
			command := strings.Fields(c.command)
			path, err := tl.look(command[0])
			require.NoError(t, err)
			tl.env = launcherEnvironment(tl, path, command, c.variables)
			require.Equal(t, c.want, strings.TrimPrefix(tl.getenv(strings.TrimSuffix(list, "=")), list))
		})
	}
}

// Two programs below one command are of the same ranks: both traces stay, and
// nobody takes one of them for the run.
func TestTwoProgramsInOneRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"openmpi", "gcc"}, map[string]string{"a.c": `#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); MPI_Finalize(); return 0; }
`})
	b.cc("-g", "a.c", "-o", "a")
	dir := b.path("traces")
	launch := strings.Join(b.launcher(), " ") + " -n 1 " + b.path("a")
	var stderr bytes.Buffer
	b.launch(func() {
		exit, err := Run(b.context(), RunOptions{
			Dir: dir, Command: []string{"sh", "-c", launch + " && " + launch}, Stdout: io.Discard, Stderr: &stderr,
		})
		require.NoError(t, err, "%s", &stderr)
		require.Zero(t, exit)
	})
	require.Contains(t, stderr.String(), "there is a trace of rank 0 of this run already")
	_, err := trace.OpenDir(dir)
	require.ErrorContains(t, err, "two files of rank 0")
	require.NoError(t, prepareTraceDir(dir))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
