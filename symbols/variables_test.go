//go:build !quick

package symbols

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariables: addresses in frames and in the data of a program are those of its
// variables, whatever the compiler and the format of the debug information; also where a
// table stands for the program.
func TestVariables(t *testing.T) {
	send, none := "send, a local of exchange, variables.cc:39", "none"
	tests := []struct {
		compiler string
		flags    string
		passed   string // of what is passed to a function: it lies in its frame only if that is inlined
	}{
		{"g++", "-O0 -g", none},
		{"g++", "-O2 -g", send},
		{"g++", "-O1 -g -gdwarf-4", send},
		{"clang++", "-O0 -g", none},
		{"clang++", "-O2 -g", send},
		{"clang++", "-O2 -g -gdwarf-4", send},
	}
	for _, tt := range tests {
		t.Run(tt.compiler+" "+tt.flags, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "app")
			run(t, tt.compiler, append(strings.Fields(tt.flags), "-fno-omit-frame-pointer", "-o", exe, "testdata/variables.cc", "-ldl")...)
			resolver := NewResolver(Options{})
			table := &Table{}
			m := Module{Path: exe}
			table.AddGlobals(m, resolver.Globals(m))
			var got, stored []string
			for line := range strings.Lines(run(t, exe)) {
				var pc uint64
				var above, at int64
				_, err := fmt.Sscanf(line, "%x %d %x", &pc, &above, &at)
				require.NoError(t, err)
				table.Add(m, pc, resolver.Resolve(m, pc))
				table.AddLocals(m, pc, resolver.Locals(m, pc))
				got = append(got, variableAt(resolver, m, pc, above, at))
			}
			require.Equal(t, []string{
				"send, a local of exchange, variables.cc:39", "counts, static in exchange, variables.cc:38",
				"block, a local of exchange, variables.cc:43", tt.passed,
				"halo::field, variables.cc:19", "halo::Grid::ghosts, variables.cc:21", "halo::grid, variables.cc:25", "none",
			}, got[:8])
			require.Contains(t, []string{"none", "beside, a local of realigned, variables.cc:56"}, got[8])
			require.Contains(t, []string{"none", "aligned, a local of realigned, variables.cc:57"}, got[9])

			var text bytes.Buffer
			require.NoError(t, table.Write(&text))
			read, err := ReadTable(&text)
			require.NoError(t, err)
			gone := NewResolver(Options{Table: read})
			for line := range strings.Lines(run(t, exe)) {
				var pc uint64
				var above, at int64
				fmt.Sscanf(line, "%x %d %x", &pc, &above, &at)
				stored = append(stored, variableAt(gone, m, pc, above, at))
			}
			require.Equal(t, got, stored)
		})
	}
}

func variableAt(r *Resolver, m Module, pc uint64, above, at int64) string {
	if v, ok := Find(r.Locals(m, pc), above); ok {
		return fmt.Sprintf("%s, a local of %s, %s:%d", v.Name, v.Func, filepath.Base(v.File), v.Line)
	}
	v, ok := Find(r.Globals(m), at)
	switch {
	case !ok:
		return "none"
	case v.Static:
		return fmt.Sprintf("%s, static in %s, %s:%d", v.Name, v.Func, filepath.Base(v.File), v.Line)
	}
	return fmt.Sprintf("%s, %s:%d", v.Name, filepath.Base(v.File), v.Line)
}

// Arrays of Fortran begin with element 1 where the debug information does not say with which.
func TestArraysOfFortran(t *testing.T) {
	p := program{dir: t.TempDir()}
	p.exe = filepath.Join(p.dir, "app")
	helper := filepath.Join(p.dir, "where.o")
	run(t, "gcc", "-O1", "-g0", "-c", "-o", helper, "testdata/where.c")
	for _, flags := range []string{"-gdwarf-5", "-gdwarf-4"} {
		run(t, "gfortran", flags, "-O0", "-fno-omit-frame-pointer", "-o", p.exe, "testdata/arrays.f90", helper)
		p.places = nil
		p.run(t)
		sizes := map[string]uint64{}
		for _, v := range NewResolver(Options{}).Locals(Module{Path: p.exe}, p.places[0].addr-1) {
			sizes[v.Name] = v.Size
		}
		require.Equal(t, map[string]uint64{"from_one": 16, "from_zero": 20, "plane": 24, "byte": 1}, sizes)
	}
}
