package tracer

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSizeIsToldOnceADoubling: of the traces alone, and what would end the growth.
func TestSizeIsToldOnceADoubling(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int64
		want  string
	}{
		{"no limit", 0, "mcchk: the traces have grown to 1.5 GiB; --max-trace SIZE ends recording at a size\n" +
			"mcchk: the traces have grown to 9.5 GiB; --max-trace SIZE ends recording at a size\n"},
		{"limit", 10 << 30, "mcchk: the traces have grown to 1.5 GiB; recording ends at 10.0 GiB (--max-trace)\n" +
			"mcchk: the traces have grown to 9.5 GiB; recording ends at 10.0 GiB (--max-trace)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			grow := func(name string, size int64) {
				path := filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(path, nil, 0o644))
				require.NoError(t, os.Truncate(path, size)) // takes no room
			}
			var out bytes.Buffer
			w := sizeWatch{dir: dir, limit: tt.limit, out: &out, next: sizeTold}
			for _, step := range []struct {
				name string
				size int64
			}{
				{"core.1", 8 << 30}, {"rank-0.mcct", 1 << 29}, {"rank-1.mcct", 1 << 30}, {"rank-0.mcct", 1<<30 - 1},
				{"rank-1.mcct", 17 << 29}, {"rank-2.mcct", 1 << 30},
			} {
				grow(step.name, step.size)
				w.look()
			}
			require.Equal(t, tt.want, out.String())
		})
	}
}

func TestSizeInKiB(t *testing.T) {
	for size, want := range map[int64]string{0: "0", 1: "1KiB", 1024: "1KiB", 1025: "2KiB", 1 << 30: "1048576KiB"} {
		require.Equal(t, want, sizeInKiB(size))
	}
}
