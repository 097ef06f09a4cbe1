package sources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInLoopCondition(t *testing.T) {
	for _, c := range []struct {
		file, line, at string // where the access is; "" where its column is not known
		in             bool
	}{
		{"a.c", "    while (*f == 0) {", "*f", true},
		{"a.c", "    while (*f == 0) {", "", true},
		{"a.c", "    while (f(1) && (*f == 0)) sum += x[i];", "*f", true},
		{"a.c", "    while (i < n) sum += x[i++];", "x[i", false},
		{"a.c", "  } while (!b->flag);", "b->", true},
		{"a.c", "  meanwhile (x);", "x", false},
		{"a.c", "  if (box[k] != 0) break;", "box", true},
		{"a.c", "  if (box[k] != 0) { break; }", "box", true},
		{"a.c", "  if (box[k] != 0) x = box[k];", "box", false},
		{"a.c", "  for (int i = 0; i < n; i++) sum += x[i];", "x[i", false},
		{"a.c", "  sum += x[i];", "", false},
		{"a.c", "  while (a &&", "a", true},
		{"a.f90", "  DO WHILE (flag(1) == 0)", "flag", true},
		{"a.f90", "  if (flag(1) /= 0) exit", "flag", true},
		{"a.f90", "  if (flag(1) /= 0) call leave()", "flag", false},
		{"a.f90", "", "", false},
	} {
		column := 0
		if c.at != "" {
			column = strings.Index(c.line, c.at) + 1
		}
		require.Equal(t, c.in, InLoopCondition(c.file, c.line, column), c.line)
	}
}
