package oracle

import (
	"fmt"

	"github.com/mcchk/mcchk/trace"
)

// make returns the C statements that make a datatype as type[i].
func (t Type) make(i int) (string, error) {
	if t.Make == trace.Named {
		return fmt.Sprintf("type[%d] = %s;", i, t.Name), nil
	}
	call, err := t.constructor()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s &type[%d]); MPI_Type_commit(&type[%d]);", call, i, i), nil
}

// constructor returns the call that makes a derived type up to its last
// argument. The arguments lie in Ints and Addrs as MPI_Type_get_contents
// returns them (MPI standard, 6.1.13).
func (t Type) constructor() (string, error) {
	old := fmt.Sprintf("type[%d]", t.Olds[0])
	in, at := t.Ints, t.Addrs
	lists := func(from, n int) string { return array("int", ints(in[from:from+n])) }
	aints := func() string { return array("MPI_Aint", ints(at)) }
	switch t.Make {
	case trace.Dup:
		return fmt.Sprintf("MPI_Type_dup(%s,", old), nil
	case trace.Contiguous:
		return fmt.Sprintf("MPI_Type_contiguous(%d, %s,", in[0], old), nil
	case trace.Vector:
		return fmt.Sprintf("MPI_Type_vector(%d, %d, %d, %s,", in[0], in[1], in[2], old), nil
	case trace.Hvector:
		return fmt.Sprintf("MPI_Type_create_hvector(%d, %d, %d, %s,", in[0], in[1], at[0], old), nil
	case trace.Indexed:
		n := in[0]
		return fmt.Sprintf("MPI_Type_indexed(%d, %s, %s, %s,", n, lists(1, n), lists(1+n, n), old), nil
	case trace.Hindexed:
		return fmt.Sprintf("MPI_Type_create_hindexed(%d, %s, %s, %s,", in[0], lists(1, in[0]), aints(), old), nil
	case trace.IndexedBlock:
		return fmt.Sprintf("MPI_Type_create_indexed_block(%d, %d, %s, %s,", in[0], in[1], lists(2, in[0]), old), nil
	case trace.HindexedBlock:
		return fmt.Sprintf("MPI_Type_create_hindexed_block(%d, %d, %s, %s,", in[0], in[1], aints(), old), nil
	case trace.Struct:
		return fmt.Sprintf("MPI_Type_create_struct(%d, %s, %s, %s,", in[0], lists(1, in[0]), aints(), handles("type", t.Olds)), nil
	case trace.Subarray:
		n := in[0]
		return fmt.Sprintf("MPI_Type_create_subarray(%d, %s, %s, %s, %s, %s,", n, lists(1, n), lists(1+n, n), lists(1+2*n, n), arrayOrder(in[1+3*n]), old), nil
	case trace.Darray:
		n := in[2]
		return fmt.Sprintf("MPI_Type_create_darray(%d, %d, %d, %s, %s, %s, %s, %s, %s,", in[0], in[1], n,
			lists(3, n), named("int", in[3+n:3+2*n], distribution), named("int", in[3+2*n:3+3*n], distributionArgument),
			lists(3+3*n, n), arrayOrder(in[3+4*n]), old), nil
	case trace.Resized:
		return fmt.Sprintf("MPI_Type_create_resized(%s, %d, %d,", old, at[0], at[1]), nil
	}
	return "", fmt.Errorf("no way to make a type by combiner %d", t.Make)
}

func arrayOrder(v int) string {
	if v == 1 {
		return "MPI_ORDER_FORTRAN"
	}
	return "MPI_ORDER_C"
}

func distribution(v int) string {
	switch v {
	case 1:
		return "MPI_DISTRIBUTE_BLOCK"
	case 2:
		return "MPI_DISTRIBUTE_CYCLIC"
	}
	return "MPI_DISTRIBUTE_NONE"
}

func distributionArgument(v int) string {
	if v < 0 {
		return "MPI_DISTRIBUTE_DFLT_DARG"
	}
	return fmt.Sprint(v)
}
