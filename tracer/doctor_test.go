//go:build !quick

package tracer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// findings runs Doctor and returns what it says of each check.
func (b *bench) findings(binary, mpiexec string, env []string) map[string]Finding {
	b.t.Helper()
	var list []Finding
	machine.Shared(func() {
		var err error
		list, err = Doctor(b.context(), DoctorOptions{
			MPICC: "mpicc." + b.p.mpi, MPICXX: "mpicxx." + b.p.mpi, Compiler: b.p.compiler, MPIExec: mpiexec, Binary: binary, Dir: b.dir, Env: env,
		})
		require.NoError(b.t, err)
	})
	found := map[string]Finding{}
	for _, f := range list {
		found[f.Check] = f
		if f.Health == OK {
			require.Empty(b.t, f.Fix, f.Check)
		}
	}
	return found
}

func TestDoctorHealthy(t *testing.T) {
	t.Parallel()
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			b.cc("-g", "main.c", "lib.c", "-o", "app")
			found := b.findings("app", "mpiexec."+p.mpi, nil)
			for check, f := range found {
				if p.compiler == "gcc" && strings.HasSuffix(check, "instrumentation") && !strings.HasPrefix(check, "Fortran") {
					require.Contains(t, f.Text, "whole loops", check)
				}
				require.Equal(t, OK, f.Health, "%s: %s", check, f.Text)
			}
			if p.compiler == "gcc" {
				require.Contains(t, found["places of loads and stores"].Text, " have a test, ")
			}
			for _, check := range []string{"MPI C compiler", "MPI C++ compiler", "small C program", "small C++ program", "debug information", "run-time in the binary"} {
				require.Contains(t, found, check)
			}
		})
	}
}

func TestDoctorFindsTrouble(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	b.command(nil, "mpicc.mpich", "main.c", "lib.c", "-o", "plain")
	b.command(nil, "gcc", "-c", "lib.c")
	b.cc("main.c", "lib.o", "-o", "partly")
	b.command(nil, "mpicc.mpich", "-c", "main.c")
	b.cc("main.o", "lib.o", "-o", "nothing")

	f := b.findings("plain", "", nil)["binary"]
	require.Equal(t, Problem, f.Health)
	require.Contains(t, f.Text, "not linked by mcchk")

	found := b.findings("partly", "mpiexec.openmpi", nil)
	require.Equal(t, Warning, found["debug information"].Health)
	require.Contains(t, found["uninstrumented objects"].Text, "lib.o")
	require.Equal(t, Problem, found["MPI library of binary and launcher"].Health)
	require.Contains(t, found["MPI library of binary and launcher"].Text, "Open MPI")

	require.Equal(t, Problem, b.findings("nothing", "", nil)["binary's instrumentation"].Health)
	require.Contains(t, b.findings("main.c", "", nil)["binary"].Text, "main.c is a source file")
	require.Equal(t, Problem, b.findings("absent", "", nil)["binary"].Health)
	require.Contains(t, b.findings("main.o", "", nil)["binary"].Text, "not an executable")
}

// TestDoctorBesideTheWrapper: what belongs to the compiler wrapper that the user named, by an
// option or in the environment, is looked at, not what comes first in PATH.
func TestDoctorBesideTheWrapper(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	b.cc("-g", "main.c", "lib.c", "-o", "app")
	for name, o := range map[string]DoctorOptions{
		"option":      {MPICC: "mpicc.mpich"},
		"environment": {Env: append(os.Environ(), "MCCHK_MPICC=mpicc.mpich", "MCCHK_MPICXX=", "MCCHK_MPIFC=")},
	} {
		o.Binary, o.Dir = "app", b.dir
		list, err := Doctor(b.context(), o)
		require.NoError(t, err)
		found := checks(list)
		for check, want := range map[string]string{
			"MPI C compiler": "mpicc.mpich", "MPI C++ compiler": "mpicxx.mpich", "MPI Fortran compiler": "mpifort.mpich",
			"MPI library of binary and launcher": "mpiexec.mpich belongs to it",
		} {
			require.Equal(t, OK, found[check].Health, "%s: %s: %s", name, check, found[check].Text)
			require.Contains(t, found[check].Text, want, "%s: %s", name, check)
		}
	}
}

// TestDoctorOtherModels: the compilers for OpenSHMEM are looked at where there are such, and
// those for GASPI where the environment names a library.
func TestDoctorOtherModels(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	lib, err := filepath.Abs("../fixtures/gaspi/lib")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(lib, filepath.Join(home, "include")))
	list, err := Doctor(t.Context(), DoctorOptions{MPICC: "mpicc.mpich", Env: append(os.Environ(), "GASPI_HOME="+home)})
	require.NoError(t, err)
	found := checks(list)
	for _, check := range []string{
		"OpenSHMEM C compiler", "OpenSHMEM C++ compiler", "small OpenSHMEM C program", "small OpenSHMEM C++ program",
		"GASPI C compiler", "GASPI C++ compiler", "small GASPI C program", "small GASPI C++ program",
	} {
		require.Equal(t, OK, found[check].Health, "%s: %s", check, found[check].Text)
	}
	require.Contains(t, found["OpenSHMEM C compiler"].Text, "OpenSHMEM 1.")
	require.Contains(t, found["GASPI C compiler"].Text, "GASPI.h")

	list, err = Doctor(t.Context(), DoctorOptions{MPICC: "mpicc.mpich", Env: append(os.Environ(), "GASPI_HOME=", "MCCHK_OSHCC=no-such-oshcc")})
	require.NoError(t, err)
	found = checks(list)
	require.Equal(t, Warning, found["OpenSHMEM C compiler"].Health)
	require.Contains(t, found["OpenSHMEM C compiler"].Fix, "MCCHK_OSHCC")
	require.NotContains(t, found, "GASPI C compiler")
}

func TestDoctorWithoutMPI(t *testing.T) {
	t.Parallel()
	list, err := Doctor(t.Context(), DoctorOptions{MPICC: "no-such-mpicc", MPICXX: "gcc"})
	require.NoError(t, err)
	found := map[string]Finding{}
	for _, f := range list {
		found[f.Check] = f
	}
	require.Equal(t, Problem, found["MPI C compiler"].Health)
	require.Contains(t, found["MPI C compiler"].Fix, "MCCHK_MPICC")
	require.Contains(t, found["MPI C++ compiler"].Text, "mpi.h")
}

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

func TestDoctorTraces(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, sumFiles())
	b.cc("-g", "main.c", "lib.c", "-o", "app")
	record := func(dir string) {
		b.launch(func() {
			exit, err := Run(b.context(), RunOptions{Dir: b.path(dir), Command: append(b.launcher(), "-n", "2", b.path("app"))})
			require.NoError(t, err)
			require.Zero(t, exit)
		})
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

	require.Equal(t, OK, found["end of traces"].Health, found["end of traces"].Text)
	info, err := os.Stat(b.path("whole/rank-1.mcct"))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(b.path("whole/rank-1.mcct"), info.Size()/10))
	f = look("whole")["end of traces"]
	require.Equal(t, Problem, f.Health)
	require.Contains(t, f.Text, "that of rank 1 ends early (the file ends inside a chunk")
	require.NoError(t, os.Truncate(b.path("whole/rank-1.mcct"), 0))
	found = look("whole")
	require.Contains(t, found["traces"].Text, "1 of 2 processes have no readable trace")
	require.Contains(t, found["trace file"].Text, "the disk was full")

	require.NoError(t, os.Mkdir(b.path("empty"), 0o755))
	require.Contains(t, look("empty")["traces"].Fix, "mcchk run")
}
