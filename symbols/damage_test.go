//go:build !quick

package symbols

import (
	"debug/elf"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDamagedFiles: a damaged program or debug section gives frames with less
// in them, and never a panic.
func TestDamagedFiles(t *testing.T) {
	p := build(t, "gcc", "app.c", "-g", "-O2", "-gz=zlib")
	plain := build(t, "clang", "app.c", "-g", "-O2")
	for _, p := range []program{p, plain} {
		whole, err := os.ReadFile(p.exe)
		require.NoError(t, err)
		f, err := elf.Open(p.exe)
		require.NoError(t, err)
		start := int(f.Section(".debug_info").Offset) // the headers of the sections come behind
		require.NoError(t, f.Close())
		random := rand.New(rand.NewPCG(1, 2))
		path := filepath.Join(t.TempDir(), "damaged")
		for range 300 {
			data := append([]byte{}, whole...)
			for range 1 + random.IntN(40) {
				data[start+random.IntN(len(data)-start)] ^= byte(1 + random.IntN(255))
			}
			if random.IntN(4) == 0 {
				data = data[:random.IntN(len(data))]
			}
			require.NoError(t, os.WriteFile(path, data, 0o600))
			r := NewResolver(Options{DebugDirs: []string{}})
			for _, pl := range p.places {
				require.NotEmpty(t, r.Resolve(Module{Path: path}, pl.addr))
			}
		}
	}
}
