package fingerprint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
)

// Errors of Find.
var (
	ErrNone    = errors.New("no finding has a fingerprint that begins so")
	ErrSeveral = errors.New("several fingerprints begin so")
)

// leastPrefix is how much of a fingerprint is needed to name a finding.
const leastPrefix = 4

// Find returns the findings whose Hash is, or begins with, what is given in at least four
// hexadecimal digits. They are several only where they cannot be told apart. An error
// wraps ErrNone or ErrSeveral.
func Find(findings []conflicts.Finding, lines *sources.Reader, prefix string) ([]int, error) {
	prefix = strings.ToLower(prefix)
	var at []int
	var hashes []string
	for i := range findings {
		hash := Of(&findings[i], lines).Hash()
		if len(prefix) >= leastPrefix && strings.HasPrefix(hash, prefix) {
			at = append(at, i)
			if !slices.Contains(hashes, hash) {
				hashes = append(hashes, hash)
			}
		}
	}
	switch len(hashes) {
	case 0:
		return nil, fmt.Errorf("%w: %s", ErrNone, prefix)
	case 1:
		return at, nil
	}
	return nil, fmt.Errorf("%w: %s: %s", ErrSeveral, prefix, strings.Join(hashes, ", "))
}
