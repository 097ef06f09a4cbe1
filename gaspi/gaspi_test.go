package gaspi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLanes: a notification takes what was written before it, and nothing twice.
func TestLanes(t *testing.T) {
	var p process
	p.queues = map[int64]*queue{}
	q := p.queue(3)
	require.Same(t, q, p.queue(3))
	ops := make([]*operation, 5)
	for i := range ops {
		ops[i] = &operation{}
	}
	q.write(1, ops[:2])
	q.write(2, ops[2:3]) // to another rank
	l := q.lane(1)
	first := l.next()
	q.write(1, ops[3:])
	second := l.next()
	require.Equal(t, ops[:2], l.until(first))
	require.Empty(t, l.until(first))
	require.Equal(t, ops[3:], l.until(second))
	require.Equal(t, ops[2:3], q.lane(2).until(1))
	require.Equal(t, second, l.next())
	require.Len(t, q.writes, 5, "gaspi_wait is to complete all of them at their sources")
}

// TestIncludes: of two notifications of one queue to one rank, the later shows what the
// earlier does; those of other calls do not.
func TestIncludes(t *testing.T) {
	p, l := &process{}, &lane{}
	first := &notification{by: p, lane: l, upTo: 1}
	second := &notification{by: p, lane: l, upTo: 3}
	own := &notification{by: p, own: []*operation{{}}}
	require.True(t, second.includes(first))
	require.True(t, first.includes(first))
	require.False(t, first.includes(second))
	require.False(t, own.includes(first))
	require.False(t, second.includes(own))
	require.False(t, second.includes(&notification{by: p, lane: &lane{}}), "another queue")
}

// TestTable: each entry says what people have to know of it.
func TestTable(t *testing.T) {
	for _, m := range Meanings() {
		f := FactsOf(m.Call)
		require.True(t, f.Known, m.Call)
		require.Equal(t, f.Operation, f.Operation && m.Memory != "", "%s: an operation accesses memory", m.Call)
		require.Equal(t, m.Completes != "", f.Completes, m.Call)
	}
	require.False(t, FactsOf("MPI_Put").Known)
	require.True(t, FactsOf("gaspi_barrier").Waits)
	require.False(t, FactsOf("gaspi_wait").Waits)
}
