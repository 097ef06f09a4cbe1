//go:build !quick

package collect

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// compileProgram returns a program with debug information and the address of
// its main.
func compileProgram(t *testing.T) (path string, entry uint64) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	require.NoError(t, err, "gcc is missing: apt-get install gcc")
	path = filepath.Join(t.TempDir(), "app")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, gcc, "-g", "-O0", "-x", "c", "-o", path, "-")
	cmd.Dir = filepath.Dir(path)
	cmd.Stdin = bytes.NewReader([]byte("#line 41 \"app.c\"\n\nint main(void)\n{ return 0; }\n"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	table, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range table {
		if s.Name == "main" {
			return path, s.Value
		}
	}
	t.Fatal("the program has no main")
	return "", 0
}

func TestWrite(t *testing.T) {
	app, entry := compileProgram(t)
	dir := t.TempDir()
	main := trace.Module{Path: app, BuildID: "", Start: bias, End: bias + 0x100000, Bias: bias}
	gone := trace.Module{Path: "/nonexistent/lib.so", BuildID: "abcd", Start: 0x7000_0000, End: 0x7000_1000, Bias: 0x7000_0000}
	at := bias + entry + 1 // as a return address: the instruction before it is in main
	writeTrace(t, dir, 0, []trace.Module{main, gone}, at, 0x7000_0011, 0x10)
	writeTrace(t, dir, 1, []trace.Module{main}, at)

	n, err := Write(context.Background(), dir, Options{})
	require.NoError(t, err)
	require.Equal(t, 2, n, "an address in no module is left out")

	// Elsewhere the program is gone; the table answers.
	require.NoError(t, os.Remove(app))
	f, err := os.Open(filepath.Join(dir, symbols.TableFile))
	require.NoError(t, err)
	defer f.Close()
	table, err := symbols.ReadTable(f)
	require.NoError(t, err)
	r := symbols.NewResolver(symbols.Options{Table: table})
	frames := r.Resolve(symbols.Module{Path: app}, entry)
	require.Len(t, frames, 1)
	require.Equal(t, "main", frames[0].Func)
	require.Equal(t, 43, frames[0].Line)
	require.NotEmpty(t, r.Resolve(symbols.Module{Path: gone.Path, BuildID: gone.BuildID}, 0x10)[0].Reason)

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "two traces, their places and the text of these; nothing else is left in the directory")
}

// readText reads the source text that lies in a directory.
func readText(t *testing.T, dir string) *sources.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, sources.FileName))
	require.NoError(t, err)
	defer f.Close()
	kept, err := sources.ReadStored(f)
	require.NoError(t, err)
	return sources.NewReader(kept, nil)
}

// TestWriteText: the text of what debug information names, and of what the traces
// name themselves, is kept.
func TestWriteText(t *testing.T) {
	app, entry := compileProgram(t)
	line := func(n int) string { return fmt.Sprintf("line %d", n) }
	var text strings.Builder
	for n := range 100 {
		text.WriteString(line(n+1) + "\n")
	}
	dir := t.TempDir()
	compiled, named := filepath.Join(filepath.Dir(app), "app.c"), filepath.Join(t.TempDir(), "named.c")
	for _, path := range []string{compiled, named} {
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	}
	main := trace.Module{Path: app, Start: bias, End: bias + 0x100000, Bias: bias}
	writeTrace(t, dir, 0, []trace.Module{main}, bias+entry+1)
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Header{Rank: 1, Ranks: 2})
	require.NoError(t, err)
	require.NoError(t, w.Source(&trace.Source{PC: 7, Func: "f", File: named, Line: 10}))
	require.NoError(t, w.Source(&trace.Source{PC: 8, Func: "f", File: "/nonexistent/gone.c", Line: 10}))
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rank-1.mcct"), buf.Bytes(), 0o600))

	_, err = Write(t.Context(), dir, Options{NoSources: true})
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, sources.FileName))

	_, err = Write(t.Context(), dir, Options{})
	require.NoError(t, err)
	r := readText(t, dir)
	for file, at := range map[string]int{compiled: 43, named: 10} {
		for n := at - sources.Around; n <= at+sources.Around; n++ {
			require.Equal(t, line(n), r.Line(file, n), file)
		}
		require.Empty(t, r.Line(file, at+sources.Around+1))
	}
}
