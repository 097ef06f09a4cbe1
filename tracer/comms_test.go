//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// consecutive is a run of consecutive ranks.
func consecutive(first, count int64) []trace.RankRun {
	return []trace.RankRun{{First: first, Stride: 1, Count: count}}
}

func TestIntercommunicators(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	int rank, got = 0, i, n, indices[2];
	MPI_Comm half, inter, merged, dup, again, third, created;
	MPI_Request r[2];
	MPI_Group world, pair;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &inter);
	MPI_Bcast(&got, 1, MPI_INT, rank == 0 ? MPI_ROOT : 0, inter);
	MPI_Comm_idup(inter, &dup, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Barrier(dup);
	MPI_Intercomm_merge(inter, rank == 0, &merged);
	MPI_Barrier(merged);
	MPI_Comm_idup(merged, &again, &r[0]);
	MPI_Comm_idup(half, &third, &r[1]);
	MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE); /* another one in each process */
	MPI_Waitsome(2, r, &n, indices, MPI_STATUSES_IGNORE);
	MPI_Barrier(again);
	MPI_Barrier(third);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){2, 0}, &pair);
	if (rank != 1) {
		MPI_Comm_create_group(MPI_COMM_WORLD, pair, 7, &created);
		MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, created);
	}
	MPI_Comm_disconnect(&dup);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, nil, func(t *testing.T, b *bench) {
		dir := b.traced(3, "app")
		var f [3]*file
		for rank := range f {
			f[rank] = readFile(t, rankFile(dir, rank))
		}
		same := func(rank int, name, arg string, at int) int64 {
			id := f[0].all(name)[at].arg[arg].Int
			require.Equal(t, id, f[rank].all(name)[at].arg[arg].Int, "%s: the same in all processes", name)
			return id
		}
		for rank := range f {
			own, others := consecutive(1, 2), consecutive(0, 1)
			if rank == 0 {
				own, others = others, own
			}
			inter := same(rank, "MPI_Intercomm_create", "newintercomm", 0)
			dup := same(rank, "MPI_Barrier", "comm", 0)
			for _, id := range []int64{inter, dup} {
				c := f[rank].Comm(id)
				require.True(t, c.Inter)
				require.Equal(t, own, c.Ranks)
				require.Equal(t, others, c.Remote)
			}
			require.NotEqual(t, inter, dup)
			require.Equal(t, inter, f[rank].one(t, "MPI_Bcast").arg["comm"].Int)
			require.Equal(t, dup, f[rank].one(t, "MPI_Comm_disconnect").arg["comm"].Int)

			merged := f[rank].Comm(same(rank, "MPI_Intercomm_merge", "newintracomm", 0))
			require.False(t, merged.Inter)
			require.Equal(t, []trace.RankRun{{First: 1, Stride: 1, Count: 2}, {First: 0, Stride: 1, Count: 1}}, merged.Ranks)
			var sizes []int
			for _, c := range f[rank].all("MPI_Barrier")[2:] {
				sizes = append(sizes, f[rank].Comm(c.arg["comm"].Int).Size)
			}
			require.Equal(t, []int{3, f[rank].Comm(inter).Size}, sizes, "duplicates, in whatever order they were made")
		}
		created := f[0].one(t, "MPI_Comm_create_group").arg["newcomm"].Int
		require.Equal(t, created, f[2].one(t, "MPI_Comm_create_group").arg["newcomm"].Int)
		require.Equal(t, created>>32, int64(3), "counted by its rank 0")
		require.Equal(t, []trace.RankRun{{First: 2, Stride: -2, Count: 2}}, f[0].Comm(created).Ranks)
	})
}
