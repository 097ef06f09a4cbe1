package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/trace"
)

// loopAccess is one load or store of a loop over the rows of a matrix.
type loopAccess struct {
	line        int
	store       bool
	addr        int
	size        int
	stride, len int
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
		sections := rng.IntN(4) == 0 // of few elements each, which lie beside those of the next row
		if sections {
			pitch = []int{8, 16, -8}[rng.IntN(3)]
		}
		places := make([]loopAccess, 1+rng.IntN(6))
		for i := range places {
			a := &places[i]
			*a = loopAccess{line: 100*(n+1) + i, store: rng.IntN(2) == 0, size: []int{4, 8}[rng.IntN(2)], len: 1 + rng.IntN(12)}
			a.stride = a.size * (1 + rng.IntN(3))
			if sections {
				a.len = 2 + rng.IntN(5)
				a.stride = max(pitch, -pitch)*rows + 8*rng.IntN(10)
			}
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
	run := scenario.NewTrace(2)
	run.Every().Call(1, "win_create", scenario.Args{"base": loopBase, "size": loopBytes})
	run.Every().Call(2, "fence", nil)
	return loopTraceOf(t, run, run.Rank(1), 0, accesses, puts)
}

// sharedTrace lets process 2 do them, in the window of process 1, which is shared memory.
func sharedTrace(t *testing.T, accesses []loopAccess, puts [][2]int) [][]byte {
	const alias = 0x1000000
	run := scenario.NewTrace(3)
	run.Every().Call(1, "win_allocate_shared", scenario.Args{"baseptr": loopBase, "size": loopBytes})
	run.Rank(2).Call(1, "shared_segment", scenario.Args{"rank": 1, "base": alias, "size": loopBytes})
	run.Every().Call(2, "fence", nil)
	return loopTraceOf(t, run, run.Rank(2), alias-loopBase, accesses, puts)
}

// loopTraceOf adds the puts of process 0 and the accesses of another one, in memory that is
// moved.
func loopTraceOf(t *testing.T, run *scenario.Trace, one scenario.Process, moved int, accesses []loopAccess, puts [][2]int) [][]byte {
	zero := run.Rank(0)
	for i, p := range puts {
		disp, count := p[0], p[1]
		zero.Type(trace.Type{
			ID: uint32(10 + i), Combiner: trace.Vector, Size: int64(4 * count), Extent: int64(512*(count-1) + 4),
			Ints: []int64{int64(count), 1, 128}, Types: []int64{1},
		})
		zero.Call(10+i, "put", scenario.Args{"to": 1, "disp": disp, "origin_count": count, "target_datatype": 10 + i})
	}
	for _, a := range accesses {
		one.Access(a.line, trace.Access{Store: a.store, Addr: uint64(a.addr + moved), Size: uint32(a.size), Stride: int64(a.stride), Count: uint64(a.len)})
	}
	run.Every().Call(3, "fence", nil)
	return traceFiles(t, run)
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
	t.Parallel()
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
		requireSame(t, want, inMemoryWith(t, sharedTrace(t, accesses, puts), opts), seed)
		shuffled := slices.Clone(accesses)
		rng.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		check(inMemoryWith(t, loopTrace(t, shuffled, puts), opts), "in another order")
	}
	require.Greater(t, total, n)
}

// requireSame: the pairs of lines are the same, whatever accesses are taken for one.
func requireSame(t *testing.T, want map[[2]int]uint64, res *Result, seed uint64) {
	pairs, got := map[[2]int]bool{}, map[[2]int]bool{}
	for p := range want {
		pairs[p] = true
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		if a, b := line(f.First.Stack), line(f.Second.Stack); max(a, b) >= 100 {
			got[[2]int{min(a, b), max(a, b)}] = true
		}
	}
	require.Equal(t, pairs, got, "seed %d, in shared memory", seed)
}
