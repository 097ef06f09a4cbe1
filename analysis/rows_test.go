package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
)

// loopAccess is one load or store of a loop over the rows of a matrix.
type loopAccess struct {
	line        int
	store       bool
	addr        int
	size        int
	stride, len int
}

func (a *loopAccess) String() string {
	kind := "load"
	if a.store {
		kind = "store"
	}
	return fmt.Sprintf(`{"access":"%s","addr":"%#x","size":%d,"stride":%d,"count":%d,"stack":[{"func":"f","file":"b.c","line":%d}]}`+"\n",
		kind, a.addr, a.size, a.stride, a.len, a.line)
}

func (a *loopAccess) touches(b int) bool {
	for k := range a.len {
		if lo := a.addr + k*a.stride; lo <= b && b < lo+a.size {
			return true
		}
	}
	return false
}

const (
	loopBase  = 0x10000
	loopBytes = 1 << 18 // four blocks of a part
)

// drawLoops draws nests of loops, in the order of their accesses, all within a
// window at loopBase.
func drawLoops(rng *rand.Rand) []loopAccess {
	var all []loopAccess
	for n := range 1 + rng.IntN(4) {
		pitch := []int{64, 520, 4096, -512, 8, 0}[rng.IntN(6)]
		rows := 1 + rng.IntN(40)
		places := make([]loopAccess, 1+rng.IntN(6))
		for i := range places {
			a := &places[i]
			*a = loopAccess{line: 100*(n+1) + i, store: rng.IntN(2) == 0, size: []int{4, 8}[rng.IntN(2)], len: 1 + rng.IntN(12)}
			a.stride = a.size * (1 + rng.IntN(3))
			span := max(pitch, -pitch)*rows + a.stride*a.len
			a.addr = loopBase + 4*rng.IntN((loopBytes-span)/4)
			if pitch < 0 {
				a.addr -= pitch * rows
			}
		}
		for row := range rows {
			for _, a := range places {
				a.addr += row * pitch
				all = append(all, a)
			}
		}
	}
	return all
}

// loopTrace lets process 1 do the accesses between two fences, and process 0
// put columns into its window: count blocks of 4 bytes, 512 apart.
func loopTrace(t *testing.T, accesses []loopAccess, puts [][2]int) [][]byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"call":"MPI_Win_create","args":{"base":"%#x","size":%d,"disp_unit":1,"comm":1,"win":5,"model":1}}`+"\n"+fence, loopBase, loopBytes)
	b.WriteString("rank 0\n")
	for i, p := range puts {
		fmt.Fprintf(&b, `{"type":%d,"combiner":"vector","size":%d,"lb":0,"extent":%d,"ints":[%d,1,128],"types":[1]}`+"\n", 10+i, 4*p[1], 512*(p[1]-1)+4, p[1])
		fmt.Fprintf(&b, `{"call":"MPI_Put","stack":[{"func":"main","file":"a.c","line":%d}],"args":{"origin_addr":"0x5000","origin_count":%d,"origin_datatype":1,"target_rank":1,"target_disp":%d,"target_count":1,"target_datatype":%d,"win":5}}`+"\n",
			10+i, p[1], p[0], 10+i)
	}
	b.WriteString("rank 1\n")
	for i := range accesses {
		b.WriteString(accesses[i].String())
	}
	b.WriteString("rank -1\n" + fence + finish)
	return packed(t, 2, b.String())
}

// loopRaces counts, for each pair of lines, the accesses that share a byte with
// the put.
func loopRaces(accesses []loopAccess, puts [][2]int) map[[2]int]uint64 {
	races := map[[2]int]uint64{}
	for i, p := range puts {
		for k := range accesses {
			a := &accesses[k]
			for n := range 4 * p[1] {
				if a.touches(loopBase + p[0] + n/4*512 + n%4) {
					races[[2]int{10 + i, a.line}]++
					break
				}
			}
		}
	}
	return races
}

// TestLoops: what loops over rows race with is the same as for each access of
// theirs, in whatever order they are made, and in parts of memory.
func TestLoops(t *testing.T) {
	total, n := 0, int(upTo(t, 300))
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 11))
		accesses := drawLoops(rng)
		var puts [][2]int
		for range 1 + rng.IntN(30) {
			count := 1 + rng.IntN(30)
			puts = append(puts, [2]int{4 * rng.IntN((loopBytes-512*count)/4), count})
		}
		want := loopRaces(accesses, puts)
		total += len(want)
		check := func(res *Result, how string) {
			got := map[[2]int]uint64{}
			for i := range res.Findings {
				f := &res.Findings[i]
				if a, b := line(f.First.Stack), line(f.Second.Stack); max(a, b) >= 100 { // puts may meet one another
					got[[2]int{min(a, b), max(a, b)}] += f.Count
				}
			}
			require.Equal(t, want, got, "seed %d, %s", seed, how)
		}
		opts := Options{Clock: evc.Encoded, Jobs: 1}
		files := loopTrace(t, accesses, puts)
		check(inMemoryWith(t, files, opts), "in order")
		check(inParts(t, files, opts, 1+rng.IntN(4)), "in parts")
		byProcess := opts
		byProcess.part.Processes = true
		check(inParts(t, files, byProcess, 2), "in parts, by process")
		small := opts
		small.MaxMemory = 1
		check(inMemoryWith(t, files, small), "with little memory")
		shuffled := slices.Clone(accesses)
		rng.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		check(inMemoryWith(t, loopTrace(t, shuffled, puts), opts), "in another order")
	}
	require.Greater(t, total, n)
}
