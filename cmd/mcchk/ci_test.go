package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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

// TestJenkinsfile: the blocks of the pipeline are those that Jenkins knows, each in one that
// may have it, and its commands are those of the job for GitLab.
func TestJenkinsfile(t *testing.T) {
	within := map[string]string{"pipeline": "", "stages": "pipeline", "stage": "stages", "steps": "stage", "post": "stage", "always": "post"}
	steps := map[string]string{"agent": "pipeline", "sh": "steps", "junit": "always", "archiveArtifacts": "always"}
	line := regexp.MustCompile(`^(\w+)(?:\('\w+'\)| \{[^{}]*\}| (?:\w+: )?'([^']*)'(?:, \w+: \w+)*)?( \{)?$`)
	open := []string{""}
	var commands, files []string
	for text := range strings.Lines(blocks(t, "ci.md", "groovy")[0]) {
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "//") {
			continue
		}
		if text == "}" {
			open = open[:len(open)-1]
			require.NotEmpty(t, open, "one } too many")
			continue
		}
		m := line.FindStringSubmatch(text)
		require.NotNil(t, m, text)
		if m[3] != "" {
			require.Equal(t, within[m[1]], open[len(open)-1], text)
			open = append(open, m[1])
			continue
		}
		require.Equal(t, steps[m[1]], open[len(open)-1], text)
		if m[1] == "sh" {
			commands = append(commands, m[2])
		} else if m[2] != "" {
			files = append(files, strings.Split(m[2], ", ")...)
		}
	}
	require.Equal(t, []string{""}, open, "a } is missing")
	for _, text := range blocks(t, "ci.md", "yaml") {
		var gitlab struct{ Races struct{ Script []string } }
		if strings.HasPrefix(text, "# .gitlab-ci.yml") {
			require.NoError(t, yaml.Unmarshal([]byte(text), &gitlab))
			require.Equal(t, gitlab.Races.Script, strings.Split(strings.ReplaceAll(strings.Join(commands, "\n"), "mcchk cc", "mcchk cc --compiler clang"), "\n"))
		}
	}
	for _, f := range files {
		require.Contains(t, strings.Join(commands, "\n")+" mcchk-traces", strings.TrimSuffix(f, "/**"), "nothing makes it")
	}
}

// Flags in a command line, and formats behind --format.
var (
	usedFlag   = regexp.MustCompile(`(^|[\s\[(])--([a-z][a-z-]+)`)
	usedFormat = regexp.MustCompile(`--format ([a-z]+)`)
)

// TestDocumentedCommands: each flag that the pages use with a command exists,
// and each flag of a command is in the user guide or, of generate, on its own page.
func TestDocumentedCommands(t *testing.T) {
	a, _, _ := testApp()
	root := newRootCommand(a)
	commands := map[string]*cobra.Command{}
	for _, cmd := range root.Commands() {
		commands[cmd.Name()] = cmd
	}
	pages := map[string]string{}
	docs := filepath.Join("..", "..", "docs")
	guide, err := filepath.Glob(filepath.Join(docs, "guide", "*.md"))
	require.NoError(t, err)
	for _, path := range append(guide, filepath.Join(docs, "user-guide.md"), filepath.Join(docs, "ci.md"), filepath.Join(docs, "generate.md")) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		page := filepath.Base(path)
		if filepath.Base(filepath.Dir(path)) == "guide" {
			page = "user-guide.md"
		}
		pages[page] += string(data)
		for _, line := range strings.Split(string(data), "\n") {
			checkCommandLine(t, root, commands, path+": "+line)
		}
	}
	for name, cmd := range commands {
		if name == "completion" || name == "experiment" { // cobra's own; docs/experiments.md
			continue
		}
		require.Contains(t, pages["user-guide.md"], "mcchk "+name, "the user guide lacks the command")
		page := "user-guide.md"
		if name == "generate" {
			page = "generate.md"
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name != "config" && f.Name != "help" {
				require.Contains(t, pages[page], "--"+f.Name, "%s lacks a flag of mcchk %s", page, name)
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
