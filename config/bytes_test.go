package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseBytes(t *testing.T) {
	for size, want := range map[string]int64{
		"0": 0, "1KiB": 1 << 10, "512MiB": 512 << 20, "2GiB": 2 << 30, "1.5GiB": 3 << 29, "4TiB": 4 << 40,
	} {
		t.Run(size, func(t *testing.T) {
			n, err := ParseBytes(size)
			require.NoError(t, err)
			require.Equal(t, want, n)
		})
	}
	for _, size := range []string{"", "1", "MiB", "-1MiB", "+1MiB", "1e3MiB", "infMiB", "0x1KiB", "1 GiB", "512MB", "2gib", "9999999999TiB", "0.0001KiB", "1.2.3MiB"} {
		t.Run("bad: "+size, func(t *testing.T) {
			_, err := ParseBytes(size)
			require.ErrorContains(t, err, "such as 512MiB or 2GiB")
		})
	}
	_, err := ParseBytes("100")
	require.EqualError(t, err, `"100" has no unit (KiB, MiB, GiB or TiB), such as 512MiB or 2GiB`)
}
