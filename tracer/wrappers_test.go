package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrapperOfTheLanguage: an MPI compiler for C stands for the one for C++ or Fortran beside it.
func TestWrapperOfTheLanguage(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"mpicc.one", "mpicxx.one", "mpifort.one", "mpicc.two"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	for _, c := range []struct {
		language    Language
		asked, want string
	}{
		{C, "mpicc.one", "mpicc.one"},
		{CXX, "mpicxx.one", "mpicxx.one"},
		{CXX, "mpicc.one", "mpicxx.one"},
		{CXX, filepath.Join(bin, "mpicc.one"), "mpicxx.one"},
		{CXX, "mpicc.two", "mpicc.two"},
		{Fortran, "mpifort.one", "mpifort.one"},
		{Fortran, "mpicc.one", "mpifort.one"},
	} {
		tools := newTools("", []string{"PATH=" + bin})
		got, err := findWrapper(&tools, target{MPI, c.language}, c.asked)
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(bin, c.want)}, got, "%s for %s", c.asked, c.language)
	}
}

// TestWrapperForC: a program in Fortran needs the MPI compiler for C, too, which may have a name of
// its own.
func TestWrapperForC(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"mpicc.one", "mpifort.one", "caf", "mpicc.two"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	for _, c := range []struct{ fortran, named, want string }{
		{"mpifort.one", "", "mpicc.one"},
		{"mpifort.one", "mpicc.two", "mpicc.one"},
		{"caf", "mpicc.two", "mpicc.two"},
		{"caf", "", ""},
		{"caf", "mpicc.three", ""},
	} {
		tools := newTools("", []string{"PATH=" + bin, "MCCHK_MPICC=" + c.named})
		got, err := wrapperForC(&tools, []string{filepath.Join(bin, c.fortran)})
		if c.want == "" {
			require.ErrorIs(t, err, errNoCompiler)
			require.ErrorContains(t, err, "MCCHK_MPICC")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(bin, c.want)}, got)
	}
}
