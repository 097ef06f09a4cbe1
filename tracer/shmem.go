package tracer

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shmemPrefix is that of the functions of OpenSHMEM.
const shmemPrefix = "shmem_"

// calledShmem lists the functions of OpenSHMEM that an object calls, but for weak references.
func calledShmem(symbols []elf.Symbol) (called []string) {
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, shmemPrefix) && s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_WEAK {
			called = append(called, s.Name)
		}
	}
	return called
}

// shmemSource is C that refers to the functions of the OpenSHMEM library that the
// wrappers of those that the program calls are made for. The wrappers, which there are of
// all, refer to them weakly; so the linker refuses a program that calls what its library
// lacks, as it does without mcchk.
func (n *inspection) shmemSource() (string, error) {
	if len(n.shmem) == 0 {
		return "", nil
	}
	functions, err := ShmemFunctions()
	if err != nil {
		return "", err
	}
	wrapped := map[string]bool{}
	for _, f := range functions {
		wrapped[f.Name] = f.Unobserved == ""
	}
	var declared, used strings.Builder
	for _, name := range slices.Sorted(maps.Keys(n.shmem)) {
		if wrapped[name] && !n.own[name] {
			fmt.Fprintf(&declared, "extern void p%s();\n", name)
			fmt.Fprintf(&used, "\t__asm__ volatile (\"\" : : \"r\"(p%s));\n", name)
		}
	}
	return declared.String() + "void " + shmemNeeds + "(void)\n{\n" + used.String() + "}\n", nil
}

// shmemNeeds is a function that is never called, which the linker names where it refuses
// a program.
const shmemNeeds = "what_the_program_calls_of_OpenSHMEM"
