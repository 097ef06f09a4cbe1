package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Wrappers that run one compiler share the objects of the run-time, but for those made
// with the headers of a library that only one of them has.
func TestObjectsAreShared(t *testing.T) {
	keys := func(tc Toolchain) (plain, wrappers string) {
		tc.Family, tc.Version = familyGCC, "12.2.0"
		files, err := librarySources(runtimeSources(), &tc)
		require.NoError(t, err)
		b := libraryBuild{tools: &tools{}, tc: &tc, files: files}
		return b.objectKey("shadow.c"), b.objectKey(wrappersFile)
	}
	const open, mpich = "Open MPI 4.1.4", "MPICH 4.0.2"
	plain, wrappers := keys(Toolchain{Show: "gcc -I/usr/open -L/usr/open/lib -lmpi", MPI: open})
	for name, tc := range map[string]struct {
		toolchain       Toolchain
		plain, wrappers bool // shared
	}{
		"C++":                    {Toolchain{Show: "g++ -I/usr/open -L/usr/open/lib -lmpi_cxx -lmpi", MPI: open}, true, true},
		"OpenSHMEM":              {Toolchain{Show: "gcc -I/usr/open -L/usr/open/lib -loshmem -lmpi", MPI: open, SHMEM: "OpenSHMEM 1.4"}, true, true},
		"another library":        {Toolchain{Show: "gcc -Wl,-z,relro -I/usr/mpich -lmpich", MPI: mpich}, true, false},
		"another version":        {Toolchain{Show: "gcc -I/usr/open -L/usr/open/lib -lmpi", MPI: "Open MPI 5.0.0"}, true, false},
		"headers elsewhere":      {Toolchain{Show: "gcc -I/opt/open -L/usr/open/lib -lmpi", MPI: open}, true, false},
		"another machine":        {Toolchain{Show: "gcc -m32 -I/usr/open -lmpi", MPI: open}, false, false},
		"another driver":         {Toolchain{Show: "aarch64-linux-gnu-gcc -I/usr/open -lmpi", MPI: open}, false, false},
		"it does not say":        {Toolchain{Wrapper: []string{"/opt/bin/cc"}, MPI: open}, false, false},
		"a driver with a folder": {Toolchain{Show: "/opt/gcc/bin/gcc -I/usr/open -lmpi", MPI: open}, false, false},
	} {
		p, w := keys(tc.toolchain)
		require.Equal(t, [2]bool{tc.plain, tc.wrappers}, [2]bool{p == plain, w == wrappers}, name)
	}
}

// What a run-time is made of is in the keys of its objects.
func TestObjectKeysCoverWhatIsIncluded(t *testing.T) {
	tc := Toolchain{Family: familyGCC, Version: "12.2.0", Show: "gcc -lmpi", MPI: "Open MPI 4.1.4"}
	key := func(changed, unit string) string {
		files, err := librarySources(runtimeSources(), &tc)
		require.NoError(t, err)
		if changed != "" {
			require.Contains(t, files, changed)
			files[changed] = append(files[changed], '\n')
		}
		b := libraryBuild{tools: &tools{}, tc: &tc, files: files}
		return b.objectKey(unit)
	}
	for changed, differs := range map[string]bool{"rows.c": true, "runs.h": true, "calls.h": true, "mcchk.h": true, "runs.c": false, "wrap.h": false} {
		require.Equal(t, differs, key(changed, "rows.c") != key("", "rows.c"), changed)
	}
}
