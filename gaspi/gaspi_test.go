package gaspi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
)

// TestLanes: a notification takes what was written before it, and nothing twice; what has arrived by one of its
// own is not kept for others.
func TestLanes(t *testing.T) {
	p := &process{m: &Model{Machine: &core.Machine{}}, queues: map[int64]*queue{}}
	q := p.queue(3)
	require.Same(t, q, p.queue(3))
	ops := make([]*operation, 5)
	for i := range ops {
		ops[i] = &operation{remote: &core.Pending{}, local: &core.Pending{}}
	}
	q.write(p, 1, ops[:2])
	q.write(p, 2, ops[2:3]) // to another rank
	l := q.lane(1)
	first := l.next()
	q.write(p, 1, ops[3:])
	second := l.next()
	require.Equal(t, ops[:2], l.until(first))
	require.Empty(t, l.until(first))
	require.Equal(t, ops[3:], l.until(second))
	require.Equal(t, ops[2:3], q.lane(2).until(1))
	require.Equal(t, second, l.next())
	require.Len(t, q.writes, 5, "gaspi_wait is to complete all of them at their sources")

	q.write(p, 4, ops[:3])
	l = q.lane(4)
	ops[0].remote, ops[0].local = nil, nil
	ops[2].remote = nil
	q.write(p, 4, ops[3:])
	require.Equal(t, ops[1:], l.writes, "the first one has arrived, and the third is not complete at its source")
	require.Equal(t, 5, l.next())
	require.Equal(t, ops[1:3], l.until(3))
}

// TestJournal: each line deals with an operation once, whatever calls complete it, and a
// notification comes behind the same operations in the next region.
func TestJournal(t *testing.T) {
	var j journal
	ops := make([]*operation, 6)
	for i := range ops {
		ops[i] = &operation{}
		j.add(int32(i%2), ops[i])
	}
	even, odd := j.lines[0], j.lines[1]
	var dealt []*operation
	deal := func(line int32, marks ...mark) []*operation {
		dealt = nil
		j.deal(line, marks, func(op *operation) { dealt = append(dealt, op) })
		return dealt
	}
	require.Equal(t, []*operation{ops[0], ops[2], ops[1]}, deal(7, mark{even, 3}, mark{odd, 2}))
	require.Equal(t, []*operation{ops[4], ops[3], ops[5]}, deal(7, mark{even, 5}, mark{odd, 6}))
	require.Empty(t, deal(7, mark{even, 3}, mark{odd, 6}), "again")
	require.Equal(t, []*operation{ops[0]}, deal(8, mark{even, 1}), "another line")

	whole := &notification{marks: []mark{{even, 5}, {odd, 6}}, listed: true}
	some := &notification{marks: []mark{{even, 1}, {odd, 4}}, listed: true}
	j.posts = []*notification{whole, some, {taken: true}}
	j.settle(func(op *operation) bool { return op == ops[1] })
	require.Equal(t, 6, whole.upTo)
	require.Empty(t, whole.own)
	require.Equal(t, 2, some.upTo)
	require.Equal(t, []*operation{ops[3]}, some.own)
	require.Equal(t, []*operation{ops[0]}, deal(7, j.upTo(some.upTo)...), "of those that are left")
	require.Equal(t, []*operation{ops[2], ops[3], ops[4], ops[5]}, deal(7, j.upTo(whole.upTo)...))
	j.settle(func(*operation) bool { return true })
	require.Empty(t, j.upTo(6))
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
