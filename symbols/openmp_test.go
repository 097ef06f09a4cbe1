//go:build !quick

package symbols

import (
	"debug/elf"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOpenMPRegions resolves the functions that compilers make of regions and tasks: they
// are called by the function that has the region, whatever the compiler.
func TestOpenMPRegions(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O2"} {
			lib := filepath.Join(t.TempDir(), "lib.so")
			run(t, compiler, level, "-g", "-fopenmp", "-fPIC", "-shared", "-nostdlib", "-o", lib, filepath.Join("testdata", "regions.c"))
			f, err := elf.Open(lib)
			require.NoError(t, err)
			symbols, err := f.Symbols()
			require.NoError(t, err)
			r := NewResolver(Options{})
			found := map[string]int{}
			for _, s := range symbols {
				if strings.Contains(s.Name, "omp_fn") || strings.Contains(s.Name, "omp_outlined") || strings.Contains(s.Name, "omp_task_entry") {
					for _, frame := range r.Resolve(Module{Path: lib}, s.Value) {
						found[frame.Func]++
					}
				}
			}
			require.NoError(t, f.Close())
			require.NotContains(t, found, openMPRegion, compiler)
			require.GreaterOrEqual(t, found["exchange "+openMPRegion], 2, "%s%s: %v", compiler, level, found)
			require.NotZero(t, found["other "+openMPRegion], "%s%s: %v", compiler, level, found)
			for function := range found {
				require.Contains(t, []string{"exchange " + openMPRegion, "other " + openMPRegion, "fill"}, function)
			}
		}
	}
}
