package tracer

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed unobserved.tbl
var unobservedTable []byte

// Function is one function of MPI's C interface, or a pseudo call of the
// run-time's, and what the run-time does when the program calls it.
type Function struct {
	Name string // without _c: the large-count form goes with the plain one
	Args string // what a record holds, as in a function definition: "rank:r,win:w"
	// Why it is not recorded, in one word explained in unobserved.tbl; "" when
	// it is.
	Unobserved string
	Large      bool // recorded with a large-count form MPI_Name_c (MPI 4)
	Version    int  // recorded where the library has at least this MPI_VERSION; 0 always
}

// Pseudo reports whether the function is the run-time's own observation.
func (f *Function) Pseudo() bool { return strings.HasPrefix(f.Name, "mcchk_") }

// Functions returns all functions that the tracer knows: first those that it
// records, in the order of its table, then those that it does not.
func Functions() ([]Function, error) {
	table, err := runtimeFiles.ReadFile("runtime/" + prototypes)
	if err != nil {
		return nil, err
	}
	observed, err := parseTable(table)
	if err != nil {
		return nil, err
	}
	var list []Function
	for i := range observed {
		f := &observed[i]
		_, args, _ := strings.Cut(f.definition(), " ")
		list = append(list, Function{Name: f.Name, Args: args, Large: f.large(), Version: f.Version})
	}
	for n, line := range strings.Split(string(unobservedTable), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("unobserved.tbl:%d: want a function and a word: %s", n+1, line)
		}
		list = append(list, Function{Name: words[0], Unobserved: words[1]})
	}
	return list, nil
}

// APIFunction is one function of the C interface of OpenSHMEM or GASPI, or a pseudo
// call of the run-time's.
type APIFunction struct {
	Function
	// Family is the name of it and others that differ in a type, a size or a context:
	// "shmem_TYPE_put", "shmem_putSIZE".
	Family string
}

// ShmemFunctions returns all functions of OpenSHMEM that the tracer knows: first
// those that it records, in the order of its table, then those that it does not.
func ShmemFunctions() ([]APIFunction, error) { return shmemAPI.functions() }

// GaspiFunctions returns those of GASPI in the same way.
func GaspiFunctions() ([]APIFunction, error) { return gaspiAPI.functions() }

func (i *api) functions() ([]APIFunction, error) {
	text, err := runtimeFiles.ReadFile("runtime/" + i.dir + "/" + i.table)
	if err != nil {
		return nil, err
	}
	table, err := i.parse(text)
	if err != nil {
		return nil, err
	}
	var list []APIFunction
	for k := range table.funcs {
		f := &table.funcs[k]
		_, args, _ := strings.Cut(f.definition(), " ")
		list = append(list, APIFunction{Function{Name: f.Name, Args: args}, f.Family})
	}
	for _, f := range table.unobserved {
		list = append(list, APIFunction{f, f.Name})
	}
	return list, nil
}
