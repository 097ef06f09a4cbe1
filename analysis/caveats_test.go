package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/models"
)

// TestCaveatsInWords: caveats call processes what the model of the run does.
func TestCaveatsInWords(t *testing.T) {
	const text = "the trace of rank 1 ends early, after shmem_put (1 file; rank-1.mcct): thread 2 of rank 10, of ranks 0-3"
	for model, want := range map[string]string{
		"OpenSHMEM":         "the trace of PE 1 ends early, after shmem_put (1 file; rank-1.mcct): thread 2 of PE 10, of PEs 0-3",
		"GASPI":             text,
		"MPI":               text,
		"MPI and OpenSHMEM": text,
	} {
		all := []Caveat{{Text: text}}
		inWords(all, models.TermsOf(model).Rank)
		require.Equal(t, want, all[0].Text, model)
	}
}
