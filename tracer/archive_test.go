package tracer

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// archiveText lists the members of an archive with their contents.
func archiveText(t *testing.T, path string) map[string]string {
	t.Helper()
	members := map[string]string{}
	require.NoError(t, eachMember(path, func(m archiveMember) error {
		data, err := io.ReadAll(io.NewSectionReader(m.data, 0, m.size))
		members[m.name] = string(data)
		return err
	}))
	return members
}

// header is an archive member's header.
func header(name, size string) string {
	pad := func(s string, n int) string { return s + strings.Repeat(" ", n-len(s)) }
	return pad(name, 16) + pad("0", 12) + pad("0", 6) + pad("0", 6) + pad("644", 8) + pad(size, 10) + "`\n"
}

func TestArchiveBSDNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.a")
	text := archiveMagic + header("#1/8", "11") + "long.o\x00\x00abc\n" + header("b.o", "2") + "de"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	require.Equal(t, map[string]string{"long.o": "abc", "b.o": "de"}, archiveText(t, path))
}

func TestDamagedArchives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.a")
	for name, text := range map[string]string{
		"empty":              "",
		"other file":         "something else",
		"bad header":         archiveMagic + strings.Repeat("x", archiveHeader),
		"bad size":           archiveMagic + header("a.o", "-5"),
		"cut member":         archiveMagic + header("a.o", "100") + "short",
		"huge size":          archiveMagic + header("a.o", "9999999999"),
		"no name table":      archiveMagic + header("/12", "0"),
		"bad name offset":    archiveMagic + header("/x", "0"),
		"bad BSD name":       archiveMagic + header("#1/99", "2") + "ab",
		"absent thin member": thinArchiveMagic + header("gone.o/", "5"),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			require.Error(t, eachMember(path, func(archiveMember) error { return nil }))
		})
	}
}

func TestThinMemberThatIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.a")
	require.NoError(t, os.WriteFile(path, []byte(thinArchiveMagic+header("./", "4")), 0o600))
	err := eachMember(path, func(archiveMember) error { return nil })
	require.ErrorContains(t, err, "is no file")
}
