package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShmemFunctions(t *testing.T) {
	list, err := ShmemFunctions()
	require.NoError(t, err)
	known := map[string]APIFunction{}
	for _, f := range list {
		require.NotContains(t, known, f.Name)
		require.NotContains(t, f.Name, "TYPE")
		require.NotContains(t, f.Name, "SIZE")
		known[f.Name] = f
	}
	require.Less(t, len(list), 4096, "MCCHK_MAX_FUNCTIONS")
	require.Equal(t, "dest:p,source:p,nelems:i,pe:i,size:i,value:i", known["shmem_long_put"].Args)
	require.Equal(t, "ctx:i,dest:p,source:p,nelems:i,pe:i,size:i,value:i", known["shmem_ctx_long_put"].Args)
	require.Equal(t, "shmem_TYPE_put", known["shmem_ctx_long_put"].Family)
	require.Equal(t, "shmem_putSIZE_nbi", known["shmem_put128_nbi"].Family)
	require.Equal(t, "ctx:i", known["shmem_ctx_quiet"].Args)
	require.Equal(t, "local", known["shmem_my_pe"].Unobserved)
}

func TestGenerateShmem(t *testing.T) {
	table, err := shmemAPI.parse([]byte(`
type int = int
set FEW = int
TYPE shmem_TYPE_g(const TYPE *source:p, int pe:i, = size:i ELEM) each FEW ctx
void shmem_getmem_nbi(void *dest:p, size_t nelems:i) ctx
	begun: mcchk_shmem_pending(CTX, dest, ELEM)
int shmem_ctx_create(mcchk_ctx *ctx:c out) status
void shmem_init() custom
void shmem_TYPE_atomic_inc(TYPE *dest:p, > old:v _rc) each FEW ctx by shmem_TYPE_atomic_fetch_inc
void shmem_TYPE_atomic_or(TYPE *dest:p, TYPE value:v, int pe:i, > old:v _rc) each FEW ctx by shmem_TYPE_atomic_fetch_or elsewhere
int shmem_TYPE_test_some(TYPE *ivars:p, size_t nelems:i, size_t *indices:-, > found:I[(int64_t)nelems] indices[_k]) each FEW when _rc != 0
	begun: mcchk_glance(ivars, nelems, ELEM)
`))
	require.NoError(t, err)
	var list functionList
	for i := range table.funcs {
		list.add(table.funcs[i].definition(), table.funcs[i].Custom)
	}
	text := string(shmemAPI.generate(table.funcs, list.ids)) + string(list.generate())
	for _, want := range []string{
		`int wrap_shmem_ctx_int_g(mcchk_ctx ctx, const int * source, int pe) __asm__("shmem_ctx_int_g")`,
		"*_w++ = (int64_t)(sizeof(int));",
		"mcchk_shmem_pending(0, dest, 1);",
		"mcchk_shmem_pending(mcchk_ctx_id(ctx), dest, 1);",
		"*_at_ctx = mcchk_ctx_id(*ctx);",
		`{"shmem_int_g source:p,pe:i,size:i"},`,
		"const uint16_t mcchk_fn_shmem_init = 6;",
		`extern int fetching_shmem_ctx_int_atomic_inc(mcchk_ctx ctx, int * dest) __asm__("pshmem_ctx_int_atomic_fetch_inc")`,
		"int _rc = fetching_shmem_int_atomic_inc(dest);",
		"*_at_old = mcchk_bits(_rc);",
		"real_shmem_ctx_int_atomic_or(ctx, dest, value, pe);\n\telse\n\t\t_rc = fetching_shmem_ctx_int_atomic_or(ctx, dest, value, pe);",
		"if (_rc != 0) {",
		"_at_found[_k] = (int64_t)(indices[_k]);",
		"mcchk_call_commit_at(_start);",
		"mcchk_glance(ivars, nelems, sizeof(int));",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "wrap_shmem_init")
}

func TestGaspiFunctions(t *testing.T) {
	list, err := GaspiFunctions()
	require.NoError(t, err)
	known := map[string]APIFunction{}
	for _, f := range list {
		require.NotContains(t, known, f.Name)
		known[f.Name] = f
	}
	require.Equal(t, "segment_id_remote:i,rank:i,notification_id:i,notification_value:i,queue:i", known["gaspi_notify"].Args)
	require.Equal(t, "num:i,segment_id_local:I,offset_local:I,rank:i,segment_id_remote:I,offset_remote:I,size:I,queue:i", known["gaspi_write_list"].Args)
	require.Equal(t, "local", known["gaspi_proc_rank"].Unobserved)
}

// TestGenerateGaspi: there are wrappers, behind the linker's --wrap, for the functions
// that the header declares.
func TestGenerateGaspi(t *testing.T) {
	tc := &Toolchain{Language: C, GASPI: "GASPI", Declared: []string{"gaspi_wait", "gaspi_barrier"}}
	files, err := librarySources(runtimeSources(), tc)
	require.NoError(t, err)
	text := string(files[gaspiAPI.wrappers])
	for _, want := range []string{
		`wrap_gaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout) __asm__("__wrap_gaspi_wait")`,
		`real_gaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout) __asm__("__real_gaspi_wait");`,
		"*_w++ = mcchk_group_id(group);",
		"mcchk_gaspi_passed(group, _rc);",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "gaspi_write")
	require.Contains(t, string(files[functionsFile]), "gaspi_proc_init timeout:i,rank:i,num:i")
}

func TestShmemTableErrors(t *testing.T) {
	for name, table := range map[string]string{
		"hook before a function": "\tdone: x()",
		"unknown hook":           "void shmem_x()\n\tlater: x()",
		"no result":              "shmem_x()",
		"unknown set":            "void shmem_x() each Y",
		"unknown type":           "set Y = int\nvoid shmem_TYPE_x() each Y",
		"unknown word":           "void shmem_x() sometimes",
		"unknown kind":           "void shmem_x(int a:z)",
		"list without a length":  "void shmem_x(int *a:I)",
		"observation, no value":  "void shmem_x(= a:i)",
		"length of no list":      "void shmem_x(int a:i[3])",
		"by nothing":             "void shmem_x() by",
		"elsewhere without by":   "void shmem_x() elsewhere",
		"no reason":              "unobserved shmem_x",
		"type of nothing":        "type int",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := shmemAPI.parse([]byte(table))
			require.ErrorContains(t, err, "shmem.tbl:")
		})
	}
}
