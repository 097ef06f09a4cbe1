package shmem

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookup(t *testing.T) {
	for name, want := range map[string]function{
		"shmem_long_put":                   {"shmem_TYPE_put", "long", true},
		"shmem_ctx_uint64_put_nbi":         {"shmem_TYPE_put_nbi", "uint64", false},
		"shmem_put32":                      {"shmem_putSIZE", "", false},
		"shmem_ctx_put128_signal_nbi":      {"shmem_putSIZE_signal_nbi", "", false},
		"shmem_putmem":                     {"shmem_putmem", "", false},
		"shmem_ctx_create":                 {"shmem_ctx_create", "", false},
		"shmem_ctx_quiet":                  {"shmem_quiet", "", false},
		"shmem_int_fadd":                   {"shmem_TYPE_fadd", "int", true},
		"shmem_int32_wait_until":           {"shmem_TYPE_wait_until", "int32", true},
		"shmem_size_atomic_fetch_add_nbi":  {"shmem_TYPE_atomic_fetch_add_nbi", "size", false},
		"shmem_longlong_sum_to_all":        {"shmem_TYPE_sum_to_all", "longlong", true},
		"shmem_alltoalls64":                {"shmem_alltoallsSIZE", "", false},
		"shmem_double_atomic_compare_swap": {"shmem_TYPE_atomic_compare_swap", "double", true},
	} {
		e, f := lookup(name)
		require.NotNil(t, e, name)
		require.Equal(t, want, f, name)
	}
	for _, name := range []string{"MPI_Put", "shmem_my_pe", "shmem_iputmem", "shmem_long_fence", "mcchk_Threads"} {
		e, _ := lookup(name)
		require.Nil(t, e, name)
	}
}

func TestConditions(t *testing.T) {
	signed := func(cmp, value int64) condition { return condition{cmp: cmp, value: value, bytes: 4, signed: true} }
	unsigned := func(cmp, value int64) condition { return condition{cmp: cmp, value: value, bytes: 4} }
	for _, c := range []struct {
		condition
		value int64
		want  bool
	}{
		{signed(equal, 3), 3, true},
		{signed(equal, 3), 1<<32 + 3, true}, // the upper bytes are none of it
		{signed(notEqual, 3), 3, false},
		{signed(greater, 3), 3, false},
		{signed(greaterEqual, 3), 3, true},
		{signed(less, 0), 0xffffffff, true}, // -1
		{signed(lessEqual, -1), 0, false},
		{unsigned(less, 0), 0xffffffff, false},
		{unsigned(greater, 7), -1, true},
		{condition{cmp: greater, value: -1, bytes: 8, signed: true}, 0, true},
		{condition{cmp: greater, value: -1, bytes: 8}, 0, false},
	} {
		require.Equal(t, c.want, c.met(c.value), "%+v: %d", c.condition, c.value)
	}
}
