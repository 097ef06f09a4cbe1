package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// checks are the findings of an examination by check; the worst of each.
func checks(list []Finding) map[string]Finding {
	found := map[string]Finding{}
	for _, f := range list {
		if old, ok := found[f.Check]; !ok || old.Health == OK {
			found[f.Check] = f
		}
	}
	return found
}

func TestDoctorTraceDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	look := func(path string) Finding {
		d := &examination{}
		d.traceDir(path)
		require.Len(t, d.findings, 1)
		return d.findings[0]
	}
	require.NotEqual(t, Problem, look(filepath.Join(dir, "new", "deep")).Health, "it will be made")
	for _, path := range []string{file, filepath.Join(file, "below"), "/proc/1/new"} {
		f := look(path)
		require.Equal(t, Problem, f.Health, path)
		require.Contains(t, f.Text, "cannot be written")
		require.NotEmpty(t, f.Fix)
	}
}

func TestDoctorTraces(t *testing.T) {
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	b.cc("-g", "main.c", "lib.c", "-o", "app")
	record := func(dir string) {
		exit, err := Run(b.context(), RunOptions{Dir: b.path(dir), Command: append(b.launcher(), "-n", "2", b.path("app"))})
		require.NoError(t, err)
		require.Zero(t, exit)
	}
	record("whole")
	look := func(dir string) map[string]Finding {
		list, err := Doctor(b.context(), DoctorOptions{Binary: dir, Dir: b.dir})
		require.NoError(t, err)
		return checks(list)
	}
	found := look("whole")
	require.Equal(t, Finding{Check: "traces", Health: OK, Text: "of all 2 processes of one run"}, found["traces"])
	require.Equal(t, OK, found["run"].Health)
	require.Equal(t, Warning, found["source lines"].Health, "mcchk run stores them after tracer.Run")
	require.NotContains(t, found, "MPI C compiler")
	require.Equal(t, OK, found["MPI library of compilation and run"].Health, found["MPI library of compilation and run"].Text)
	require.Contains(t, found["binary's instrumentation"].Text, "gcc")

	record("other")
	require.NoError(t, os.Mkdir(b.path("mixed"), 0o755))
	copyFile := func(from, to string) {
		data, err := os.ReadFile(b.path(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(b.path(to), data, 0o600))
	}
	copyFile("whole/rank-0.mcct", "mixed/rank-0.mcct")
	copyFile("other/rank-1.mcct", "mixed/rank-1.mcct")
	f := look("mixed")["traces"]
	require.Equal(t, Problem, f.Health)
	require.Contains(t, f.Fix, "a directory of its own")

	require.NoError(t, os.Truncate(b.path("whole/rank-1.mcct"), 0))
	found = look("whole")
	require.Contains(t, found["traces"].Text, "1 of 2 processes have no readable trace")
	require.Contains(t, found["trace file"].Text, "was the disk full")

	require.NoError(t, os.Mkdir(b.path("empty"), 0o755))
	require.Contains(t, look("empty")["traces"].Fix, "mcchk run")
}

func TestDoctorLibraryOfRun(t *testing.T) {
	const mpich, openMPI = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu", "Open MPI v4.1.4, package: Debian OpenMPI"
	tests := []struct {
		compiled, ran string
		want          Health
	}{
		{"MPICH 4.0.2", mpich, OK},
		{"Open MPI 4.1.4", openMPI, OK},
		{"MPICH 4.0.2", openMPI, Warning},
		{"MPICH 3.4.1", mpich, Warning},
	}
	for _, test := range tests {
		d := &examination{}
		d.libraryOfRun(test.compiled, test.ran)
		require.Len(t, d.findings, 1)
		require.Equal(t, test.want, d.findings[0].Health, d.findings[0].Text)
	}
}
