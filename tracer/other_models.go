package tracer

import (
	"debug/elf"
	"maps"
	"slices"
	"strings"
)

// ofOtherModel reports whether a name is of a function of OpenSHMEM or GASPI, or of the profiling
// interface of one: in C, or in Fortran.
func ofOtherModel(name string) bool {
	name = strings.TrimPrefix(name, "p")
	return strings.HasPrefix(name, shmemPrefix) || strings.HasPrefix(name, gaspiPrefix)
}

const gaspiPrefix = "gaspi_"

// isExtension reports whether a name is of a function that a library of MPI or OpenSHMEM has beyond the
// standard, but for those that only tell what the library can do.
func isExtension(name string) bool {
	plain, mpi := strings.CutPrefix(strings.TrimPrefix(name, "P"), "MPIX_")
	if mpi {
		return !strings.Contains(strings.ToLower(plain), "query")
	}
	return strings.HasPrefix(strings.TrimPrefix(name, "p"), "shmemx_")
}

// definedOfOthers lists the functions of OpenSHMEM, GASPI and extensions that an object defines itself, as
// programs do with what their library lacks, and libraries that are made of MPI.
func definedOfOthers(symbols []elf.Symbol) (defined []string) {
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && (ofOtherModel(s.Name) || isExtension(s.Name)) {
			defined = append(defined, s.Name)
		}
	}
	return defined
}

// unseenOfOthers is unseen for OpenSHMEM and GASPI. Their functions are recorded in programs that
// their own commands link (mcchk oshcc, mcchk cc --gaspi), and those of Fortran in none.
func (n *inspection) unseenOfOthers(tc *Toolchain) (list []string, err error) {
	for _, of := range []struct {
		prefix    string
		recorded  bool
		functions func() ([]APIFunction, error)
	}{
		{shmemPrefix, tc.SHMEM != "", ShmemFunctions},
		{gaspiPrefix, tc.GASPI != "", GaspiFunctions},
	} {
		functions, err := of.functions()
		if err != nil {
			return nil, err
		}
		observed := map[string]bool{}
		for _, f := range functions {
			observed[f.Name] = f.Unobserved == "" && !f.Pseudo()
		}
		for _, name := range slices.Sorted(maps.Keys(n.bypassed)) {
			plain := strings.TrimPrefix(name, "p")
			if n.own[name] || !strings.HasPrefix(plain, of.prefix) {
				continue
			}
			fortran := of.prefix == shmemPrefix && strings.HasSuffix(plain, "_")
			_, known := observed[plain]
			unknown := of.prefix == gaspiPrefix && !known // of a library beyond the standard: threads, say
			if fortran || unknown || observed[plain] && (plain != name || !of.recorded) {
				list = append(list, name)
			}
		}
	}
	return list, nil
}
