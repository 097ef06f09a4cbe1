//go:build !quick

package main

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mcchk/mcchk/internal/links"
)

// tool runs a program of the system in a folder and returns what it prints.
func tool(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	_, err := exec.LookPath(argv[0])
	require.NoError(t, err, "install it (Debian: apt install make dpkg tar)")
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s:\n%s", strings.Join(argv, " "), out)
	return string(out)
}

// TestDist builds the Debian package and the release archive, and installs from
// both.
func TestDist(t *testing.T) {
	require.Equal(t, "linux/amd64", runtime.GOOS+"/"+runtime.GOARCH, "packages are made for this platform")
	dist, root := filepath.Join(t.TempDir(), "dist"), t.TempDir()
	tool(t, filepath.Join("..", ".."), "make", "dist", "DIST="+dist, "VERSION=1.2.3")

	control := tool(t, dist, "dpkg-deb", "--info", "mcchk_1.2.3_amd64.deb")
	require.Contains(t, control, "Package: mcchk\n")
	require.Contains(t, control, "Version: 1.2.3\n")
	tool(t, dist, "dpkg-deb", "--extract", "mcchk_1.2.3_amd64.deb", root)
	tool(t, dist, "tar", "-xzf", "mcchk-1.2.3-linux-amd64.tar.gz", "-C", root)
	tool(t, dist, "sha256sum", "--check", "--strict", "SHA256SUMS")

	for _, prefix := range []string{filepath.Join(root, "usr"), filepath.Join(root, "mcchk-1.2.3")} {
		checkInstalled(t, prefix)
	}
}

// neededModules are the modules that mcchk may need. What draws plots for
// developers, and what only tests need, is none of them.
var neededModules = []string{
	"github.com/cpuguy83/go-md2man/v2", "github.com/russross/blackfriday/v2", // manual pages
	"github.com/fatih/color", "github.com/mattn/go-colorable", "github.com/mattn/go-isatty",
	"github.com/ianlancetaylor/demangle", "github.com/klauspost/compress",
	"github.com/rdleal/intervalst",
	"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3", "golang.org/x/sys",
}

func checkInstalled(t *testing.T, prefix string) {
	binary := filepath.Join(prefix, "bin", "mcchk")
	f, err := elf.Open(binary)
	require.NoError(t, err)
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries, "the program is static")
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	var linked []string
	for _, m := range info.Deps {
		linked = append(linked, m.Path)
	}
	require.Subset(t, neededModules, linked, "who installs mcchk downloads and links these")

	var v versionInfo
	require.NoError(t, json.Unmarshal([]byte(tool(t, prefix, binary, "version", "--json")), &v))
	require.Equal(t, "v1.2.3", v.Version)
	require.Equal(t, "linux/amd64", v.Platform)
	for _, name := range []string{"mcchk-cc", "mcchk-cxx", "mcchk-fc", "mcchk-oshcc", "mcchk-oshcxx", "mcchk-gcc", "mcchk-g++", "mcchk-gfortran", "mcchk-clang", "mcchk-clang++"} {
		to, err := os.Readlink(filepath.Join(prefix, "bin", name))
		require.NoError(t, err)
		require.Equal(t, "mcchk", to)
	}

	a, _, _ := testApp()
	pages := []string{"mcchk.1"}
	for _, cmd := range newRootCommand(a).Commands() {
		pages = append(pages, "mcchk-"+cmd.Name()+".1")
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(prefix, "share", "man", "man1", page))
		require.NoError(t, err)
		require.Contains(t, string(text), ".SH SYNOPSIS", page)
	}
	for _, name := range []string{"bash-completion/completions/mcchk", "zsh/site-functions/_mcchk", "fish/vendor_completions.d/mcchk.fish",
		"doc/mcchk/LICENSE", "doc/mcchk/docs/user-guide.md", "doc/mcchk/docs/config.schema.json"} {
		require.FileExists(t, filepath.Join(prefix, "share", name))
	}
	tool(t, prefix, "bash", "-n", filepath.Join(prefix, "share/bash-completion/completions/mcchk"))
	dead, all, err := links.Dead(filepath.Join(prefix, "share/doc/mcchk"))
	require.NoError(t, err)
	require.Empty(t, dead)
	require.Greater(t, all, 50)
}

// actionlint checks workflows, and how they use actions.
const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

// TestAction: the action is valid, and the workflow of the documentation uses it as
// it is to be used.
func TestAction(t *testing.T) {
	dir := t.TempDir()
	workflows := filepath.Join(dir, ".github", "workflows")
	require.NoError(t, os.MkdirAll(workflows, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	for _, text := range blocks(t, "ci.md", "yaml") {
		if strings.HasPrefix(text, "# .github/workflows/") {
			text = strings.ReplaceAll(text, "mcchk/mcchk@main", "./")
			require.Contains(t, text, "uses: ./")
			require.NoError(t, os.WriteFile(filepath.Join(workflows, "races.yml"), []byte(text), 0o600))
		}
	}
	action := readPage(t, filepath.Join("..", "..", "action.yml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "action.yml"), []byte(action), 0o600))
	tool(t, dir, "go", "run", actionlint, "-no-color")

	page := readPage(t, filepath.Join("..", "..", "docs", "ci.md"))
	var a struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct{ Run string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(action), &a))
	for name := range a.Inputs {
		require.Contains(t, page, "| `"+name+"` |", "ci.md has all inputs")
	}
	for _, step := range a.Runs.Steps {
		script := filepath.Join(dir, "step.sh")
		require.NoError(t, os.WriteFile(script, []byte(step.Run), 0o600))
		tool(t, dir, "bash", "-n", script)
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
