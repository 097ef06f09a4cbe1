package tracer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFunctionsOfCoarrayLibraries(t *testing.T) {
	for name, want := range map[string]byte{
		"_gfortran_caf_send":           't',
		"_gfortran_caf_sendget_by_ref": 't',
		"_gfortran_caf_sync_all":       'o',
		"_gfortran_caf_event_wait":     't',
		"_gfortran_caf_atomic_op":      't',
		"_gfortran_caf_unlock":         't',
		"_gfortran_caf_co_sum":         'o',
		"_gfortran_caf_this_image":     0,
		"_gfortran_caf_stop_numeric":   0,
		"_gfortran_caf_error_stop":     0,
		"_gfortran_st_write":           0,
	} {
		assert.Equal(t, want, coarrayKind(name), name)
	}
	assert.True(t, coarrayUnknown("_gfortran_caf_change_team"))
	assert.True(t, coarrayUnknown("_gfortran_caf_failed_images"))
	assert.False(t, coarrayUnknown("_gfortran_caf_sync_images"))
}
