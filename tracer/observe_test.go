//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

func ints(values ...int64) []int64 { return values }

// one returns the only call of a function.
func (f *file) one(t *testing.T, name string) record {
	t.Helper()
	list := f.all(name)
	require.Len(t, list, 1, name)
	return list[0]
}

// stores returns the addresses of the stores that follow the call, up to the next.
func (f *file) stores(seq uint64) []uint64 {
	var list []uint64
	at := uint64(0)
	for _, e := range f.events {
		switch {
		case e.access == nil:
			at = e.Seq
		case at == seq && e.access.Store:
			list = append(list, e.access.Addr)
		}
	}
	return list
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	int rank, size, in[4], out[4] = {0};
	MPI_Comm grid, ring, pair;
	MPI_Request r;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){3, 1}, (int[]){0, 1}, 0, &grid);
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, grid);
	MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	int from = (rank + size - 1) % size, to = (rank + 1) % size;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 2, (int[]){to, from}, MPI_UNWEIGHTED,
				       MPI_INFO_NULL, 0, &ring);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
	MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
	MPI_Graph_create(MPI_COMM_WORLD, 3, (int[]){1, 3, 4}, (int[]){1, 0, 2, 1}, 0, &pair);
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, pair);
	MPI_Finalize();
	return 0;
}
`
	grids := [][]int64{{-2, 1, 0, 0}, {0, 2, 1, 1}, {1, -2, 2, 2}}
	graphs := [][]int64{{1}, {0, 2}, {1}}
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir := b.traced(3, "app")
		for rank := range 3 {
			f := readFile(t, rankFile(dir, rank))
			told := f.all("mcchk_Neighbors")
			require.Len(t, told, 3, "once for each communicator")
			require.Equal(t, f.one(t, "MPI_Cart_create").arg["newcomm"].Int, told[0].arg["comm"].Int)
			require.Equal(t, grids[rank], told[0].arg["sources"].List)
			require.Equal(t, grids[rank], told[0].arg["destinations"].List)
			require.Equal(t, ints(int64(rank+2)%3), told[1].arg["sources"].List)
			require.Equal(t, ints(int64(rank+1)%3), told[1].arg["destinations"].List)
			require.Equal(t, graphs[rank], told[2].arg["sources"].List)
			require.Equal(t, graphs[rank], told[2].arg["destinations"].List)
			require.Equal(t, f.all("MPI_Neighbor_allgather")[0].Seq-1, told[0].Seq)
		}
	})
}

func TestAccumulateSettings(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	MPI_Win win, other;
	MPI_Info info;
	void *base;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Info_create(&info);
	MPI_Info_set(info, "accumulate_ops", "same_op");
	MPI_Info_set(info, "accumulate_ordering", "rar,waw");
	MPI_Win_create(base, 64, 4, info, MPI_COMM_WORLD, &other);
	MPI_Info_set(info, "accumulate_ordering", "none");
	MPI_Info_delete(info, "accumulate_ops");
	MPI_Win_set_info(other, info);
	MPI_Win_free(&other);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, nil, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 1))
		settings := func(name string) []int64 {
			c := f.one(t, name)
			return ints(c.arg["accumulate_ops"].Int, c.arg["accumulate_ordering"].Int)
		}
		require.Equal(t, ints(0, trace.OrderAll), settings("MPI_Win_allocate"))
		require.Equal(t, ints(1, 9), settings("MPI_Win_create"))
		require.Equal(t, int64(0), f.one(t, "mcchk_Win_info").arg["accumulate_ordering"].Int)
		require.Equal(t, f.one(t, "MPI_Win_set_info").Seq+1, f.one(t, "mcchk_Win_info").Seq)
	})
}

func TestNamesOfWindows(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	MPI_Win win;
	void *base;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_set_name(win, "h\xc3\xbc");
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, nil, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 1))
		named := f.one(t, "MPI_Win_set_name")
		require.Equal(t, f.one(t, "MPI_Win_allocate").arg["win"].Int, named.arg["win"].Int)
		var text []byte
		for _, c := range named.arg["win_name"].List {
			text = append(text, byte(c))
		}
		require.Equal(t, "hü", string(text))
	})
}

func TestFilesAndPacking(t *testing.T) {
	t.Parallel()
	const source = head + `
__attribute__((noinline)) void touch(volatile int *p) { *p = 1; }
int main(int argc, char **argv)
{
	int rank, data[1024] = {7}, got[4], n, size;
	char packed[64];
	MPI_File fh;
	MPI_Request r;
	MPI_Status s;
	void *base;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
	MPI_File_write_at_all(fh, 16 * rank, data, 4, MPI_INT, &s);
	MPI_File_iread_at(fh, 16 * rank, got, 4, MPI_INT, &r);
	touch(got);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	touch(got);
	MPI_File_write_ordered_begin(fh, data + 512, 2, MPI_INT);
	touch(data + 513);
	touch(data + 700);
	MPI_File_write_ordered_end(fh, data + 512, MPI_STATUS_IGNORE);
	touch(data + 513);
	MPI_File_close(&fh);
	n = 8;
	MPI_Pack(data, 3, MPI_INT, packed, 64, &n, MPI_COMM_WORLD);
	n = 8;
	MPI_Unpack(packed, 64, &n, got, 2, MPI_INT, MPI_COMM_WORLD);
	MPI_Alloc_mem(4096, MPI_INFO_NULL, &base);
	MPI_Buffer_attach(base, 4096);
	MPI_Buffer_detach(&base, &size);
	MPI_Free_mem(base);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir := b.traced(2, "app")
		f := readFile(t, rankFile(dir, 1))
		opened, wrote, read := f.one(t, "MPI_File_open"), f.one(t, "MPI_File_write_at_all"), f.one(t, "MPI_File_iread_at")
		require.Equal(t, int64(1)<<32+1, opened.arg["fh"].Int, "the same in all processes")
		for _, name := range []string{"MPI_File_write_at_all", "MPI_File_write_ordered_end", "MPI_File_close"} {
			require.Equal(t, opened.arg["fh"].Int, f.one(t, name).arg["fh"].Int)
		}
		require.Equal(t, ints(16, 4), ints(wrote.arg["offset"].Int, wrote.arg["count"].Int))
		require.Equal(t, int64(16), wrote.arg["status"].List[2])
		require.Equal(t, read.arg["request"].Int, f.one(t, "MPI_Wait").arg["request"].Int)
		require.Equal(t, []uint64{uint64(read.arg["buf"].Int)}, f.stores(read.Seq))
		require.Empty(t, f.stores(f.one(t, "MPI_Wait").Seq))
		begun := f.one(t, "MPI_File_write_ordered_begin")
		require.Equal(t, []uint64{uint64(begun.arg["buf"].Int) + 4}, f.stores(begun.Seq))
		require.Empty(t, f.stores(f.one(t, "MPI_File_write_ordered_end").Seq))

		pack := f.one(t, "MPI_Pack")
		require.Equal(t, ints(8, 12), ints(pack.arg["position"].Int, pack.arg["packed"].Int))
		require.Equal(t, pack.arg["outbuf"].Int+8, pack.arg["packed_at"].Int)
		unpack := f.one(t, "MPI_Unpack")
		require.Equal(t, ints(8, 8), ints(unpack.arg["position"].Int, unpack.arg["packed"].Int))
		require.Equal(t, unpack.arg["inbuf"].Int+8, unpack.arg["packed_at"].Int)
		memory := f.one(t, "MPI_Alloc_mem").arg["baseptr"].Int
		require.Equal(t, memory, f.one(t, "MPI_Buffer_attach").arg["buffer"].Int)
		require.Equal(t, memory, f.one(t, "MPI_Buffer_detach").arg["buffer_addr"].Int)
		require.Equal(t, int64(4096), f.one(t, "MPI_Buffer_detach").arg["size"].Int)
		require.Equal(t, memory, f.one(t, "MPI_Free_mem").arg["base"].Int)
	})
}
