package fingerprint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

func TestFind(t *testing.T) {
	at := func(function string) conflicts.Finding {
		return conflicts.Finding{Rule: "MC301", Class: conflicts.Usage, First: conflicts.Side{Call: "MPI_Put", Stack: []symbols.Frame{{Func: function}}}}
	}
	findings := []conflicts.Finding{at("f"), at("g"), at("f")}
	hash := Of(&findings[0], nil).Hash()
	found, err := Find(findings, nil, hash)
	require.NoError(t, err)
	require.Equal(t, []int{0, 2}, found, "those that cannot be told apart")
	found, err = Find(findings, nil, Of(&findings[1], nil).Hash()[:leastPrefix])
	require.NoError(t, err)
	require.Equal(t, []int{1}, found)
	for _, prefix := range []string{"", hash[:leastPrefix-1], hash + "0", "ffffffff"} {
		_, err = Find(findings, nil, prefix)
		require.ErrorIs(t, err, ErrNone, prefix)
	}

	var alike []conflicts.Finding // of which two begin with the same four digits
	seen := map[string]bool{}
	for n := 0; len(alike) == 0; n++ {
		f := at(string(rune('a'+n%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n/676)))
		prefix := Of(&f, nil).Hash()[:leastPrefix]
		if seen[prefix] {
			for k := range n + 1 {
				alike = append(alike, at(string(rune('a'+k%26))+string(rune('a'+k/26%26))+string(rune('a'+k/676))))
			}
			_, err = Find(alike, nil, prefix)
			require.ErrorIs(t, err, ErrSeveral)
		}
		seen[prefix] = true
	}
}
