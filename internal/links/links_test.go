package links

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestPages: no link between the pages of the repository is dead, and each page for users
// and for developers can be reached from the README.
func TestPages(t *testing.T) {
	dead, all, err := Dead(root)
	require.NoError(t, err)
	require.Empty(t, dead)
	require.Greater(t, all, 150)

	reached := []string{filepath.Join(root, "README.md")}
	for i := 0; i < len(reached); i++ {
		text, err := os.ReadFile(reached[i])
		require.NoError(t, err)
		for _, to := range linksOf(string(text)) {
			to, _, _ = strings.Cut(to, "#")
			page := filepath.Join(filepath.Dir(reached[i]), to)
			if filepath.Ext(to) == ".md" && !slices.Contains(reached, page) {
				reached = append(reached, page)
			}
		}
	}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, pages)
		require.Subset(t, reached, pages)
	}
}

func TestDead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.md":              "# One, two & three\n[b](b.md#here) [self](#one-two--three) [site](https://nowhere.invalid/x.md)\n```\n[c](no.md)\n```\n",
		"b.md":              "<a id=\"here\"></a> [gone](gone.md) [nowhere](a.md#four) [folder](sub)\n",
		"sub/c.md":          "[up](../a.md)\n",
		".hidden/d.md":      "[gone](gone.md)\n",
		"sub/testdata/e.md": "[gone](gone.md)\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	dead, all, err := Dead(dir)
	require.NoError(t, err)
	require.Equal(t, 6, all)
	b := filepath.Join(dir, "b.md")
	require.Equal(t, []string{b + " links to gone.md", b + " links to a.md#four"}, dead)
	_, _, err = Dead(filepath.Join(dir, "none"))
	require.Error(t, err)
}
