package conflicts

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// atomically makes an atomic access to n elements of a type at an address.
func atomically(rank int32, op, typ string, size, addr, n uint64) *regions.Access {
	a := &regions.Access{
		Rank: rank, Kind: regions.AtomicWrite, Role: mpi.AccumulateTarget, Base: addr,
		Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, n*size)}),
		Elem:   &regions.Element{Type: typ, Size: size, Op: op, Promises: mpi.Promises(trace.OrderAll, false)}, Call: &regions.CallInfo{Object: 1},
	}
	if op == "MPI_NO_OP" {
		a.Kind = regions.AtomicRead
	}
	return a
}

// informed gives an atomic access what info keys of its window say.
func informed(a *regions.Access, ordering int64, sameOp bool) *regions.Access {
	a.Elem.Promises = mpi.Promises(ordering, sameOp)
	return a
}

func plain(rank int32, kind regions.Kind, role *regions.Role) *regions.Access {
	return &regions.Access{
		Rank: rank, Kind: kind, Role: role, Call: &regions.CallInfo{},
		Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, 4)}),
	}
}

// object makes a load or store by the language's atomics.
func object(rank int32, kind regions.Kind, base uint64, size uint32) *regions.Access {
	a := plain(rank, kind, regions.Store)
	a.Base, a.Atomic = base, size
	a.Layout = intervals.NewLayout([]intervals.Run{intervals.Solid(0, uint64(size))})
	return a
}

// TestCompatibility is the table of the detection model, section 4.
func TestCompatibility(t *testing.T) {
	read, write := plain(0, regions.Read, regions.Load), plain(1, regions.Write, regions.Store)
	sum := func(rank int32) *regions.Access { return atomically(rank, "MPI_SUM", "MPI_INT", 4, 0, 1) }
	fetch := func(rank int32) *regions.Access { return atomically(rank, "MPI_NO_OP", "MPI_INT", 4, 0, 1) }
	other := sum(1)
	other.Call = &regions.CallInfo{Object: 2}
	tests := []struct {
		name string
		a, b *regions.Access
		want verdict
	}{
		{"read and read", read, read, compatible},
		{"read and write", read, write, race},
		{"write and write", write, write, race},
		{"atomic loads and stores of the language", object(0, regions.Read, 0, 4), object(1, regions.Write, 0, 4), compatible},
		{"the same of different size", object(0, regions.Write, 0, 8), object(1, regions.Write, 0, 4), race},
		{"the same, overlapping in part", object(0, regions.Write, 2, 4), object(1, regions.Write, 0, 4), race},
		{"the language's atomic and a plain store", object(0, regions.Write, 0, 4), write, race},
		{"the language's atomic and MPI's", object(0, regions.Write, 0, 4), sum(1), race},
		{"read and atomic read", read, fetch(1), compatible},
		{"read and atomic write", read, sum(1), race},
		{"write and atomic read", write, fetch(0), race},
		{"write and atomic write", write, sum(0), race},
		{"atomic reads", fetch(0), fetch(1), compatible},
		{"the same operation", sum(0), sum(1), compatible},
		{"an operation and MPI_NO_OP", sum(0), fetch(1), compatible},
		{"different operations", sum(0), atomically(1, "MPI_PROD", "MPI_INT", 4, 0, 1), otherOp},
		{"different operations of one origin", sum(0), atomically(0, "MPI_PROD", "MPI_INT", 4, 0, 1), compatible},
		{"of one origin, without waw", informed(sum(0), trace.OrderAll&^trace.OrderWAW, false), informed(atomically(0, "MPI_PROD", "MPI_INT", 4, 0, 1), trace.OrderAll&^trace.OrderWAW, false), otherOp},
		{"of one origin, without rar", informed(sum(0), trace.OrderWAW, false), informed(atomically(0, "MPI_PROD", "MPI_INT", 4, 0, 1), trace.OrderWAW, false), compatible},
		{"MPI_NO_OP where accumulate_ops is same_op", informed(sum(0), trace.OrderAll, true), informed(fetch(1), trace.OrderAll, true), otherOp},
		{"a swap and another operation", sum(0), atomically(1, "compare-and-swap", "MPI_INT", 4, 0, 1), otherOp},
		{"different types", sum(0), atomically(1, "MPI_SUM", "MPI_FLOAT", 4, 0, 1), otherAtomic},
		{"different types of one origin", sum(0), atomically(0, "MPI_SUM", "MPI_FLOAT", 4, 0, 1), otherAtomic},
		{"different types, one MPI_NO_OP", sum(0), atomically(1, "MPI_NO_OP", "MPI_FLOAT", 4, 0, 1), otherAtomic},
		{"different types that only read", fetch(0), atomically(1, "MPI_NO_OP", "MPI_FLOAT", 4, 0, 1), compatible},
		{"a misaligned overlap", sum(0), atomically(1, "MPI_SUM", "MPI_INT", 4, 2, 1), otherAtomic},
		{"through two windows", sum(0), other, race},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, compare(tt.a, tt.b))
			require.Equal(t, tt.want, compare(tt.b, tt.a))
		})
	}
}

func TestMisalignedAgainstElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	draw := func(size uint64) intervals.Run {
		block := size * (1 + rng.Uint64N(3))
		return intervals.Strided(rng.Uint64N(40), block, block+1+rng.Uint64N(12), 1+rng.Uint64N(6))
	}
	starts := func(r intervals.Run, size uint64) (out []uint64) {
		for k := range r.Count {
			for e := uint64(0); e < r.Size; e += size {
				out = append(out, r.Lo+k*r.Stride+e)
			}
		}
		return out
	}
	found := 0
	for range 50_000 {
		size := []uint64{2, 4, 8}[rng.IntN(3)]
		a, b := draw(size), draw(size)
		want := false
		for _, x := range starts(a, size) {
			for _, y := range starts(b, size) {
				want = want || x != y && x < y+size && y < x+size
			}
		}
		require.Equal(t, want, misalignedRuns(a, b, size), "%v %v size %d", a, b, size)
		if want {
			found++
		}
	}
	require.Greater(t, found, 1000)
}

func TestRuleOfPairs(t *testing.T) {
	put, get := plain(0, regions.Write, mpi.PutTarget), plain(1, regions.Read, mpi.GetTarget)
	origin := plain(0, regions.Read, mpi.OriginBuffer)
	load, store := plain(1, regions.Read, regions.Load), plain(0, regions.Write, regions.Store)
	recv := plain(0, regions.Write, mpi.ReceiveBuffer)
	tests := []struct {
		name string
		a, b *regions.Access
		v    verdict
		want string
	}{
		{"two processes at a target", put, get, race, RuleRemoteRemote},
		{"a load and another's put", put, load, race, RuleLocalRemote},
		{"a store and its own put's buffer", origin, store, race, RuleBuffer},
		{"two operations of one process", put, origin, race, RuleSameOrigin},
		{"a receive and a put", put, recv, race, RuleCallBuffer},
		{"a receive and a store", recv, store, race, RuleRequest},
		{"stores of two processes", load, store, race, RuleShared},
		{"types", put, get, otherAtomic, RuleAtomicType},
		{"operations", put, get, otherOp, RuleAtomicOp},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, ruleOf(tt.a, tt.b, tt.v))
			require.Equal(t, tt.want, ruleOf(tt.b, tt.a, tt.v))
			_, ok := Lookup(tt.want)
			require.True(t, ok)
		})
	}
}
