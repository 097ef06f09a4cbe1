package tracer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestArgumentsOfGfortransLibrary(t *testing.T) {
	for name, want := range map[string]string{
		"_gfortran_matmul_r8":                "wrr",
		"_gfortran_cshift0_4":                "wr",
		"_gfortran_cshift0_4_char":           "w-r", // the length of an element comes second
		"_gfortran_eoshift3_8_char4":         "w-rrr",
		"_gfortran_pack":                     "wrrr",
		"_gfortran_pack_char":                "w-rrr",
		"_gfortran_maxloc0_4_s1":             "wr",
		"_gfortran_maxval0_s1":               ">1-r",
		"_gfortran_mmaxloc1_4_r8":            "wr-r",
		"_gfortran_msum_r8":                  "wr-r",
		"_gfortran_concat_string":            "->0-<2-<4",
		"_gfortran_concat_string_char4":      "*->0-<2-<4",
		"_gfortran_arandom_r8":               "w",
		"_gfortran_random_r8":                "8",
		"_gfortran_transfer_array":           "-w",
		"_gfortran_transfer_character_write": "-R",
		"_gfortran_st_read":                  "i",
		"_gfortran_st_read_done":             "d",
		"_gfortran_st_set_nml_var_dim":       "n",
		"_gfortran_internal_pack":            "", // has a wrapper of its own
		"_gfortran_internal_unpack":          "", // and so has this
		"_gfortran_stop_string":              "",
		"matmul_r8":                          "",
	} {
		assert.Equal(t, want, libgfortranReads(name), name)
	}
}
