package tracer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzArchive: any bytes are an archive or an error, and members lie within it.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(archiveMagic + header("a.o/", "3") + "abc\n" + header("//", "8") + "long.o/\n" + header("/0", "1") + "x"))
	f.Add([]byte(archiveMagic + header("#1/4", "6") + "a.o\x00de"))
	f.Add([]byte(thinArchiveMagic + header("/", "4") + "\x00\x00\x00\x00" + header("a.o/", "9")))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "x.a")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		thin := strings.HasPrefix(string(data), thinArchiveMagic)
		_ = eachMember(path, func(m archiveMember) error {
			if !thin { // whose members are files of their own
				require.LessOrEqual(t, m.size, int64(len(data)))
			}
			_, err := inspectObject(m.data)
			return err
		})
	})
}

// FuzzCommandLine: every word of a command is in exactly one token, in order.
func FuzzCommandLine(f *testing.F) {
	f.Add("-O2 -c a.c -o a.o")
	f.Add("-x c - -Wl,-z,defs -shared -o")
	f.Add("-Xlinker -MD '-D A' -l")
	f.Fuzz(func(t *testing.T, text string) {
		words := splitWords(strings.ReplaceAll(text, "@", ""))
		line, err := parseCommandLine("", words)
		require.NoError(t, err)
		require.Equal(t, words, line.words(func(token) bool { return true }))
		require.Equal(t, words, splitWords(responseFile(words)))
	})
}
