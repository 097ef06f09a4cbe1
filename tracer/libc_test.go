//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLibraryFunctions: what functions of the C library read and write in a window.
func TestLibraryFunctions(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>
static char memory[4096] __attribute__((aligned(4096)));
static int order(const void *a, const void *b) { return 0; }
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	char *w = memory, text[8] = "abx", name[] = "file-XXXXXX";
	memcpy(w, "abcdefg", 8);
	MPI_Win_create(w, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	volatile size_t found = 0;
	FILE *file = fdopen(mkstemp(name), "w+");
	MPI_Win_fence(0, win);
	found = strlen(w);
	MPI_Win_fence(0, win);
	found = strnlen(w, 3);
	MPI_Win_fence(0, win);
	found = strcmp(w, text);
	MPI_Win_fence(0, win);
	found = strncmp(w, text, 2);
	MPI_Win_fence(0, win);
	found = memcmp(w, text, 5);
	MPI_Win_fence(0, win);
	found = memchr(w, 'd', 8) != NULL;
	MPI_Win_fence(0, win);
	fwrite(w, 2, 20, file);
	MPI_Win_fence(0, win);
	rewind(file);
	found = fread(w, 1, 100, file); /* 40 */
	MPI_Win_fence(0, win);
	rewind(file);
	fgets(w, 4, file);
	MPI_Win_fence(0, win);
	found = pwrite(fileno(file), w + 8, 16, 0);
	MPI_Win_fence(0, win);
	found = pread(fileno(file), w + 8, 8, 0);
	MPI_Win_fence(0, win);
	snprintf(w, 100, "%d", argc > 100 ? 1 : 12345);
	MPI_Win_fence(0, win);
	snprintf(w, 3, "%d", argc > 100 ? 1 : 12345);
	MPI_Win_fence(0, win);
	sprintf(w, "%d", argc > 100 ? 1 : 678);
	MPI_Win_fence(0, win);
	qsort(w, 10, 4, order);
	MPI_Win_fence(0, win);
	found = memcmp(w, text, 8) == 0;
	MPI_Win_fence(0, win);
	found = memcmp(w, memory + 2048, argc + 19) == 0;
	MPI_Win_fence(0, win);
	found = bcmp(w, text, 6) != 0;
	MPI_Win_fence(0, win);
	wmemset((wchar_t *)w, L'a', 2);
	MPI_Win_fence(0, win);
	found = wmemcmp((wchar_t *)w, (wchar_t *)text, 1) != 0;
	MPI_Win_fence(0, win);
	wmemcpy((wchar_t *)w, L"xyz", 3);
	MPI_Win_fence(0, win);
	memccpy(w + 16, text, 'b', 3);
	MPI_Win_fence(0, win);
	fclose(file);
	unlink(name);
	MPI_Win_free(&win);
	MPI_Finalize();
	return found > 1000;
}
`
	want := []string{
		"library load 0:8", "library load 0:3", "library load 0:3", "library load 0:2", "library load 0:5", "library load 0:4",
		"library load 0:40", "library store 0:40", "library store 0:4", "library load 8:16", "library store 8:8",
		"library store 0:6", "library store 0:3", "library store 0:4", "library load 0:40; library store 0:40",
		"library load 0:8", "library load 0:20; library load 2048:20", "library load 0:6", "library store 0:8", "library load 0:4",
		"library store 0:12", "library store 16:2",
	}
	for _, flags := range [][]string{{"-O0"}, {"-O2", "-D_FORTIFY_SOURCE=2", "-Wno-unused-result"}} {
		onAll(t, source, flags, func(t *testing.T, b *bench) {
			f := readFile(t, rankFile(b.traced(2, "app"), 0))
			require.Equal(t, want, f.phases()[:len(want)])
		})
	}
}

// TestStreams: what streams of the C++ library write out of a window and read into it, and the hash of a string.
func TestStreams(t *testing.T) {
	t.Parallel()
	const source = `
#include <mpi.h>
#include <functional>
#include <memory_resource>
#include <sstream>
#include <string>
#include <string_view>
static char memory[4096] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	char *w = memory;
	std::pmr::monotonic_buffer_resource room(memory + 1024, 2048, std::pmr::null_memory_resource());
	std::pmr::string text(100, 'x', &room); // at 1024
	MPI_Win_create(w, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	std::stringstream out, in("hello world\nmore\n"), again("12345");
	volatile std::size_t found = 0;
	MPI_Win_fence(0, win);
	out.write(w, 32);
	MPI_Win_fence(0, win);
	out << std::string_view(w + 8, 16);
	MPI_Win_fence(0, win);
	out << w;
	MPI_Win_fence(0, win);
	out << text;
	MPI_Win_fence(0, win);
	in.read(w, 5);
	MPI_Win_fence(0, win);
	in.getline(w + 8, 100);
	MPI_Win_fence(0, win);
	in.read(w + 64, 100);
	MPI_Win_fence(0, win);
	found = again.readsome(w + 128, 3);
	MPI_Win_fence(0, win);
	found = std::hash<std::string_view>()(std::string_view(w, 24));
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return found == 1;
}
`
	want := []string{
		"library load 0:32", "library load 8:16", "library load 0:1", "library load 1024:100", "library store 0:5", "library store 8:7", "library store 64:5", "library store 128:3",
		"library load 0:24",
	}
	for _, p := range platforms {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(p.String()+level, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, p, map[string]string{"app.cc": source})
				b.must(CXX, "-std=c++17", level, "app.cc", "-o", "app")
				require.Equal(t, want, readFile(t, rankFile(b.traced(2, "app"), 0)).phases()[:len(want)])
			})
		}
	}
}
