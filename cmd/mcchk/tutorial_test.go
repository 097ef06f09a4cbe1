//go:build !quick

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTutorial: the programs of the tutorial, and what it says of them.
func TestTutorial(t *testing.T) {
	sources := map[string][]string{"heat.c": blocks(t, "tutorial.md", "c"), "counter.cpp": blocks(t, "tutorial.md", "cpp")}
	reports := blocks(t, "tutorial.md", "text")
	for file, texts := range sources {
		t.Run(file, func(t *testing.T) {
			require.Len(t, texts, 2, "the program, and what is changed")
			dir, env := plainProject(t)
			env = append(env, "MCCHK_MPICC=mpicc.openmpi", "MCCHK_MPICXX=mpicxx.openmpi")
			compiler := map[string]string{".c": "cc", ".cpp": "cxx"}[filepath.Ext(file)]
			run := func(program string, want int) string {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(program), 0o600))
				got, out := status(t, dir, env, "mcchk", compiler, "-g", "-O1", "-o", "app", file)
				require.Zero(t, got, out)
				got, out = status(t, dir, env, "mcchk", "run", "--", "mpiexec.openmpi", "-n", "2", "./app")
				require.Equal(t, want, got, out)
				return out
			}
			out := run(texts[0], exitFindings)
			said := 0
			for _, text := range reports {
				if strings.HasPrefix(text, file) || file == "heat.c" && strings.HasPrefix(text, "    ") {
					for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
						require.Contains(t, eitherWay(out), eitherWay(strings.TrimSpace(line)))
						said++
					}
				}
			}
			require.Greater(t, said, 1)

			out = run(repair(t, texts[0], texts[1]), exitOK)
			require.Contains(t, out, "no race found: 2 ranks, 1 window")
			require.Equal(t, file == "counter.cpp", strings.Contains(out, "no loads or stores were recorded"), out)
		})
	}
}

// repair puts what the tutorial shows as changed, of which the first and the last line
// stand in the program, in the place of what stands there.
func repair(t *testing.T, program, change string) string {
	t.Helper()
	lines := strings.Split(strings.TrimRight(change, "\n"), "\n")
	from := strings.Index(program, lines[0]+"\n"+lines[1])
	if from < 0 {
		from = strings.Index(program, lines[0])
	}
	require.GreaterOrEqual(t, from, 0, lines[0])
	last := "\n" + lines[len(lines)-1] + "\n"
	to := strings.Index(program[from:], last)
	require.GreaterOrEqual(t, to, 0, last)
	return program[:from] + strings.Join(lines, "\n") + program[from+to+len(last)-1:]
}

var rankOf = regexp.MustCompile(`rank \d`)

// eitherWay hides which of the two processes it is, and how lines are broken.
func eitherWay(text string) string {
	return strings.Join(strings.Fields(rankOf.ReplaceAllString(text, "rank N")), " ")
}
