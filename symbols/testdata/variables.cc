// Tells where its variables are: the address of a call in its file, how far the variable
// lies from the caller's frame pointer, and its address in the file.
#include <cstdio>
#include <dlfcn.h>
#include <vector>

__attribute__((noinline)) static void tell(const void *p)
{
	Dl_info info;
	char *frame = *static_cast<char **>(__builtin_frame_address(0));
	char *pc = static_cast<char *>(__builtin_return_address(0));
	dladdr(pc, &info);
	char *base = static_cast<char *>(info.dli_fbase);
	std::printf("%lx %ld %lx\n", static_cast<long>(pc - base - 1), static_cast<const char *>(p) - frame,
		    static_cast<long>(static_cast<const char *>(p) - base));
}

namespace halo {
double field[4][8];
struct Grid {
	static int ghosts[2];
	double cells[16];
};
int Grid::ghosts[2] = {1, 2};
Grid grid;
} // namespace halo

static void inner(int *passed)
{
	tell(passed + 1);
	tell(&halo::field[1][2]);
	tell(&halo::Grid::ghosts[1]);
	tell(&halo::grid.cells[3]);
}

__attribute__((noinline)) static int exchange(int n)
{
	static short counts[5];
	int send[4];
	tell(&send[3]);
	tell(&counts[4]);
	for (int i = 0; i < n; i++) {
		char block[24];
		tell(&block[23]);
		block[0] = static_cast<char>(i);
	}
	inner(send);
	std::vector<int> heap(100);
	tell(heap.data());
	return heap[3] + send[1];
}

// Where its frame begins depends on more than the frame pointer.
__attribute__((noinline)) static int realigned(int n)
{
	int beside[4];
	alignas(64) double aligned[8];
	tell(&beside[n]);
	tell(&aligned[n]);
	return n;
}

int main(int argc, char **)
{
	return (exchange(argc) + realigned(argc)) * 0;
}
