//go:build !quick

package tracer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// What completes, and what only looks as if it did.
func TestRequestsOfAllKinds(t *testing.T) {
	t.Parallel()
	const source = head + `
static int a[64], b[64], c[64];
__attribute__((noinline)) void touch(volatile int *p) { *p += 1; }
int main(int argc, char **argv)
{
	int flag, n, index, indices[3];
	MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, p;
	MPI_Status s[3];
	MPI_Init(&argc, &argv);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	MPI_Waitsome(3, r, &n, indices, MPI_STATUSES_IGNORE);
	MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
	MPI_Recv_init(a, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &p);
	touch(a);
	r[1] = p;
	MPI_Waitall(3, r, s); /* inactive */
	MPI_Start(&r[1]);
	touch(a);
	MPI_Irecv(b, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &r[0]);
	MPI_Testall(3, r, &flag, s);
	MPI_Testany(3, r, &index, &flag, s);
	MPI_Cancel(&r[0]);
	MPI_Wait(&r[0], s);
	touch(b);
	MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
	touch(a);
	MPI_Send(c, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	touch(a);
	MPI_Request_free(&r[1]);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(1, "app"), 0))
		all := f.all("MPI_Waitall")
		require.Equal(t, ints(0, 0, 0), all[0].arg["requests"].List)
		require.Equal(t, ints(-4, -4, -4), f.one(t, "MPI_Waitsome").arg["indices"].List)
		require.Equal(t, int64(-4), f.one(t, "MPI_Waitany").arg["index"].Int)
		receive := f.one(t, "MPI_Recv_init").arg["request"].Int
		cancelled := f.one(t, "MPI_Irecv").arg["request"].Int
		require.Equal(t, ints(0, receive, 0), all[1].arg["requests"].List)
		require.Equal(t, ints(cancelled, receive, 0), f.one(t, "MPI_Testall").arg["requests"].List)
		require.Zero(t, f.one(t, "MPI_Testall").arg["flag"].Int)
		require.Zero(t, f.one(t, "MPI_Testany").arg["flag"].Int)
		require.Equal(t, cancelled, f.one(t, "MPI_Cancel").arg["request"].Int)
		require.Equal(t, int64(1), f.one(t, "MPI_Wait").arg["status"].List[3], "cancelled")
		require.Equal(t, ints(0, receive, 0), all[2].arg["requests"].List)
		require.Equal(t, ints(0, 1, 4, 0), all[2].arg["statuses"].List[4:8])

		address := uint64(f.one(t, "MPI_Recv_init").arg["buf"].Int)
		for call, want := range map[uint64][]uint64{
			f.one(t, "MPI_Recv_init").Seq: nil,
			f.one(t, "MPI_Start").Seq:     {address},
			f.one(t, "MPI_Wait").Seq:      nil,
			f.one(t, "MPI_Test").Seq:      {address},
			all[2].Seq:                    nil,
		} {
			require.Equal(t, want, f.stores(call))
		}
	})
}

// The functions of MPI 4, which MPICH has.
func TestVersion4(t *testing.T) {
	t.Parallel()
	const source = head + `
static int a[64] __attribute__((aligned(64))), b[64], d[64];
__attribute__((noinline)) void touch(volatile int *p) { *p += 1; }
int main(int argc, char **argv)
{
	int flag, *base;
	MPI_Request s, r, c;
	MPI_Datatype huge, row, column, odd, block, old;
	MPI_Win win;
	MPI_Comm self;
	MPI_Group group;
	MPI_Init(&argc, &argv);

	MPI_Psend_init(a, 2, 4, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, &s);
	MPI_Precv_init(b, 2, 4, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, &r);
	MPI_Start(&r);
	MPI_Start(&s);
	MPI_Pready(1, s);
	touch(a + 5);
	MPI_Pready_range(0, 0, s);
	MPI_Parrived(r, 0, &flag);
	touch(b + 2);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	touch(a + 5);
	MPI_Start(&r);
	MPI_Start(&s);
	MPI_Pready_list(2, (int[]){1, 0}, s);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Request_free(&s);
	MPI_Request_free(&r);

	MPI_Allreduce_init(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &c);
	touch(b);
	MPI_Start(&c);
	touch(b + 3);
	MPI_Wait(&c, MPI_STATUS_IGNORE);
	touch(b);
	MPI_Request_free(&c);
	MPI_Isendrecv(a, 4, MPI_INT, 0, 9, b, 4, MPI_INT, 0, 9, MPI_COMM_SELF, &c);
	touch(a);
	MPI_Wait(&c, MPI_STATUS_IGNORE);
	MPI_Isendrecv_replace(a, 4, MPI_INT, 0, 9, 0, 9, MPI_COMM_SELF, &c);
	MPI_Wait(&c, MPI_STATUS_IGNORE);

	MPI_Type_contiguous_c(3000000000, MPI_CHAR, &huge);
	MPI_Type_commit(&huge);
	MPI_Send_c(d, 0, huge, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	MPI_Send_c(d, 5000000000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	MPI_Type_create_hvector_c(2, 1, 8, MPI_INT, &row);
	MPI_Type_create_struct_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){0, 8}, (MPI_Datatype[]){MPI_INT, row}, &column);
	MPI_Type_create_resized_c(column, 0, 64, &odd);
	MPI_Type_create_subarray_c(2, (MPI_Count[]){4, 4}, (MPI_Count[]){2, 2}, (MPI_Count[]){1, 1}, MPI_ORDER_C, MPI_INT, &block);
	MPI_Type_create_hindexed_block_c(2, 1, (MPI_Count[]){4, 16}, MPI_INT, &old);
	MPI_Type_commit(&odd);
	MPI_Type_commit(&block);
	MPI_Type_commit(&old);
	MPI_Win_allocate_c(256, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_fence(0, win);
	MPI_Put_c(d, 1, odd, 0, 0, 1, odd, win);
	touch(d + 1);
	MPI_Get_c(d, 1, block, 0, 0, 1, block, win);
	MPI_Accumulate_c(d, 1, old, 0, 0, 1, old, MPI_SUM, win);
	MPI_Win_fence(0, win);
	MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, d, (MPI_Count[]){1, 2}, (MPI_Aint[]){0, 7}, MPI_INT, MPI_COMM_WORLD);
	MPI_Win_free(&win);
	MPI_Comm_group(MPI_COMM_SELF, &group);
	MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &self);
	MPI_Barrier(self);
	MPI_Finalize();
	return 0;
}
`
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source})
			b.cc("-O1", "app.c", "-o", "app")
			f := readFile(t, rankFile(b.traced(2, "app"), 1))
			checkPartitioned(t, f)
			checkLargeCounts(t, f)
			made := f.one(t, "MPI_Comm_create_from_group")
			require.Equal(t, ints(1), made.arg["group"].List)
			require.Equal(t, made.arg["newcomm"].Int, f.one(t, "MPI_Barrier").arg["comm"].Int)
		})
	}
}

func checkPartitioned(t *testing.T, f *file) {
	t.Helper()
	send, receive := f.one(t, "MPI_Psend_init"), f.one(t, "MPI_Precv_init")
	require.Equal(t, ints(2, 4), ints(send.arg["partitions"].Int, send.arg["count"].Int))
	request := send.arg["request"].Int
	ready := f.one(t, "MPI_Pready")
	require.Equal(t, ints(1, request), ints(ready.arg["partition"].Int, ready.arg["request"].Int))
	ranged := f.one(t, "MPI_Pready_range")
	require.Equal(t, ints(0, 0, request), ints(ranged.arg["partition_low"].Int, ranged.arg["partition_high"].Int, ranged.arg["request"].Int))
	require.Equal(t, ints(1, 0), f.one(t, "MPI_Pready_list").arg["array_of_partitions"].List)
	arrived := f.one(t, "MPI_Parrived")
	require.Equal(t, ints(receive.arg["request"].Int, 0), ints(arrived.arg["request"].Int, arrived.arg["partition"].Int))
	require.Equal(t, []uint64{uint64(send.arg["buf"].Int) + 20}, f.stores(ready.Seq))
	require.Equal(t, []uint64{uint64(receive.arg["buf"].Int) + 8}, f.stores(arrived.Seq))
	require.Empty(t, f.stores(f.all("MPI_Wait")[1].Seq))

	reduce := f.one(t, "MPI_Allreduce_init")
	require.Empty(t, f.stores(reduce.Seq))
	started := f.all("MPI_Start")[4]
	require.Equal(t, reduce.arg["request"].Int, started.arg["request"].Int)
	require.Equal(t, []uint64{uint64(reduce.arg["recvbuf"].Int) + 12}, f.stores(started.Seq))
	require.Empty(t, f.stores(f.all("MPI_Wait")[4].Seq))
	both := f.one(t, "MPI_Isendrecv")
	require.Equal(t, []uint64{uint64(both.arg["sendbuf"].Int)}, f.stores(both.Seq))
	require.Equal(t, ints(0, 9, 0, 9), ints(both.arg["dest"].Int, both.arg["sendtag"].Int, both.arg["source"].Int, both.arg["recvtag"].Int))
	require.NotZero(t, f.one(t, "MPI_Isendrecv_replace").arg["request"].Int)
}

// checkLargeCounts: large-count forms are recorded like their plain ones, and
// datatypes made with large counts as if made with small ones.
func checkLargeCounts(t *testing.T, f *file) {
	t.Helper()
	sends := f.all("MPI_Send")
	require.Equal(t, ints(3000000000), f.Type(sends[0].arg["datatype"].Int).Ints)
	require.Equal(t, int64(5000000000), sends[1].arg["count"].Int)
	put := f.one(t, "MPI_Put")
	resized := f.Type(put.arg["origin_datatype"].Int)
	require.Equal(t, ints(0, 64), resized.Addrs)
	structure := f.Type(resized.Types[0])
	require.Equal(t, ints(2, 1, 2), structure.Ints)
	require.Equal(t, ints(0, 8), structure.Addrs)
	hvector := f.Type(structure.Types[1])
	require.Equal(t, ints(2, 1), hvector.Ints)
	require.Equal(t, ints(8), hvector.Addrs)
	require.Equal(t, []uint64{uint64(put.arg["origin_addr"].Int) + 4}, f.stores(put.Seq))
	require.Equal(t, ints(2, 4, 4, 2, 2, 1, 1, 0), f.Type(f.one(t, "MPI_Get").arg["target_datatype"].Int).Ints)
	blocks := f.Type(f.one(t, "MPI_Accumulate").arg["target_datatype"].Int)
	require.Equal(t, ints(2, 1), blocks.Ints)
	require.Equal(t, ints(4, 16), blocks.Addrs)
	gather := f.one(t, "MPI_Allgatherv")
	require.Equal(t, ints(1, 2), gather.arg["recvcounts"].List)
	require.Equal(t, ints(0, 7), gather.arg["displs"].List)
	require.Equal(t, int64(4), f.one(t, "MPI_Win_allocate").arg["disp_unit"].Int)
}

// Predefined types that have no name, which Fortran asks for by precision, have that of the
// call that made them, and are as long as the library says.
func TestTypesByPrecision(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	MPI_Datatype t, two;
	double d[4] = {0};
	MPI_Init(&argc, &argv);
	MPI_Type_create_f90_integer(15, &t);
	MPI_Send(d, 1, t, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	MPI_Type_create_f90_real(15, MPI_UNDEFINED, &t);
	MPI_Type_contiguous(2, t, &two);
	MPI_Type_commit(&two);
	MPI_Send(d, 1, two, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
	MPI_Type_free(&two);
	MPI_Type_create_f90_complex(6, 30, &t);
	MPI_Send(d, 1, t, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
`
	for _, p := range platforms[:2] {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source})
			b.cc("-O1", "app.c", "-o", "app")
			f := readFile(t, rankFile(b.traced(1, "app"), 0))
			sends := f.all("MPI_Send")
			require.Len(t, sends, 3)
			number, numbers, pair := f.Type(sends[0].arg["datatype"].Int), f.Type(sends[1].arg["datatype"].Int), f.Type(sends[2].arg["datatype"].Int)
			require.Equal(t, trace.Contiguous, numbers.Combiner)
			for want, typ := range map[string]*trace.Type{
				"8 MPI_Type_create_f90_integer(15)":             number,
				"8 MPI_Type_create_f90_real(15, MPI_UNDEFINED)": f.Type(numbers.Types[0]),
				"8 MPI_Type_create_f90_complex(6, 30)":          pair,
			} {
				require.Equal(t, trace.Named, typ.Combiner, want)
				require.Equal(t, want, fmt.Sprint(typ.Size, " ", typ.Name))
			}
		})
	}
}

// Calls in a loop that tests whether something has come are recorded once, until one of them
// finds something, or another call comes between them.
func TestTestsInVain(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <pthread.h>
static int a, b;
static void *beside(void *unused)
{
	int flag;
	for (int i = 0; i < 2000; i++)
		MPI_Iprobe(0, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	return unused;
}
int main(int argc, char **argv)
{
	int flag, index, n, at[6];
	MPI_Request r[6], s;
	pthread_t thread;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &n);
	for (int i = 0; i < 6; i++)
		MPI_Irecv(&b, i < 5, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]);
	pthread_create(&thread, NULL, beside, NULL);
	for (int i = 0; i < 1000; i++) {
		MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
		MPI_Testany(6, r, &index, &flag, MPI_STATUS_IGNORE);
		MPI_Testsome(6, r, &n, at, MPI_STATUSES_IGNORE);
		MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	}
	pthread_join(thread, NULL);
	for (int k = 0; k < 2; k++) {
		MPI_Barrier(MPI_COMM_SELF);
		for (int i = 0; i < 10; i++)
			MPI_Testall(6, r, &flag, MPI_STATUSES_IGNORE);
	}
	for (int i = 0; i < 6; i++) {
		MPI_Isend(&a, i < 5, MPI_INT, 0, i, MPI_COMM_SELF, &s);
		MPI_Wait(&s, MPI_STATUS_IGNORE);
		for (flag = 0; !flag; )
			MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE);
		for (flag = 0; !flag; )
			MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1", "-pthread"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(1, "app"), 0))
		// In a loop of several calls, once more behind the first time of the others.
		for name, n := range map[string]int{"MPI_Testany": 2, "MPI_Testsome": 2, "MPI_Iprobe": 2, "MPI_Testall": 2} {
			require.Len(t, f.all(name), n, name)
		}
		found := map[string]int{}
		for _, name := range []string{"MPI_Test", "MPI_Request_get_status"} {
			for _, c := range f.all(name) {
				found[name] += int(c.arg["flag"].Int)
			}
			require.Equal(t, 6, found[name], "%s that succeeded", name)
			require.LessOrEqual(t, len(f.all(name)), 13, name)
		}
	})
}

// Atomic loads in a loop that waits for a value are recorded once, until one of them finds
// another value, whatever other threads do meanwhile.
func TestLoadsInVain(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static _Atomic int *word;
static void *beside(void *unused)
{
	for (int i = 0; i < 2000; i++)
		if (atomic_load(&word[8]) != 0 || atomic_load(&word[9]) != 0)
			return word;
	return unused;
}
int main(int argc, char **argv)
{
	int n;
	MPI_Win win;
	pthread_t thread;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &n);
	MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
	memset((void *)word, 0, 64);
	pthread_create(&thread, NULL, beside, NULL);
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 2000; i++)
			if (atomic_load_explicit(&word[0], memory_order_relaxed) != k || atomic_load(&word[1]) != 0)
				MPI_Abort(MPI_COMM_SELF, 1);
		atomic_store(&word[0], 1);
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < 2000; i++) {
		if (atomic_load_explicit(&word[4], memory_order_relaxed) != 0)
			MPI_Abort(MPI_COMM_SELF, 1);
		atomic_thread_fence(memory_order_acquire);
		atomic_thread_fence(memory_order_acq_rel);
	}
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1", "-pthread"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 0))
		require.Len(t, f.all("mcchk_Atomic"), 2+3*3+1, "of two words in turn, the first is read once more behind the first time of the other")
		fences := f.all("mcchk_Atomic_fence")
		require.NotEmpty(t, fences)
		require.LessOrEqual(t, len(fences), 2, "each does something that none before has done, once; compilers join the two")
	})
}

// TestExchangesInVain: an atomic operation that leaves what it found polls, as who waits for a lock by
// test-and-set does: it is recorded once, as a load.
func TestExchangesInVain(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <stdatomic.h>
int main(int argc, char **argv)
{
	struct { atomic_flag lock; _Atomic unsigned char bits; } *shared;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
	atomic_flag_clear(&shared->lock);
	atomic_store(&shared->bits, 128);
	for (int i = 0; i < 2000; i++)
		if (atomic_flag_test_and_set_explicit(&shared->lock, memory_order_acquire) != (i > 0))
			MPI_Abort(MPI_COMM_SELF, 1);
	for (int i = 0; i < 2000; i++)
		if (atomic_fetch_or(&shared->bits, i ? 128 : 1) != (i ? 129 : 128))
			MPI_Abort(MPI_COMM_SELF, 1);
	atomic_fetch_add(&shared->bits, 127);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		var how []int64
		for _, c := range readFile(t, rankFile(b.traced(2, "app"), 0)).all("mcchk_Atomic") {
			how = append(how, c.arg["how"].Int)
		}
		require.Equal(t, []int64{1, 1, 2, 0, 6, 0, 3}, how)
	})
}

// TestWalksOverFlags: of a walk over nodes that have an atomic flag each, what it has found and read
// before is recorded no more, until the process does something that others may come after.
func TestWalksOverFlags(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <stdatomic.h>
#include <string.h>
enum { NODES = 300, WALKS = 200, PHASES = 2 };
static struct node {
	_Atomic int flag;
	int next;
	double at[3];
	char body[88];
} *node;
static double walk(void)
{
	double sum = 0;
	for (int i = 0; i >= 0; i = node[i].next)
		if (atomic_load_explicit(&node[i].flag, memory_order_acquire) == 0)
			sum += node[i].at[0] + node[i].at[2];
	return sum;
}
int main(int argc, char **argv)
{
	double sum = 0;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate_shared(NODES * sizeof *node, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &node, &win);
	memset(node, 0, NODES * sizeof *node);
	for (int i = 0; i < NODES; i++)
		node[7 * i % NODES].next = i == NODES - 1 ? -1 : 7 * (i + 1) % NODES;
	for (int k = 0; k < PHASES; k++) {
		for (int i = 0; i < WALKS; i++)
			sum += walk();
		atomic_store(&node[1].flag, k);
		atomic_store(&node[1].flag, 0);
	}
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum != 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 0))
		const nodes, walks, phases = 300, 200, 2
		require.Equal(t, phases*(2*nodes-1+2), len(f.all("mcchk_Atomic")), "what is found first is found anew once more behind what was found after it")
		loads := map[uint64]int{}
		count, notes := 0, 0
		for _, e := range f.events {
			a := e.access
			switch {
			case a == nil && e.Fn.Name == "mcchk_Atomic":
				notes++
				if notes == 2*nodes+1 {
					require.Len(t, loads, 2*nodes)
					clear(loads)
				}
			case a != nil && notes > 0 && !a.Store && !a.Atomic && a.Size == 8:
				for i := range a.Count {
					loads[a.Addr+i*uint64(a.Stride)]++
					count++
				}
			}
		}
		require.Len(t, loads, 2*nodes, "again, behind what others may come after")
		require.LessOrEqual(t, count, 2*phases*2*nodes, "of %d", walks*phases*2*nodes)
	})
}

// TestAtomicsBesideBuffers: values are noted of atomics on memory that processes share, and of none that
// shares its page with the buffer of a call, where they would be noted now and then.
func TestAtomicsBesideBuffers(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <stdatomic.h>
static struct { _Atomic int count; int pad[15], buffer[16]; } beside __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
	_Atomic int *word;
	MPI_Win win;
	MPI_Request r;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
	atomic_fetch_add(&beside.count, 1);
	MPI_Irecv(beside.buffer, 16, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
	atomic_fetch_add(&beside.count, 1);
	atomic_fetch_add(&word[3], 1);
	MPI_Send((int[16]){0}, 16, MPI_INT, 0, 0, MPI_COMM_SELF);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Win_free(&win);
	MPI_Finalize();
	return beside.count != 2;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		require.Len(t, readFile(t, rankFile(b.traced(2, "app"), 0)).all("mcchk_Atomic"), 1)
	})
}

// TestRequestsOfThreads: MPICH has one handle for all sends that are complete at once. Threads that keep
// their requests elsewhere than where they were made get their own, and none at the same time as another.
func TestRequestsOfThreads(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <pthread.h>
enum { ROUNDS = 300, EACH = 3 };
static void *work(void *of)
{
	long tag = (long)of;
	MPI_Request made[EACH], kept[EACH];
	int out[EACH] = {0}, in[EACH];
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < EACH; i++)
			MPI_Isend(&out[i], 1, MPI_INT, 0, (int)tag, MPI_COMM_SELF, &made[i]);
		for (int i = 0; i < EACH; i++)
			kept[(i + n) % EACH] = made[i];
		for (int i = 0; i < EACH; i++)
			MPI_Recv(&in[i], 1, MPI_INT, 0, (int)tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
		if (n % 2)
			MPI_Waitall(EACH, kept, MPI_STATUSES_IGNORE);
		else
			for (int i = 0; i < EACH; i++)
				MPI_Wait(&kept[i], MPI_STATUS_IGNORE);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	int provided;
	pthread_t thread[4];
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	for (long i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1", "-pthread"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(1, "app"), 0))
		tag := map[int64]int64{} // of requests that are not complete
		for _, c := range f.all("MPI_Isend") {
			tag[c.arg["request"].Int] = c.arg["tag"].Int
		}
		require.Len(t, tag, 4*300*3)
		complete := func(ids ...int64) {
			thread := tag[ids[0]]
			for _, id := range ids {
				require.Contains(t, tag, id)
				require.Equal(t, thread, tag[id], "of one thread")
				delete(tag, id)
			}
		}
		for _, c := range f.all("MPI_Waitall") {
			complete(c.arg["requests"].List...)
		}
		for _, c := range f.all("MPI_Wait") {
			complete(c.arg["request"].Int)
		}
		require.Empty(t, tag)
	})
}
