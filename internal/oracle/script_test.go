package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// script writes a program by hand. Three processes have 256 bytes of memory
// each: private at 0, window 0 (displacement unit 1, on all processes) at 128
// to 192, window 1 over the same bytes where a test makes it. Unless told
// otherwise a buffer is one MPI_INT in a private place of its own.
type script struct {
	p     *Program
	names map[Place]string
	slot  int
	lines [3]int
}

const window = 128

func newScript() *script {
	w := Window{Off: []int{window, window, window}, Size: []int{64, 64, 64}, Unit: []int{1, 1, 1}}
	s := &script{names: map[Place]string{}, p: &Program{
		Ranks: 3, Base: []uint64{0x1000, 0x1000, 0x2000}, Size: []int{256, 256, 256},
		Comms: []Comm{{Ranks: []int{0, 1, 2}}, {Ranks: []int{1, 2}}}, Wins: []Window{w, w}, Types: Predefined(),
	}}
	s.all(Call{Fn: "MPI_Win_create"})
	return s
}

// do appends a call under a name.
func (s *script) do(name string, c Call) {
	s.lines[c.Rank]++
	c.Line = s.lines[c.Rank]
	c.Unit = len(s.p.Calls) + 1
	s.names[c.Place()] = name
	s.p.Calls = append(s.p.Calls, c)
}

// all appends a collective call of all processes.
func (s *script) all(c Call) {
	for r := range 3 {
		c.Rank = r
		s.do(c.Fn, c)
	}
}

func (s *script) barrier() { s.all(Call{Fn: "MPI_Barrier"}) }
func (s *script) fence()   { s.all(Call{Fn: "MPI_Win_fence"}) }

// fresh returns a private buffer that nothing else uses.
func (s *script) fresh() Buf {
	s.slot += 4
	return Buf{Off: s.slot, Count: 1, Type: Int}
}

// private buffer at an offset.
func at4(off int) Buf { return Buf{Off: off, Count: 1, Type: Int} }

func (s *script) load(name string, r, off int) {
	s.do(name, Call{Rank: r, Fn: "load", Off: off, Elem: 4, Count: 1})
}

func (s *script) store(name string, r, off int) {
	s.do(name, Call{Rank: r, Fn: "store", Off: off, Elem: 4, Count: 1})
}

// op issues a one-sided operation on one MPI_INT at a displacement.
func (s *script) op(name, fn string, r, target, disp int, change ...func(*Call)) {
	c := Call{Rank: r, Fn: fn, Peer: target, Disp: disp, TCount: 1, TType: Int,
		Origin: s.fresh(), Result: s.fresh(), Compare: s.fresh()}
	if fn == "MPI_Accumulate" || fn == "MPI_Get_accumulate" || fn == "MPI_Fetch_and_op" {
		c.Op = "MPI_SUM"
	}
	for _, f := range change {
		f(&c)
	}
	s.do(name, c)
}

func from(b Buf) func(*Call)     { return func(c *Call) { c.Origin = b } }
func into(b Buf) func(*Call)     { return func(c *Call) { c.Result = b } }
func with(op string) func(*Call) { return func(c *Call) { c.Op = op } }
func of(t int) func(*Call) {
	return func(c *Call) { c.TType, c.Origin.Type, c.Result.Type, c.Compare.Type = t, t, t, t }
}
func on(win int) func(*Call) { return func(c *Call) { c.Win = win } }

func (s *script) put(name string, r, target, disp int, change ...func(*Call)) {
	s.op(name, "MPI_Put", r, target, disp, change...)
}

func (s *script) get(name string, r, target, disp int, change ...func(*Call)) {
	s.op(name, "MPI_Get", r, target, disp, change...)
}

func (s *script) acc(name string, r, target, disp int, change ...func(*Call)) {
	s.op(name, "MPI_Accumulate", r, target, disp, change...)
}

// win makes a synchronization call on window 0 towards a target.
func (s *script) win(r int, fn string, target int) {
	s.do(fn, Call{Rank: r, Fn: "MPI_Win_" + fn, Peer: target})
}

func (s *script) shared(r, target int) {
	s.do("lock", Call{Rank: r, Fn: "MPI_Win_lock", Peer: target, Lock: trace.LockShared})
}

func (s *script) exclusive(r, target int) {
	s.do("lock", Call{Rank: r, Fn: "MPI_Win_lock", Peer: target, Lock: trace.LockExclusive})
}

func (s *script) post(r int, origins ...int) {
	s.do("post", Call{Rank: r, Fn: "MPI_Win_post", Group: origins})
}

func (s *script) start(r int, targets ...int) {
	s.do("start", Call{Rank: r, Fn: "MPI_Win_start", Group: targets})
}

// send and recv are the two sides of a message that carries order only.
func (s *script) send(from, to int) { s.sendBuf("send", "MPI_Send", from, to, s.fresh()) }
func (s *script) recv(from, to int) { s.recvBuf("recv", from, to, s.fresh()) }

func (s *script) sendBuf(name, fn string, from, to int, b Buf, reqs ...int) {
	s.do(name, Call{Rank: from, Fn: fn, Peer: to, Origin: b, Reqs: reqs})
}

func (s *script) recvBuf(name string, from, to int, b Buf) {
	s.do(name, Call{Rank: to, Fn: "MPI_Recv", Source: from, Result: b})
}

func (s *script) irecv(name string, from, to int, b Buf, req int) {
	s.do(name, Call{Rank: to, Fn: "MPI_Irecv", Source: from, Result: b, Reqs: []int{req}})
}

func (s *script) wait(r int, reqs ...int) {
	fn := "MPI_Wait"
	if len(reqs) > 1 {
		fn = "MPI_Waitall"
	}
	s.do(fn, Call{Rank: r, Fn: fn, Reqs: reqs})
}

// verdict returns the conflicts as "a b" for errors and "a b?" for warnings,
// the names of each in alphabetical order.
func (s *script) verdict(t *testing.T) []string {
	t.Helper()
	races, err := s.p.Races()
	require.NoError(t, err, s.p.String())
	return s.named(races)
}

func (s *script) named(races []Pair) []string {
	out := []string{}
	for _, q := range races {
		pair := []string{s.names[q.A], s.names[q.B]}
		slices.Sort(pair)
		text := strings.Join(pair, " ")
		if q.Kind == Warning {
			text += "?"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// scenario is one hand-written program with its known verdict.
type scenario struct {
	name string
	want string // verdicts, comma-separated; "" for no race
	make func(s *script)
}

func check(t *testing.T, scenarios []scenario) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			c.make(s)
			require.Equal(t, c.want, strings.Join(s.verdict(t), ", "), fmt.Sprint(s.p))
			got, err := s.p.PermuteRanks([]int{1, 2, 0}).Races()
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(s.named(Renamed(got, []int{2, 0, 1})), ", "), "with other ranks")
		})
	}
}
