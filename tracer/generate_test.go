package tracer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

func readTable(t *testing.T) []byte {
	t.Helper()
	table, err := os.ReadFile(filepath.Join("runtime", prototypes))
	require.NoError(t, err)
	return table
}

func TestTableAgreesWithTheTraceFormat(t *testing.T) {
	funcs, err := parseTable(readTable(t))
	require.NoError(t, err)
	require.Greater(t, len(funcs), 150)
	known := 0
	for _, f := range funcs {
		want, ok := trace.Function(f.Name)
		if !ok {
			continue
		}
		known++
		var got []trace.Arg
		for _, a := range f.Args {
			if a.Kind != '-' {
				got = append(got, trace.Arg{Name: a.Name, Kind: trace.ArgKind(a.Kind)})
			}
		}
		if len(want) == 0 {
			require.Empty(t, got, f.Name)
			continue
		}
		require.Equal(t, want, got, f.Name)
	}
	require.Greater(t, known, 60)
}

func TestGenerateWrappers(t *testing.T) {
	funcs, err := parseTable([]byte(`
# comment
MPI_Win_flush(int rank:r, MPI_Win win:w)
	after: mcchk_win_completed(win, rank)
MPI_Isend(const void *buf:p, COUNT count:i, MPI_Request *request:q out)
	made: BUFFER(buf, count, MPI_BYTE)
MPI_New(int n:i) version 4
MPI_Init(int *argc:-) custom
`))
	require.NoError(t, err)
	var list functionList
	for i := range funcs {
		list.add(funcs[i].definition(), funcs[i].named())
	}
	text := string(generateWrappers(funcs, list.ids)) + string(list.generate())
	for _, want := range []string{
		`{"MPI_Win_flush rank:r,win:w"},`,
		"int wrap_MPI_Win_flush(int rank, MPI_Win win) __asm__(\"MPI_Win_flush\");",
		"mcchk_win_completed(win, rank);",
		"int wrap_MPI_Isend_c(const void * buf, MPI_Count count, MPI_Request * request)",
		"#if MPI_VERSION >= 4\n\nint wrap_MPI_New(int n)",
		"const uint16_t mcchk_fn_MPI_Init = 4;",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "wrap_MPI_Init")
	require.NotContains(t, text, "wrap_MPI_Win_flush_c")
}

func TestFortranProceduresWithPointersOfC(t *testing.T) {
	funcs, err := parseTable([]byte(`
MPI_Alloc_mem(MPI_Aint size:i, MPI_Info info:-, void *baseptr:p out)
MPI_Win_free(MPI_Win *win:w)
`))
	require.NoError(t, err)
	var list functionList
	for i := range funcs {
		list.add(funcs[i].definition(), funcs[i].named())
	}
	text := string(generateFortran(funcs, list.ids))
	require.Equal(t, 2, strings.Count(text, "void mpi_alloc_mem_cptr_("), "for either library")
	require.NotContains(t, text, "win_free_cptr")
	require.True(t, isFortranName("pmpi_win_allocate_cptr_"))
}

func TestTableErrors(t *testing.T) {
	for name, table := range map[string]string{
		"no arguments":             "MPI_X\n",
		"hook before a function":   "\tafter: x()\n",
		"unknown hook":             "MPI_X()\n\tlater: x()\n",
		"hook twice":               "MPI_X()\n\tdone: x()\n\tdone: y()\n",
		"empty hook":               "MPI_X()\n\tdone:\n",
		"function twice":           "MPI_X()\nMPI_X()\n",
		"no kind":                  "MPI_X(int a)\n",
		"unknown kind":             "MPI_X(int a:z)\n",
		"no type":                  "MPI_X(a:i)\n",
		"list without a length":    "MPI_X(const int *a:I)\n",
		"length of a number":       "MPI_X(int a:i[3])\n",
		"open bracket":             "MPI_X(const int *a:I[3)\n",
		"written, not a pointer":   "MPI_X(int a:i out)\n",
		"words after the argument": "MPI_X(int a:i maybe)\n",
		"words after the function": "MPI_X(int a:i) sometimes\n",
		"observation, no value":    "MPI_X(= a:i)\n",
		"list of addresses":        "MPI_X(void **a:P[3])\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseTable([]byte(table))
			require.ErrorContains(t, err, "mpi.tbl:")
		})
	}
}

// Other threads may access what calls are given: all of it is said before the call.
func TestBuffersAreGiven(t *testing.T) {
	funcs, err := parseTable(readTable(t))
	require.NoError(t, err)
	fillBuffers(funcs)
	none := []string{ // whose memory no call accesses, or another one has said
		"MPI_Win_detach", "MPI_Free_mem", "MPI_Buffer_attach", "MPI_File_read_all_end", "MPI_File_read_at_all_end",
		"MPI_File_read_ordered_end", "MPI_File_write_all_end", "MPI_File_write_at_all_end", "MPI_File_write_ordered_end",
	}
	given := map[string]string{}
	for _, f := range funcs {
		given[f.Name] = f.Hooks["buffers"]
		for _, a := range f.Args {
			if a.Kind == 'p' && !a.Out && !f.Custom && !slices.Contains(none, f.Name) {
				require.Contains(t, f.Hooks["buffers"], a.Name, "%s is given %s", f.Name, a.Name)
			}
		}
	}
	require.Equal(t, "BUFFER(buf, count, datatype)", given["MPI_Send"])
	require.Equal(t, "if (TAKES_PART(root, comm)) BUFFER(buffer, count, datatype)", given["MPI_Bcast"])
	require.Equal(t, "PENDING(win, target_rank, origin_addr, origin_count, origin_datatype)", given["MPI_Put"])
	require.Equal(t, "MEMORY(base, size)", given["MPI_Win_create"])
	require.Empty(t, given["MPI_Barrier"])
}
