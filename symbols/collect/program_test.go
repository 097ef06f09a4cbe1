//go:build !quick

package collect

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

	n, err := Write(context.Background(), dir, symbols.NewResolver(symbols.Options{}))
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
	require.Len(t, entries, 3, "nothing else is left in the directory")
}
