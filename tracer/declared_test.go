//go:build !quick

package tracer

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared returns the functions that a library's mpi.h declares.
func declared(t *testing.T, wrapper string) []string {
	t.Helper()
	need(t, wrapper)
	show, err := exec.Command(wrapper, "-show").Output()
	require.NoError(t, err)
	var dirs []string
	for _, w := range splitWords(string(show)) {
		if d, ok := strings.CutPrefix(w, "-I"); ok {
			dirs = append(dirs, d)
		}
	}
	require.NotEmpty(t, dirs, "%s -show names no folder of headers: %s", wrapper, show)
	var args []string
	for _, d := range dirs {
		args = append(args, "-I"+d)
	}
	args = append(args, "-E", "-P", "-x", "c", "-")
	cmd := exec.Command("gcc", args...)
	cmd.Stdin = strings.NewReader("#include <mpi.h>\n")
	text, err := cmd.Output()
	require.NoError(t, err)
	prototype := regexp.MustCompile(`\b(?:int|double|MPI_Aint|MPI_Fint|MPI_File)\s+(MPI_[A-Z]\w*)\s*\(`)
	var names []string
	for _, m := range prototype.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

func TestEveryFunctionIsRecordedOrKnownToBeLocal(t *testing.T) {
	list, err := Functions()
	require.NoError(t, err)
	known := map[string]Function{}
	for _, f := range list {
		require.NotContains(t, known, f.Name, "twice")
		known[f.Name] = f
	}
	for _, wrapper := range []string{"mpicc.mpich", "mpicc.openmpi"} {
		names := declared(t, wrapper)
		require.Greater(t, len(names), 350)
		for _, name := range names {
			plain, large := strings.CutSuffix(name, "_c")
			if f, ok := known[name]; ok {
				require.False(t, f.Pseudo(), name)
				continue
			}
			require.True(t, large, "%s of %s is neither in runtime/mpi.tbl nor in unobserved.tbl", name, wrapper)
			f, ok := known[plain]
			require.True(t, ok, "%s of %s: %s is not known", name, wrapper, plain)
			require.True(t, f.Large || f.Unobserved != "", "%s of %s is not recorded, though %s is", name, wrapper, plain)
		}
	}
}
