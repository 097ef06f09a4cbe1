package conflicts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// anyOp is the judge of a model in which all atomic operations of one type may
// meet, and which has one rule.
type anyOp struct{}

func (anyOp) Atomic(*regions.Access, *regions.Access) Verdict       { return Compatible }
func (anyOp) Compatible(Atomics, Atomics) bool                      { return true }
func (anyOp) Rule(*regions.Access, *regions.Access, Verdict) string { return RuleRemoteRemote }
func (anyOp) Check(regions.Part, *Collector) RegionCheck            { return nil }

// oneOp is one in which only equal operations may.
type oneOp struct{ anyOp }

func (oneOp) Compatible(x, y Atomics) bool { return x.Op == y.Op }

func (j oneOp) Atomic(a, b *regions.Access) Verdict {
	if a.Elem.Op != b.Elem.Op {
		return OtherOp
	}
	return Compatible
}

// TestJudge: which operations are atomic to each other is the judge's, and
// whether elements fit is not.
func TestJudge(t *testing.T) {
	atomic := func(op, typ string, base uint64, object int64) *regions.Access {
		return &regions.Access{
			Kind: regions.AtomicWrite, Role: &regions.Role{Name: "atomic", Class: regions.Target}, Base: base,
			Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, 4)}),
			Elem:   &regions.Element{Type: typ, Size: 4, Op: op}, Call: regions.NewCallInfo(regions.CallSite{Object: object}, 0),
		}
	}
	first := atomic("add", "int", 0, 1)
	tests := []struct {
		name     string
		second   *regions.Access
		any, one Verdict
	}{
		{"the same", atomic("add", "int", 0, 1), Compatible, Compatible},
		{"another operation", atomic("swap", "int", 0, 1), Compatible, OtherOp},
		{"another type", atomic("add", "float", 0, 1), OtherType, OtherType},
		{"in part", atomic("add", "int", 2, 1), OtherType, OtherType},
		{"another object", atomic("add", "int", 0, 2), Race, Race},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.any, Compare(anyOp{}, first, tt.second))
			require.Equal(t, tt.one, Compare(oneOp{}, first, tt.second))
			require.Equal(t, tt.any == Compatible, classOf(first).compatible(anyOp{}, classOf(tt.second)))
			require.Equal(t, tt.one == Compatible, classOf(first).compatible(oneOp{}, classOf(tt.second)))
		})
	}
}
