package tracer

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
)

// wrapperVariables are, for each target, the variable that names the compiler
// wrapper for mcchk, the default wrapper, the option that names one, the variables
// with which libraries let one choose the compiler underneath, and what Debian calls
// the packages.
var wrapperVariables = map[target]struct {
	name, fallback, option string
	underneath             []string
	install                string
}{
	{MPI, C}:       {"MCCHK_MPICC", "mpicc", "--mpicc", []string{"MPICH_CC", "OMPI_CC", "I_MPI_CC"}, "libmpich-dev mpich, or libopenmpi-dev openmpi-bin"},
	{MPI, CXX}:     {"MCCHK_MPICXX", "mpicxx", "--mpicc", []string{"MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"}, "libmpich-dev mpich, or libopenmpi-dev openmpi-bin"},
	{MPI, Fortran}: {"MCCHK_MPIFC", "mpifort", "--mpifc", []string{"MPICH_FC", "OMPI_FC", "I_MPI_FC"}, "libmpich-dev mpich, or libopenmpi-dev openmpi-bin, and gfortran"},
	{GASPI, C}:     {"MCCHK_GASPICC", "cc", "--mpicc", []string{"MPICH_CC", "OMPI_CC", "I_MPI_CC"}, "gcc"},
	{GASPI, CXX}:   {"MCCHK_GASPICXX", "c++", "--mpicc", []string{"MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"}, "g++"},
	{SHMEM, C}:     {"MCCHK_OSHCC", "oshcc", "--oshcc", []string{"SHMEM_CC", "OSHMEM_CC", "OMPI_CC"}, "libopenmpi-dev openmpi-bin"},
	{SHMEM, CXX}:   {"MCCHK_OSHCXX", "oshcxx", "--oshcc", []string{"SHMEM_CXX", "OSHMEM_CXX", "OMPI_CXX"}, "libopenmpi-dev openmpi-bin"},
}

// findWrapper finds the MPI compiler wrapper: the one asked for, else that of
// the environment, else the one beside what that names for C, else the one in PATH. It may
// be given with arguments. For C++ and Fortran one for C stands for theirs beside it.
func findWrapper(t *tools, of target, asked string) ([]string, error) {
	v := wrapperVariables[of]
	from := "the option"
	if asked == "" {
		asked, from = t.getenv(v.name), v.name
	}
	if asked == "" && of.library == MPI && of.language != C {
		asked, from = t.beside(t.getenv(wrapperVariables[target{MPI, C}].name), v.fallback), "beside that for C"
	}
	if of.library == MPI && of.language != C {
		asked = cmp.Or(t.beside(asked, v.fallback), asked)
	}
	if asked == "" {
		asked, from = v.fallback, "default"
	}
	if path, err := t.look(asked); err == nil {
		return []string{path}, nil
	}
	words := strings.Fields(asked)
	if len(words) > 1 {
		if path, err := t.look(words[0]); err == nil {
			return append([]string{path}, words[1:]...), nil
		}
	}
	return nil, fmt.Errorf("%s %w: %s (%s): install %s library with its compilers "+
		"(Debian: apt install %s), or name the wrapper with %s or %s",
		of.library, errNoCompiler, asked, from, of.library.article(), v.install, v.option, v.name)
}

// beside finds a program that belongs to an MPI compiler for C: in its folder, and of its
// name but for "mpicc" ("mpiexec.mpich" of "mpicc.mpich"). It is "" where there is none, or
// the compiler is no such one.
func (t *tools) beside(compiler, program string) string {
	dir, base := filepath.Split(compiler)
	before, after, found := strings.Cut(base, "mpicc")
	if !found || strings.Contains(base, " ") {
		return ""
	}
	path, err := t.look(dir + before + program + after)
	if err != nil {
		return ""
	}
	return path
}

// wrapperForC is the MPI compiler wrapper for C that belongs to one for Fortran:
// beside it, and of the same name but for the language; of one with another name that which
// the environment names.
func wrapperForC(t *tools, fortran []string) ([]string, error) {
	dir, base := filepath.Split(fortran[0])
	for _, name := range []string{"mpifort", "mpif90", "mpif77", "mpifc"} {
		before, after, found := strings.Cut(base, name)
		if !found {
			continue
		}
		if path, err := t.look(dir + before + "mpicc" + after); err == nil {
			return append([]string{path}, fortran[1:]...), nil
		}
	}
	of := target{MPI, C}
	if named := t.getenv(wrapperVariables[of].name); named != "" {
		return findWrapper(t, of, named)
	}
	return nil, fmt.Errorf("MPI %w: the one for C that belongs to %s, with which mcchk compiles what it links in; "+
		"it is looked for in the same folder, under that name with mpicc in place of mpifort: name it with %s where it is called otherwise",
		errNoCompiler, fortran[0], wrapperVariables[of].name)
}
