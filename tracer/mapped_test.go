//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMappedMemory: what the program maps that other processes may map is noted, before MPI_Init too, and
// is the same for all that map it.
func TestMappedMemory(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
int main(int argc, char **argv)
{
	int rank, id = 0, fd = open("common", O_RDWR | O_CREAT, 0600);
	char own[16];
	if (ftruncate(fd, 4096) != 0)
		return 1;
	char *before = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(own, sizeof own, "own%d", rank);
	int mine = open(own, O_RDWR | O_CREAT, 0600);
	if (ftruncate(mine, 12288) != 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		char *window = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 4096);
		char *other = mmap(NULL, 4096, PROT_READ, MAP_SHARED, mine, 8192 * i);
		munmap(window, 4096);
		munmap(other, 4096);
	}
	char *written = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 4096);
	char *also = mmap(NULL, 4096, PROT_READ, MAP_SHARED, mine, 8192);
	char *read_only = mmap(NULL, 4096, PROT_READ, MAP_SHARED, mine, 0);
	char *copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char *nobody = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rank == 0)
		id = shmget(IPC_PRIVATE, 4096, 0600);
	MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
	char *segment = shmat(id, NULL, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		shmctl(id, IPC_RMID, NULL);
	MPI_Finalize();
	return before == read_only || written == also || copy == nobody || segment == (char *)-1;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir := b.traced(2, "app")
		var maps [2][][3]int64
		for rank := range maps {
			f := readFile(t, rankFile(dir, rank))
			require.Contains(t, []int64{0, 1, 2, 3}, f.one(t, "MPI_Init").arg["provided"].Int)
			var writes, twice []int64
			for _, c := range f.all("mcchk_Mapped") {
				maps[rank] = append(maps[rank], [3]int64{c.arg["host"].Int, c.arg["device"].Int, c.arg["file"].Int})
				writes, twice = append(writes, c.arg["writes"].Int), append(twice, c.arg["twice"].Int)
			}
			require.Equal(t, []int64{1, 1, 0, 1, 0, 1, 0, 0, 1}, writes)
			require.Equal(t, []int64{0, 0, 0, 0, 0, 0, 1, 0, 0}, twice)
		}
		require.Equal(t, maps[0][0], maps[1][0])
		require.Equal(t, maps[0][8], maps[1][8])
		require.Equal(t, int64(-1), maps[0][8][1])
		require.NotEqual(t, maps[0][1], maps[1][1])
	})
}
