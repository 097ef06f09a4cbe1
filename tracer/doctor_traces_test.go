package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
