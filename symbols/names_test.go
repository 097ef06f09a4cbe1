package symbols

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// show renders frames as "func file:line < caller file:line".
func show(frames []Frame) string {
	var parts []string
	for _, f := range frames {
		s := f.Func
		if f.File != "" {
			s += fmt.Sprintf(" %s:%d", filepath.Base(f.File), f.Line)
		}
		if f.Reason != "" {
			s += " (" + f.Reason + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " < ")
}

func TestTableGoesFirst(t *testing.T) {
	table := &Table{}
	m := Module{Path: "/gone/app", BuildID: "ab"}
	table.Add(m, 0x10, []Frame{{Func: "f", File: "/src/a.c", Line: 3, Module: m.Path, Offset: 0x10}})
	r := NewResolver(Options{Table: table})
	require.Equal(t, "f a.c:3", show(r.Resolve(m, 0x10)))
	require.Equal(t, reasonNotFound, r.Resolve(m, 0x11)[0].Reason)
}

func TestSourceName(t *testing.T) {
	tests := []struct{ symbol, want string }{
		{"main", "main"},
		{"_ZN4halo4GridIdE8exchangeEPdi", "halo::Grid<double>::exchange"},
		{"_Znonsense", "_Znonsense"},
		{"__halo_MOD_exchange", "halo::exchange"},
		{"update.constprop.0", "update"},
		{"update.isra.0.cold", "update"},
		{"main._omp_fn.0", "main._omp_fn.0"},
		{"__libc_start_main", "__libc_start_main"},
	}
	for _, test := range tests {
		require.Equal(t, test.want, sourceName(test.symbol))
	}
}

func TestCleanPath(t *testing.T) {
	tests := []struct{ in, want string }{
		{"/src/./a.c", "/src/a.c"},
		{"/src/././a.c", "/src/a.c"},
		{"/src//x///a.c", "/src/x/a.c"},
		{"./a.c", "a.c"},
		{"/src/../a.c", "/src/../a.c"},
		{"a.c", "a.c"},
		{"", ""},
	}
	for _, test := range tests {
		require.Equal(t, test.want, cleanPath(test.in))
	}
}
