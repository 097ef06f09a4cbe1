package judge

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
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
		Elem:   &regions.Element{Type: typ, Size: size, Op: op, Promises: mpi.Promises(trace.OrderAll, false)}, Call: regions.NewCallInfo(regions.CallSite{Object: 1}, 0),
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
		Rank: rank, Kind: kind, Role: role, Call: regions.NewCallInfo(regions.CallSite{}, 0),
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

// TestCompatibility is the table of the detection model, "Conflicts".
func TestCompatibility(t *testing.T) {
	read, write := plain(0, regions.Read, regions.Load), plain(1, regions.Write, regions.Store)
	sum := func(rank int32) *regions.Access { return atomically(rank, "MPI_SUM", "MPI_INT", 4, 0, 1) }
	fetch := func(rank int32) *regions.Access { return atomically(rank, "MPI_NO_OP", "MPI_INT", 4, 0, 1) }
	other := sum(1)
	other.Call = regions.NewCallInfo(regions.CallSite{Object: 2}, 0)
	tests := []struct {
		name string
		a, b *regions.Access
		want conflicts.Verdict
	}{
		{"read and read", read, read, conflicts.Compatible},
		{"read and write", read, write, conflicts.Race},
		{"write and write", plain(0, regions.Write, regions.Store), write, conflicts.Race},
		{"stores of two threads of a process", write, write, conflicts.Compatible},
		{"atomic loads and stores of the language", object(0, regions.Read, 0, 4), object(1, regions.Write, 0, 4), conflicts.Compatible},
		{"the same of different size", object(0, regions.Write, 0, 8), object(1, regions.Write, 0, 4), conflicts.Race},
		{"the same, overlapping in part", object(0, regions.Write, 2, 4), object(1, regions.Write, 0, 4), conflicts.Race},
		{"the language's atomic and a plain store", object(0, regions.Write, 0, 4), write, conflicts.Race},
		{"the language's atomic and MPI's", object(0, regions.Write, 0, 4), sum(1), conflicts.Race},
		{"read and atomic read", read, fetch(1), conflicts.Compatible},
		{"read and atomic write", read, sum(1), conflicts.Race},
		{"write and atomic read", write, fetch(0), conflicts.Race},
		{"write and atomic write", write, sum(0), conflicts.Race},
		{"atomic reads", fetch(0), fetch(1), conflicts.Compatible},
		{"the same operation", sum(0), sum(1), conflicts.Compatible},
		{"an operation and MPI_NO_OP", sum(0), fetch(1), conflicts.Compatible},
		{"different operations", sum(0), atomically(1, "MPI_PROD", "MPI_INT", 4, 0, 1), conflicts.OtherOp},
		{"different operations of one origin", sum(0), atomically(0, "MPI_PROD", "MPI_INT", 4, 0, 1), conflicts.Compatible},
		{"of one origin, without waw", informed(sum(0), trace.OrderAll&^trace.OrderWAW, false), informed(atomically(0, "MPI_PROD", "MPI_INT", 4, 0, 1), trace.OrderAll&^trace.OrderWAW, false), conflicts.OtherOp},
		{"of one origin, without rar", informed(sum(0), trace.OrderWAW, false), informed(atomically(0, "MPI_PROD", "MPI_INT", 4, 0, 1), trace.OrderWAW, false), conflicts.Compatible},
		{"MPI_NO_OP where accumulate_ops is same_op", informed(sum(0), trace.OrderAll, true), informed(fetch(1), trace.OrderAll, true), conflicts.OtherOp},
		{"a swap and another operation", sum(0), atomically(1, "compare-and-swap", "MPI_INT", 4, 0, 1), conflicts.OtherOp},
		{"different types", sum(0), atomically(1, "MPI_SUM", "MPI_FLOAT", 4, 0, 1), conflicts.OtherType},
		{"different types of one origin", sum(0), atomically(0, "MPI_SUM", "MPI_FLOAT", 4, 0, 1), conflicts.OtherType},
		{"different types, one MPI_NO_OP", sum(0), atomically(1, "MPI_NO_OP", "MPI_FLOAT", 4, 0, 1), conflicts.OtherType},
		{"different types that only read", fetch(0), atomically(1, "MPI_NO_OP", "MPI_FLOAT", 4, 0, 1), conflicts.Compatible},
		{"a misaligned overlap", sum(0), atomically(1, "MPI_SUM", "MPI_INT", 4, 2, 1), conflicts.OtherType},
		{"through two windows", sum(0), other, conflicts.Race},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, conflicts.Compare(Judge{}, tt.a, tt.b))
			require.Equal(t, tt.want, conflicts.Compare(Judge{}, tt.b, tt.a))
		})
	}
}

func TestRuleOfPairs(t *testing.T) {
	put, get := plain(0, regions.Write, mpi.PutTarget), plain(1, regions.Read, mpi.GetTarget)
	origin := plain(0, regions.Read, mpi.OriginBuffer)
	load, store := plain(1, regions.Read, regions.Load), plain(0, regions.Write, regions.Store)
	recv := plain(0, regions.Write, mpi.ReceiveBuffer)
	tests := []struct {
		name string
		a, b *regions.Access
		v    conflicts.Verdict
		want string
	}{
		{"two processes at a target", put, get, conflicts.Race, conflicts.RuleRemoteRemote},
		{"a load and another's put", put, load, conflicts.Race, conflicts.RuleLocalRemote},
		{"a store and its own put's buffer", origin, store, conflicts.Race, conflicts.RuleBuffer},
		{"two operations of one process", put, origin, conflicts.Race, conflicts.RuleSameOrigin},
		{"a receive and a put", put, recv, conflicts.Race, conflicts.RuleCallBuffer},
		{"a receive and a store", recv, store, conflicts.Race, conflicts.RuleRequest},
		{"stores of two processes", load, store, conflicts.Race, conflicts.RuleShared},
		{"types", put, get, conflicts.OtherType, conflicts.RuleAtomicType},
		{"operations", put, get, conflicts.OtherOp, conflicts.RuleAtomicOp},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Judge{}.Rule(tt.a, tt.b, tt.v))
			require.Equal(t, tt.want, Judge{}.Rule(tt.b, tt.a, tt.v))
			require.True(t, slices.ContainsFunc(Rules(), func(r conflicts.Rule) bool { return r.ID == tt.want }))
		})
	}
}
