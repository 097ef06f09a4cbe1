package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

func TestNamesOfAllocations(t *testing.T) {
	for line, want := range map[string]string{
		"\tdouble *row = malloc(100 * sizeof *row);":          "row",
		"g->cells = calloc(n, sizeof *g->cells);":             "g->cells",
		"    g.parts[i].data = (double *)realloc(old, n);":    "g.parts[i].data",
		"double *a = malloc(n), *b = malloc(n);":              "",
		"if (posix_memalign((void **)&ring, 64, n))":          "ring",
		"auto *p = new double[n];":                            "p",
		"p_ = static_cast<double *>(std::malloc(n));":         "p_",
		"std::vector<double> halo(n);":                        "halo",
		"std::vector<double> ta(8), tb(8);":                   "",
		"std::vector<double> ta(f(8), 2), *p = &ta;":          "",
		"std::vector<double> ta{1, 2}; use(ta, 1);":           "ta",
		"allocate(u(nx, ny), stat=rc)":                        "u",
		"ALLOCATE (REAL(8) :: h%flux(size(v, 1), 0:n+1))":     "h%flux",
		"allocate(hist(4), ticket(8))":                        "",
		"allocate(tree%leaf(2)%b(8), source=0d0)":             "tree%leaf(2)%b",
		"allocate(stat=rc, errmsg=text, p)":                   "p",
		"if (n > 0) allocate(a(n), &":                         "",
		"allocate(a(n)) ! and allocate(b(n)) elsewhere":       "a",
		"  ALLOCATE(real(8) :: grid%cells(n))":                "grid%cells",
		"fill(malloc(10));":                                   "",
		"x = y + 1;":                                          "",
		"MPI_Win_create(p, n, 1, MPI_INFO_NULL, comm, &win);": "",
		"return malloc(n);":                                   "",
	} {
		require.Equal(t, want, allocated(line), line)
	}
}

// TestFindBlock: blocks are found by any address in them, the last one of a place counts, memory
// that was allocated at two places is named by neither, and what is left of a block by none.
func TestFindBlock(t *testing.T) {
	of := sortedBlocks([]trace.Block{
		{Base: 0x5000, Size: 0x1000, Seq: 1, Stack: 1},
		{Base: 0x1000, Size: 0x100, Seq: 2, Stack: 2},
		{Base: 0x1000, Size: 0x80, Seq: 5, Stack: 2},
		{Base: 0x5800, Size: 0x10, Seq: 7, Stack: 3},
		{Base: 0x7000, Size: 0x1000, Seq: 8, Stack: 4},
		{Base: 0x7800, Size: 0x10, Seq: 6, Stack: 3},
	})
	for at, want := range map[uint64]trace.Block{
		0x0fff: {},
		0x1000: {Base: 0x1000, Size: 0x80, Seq: 5, Stack: 2},
		0x10ff: {Base: 0x1000, Size: 0x100, Seq: 2, Stack: 2},
		0x1100: {},
		0x5000: {}, // the block was no more when the one in it was allocated
		0x5808: {},
		0x5fff: {},
		0x6000: {},
		0x7000: {Base: 0x7000, Size: 0x1000, Seq: 8, Stack: 4},
		0x7808: {},
		0x7fff: {Base: 0x7000, Size: 0x1000, Seq: 8, Stack: 4},
	} {
		require.Equal(t, want, of.find(at), "%#x", at)
	}
}
