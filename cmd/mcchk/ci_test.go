package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mcchk/mcchk/report"
)

// fences are the code blocks of a page: language, then text.
var fences = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the code blocks of a page in a language.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	var out []string
	for _, m := range fences.FindAllStringSubmatch(string(data), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	require.NotEmpty(t, out, "%s has no block of %s", page, language)
	return out
}

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
	bin := filepath.Join(dir, "bin")
	tool(t, ".", "go", "build", "-o", filepath.Join(bin, "mcchk"), ".")
	require.NoError(t, os.Symlink("mcchk", filepath.Join(bin, "mcchk-cc")))
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

// TestCIBlocks: settings and workflows are what they should be.
func TestCIBlocks(t *testing.T) {
	for _, text := range blocks(t, "ci.md", "yaml") {
		var value map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &value), text)
		if !strings.HasPrefix(text, "# .mcchk.yaml") {
			continue
		}
		known := map[string]bool{}
		for _, s := range settings() {
			known[s.Name] = true
		}
		for key := range value {
			require.True(t, known[key], key)
		}
	}
	var task struct {
		Tasks []struct {
			ProblemMatcher struct{ Pattern struct{ Regexp string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(blocks(t, "ci.md", "json")[0]), &task))
	pattern := regexp.MustCompile(task.Tasks[0].ProblemMatcher.Pattern.Regexp)
	got := pattern.FindStringSubmatch("src/app.c:15: error: load from the origin buffer of MPI_Get before it completes [MC103]")
	require.Equal(t, []string{"src/app.c", "15", "error", "load from the origin buffer of MPI_Get before it completes", "MC103"}, got[1:])
}

// Flags in a command line, and formats behind --format.
var (
	usedFlag   = regexp.MustCompile(`(^|[\s\[(])--([a-z][a-z-]+)`)
	usedFormat = regexp.MustCompile(`--format ([a-z]+)`)
)

// TestDocumentedCommands: each flag that the pages use with a command exists,
// and each flag of a command is in the user guide.
func TestDocumentedCommands(t *testing.T) {
	a, _, _ := testApp()
	root := newRootCommand(a)
	commands := map[string]*cobra.Command{}
	for _, cmd := range root.Commands() {
		commands[cmd.Name()] = cmd
	}
	guide := ""
	for _, page := range []string{"ci.md", "user-guide.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		require.NoError(t, err)
		guide = string(data)
		for _, line := range strings.Split(guide, "\n") {
			checkCommandLine(t, root, commands, page+": "+line)
		}
	}
	for name, cmd := range commands {
		if name == "completion" || name == "experiment" { // cobra's own; docs/experiments.md
			continue
		}
		require.Contains(t, guide, "mcchk "+name, "the user guide lacks the command")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name != "config" && f.Name != "help" {
				require.Contains(t, guide, "--"+f.Name, "the user guide lacks a flag of mcchk %s", name)
			}
		})
	}
}

var commandInLine = regexp.MustCompile("mcchk ([a-z]+)( [^`|]*)")

func checkCommandLine(t *testing.T, root *cobra.Command, commands map[string]*cobra.Command, line string) {
	t.Helper()
	for _, m := range commandInLine.FindAllStringSubmatch(line, -1) {
		cmd := commands[m[1]]
		if cmd == nil || cmd.DisableFlagParsing || cmd.HasSubCommands() {
			continue
		}
		own, _, _ := strings.Cut(m[2], " -- ")
		for _, f := range usedFlag.FindAllStringSubmatch(own, -1) {
			known := cmd.Flags().Lookup(f[2]) != nil || root.PersistentFlags().Lookup(f[2]) != nil || f[2] == "help"
			require.True(t, known, "mcchk %s has no flag --%s\n%s", m[1], f[2], line)
		}
		formats := report.Formats()
		if m[1] == "lattice" {
			formats = []string{latticeSVG, latticeDOT, latticeJSON, latticeText}
		}
		for _, f := range usedFormat.FindAllStringSubmatch(own, -1) {
			require.Contains(t, formats, f[1], line)
		}
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
	env = append(env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	got, out = run(other, "openmpi", "clang", "3", "--baseline", "../../baseline.json")
	require.Equal(t, exitOK, got, out)
	require.Contains(t, out, "nothing new found (1 accepted)")
	require.NotContains(t, out, "were not found")
}
