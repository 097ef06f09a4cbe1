//go:build !quick

package tracer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// chunk is one of a trace file, as docs/trace-format.md describes it.
type chunk struct {
	size, strand, state uint32
	accesses            bool
	records             int // that are neither marks nor an index
	ended               bool
}

// contents is what an index says of the records before it.
type contents struct {
	Elements [2]uint64 // loads, stores
	Lo, Hi   uint64
	Groups   [][2]uint32
}

// readChunks takes a file apart byte by byte, and requires that the chunks are
// what the format says, sealed with the right checksum and index. It returns
// them and the number of elements accessed.
func readChunks(t *testing.T, path string) (list []chunk, elements uint64) {
	t.Helper()
	le, castagnoli := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	found := chunkContents(t, data)
	last := uint64(0) // sequence number of a chunk
	for data = data[128:]; len(data) > 0; {
		require.Equal(t, "CHNK", string(data[:4]))
		c := chunk{size: le.Uint32(data[4:]), strand: le.Uint32(data[8:]), state: le.Uint32(data[16:])}
		kind := le.Uint32(data[36:])
		require.GreaterOrEqual(t, le.Uint64(data[24:]), last, "chunks are in the order in which their room was taken")
		last = le.Uint64(data[24:])
		records := data[40 : 40+le.Uint32(data[20:])]
		require.Equal(t, uint32(1), c.state)
		require.Equal(t, le.Uint32(data[12:]), crc32.Checksum(records, castagnoli))
		in := found[len(list)]
		c.accesses, c.records, c.ended = kind != 0, in.records, in.ended
		require.False(t, c.accesses && kind == 1, "accesses without an index")
		require.False(t, !c.accesses && len(in.Groups) > 0, "a mark among calls")
		if c.accesses {
			told := readIndex(t, records[kind-40:])
			require.Equal(t, in.contents, told)
			elements += told.Elements[0] + told.Elements[1]
		}
		list = append(list, c)
		data = data[c.size:]
	}
	require.Len(t, found, len(list))
	return list, elements
}

// readIndex reads the index that the rest of a chunk is.
func readIndex(t *testing.T, r []byte) (told contents) {
	t.Helper()
	le := binary.LittleEndian
	length := int(le.Uint32(r[4:]))
	require.Equal(t, []byte{15, 1, 0, 0}, r[:4])
	require.Len(t, r, length, "the index is the last record")
	require.Equal(t, le.Uint32(r[length-8:]), crc32.Checksum(r[:length-8], crc32.MakeTable(crc32.Castagnoli)))
	told.Elements = [2]uint64{le.Uint64(r[8:]), le.Uint64(r[16:])}
	told.Lo, told.Hi = le.Uint64(r[24:]), le.Uint64(r[32:])
	groups := r[48 : length-8]
	number := func() uint32 {
		n := bits.TrailingZeros8(groups[0]) + 1
		v := uint64(0)
		for i := range n {
			v |= uint64(groups[i]) << (8 * i)
		}
		groups = groups[n:]
		return uint32(v >> n)
	}
	for range le.Uint32(r[40:]) {
		told.Groups = append(told.Groups, [2]uint32{number(), number()})
	}
	require.Less(t, len(groups), 8)
	return told
}

// inside is what a chunk holds.
type inside struct {
	contents
	records int // that are no marks
	ended   bool
}

// chunkContents reads the records of a file, chunk by chunk.
func chunkContents(t *testing.T, data []byte) (found []inside) {
	t.Helper()
	r, err := trace.NewRecordReader(bytes.NewReader(data), "test")
	require.NoError(t, err)
	defer r.Close()
	var rec trace.Record
	var seq uint64
	for {
		err := r.Read(&rec)
		if errors.Is(err, io.EOF) {
			require.Nil(t, r.Cut())
			return found
		}
		require.NoError(t, err)
		if rec.Kind == trace.RecordChunk {
			found, seq = append(found, inside{}), rec.Chunk.Seq
			continue
		}
		c := &found[len(found)-1]
		switch rec.Kind {
		case trace.RecordAccess:
			require.NotEmpty(t, c.Groups, "an access before the first mark, or among calls")
			c.add(&rec.Access)
			c.records++
		case trace.RecordGrid:
			require.NotEmpty(t, c.Groups, "a grid before the first mark, or among calls")
			for p := range int64(rec.Grid.Planes) {
				for r := range int64(rec.Grid.Rows) {
					a := rec.Grid.Access
					a.Addr += uint64(p*rec.Grid.PlaneStep + r*rec.Grid.RowStep)
					c.add(&a)
				}
			}
			c.records++
		case trace.RecordMark:
			require.True(t, rec.Mark > seq || len(c.Groups) == 0 && rec.Mark == seq, "mark %d behind %d", rec.Mark, seq)
			c.Groups = append(c.Groups, [2]uint32{uint32(rec.Mark - seq)})
			seq = rec.Mark
		default:
			require.False(t, rec.Chunk.Accesses, "a record of type %d in a chunk of accesses", rec.Kind)
			c.records++
			c.ended = rec.Kind == trace.RecordEnd
		}
	}
}

func (c *contents) add(a *trace.Access) {
	last := a.Addr + (a.Count-1)*uint64(a.Stride)
	if c.Hi == 0 {
		c.Lo = a.Addr
	}
	c.Lo, c.Hi = min(c.Lo, a.Addr, last), max(c.Hi, a.Addr+uint64(a.Size), last+uint64(a.Size))
	kind := 0
	if a.Store {
		kind = 1
	}
	c.Elements[kind] += a.Count
	c.Groups[len(c.Groups)-1][1]++
}

func TestAccessesHaveChunksOfTheirOwn(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <semaphore.h>
enum { N = 1 << 14 };
static double memory[4 * N];
static sem_t semaphore;
__attribute__((noinline)) void touch(volatile double *p) { *p += 1; }
static void *work(void *arg)
{
	double *mine = memory + N * (long)arg;
	for (int i = 0; i < N; i++) {
		touch(mine + i * (i + 1L) / 2 % N);
		if (i % 256 == 0) /* what goes before is written */
			sem_post(&semaphore);
	}
	for (int i = N; i-- > 0;)
		touch(mine + i);
	return NULL;
}
int main(int argc, char **argv)
{
	MPI_Win win;
	int provided;
	pthread_t thread[3];
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
#ifdef THREADS
	for (long k = 1; k < 4; k++)
		pthread_create(&thread[k - 1], NULL, work, (void *)k);
#endif
	for (int i = 0; i < CALLS; i++) {
		MPI_Win_fence(0, win);
		touch(memory + i);
	}
#ifdef THREADS
	for (int k = 0; k < 3; k++)
		pthread_join(thread[k], NULL);
	work(NULL);
#endif
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	for _, options := range [][]string{{"-DCALLS=300", "-DTHREADS"}, {"-DCALLS=3"}, {"-DCALLS=0"}} {
		t.Run(options[0], func(t *testing.T) {
			t.Parallel()
			onAll(t, source, append(options, "-O2", "-pthread"), func(t *testing.T, b *bench) {
				dir, out, exit := b.attempt(2, "export MCCHK_CHUNK_KIB=16;", "app")
				require.Zero(t, exit, out)
				list, elements := readChunks(t, rankFile(dir, 0))
				f := readFile(t, rankFile(dir, 0))
				require.Nil(t, f.Cut())
				require.Equal(t, elements, f.End().Accesses)
				strands := map[uint32]int{} // of chunks of accesses
				for i, c := range list {
					require.Equal(t, i == len(list)-1, c.ended, "the end stands in the last chunk")
					if c.accesses {
						require.NotZero(t, c.records)
						strands[c.strand]++
					}
				}
				switch options[0] {
				case "-DCALLS=300":
					require.Len(t, strands, 4)
					require.Greater(t, strands[1], 1)
				case "-DCALLS=3":
					require.Len(t, list, 3)
					require.True(t, list[1].accesses)
					info, err := os.Stat(rankFile(dir, 0))
					require.NoError(t, err)
					require.Less(t, info.Size(), int64(16<<10), "a file of few records is small")
				default:
					require.Len(t, list, 1)
				}
			})
		})
	}
}
