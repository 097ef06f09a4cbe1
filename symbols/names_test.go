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
		{"main._omp_fn.0", "main {OpenMP region}"},
		{"_ZN4halo4GridIdE8exchangeEPdi._omp_fn.12", "halo::Grid<double>::exchange {OpenMP region}"},
		{"__halo_MOD_exchange._omp_fn.1.constprop.0", "halo::exchange {OpenMP region}"},
		{"MAIN__._omp_fn.0", "main {OpenMP region}"},
		{"inner.0._omp_cpyfn.3", "inner {OpenMP region}"},
		{".omp_outlined..61", "{OpenMP region}"},
		{"__libc_start_main", "__libc_start_main"},
		// The same lambda with gcc and with clang, and one that is an argument of a template.
		{"_ZZ4mainENKUliE_clEi", "main::{lambda}"},
		{"_ZZ4mainENK3$_0clEi", "main::{lambda}"},
		{"_ZZZ4mainENKUliE_clEiENKUlvE0_clEv", "main::{lambda}(int) const::{lambda}"},
		{"_ZZZ4mainENK3$_0clEiENKUlvE_clEv", "main::{lambda}(int) const::{lambda}"},
		{"_Z5applyIZ4mainEUliE_EvT_", "apply<main::{unnamed}>"},
		{"_Z5applyIZ4mainE3$_1EvT_", "apply<main::{unnamed}>"},
		{"_ZN12_GLOBAL__N_14packB5cxx11Ev", "pack"},
		{"_ZN3MemB5cxx11Ev", "Mem"},
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
