//go:build !quick

package tracer

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
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
	for data = data[128:]; len(data) > 0; {
		require.Equal(t, "CHNK", string(data[:4]))
		c := chunk{size: le.Uint32(data[4:]), strand: le.Uint32(data[8:]), state: le.Uint32(data[16:])}
		kind, seq := le.Uint32(data[36:]), le.Uint64(data[24:])
		records := data[40 : 40+le.Uint32(data[20:])]
		require.Equal(t, uint32(1), c.state)
		require.Equal(t, le.Uint32(data[12:]), crc32.Checksum(records, castagnoli))
		c.accesses = kind != 0
		var found contents
		for at := 0; at < len(records); {
			r, length := records[at:], 32
			if r[0] != 2 {
				length = int(le.Uint32(r[4:]))
			}
			switch {
			case r[0] == 2:
				require.NotEmpty(t, found.Groups, "an access before the first mark, or among calls")
				found.add(r)
				c.records++
			case r[0] == 15:
				require.Equal(t, kind, uint32(40+at))
				require.Len(t, r, length, "the index is the last record")
				require.Equal(t, le.Uint32(r[length-8:]), crc32.Checksum(r[:length-8], castagnoli))
				var told contents
				n := int(le.Uint32(r[40:]))
				require.Equal(t, 56+8*n, length)
				told.Elements = [2]uint64{le.Uint64(r[8:]), le.Uint64(r[16:])}
				told.Lo, told.Hi = le.Uint64(r[24:]), le.Uint64(r[32:])
				for i := range n {
					told.Groups = append(told.Groups, [2]uint32{le.Uint32(r[48+8*i:]), le.Uint32(r[52+8*i:])})
				}
				require.Equal(t, found, told)
				elements += told.Elements[0] + told.Elements[1]
			case r[0] == 8:
				require.True(t, c.accesses, "a mark among calls")
				mark := le.Uint64(r[8:])
				require.True(t, mark > seq || len(found.Groups) == 0 && mark == seq, "mark %d behind %d", mark, seq)
				found.Groups = append(found.Groups, [2]uint32{uint32(mark - seq)})
				seq = mark
			default:
				require.False(t, c.accesses, "a record of type %d in a chunk of accesses", r[0])
				c.records++
				c.ended = r[0] == 11
			}
			at += length
		}
		require.False(t, c.accesses && kind == 1, "accesses without an index")
		list = append(list, c)
		data = data[c.size:]
	}
	return list, elements
}

func (c *contents) add(r []byte) {
	le := binary.LittleEndian
	size, addr, stride, count := uint64(le.Uint16(r[2:])), le.Uint64(r[8:]), le.Uint64(r[16:]), le.Uint64(r[24:])
	last := addr + (count-1)*stride
	if c.Hi == 0 {
		c.Lo = addr
	}
	c.Lo, c.Hi = min(c.Lo, addr, last), max(c.Hi, addr+size, last+size)
	c.Elements[r[1]&1] += count
	c.Groups[len(c.Groups)-1][1]++
}

func TestAccessesHaveChunksOfTheirOwn(t *testing.T) {
	t.Parallel()
	const source = head + `
enum { N = 3000 };
static double memory[4 * N];
__attribute__((noinline)) void touch(volatile double *p) { *p += 1; }
static void *work(void *arg)
{
	double *mine = memory + N * (long)arg;
	for (int i = 0; i < N; i++)
		touch(mine + i * 7919L % N);
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
