package models

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBypassedSaysWhatToDo(t *testing.T) {
	require.Equal(t, map[string]int{
		"calls of PMPI_Put are not recorded: call the functions as MPI_…":                                                                                         1,
		"calls of shmem_a, shmem_b, shmem_c, shmem_d, shmem_e, shmem_f and 2 other functions are not recorded: compile and link with mcchk oshcc or mcchk oshcxx": 8,
		"calls of shmem_put4_ are not recorded: OpenSHMEM's interface for Fortran is not supported":                                                               1,
		"calls of gaspi_wait are not recorded: compile and link with mcchk cc --gaspi or mcchk cxx --gaspi":                                                       1,
		"calls of pshmem_quiet are not recorded: call the functions as shmem_…":                                                                                   1,
		"calls of pgaspi_wait are not recorded: call the functions as gaspi_…":                                                                                    1,
		"calls of shmemx_int_p, MPIX_Comm_agree, gaspi_threads_sync are not recorded: what functions outside the standard do is not known":                        3,
	}, Bypassed(strings.Fields("PMPI_Put gaspi_wait pgaspi_wait pshmem_quiet shmem_a shmem_b shmem_c shmem_d shmem_e shmem_f shmem_g shmem_h shmem_put4_ shmemx_int_p MPIX_Comm_agree gaspi_threads_sync")))
}
