package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/symbols"
)

// Calls of hand-written traces, each at a line of a.c. Windows: 5 of 64 bytes at
// 0x1000 and 6 of 64 bytes at 0x2000 in each process, displacement unit 1.

func callAt(line int, fn, args string) string {
	return fmt.Sprintf(`{"call":"%s","stack":[{"func":"main","file":"a.c","line":%d}],"args":{%s}}`+"\n", fn, line, args)
}

func never(call string) string {
	return strings.Replace(call, `,"args"`, `,"returned":false,"args"`, 1)
}

func failing(call string) string { return strings.Replace(call, `,"args"`, `,"failed":true,"args"`, 1) }

func on6(call string) string { return strings.Replace(call, `"win":5`, `"win":6`, 1) }

func winFence(line int, assert ...string) string {
	bits := 0
	for _, a := range assert {
		bits |= map[string]int{"NOPRECEDE": 8, "NOSUCCEED": 16}[a]
	}
	return callAt(line, "MPI_Win_fence", fmt.Sprintf(`"assert":%d,"win":5`, bits))
}

func winLock(line, rank int) string {
	return callAt(line, "MPI_Win_lock", fmt.Sprintf(`"lock_type":1,"rank":%d,"win":5,"ticket":-1`, rank))
}

func winUnlock(line, rank int) string {
	return callAt(line, "MPI_Win_unlock", fmt.Sprintf(`"rank":%d,"win":5`, rank))
}

func winCall(line int, name string) string { return callAt(line, "MPI_Win_"+name, `"win":5`) }

func winGroup(line int, name string, ranks ...int) string {
	return callAt(line, "MPI_Win_"+name, fmt.Sprintf(`"group":%s,"win":5`, strings.ReplaceAll(fmt.Sprint(ranks), " ", ",")))
}

func winFlush(line, rank int) string {
	return callAt(line, "MPI_Win_flush", fmt.Sprintf(`"rank":%d,"win":5`, rank))
}

func putArgs(rank, disp, count, typ int) string {
	return fmt.Sprintf(`"origin_addr":"0x5000","origin_count":%d,"origin_datatype":1,"target_rank":%d,"target_disp":%d,"target_count":%d,"target_datatype":%d,"win":5`,
		count, rank, disp, count, typ)
}

func winPut(line, rank int) string { return callAt(line, "MPI_Put", putArgs(rank, 0, 1, 1)) }

func putTo(line, rank, disp, count, typ int) string {
	return callAt(line, "MPI_Put", putArgs(rank, disp, count, typ))
}

func barrier(line int) string { return callAt(line, "MPI_Barrier", `"comm":1`) }

func collectiveOn(line int, fn string, comm, root int) string {
	args := map[string]string{
		"MPI_Barrier":   `"comm:c":COMM`,
		"MPI_Bcast":     `"buffer:p":0,"count:i":0,"datatype:t":1,"root:r":ROOT,"comm:c":COMM`,
		"MPI_Reduce":    `"sendbuf:p":0,"recvbuf:p":0,"count:i":0,"datatype:t":1,"op:o":1,"root:r":ROOT,"comm:c":COMM`,
		"MPI_Allreduce": `"sendbuf:p":0,"recvbuf:p":0,"count:i":0,"datatype:t":1,"op:o":1,"comm:c":COMM`,
	}
	return callAt(line, fn, strings.NewReplacer("ROOT", fmt.Sprint(root), "COMM", fmt.Sprint(comm)).Replace(args[fn]))
}

func memoryGone(line int, base string, size, why int) string {
	return callAt(line, "mcchk_Memory_gone", fmt.Sprintf(`"base:p":"%s","size:i":%d,"why:i":%d`, base, size, why))
}

func finalize(line int) string {
	return callAt(line, "MPI_Finalize", "") + `{"end":{"units":1,"accesses":1}}` + "\n"
}

const twoWindows = `{"comm":2,"rank":0,"ranks":[[0,1,2]]}
{"call":"MPI_Win_create","stack":[{"func":"main","file":"a.c","line":1}],"args":{"base":"0x1000","size":64,"disp_unit":1,"comm":1,"win":5,"model":1}}
{"call":"MPI_Win_create","stack":[{"func":"main","file":"a.c","line":2}],"args":{"base":"0x2000","size":64,"disp_unit":1,"comm":1,"win":6,"model":1}}
`

// usageOf returns the findings as "MC303 9 4": the rule and the lines.
func usageOf(res *Result) []string {
	out := []string{}
	for i := range res.Findings {
		f := &res.Findings[i]
		s := f.Rule
		for _, side := range []*conflicts.Side{&f.First, &f.Second} {
			if side.Role != "" {
				s += fmt.Sprintf(" %d", line(side.Stack))
			}
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// usageCase is what each process does between the creation of the windows and
// MPI_Finalize (line 99).
type usageCase struct {
	name  string
	ranks []string
	want  []string // none: a correct program
	doubt string
}

func (tt usageCase) run(t *testing.T) {
	text := twoWindows
	for i, calls := range tt.ranks {
		text += fmt.Sprintf("rank %d\n%s", i, calls)
		if !strings.Contains(calls, `"returned":false`) && !strings.Contains(calls, "MPI_Finalize") {
			text += finalize(99)
		}
	}
	files := packed(t, len(tt.ranks), strings.ReplaceAll(text, "[[0,1,2]]", fmt.Sprintf("[[0,1,%d]]", len(tt.ranks))))
	for _, clock := range []string{evc.Encoded, evc.Vector} {
		res := inMemory(t, files, clock, 1)
		require.Equal(t, append([]string{}, tt.want...), usageOf(res), clock)
		var doubts []string
		for _, d := range res.Doubts {
			doubts = append(doubts, d.Text)
		}
		switch {
		case tt.doubt != "":
			require.Contains(t, strings.Join(doubts, "\n"), tt.doubt)
		case tt.want == nil:
			require.Empty(t, doubts)
			require.Equal(t, NoRace, res.Verdict)
		default:
			require.Empty(t, doubts)
		}
		for i := range res.Findings {
			f := &res.Findings[i]
			require.Equal(t, conflicts.Usage, f.Class)
			require.Equal(t, conflicts.Error, f.Severity)
			require.NotEmpty(t, f.Why)
			require.NotEmpty(t, f.Fixes)
			require.NotEmpty(t, f.Ranks)
			require.Positive(t, f.Count)
		}
	}
}

// twice lets two processes do the same.
func twice(calls ...string) []string {
	s := strings.Join(calls, "")
	return []string{s, s}
}

func join(calls ...string) string { return strings.Join(calls, "") }

func TestOneSidedCallsAndEpochs(t *testing.T) {
	rput := callAt(12, "MPI_Rput", putArgs(1, 0, 1, 1)+`,"request":3`)
	wait := callAt(13, "MPI_Wait", `"request":3,"done":1`)
	for _, tt := range []usageCase{
		{name: "no epoch", ranks: []string{winPut(10, 1), ""}, want: []string{"MC301 10"}},
		{name: "after the unlock", ranks: []string{join(winLock(10, 1), winUnlock(11, 1), winPut(12, 1)), ""}, want: []string{"MC301 12"}},
		{name: "after the last fence", ranks: []string{join(winFence(10), winFence(11, "NOSUCCEED"), winPut(12, 1)), join(winFence(10), winFence(11, "NOSUCCEED"))}, want: []string{"MC301 12 11"}},
		{name: "another rank is locked", ranks: []string{join(winLock(10, 0), winPut(11, 1), winUnlock(12, 0)), ""}, want: []string{"MC301 11 10"}},
		{name: "not in the start group", ranks: []string{
			join(winGroup(10, "start", 1), winPut(11, 2), winCall(12, "complete")), join(winGroup(20, "post", 0), winCall(21, "wait")), "",
		}, want: []string{"MC301 11 10"}},
		{name: "the fence epoch ended with the lock", ranks: []string{join(winFence(10), winLock(11, 1), winUnlock(12, 1), winPut(13, 1)), winFence(10)}, want: []string{"MC301 13"}},
		{name: "on the other window", ranks: []string{join(winLock(10, 1), on6(winPut(11, 1)), winUnlock(12, 1)), ""}, want: []string{"MC301 11"}},
		{name: "a request form in a fence epoch", ranks: []string{join(winFence(10), rput, wait, winFence(14)), join(winFence(10), winFence(14))}, want: []string{"MC301 12"}},
		{name: "it never returned", ranks: []string{never(winPut(10, 1)), ""}, want: []string{"MC301 10"}, doubt: "rank 0 never returned from MPI_Put"},
		{name: "it returned an error", ranks: []string{failing(winPut(10, 1)), ""}, want: []string{"MC301 10"}, doubt: "returned an error"},
		{name: "seen at both", ranks: []string{winPut(10, 1), winPut(10, 0)}, want: []string{"MC301 10"}},

		{name: "right: between fences", ranks: []string{join(winFence(10), winPut(11, 1), winFence(12)), join(winFence(10), winFence(12))}},
		{name: "right: fences with assertions", ranks: []string{
			join(winFence(10, "NOPRECEDE"), winPut(11, 1), winFence(12, "NOSUCCEED")), join(winFence(10, "NOPRECEDE"), winFence(12, "NOSUCCEED")),
		}},
		{name: "right: start and complete", ranks: []string{join(winGroup(10, "start", 1), winPut(11, 1), winCall(12, "complete")), join(winGroup(20, "post", 0), winCall(21, "wait"))}},
		{name: "right: lock", ranks: []string{join(winLock(10, 1), winPut(11, 1), winUnlock(12, 1)), ""}},
		{name: "right: lock_all", ranks: []string{join(winCall(10, "lock_all"), winPut(11, 1), winFlush(12, 1), winPut(13, 0), winCall(14, "unlock_all")), ""}},
		{name: "right: MPI_PROC_NULL needs nothing", ranks: []string{strings.Replace(winPut(10, 1), `"target_rank":1`, `"target_rank":"MPI_PROC_NULL"`, 1), ""}},
		{name: "right: a request form in a lock epoch, not waited for", ranks: []string{join(winLock(10, 1), rput, winUnlock(14, 1)), ""}},
		{name: "right: an exposure leaves the fence epoch alone", ranks: []string{
			join(winFence(10), winGroup(11, "post", 1), winCall(12, "wait"), winPut(13, 2), winFence(15)),
			join(winFence(10), winGroup(11, "start", 0), winCall(12, "complete"), winFence(15)),
			join(winFence(10), winFence(15)),
		}},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestRangesOfWindows(t *testing.T) {
	types := `{"type":2,"combiner":"vector","size":8,"lb":0,"extent":36,"ints":[2,1,8],"types":[1]}
{"type":3,"combiner":"resized","size":4,"lb":-8,"extent":4096,"ints":[],"addrs":[-8,4096],"types":[1]}
`
	fenced := func(calls ...string) []string {
		return []string{types + winFence(10) + join(calls...) + winFence(12), types + winFence(10) + winFence(12)}
	}
	for _, tt := range []usageCase{
		{name: "one byte past the end", ranks: fenced(putTo(11, 1, 61, 1, 1)), want: []string{"MC302 11"}},
		{name: "the first element past the end", ranks: fenced(putTo(11, 1, 64, 1, 1)), want: []string{"MC302 11"}},
		{name: "before the beginning", ranks: fenced(putTo(11, 1, -4, 1, 1)), want: []string{"MC302 11"}},
		{name: "far away", ranks: fenced(putTo(11, 1, 1<<40, 1, 1)), want: []string{"MC302 11"}},
		{name: "the second block of a vector", ranks: fenced(putTo(11, 1, 32, 1, 2)), want: []string{"MC302 11"}},
		{name: "it never returned", ranks: []string{winFence(10) + never(putTo(11, 1, 64, 1, 1)), winFence(10)}, want: []string{"MC302 11"}, doubt: "never returned"},
		{name: "it returned an error", ranks: fenced(failing(putTo(11, 1, 64, 1, 1))), want: []string{"MC302 11"}, doubt: "returned an error"},

		{name: "right: the last element", ranks: fenced(putTo(11, 1, 60, 1, 1))},
		{name: "right: all of it", ranks: fenced(putTo(11, 1, 0, 16, 1))},
		{name: "right: nothing, anywhere", ranks: fenced(putTo(11, 1, 1000, 0, 1))},
		{name: "right: a vector up to the end", ranks: fenced(putTo(11, 1, 28, 1, 2))},
		{name: "right: only the holes are outside", ranks: fenced(putTo(11, 1, 0, 1, 3))},
	} {
		t.Run(tt.name, tt.run)
	}
}

// The part of an access that lies in the window is compared with others.
func TestPartOutsideOfTheWindow(t *testing.T) {
	store := `{"access":"store","addr":"0x103c","size":4,"stack":[{"func":"main","file":"a.c","line":20}]}` + "\n"
	beyond := strings.ReplaceAll(store, "0x103c", "0x1040")
	text := twoWindows + "rank 0\n" + winFence(10) + putTo(11, 1, 60, 2, 1) + winFence(12) + finalize(99) + "rank 1\n" + winFence(10)
	res := inMemory(t, packed(t, 2, text+store+winFence(12)+finalize(99)), evc.Encoded, 1)
	require.Equal(t, []string{"MC102 11 20", "MC302 11"}, usageOf(res))
	require.Equal(t, Race, res.Verdict)
	res = inMemory(t, packed(t, 2, text+beyond+winFence(12)+finalize(99)), evc.Encoded, 1)
	require.Equal(t, []string{"MC302 11"}, usageOf(res))
	require.Equal(t, Misuse, res.Verdict)
	f := res.Findings[0]
	require.Equal(t, []uint64{64, 68}, []uint64{f.Lo, f.Hi})
	require.Equal(t, 1, f.Owner)
	require.True(t, f.Alone())
}

// Each process has a part of its own size and displacement unit.
func TestPartsOfDifferentSizes(t *testing.T) {
	create := func(size, unit int) string {
		return callAt(1, "MPI_Win_create", fmt.Sprintf(`"base":"0x1000","size":%d,"disp_unit":%d,"comm":1,"win":5,"model":1`, size, unit))
	}
	target := func(line, rank, disp int) string { return putTo(line, rank, disp, 1, 1) }
	text := "rank 0\n" + create(0, 1) + winFence(10) + target(11, 1, 7) + target(12, 1, 8) + target(13, 0, 0) + target(14, 2, 8) + winFence(15) + finalize(99) +
		"rank 1\n" + create(32, 4) + winFence(10) + winFence(15) + finalize(99) +
		"rank 2\n" + create(64, 1) + winFence(10) + target(21, 0, 0) + target(22, 1, 28) + winFence(15) + finalize(99)
	res := inMemory(t, packed(t, 3, text), evc.Encoded, 1)
	require.Equal(t, []string{"MC302 12", "MC302 13", "MC302 21", "MC302 22"}, usageOf(res))
}

func TestRangesOfDynamicWindows(t *testing.T) {
	const create = `{"call":"MPI_Win_create_dynamic","args":{"comm":1,"win":7,"model":1}}` + "\n"
	on7 := func(call string) string { return strings.Replace(call, `"win":5`, `"win":7`, 1) }
	attach := func(base string) string {
		return callAt(20, "MPI_Win_attach", fmt.Sprintf(`"win":7,"base":"%s","size":64`, base))
	}
	detach := func(base string) string {
		return callAt(21, "MPI_Win_detach", fmt.Sprintf(`"win":7,"base":"%s"`, base))
	}
	send := func(to int) string {
		return callAt(14, "MPI_Send", fmt.Sprintf(`"buf":"0x7000","count":0,"datatype":1,"dest":%d,"tag":2,"comm":1`, to))
	}
	recv := func(from int) string {
		return callAt(15, "MPI_Recv", fmt.Sprintf(`"buf:p":"0x7000","count:i":0,"datatype:t":1,"source:r":%d,"tag:g":2,"comm:c":1,"status:S":[%d,2,0,0]`, from, from))
	}
	access := func(disp, count int) string {
		return on7(winLock(10, 1)) + on7(putTo(11, 1, disp, count, 1)) + on7(winUnlock(12, 1))
	}
	for _, tt := range []usageCase{
		{name: "nothing attached", ranks: []string{create + access(0x9000, 1), create}, want: []string{"MC302 11"}},
		{name: "past the end", ranks: []string{create + barrier(9) + access(0x9000, 17), create + attach("0x9000") + barrier(9)}, want: []string{"MC302 11"}},
		{name: "a relative displacement", ranks: []string{create + barrier(9) + access(0, 1), create + attach("0x9000") + barrier(9)}, want: []string{"MC302 11"}},
		{name: "after the detach", ranks: []string{create + barrier(9) + barrier(13) + access(0x9000, 1), create + attach("0x9000") + barrier(9) + detach("0x9000") + barrier(13)}, want: []string{"MC302 11"}},
		{name: "right: attached", ranks: []string{create + barrier(9) + access(0x9000, 16), create + attach("0x9000") + barrier(9)}},
		{name: "right: two neighbouring parts", ranks: []string{create + barrier(9) + access(0x9020, 16), create + attach("0x9000") + attach("0x9040") + barrier(9)}},
		{name: "detached meanwhile", ranks: []string{create + barrier(9) + access(0x9000, 1) + barrier(13), create + attach("0x9000") + barrier(9) + detach("0x9000") + barrier(13)}, want: []string{"MC307 11 21"}},
		{name: "after the detach, by a message", ranks: []string{create + barrier(9) + recv(1) + access(0x9000, 1), create + attach("0x9000") + barrier(9) + detach("0x9000") + send(0)}, want: []string{"MC302 11 21"}},
		{name: "right: detached after a message", ranks: []string{create + barrier(9) + access(0x9000, 1) + send(1), create + attach("0x9000") + barrier(9) + recv(0) + detach("0x9000")}},
		{name: "right: attached again", ranks: []string{
			create + barrier(9) + barrier(13) + access(0x9000, 1),
			create + attach("0x9000") + barrier(9) + detach("0x9000") + attach("0x9000") + barrier(13),
		}},
		{name: "right: not known when", ranks: []string{create + access(0x9000, 1), create + attach("0x9000")}},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestSynchronizationWithoutItsOpening(t *testing.T) {
	for _, tt := range []usageCase{
		{name: "unlock", ranks: []string{winUnlock(10, 1), ""}, want: []string{"MC303 10"}},
		{name: "unlock twice", ranks: []string{winLock(9, 1) + winUnlock(10, 1) + winUnlock(11, 1), ""}, want: []string{"MC303 11"}},
		{name: "unlock of another rank", ranks: []string{winLock(10, 1) + winUnlock(11, 0) + winUnlock(12, 1), ""}, want: []string{"MC303 11 10"}},
		{name: "unlock of lock_all", ranks: []string{winCall(10, "lock_all") + winUnlock(11, 1) + winCall(12, "unlock_all"), ""}, want: []string{"MC303 11 10"}},
		{name: "unlock_all", ranks: []string{winCall(10, "unlock_all"), ""}, want: []string{"MC303 10"}},
		{name: "unlock_all of a lock", ranks: []string{winLock(10, 1) + winCall(11, "unlock_all") + winUnlock(12, 1), ""}, want: []string{"MC303 11 10"}},
		{name: "unlock on another window", ranks: []string{winLock(10, 1) + on6(winUnlock(11, 1)) + winUnlock(12, 1), ""}, want: []string{"MC303 11"}},
		{name: "complete", ranks: []string{winCall(10, "complete"), ""}, want: []string{"MC303 10"}},
		{name: "wait", ranks: []string{winCall(10, "wait"), ""}, want: []string{"MC303 10"}},
		{name: "test", ranks: []string{callAt(10, "MPI_Win_test", `"win":5,"flag":0`), ""}, want: []string{"MC303 10"}},
		{name: "flush", ranks: []string{winFlush(10, 1), ""}, want: []string{"MC303 10"}},
		{name: "flush in a fence epoch", ranks: []string{winFence(10) + winPut(11, 1) + winFlush(12, 1) + winFence(13), winFence(10) + winFence(13)}, want: []string{"MC303 12"}},
		{name: "flush_local_all", ranks: []string{winCall(10, "flush_local_all"), ""}, want: []string{"MC303 10"}},
		{name: "unlock that never returned", ranks: []string{never(winUnlock(10, 1)), ""}, want: []string{"MC303 10"}, doubt: "never returned"},
		{name: "unlock that returned an error", ranks: []string{failing(winUnlock(10, 1)), ""}, want: []string{"MC303 10"}, doubt: "returned an error"},

		{name: "right: locks of two targets", ranks: []string{winLock(10, 0) + winLock(11, 1) + winFlush(12, 1) + winUnlock(13, 0) + winUnlock(14, 1), ""}},
		{name: "right: locks of two windows", ranks: []string{winLock(10, 1) + on6(winLock(11, 1)) + winUnlock(12, 1) + on6(winUnlock(13, 1)), ""}},
		{name: "right: tests, then one that succeeds", ranks: []string{
			winGroup(10, "post", 1) + callAt(11, "MPI_Win_test", `"win":5,"flag":0`) + callAt(12, "MPI_Win_test", `"win":5,"flag":1`),
			winGroup(20, "start", 0) + winCall(21, "complete"),
		}},
		{name: "right: empty groups", ranks: []string{winGroup(10, "post") + winGroup(11, "start") + winCall(12, "complete") + winCall(13, "wait"), ""}},
		{name: "right: MPI_PROC_NULL", ranks: []string{strings.ReplaceAll(winLock(10, 9)+winFlush(11, 9)+winUnlock(12, 9), `"rank":9`, `"rank":"MPI_PROC_NULL"`), ""}},
		{name: "right: flush_all and flush_local under lock_all", ranks: []string{
			winCall(10, "lock_all") + winCall(11, "flush_all") + callAt(12, "MPI_Win_flush_local", `"rank":0,"win":5`) + winCall(13, "unlock_all"), "",
		}},
		{name: "not known after an error", ranks: []string{failing(winLock(10, 1)) + winUnlock(11, 1), ""}, want: []string{}, doubt: "returned an error"},
		{name: "not known after a loss", ranks: []string{`{"lost":{"reason":1,"calls":1,"accesses":0}}` + "\n" + winUnlock(11, 1) + winPut(12, 1), ""}, want: []string{}, doubt: "lost"},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestMixedEpochs(t *testing.T) {
	same := func(s string) []string { return []string{s, s} }
	for _, tt := range []usageCase{
		{name: "lock in a fence epoch with operations", ranks: []string{
			winFence(10) + winPut(11, 1) + winLock(12, 1) + winUnlock(13, 1) + winFence(14), winFence(10) + winFence(14),
		}, want: []string{"MC304 12 10"}},
		{name: "lock_all in a fence epoch with operations", ranks: []string{
			winFence(10) + winPut(11, 1) + winCall(12, "lock_all") + winCall(13, "unlock_all") + winFence(14), winFence(10) + winFence(14),
		}, want: []string{"MC304 12 10"}},
		{name: "start in a fence epoch with operations", ranks: []string{
			winFence(10) + winPut(11, 1) + winGroup(12, "start", 1) + winCall(13, "complete") + winFence(14),
			winFence(10) + winGroup(20, "post", 0) + winCall(21, "wait") + winFence(14),
		}, want: []string{"MC304 12 10"}},
		{name: "a fence that completes nothing does not end it", ranks: []string{
			winFence(10) + winPut(11, 1) + winFence(12, "NOPRECEDE") + winLock(13, 1) + winUnlock(14, 1) + winFence(15),
			winFence(10) + winFence(12, "NOPRECEDE") + winFence(15),
		}, want: []string{"MC304 13 10"}},
		{name: "fence in a lock epoch", ranks: []string{winLock(10, 1) + winPut(11, 1) + winFence(12) + winUnlock(13, 1), winFence(12)}, want: []string{"MC304 12 10"}},
		{name: "fence in a lock_all epoch", ranks: same(winCall(10, "lock_all") + winFence(11) + winCall(12, "unlock_all")), want: []string{"MC304 11 10"}},
		{name: "fence in a start epoch", ranks: []string{
			winGroup(10, "start", 1) + winFence(11) + winCall(12, "complete"), winGroup(20, "post", 0) + winFence(11) + winCall(21, "wait"),
		}, want: []string{"MC304 11 10"}},
		{name: "lock of a target that is locked", ranks: []string{winLock(10, 1) + winLock(11, 1) + winUnlock(12, 1), ""}, want: []string{"MC304 11 10"}},
		{name: "lock under lock_all", ranks: []string{winCall(10, "lock_all") + winLock(11, 1) + winUnlock(12, 1) + winCall(13, "unlock_all"), ""}, want: []string{"MC304 11 10"}},
		{name: "lock_all beside a lock", ranks: []string{winLock(10, 1) + winCall(11, "lock_all") + winCall(12, "unlock_all") + winUnlock(13, 1), ""}, want: []string{"MC304 11 10"}},
		{name: "start in a lock epoch", ranks: []string{
			winLock(10, 1) + winGroup(11, "start", 1) + winCall(12, "complete") + winUnlock(13, 1), winGroup(20, "post", 0) + winCall(21, "wait"),
		}, want: []string{"MC304 11 10"}},
		{name: "start twice", ranks: []string{
			winGroup(10, "start", 1) + winGroup(11, "start", 2) + winCall(12, "complete"),
			winGroup(20, "post", 0), winGroup(30, "post", 0),
		}, want: []string{"MC304 11 10", "MC305 20 99", "MC305 30 99"}},
		{name: "post twice", ranks: []string{
			winGroup(10, "post", 1) + winGroup(11, "post", 1) + winCall(12, "wait"),
			winGroup(20, "start", 0) + winCall(21, "complete") + winGroup(22, "start", 0) + winCall(23, "complete"),
		}, want: []string{"MC304 11 10"}},
		{name: "the own rank is locked while it is exposed", ranks: []string{
			winGroup(10, "post", 1) + winLock(11, 0) + winUnlock(12, 0) + winCall(13, "wait"), winGroup(20, "start", 0) + winCall(21, "complete"),
		}, want: []string{"MC304 11 10"}},
		{name: "lock_all while the own rank is exposed", ranks: []string{
			winGroup(10, "post", 1) + winCall(11, "lock_all") + winCall(12, "unlock_all") + winCall(13, "wait"), winGroup(20, "start", 0) + winCall(21, "complete"),
		}, want: []string{"MC304 11 10"}},
		{name: "post while the own rank is locked", ranks: []string{
			winLock(10, 0) + winGroup(11, "post", 1) + winUnlock(12, 0) + winCall(13, "wait"), winGroup(20, "start", 0) + winCall(21, "complete"),
		}, want: []string{"MC304 11 10"}},

		{name: "right: lock after a fence without operations", ranks: []string{winFence(10) + winLock(12, 1) + winPut(13, 1) + winUnlock(14, 1), winFence(10)}},
		{name: "right: locks between fences without operations of their own", ranks: []string{
			winFence(10) + winLock(12, 1) + winPut(13, 1) + winUnlock(14, 1) + winFence(15), winFence(10) + winFence(15),
		}},
		{name: "right: lock after the fence that closes", ranks: []string{
			winFence(10) + winPut(11, 1) + winFence(12) + winLock(13, 1) + winPut(14, 1) + winUnlock(15, 1), winFence(10) + winFence(12),
		}},
		{name: "right: start and post after a fence", ranks: []string{
			winFence(10) + winGroup(11, "start", 1) + winPut(12, 1) + winCall(13, "complete"), winFence(10) + winGroup(11, "post", 0) + winCall(12, "wait"),
		}},
		{name: "right: fences after locks", ranks: []string{
			winLock(8, 1) + winPut(9, 1) + winUnlock(10, 1) + winFence(11) + winPut(12, 1) + winFence(13), winFence(11) + winFence(13),
		}},
		{name: "right: a fence that opens and closes nothing", ranks: same(
			winCall(10, "lock_all") + winFence(11, "NOPRECEDE", "NOSUCCEED") + winCall(12, "unlock_all"),
		)},
		{name: "right: exposed and at access", ranks: []string{
			winGroup(10, "post", 1) + winGroup(11, "start", 1) + winPut(12, 1) + winCall(13, "complete") + winCall(14, "wait"),
			winGroup(10, "post", 0) + winGroup(11, "start", 0) + winCall(13, "complete") + winCall(14, "wait"),
		}},
		{name: "right: exposed, and another rank locked", ranks: []string{
			winGroup(10, "post", 1) + winLock(11, 2) + winPut(12, 2) + winUnlock(13, 2) + winCall(14, "wait"),
			winGroup(20, "start", 0) + winCall(21, "complete"), "",
		}},
		{name: "right: different windows", ranks: []string{
			winLock(10, 1) + on6(winFence(11)) + on6(winPut(12, 1)) + winPut(13, 1) + on6(winFence(14)) + winUnlock(15, 1), on6(winFence(11)) + on6(winFence(14)),
		}},
		{name: "right: start after start", ranks: []string{
			winGroup(10, "start", 1) + winPut(11, 1) + winCall(12, "complete") + winGroup(13, "start", 1) + winPut(14, 1) + winCall(15, "complete"),
			winGroup(20, "post", 0) + winCall(21, "wait") + winGroup(22, "post", 0) + winCall(23, "wait"),
		}},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestEpochsThatStayOpen(t *testing.T) {
	free := winCall(50, "free")
	rput := callAt(12, "MPI_Rput", putArgs(1, 0, 1, 1)+`,"request":3`)
	for _, tt := range []usageCase{
		{name: "lock", ranks: []string{winLock(10, 1), ""}, want: []string{"MC305 10 99"}},
		{name: "lock with operations", ranks: []string{winLock(10, 1) + winPut(11, 1), ""}, want: []string{"MC305 10 99"}},
		{name: "locks of two targets", ranks: []string{winLock(10, 0) + winLock(11, 1) + winUnlock(12, 0), ""}, want: []string{"MC305 11 99"}},
		{name: "lock_all", ranks: twice(winCall(10, "lock_all")), want: []string{"MC305 10 99"}},
		{name: "post and start", ranks: []string{winGroup(10, "post", 1), winGroup(20, "start", 0)}, want: []string{"MC305 10 99", "MC305 20 99"}},
		{name: "fence with operations", ranks: []string{winFence(10) + winPut(11, 1), winFence(10)}, want: []string{"MC305 10 99"}},
		{name: "lock, flushed, and the window freed", ranks: []string{winLock(10, 1) + winPut(11, 1) + winFlush(12, 1) + free, free}, want: []string{"MC305 10 50"}},
		{name: "post, and the window freed", ranks: []string{winGroup(10, "post", 1) + free, winGroup(20, "start", 0) + winCall(21, "complete") + free}, want: []string{"MC305 10 50"}},

		{name: "pending in a lock epoch", ranks: []string{winLock(10, 1) + winPut(11, 1) + free, free}, want: []string{"MC306 50 11"}},
		{name: "pending at the target", ranks: []string{winLock(10, 1) + winPut(11, 1) + callAt(12, "MPI_Win_flush_local", `"rank":1,"win":5`) + free, free}, want: []string{"MC306 50 11"}},
		{name: "pending in a fence epoch", ranks: []string{winFence(10) + winPut(11, 1) + free, winFence(10) + free}, want: []string{"MC306 50 11"}},
		{name: "a request not waited for", ranks: []string{winLock(10, 1) + rput + free, free}, want: []string{"MC306 50 12"}},
		{name: "one pending, one epoch only open", ranks: []string{winLock(9, 0) + winLock(10, 1) + winPut(11, 1) + free, free}, want: []string{"MC305 9 50", "MC306 50 11"}},

		{name: "right: all closed", ranks: []string{
			winFence(8) + winPut(9, 1) + winFence(10) + winLock(11, 1) + winPut(12, 1) + winUnlock(13, 1) + free, winFence(8) + winFence(10) + free,
		}},
		{name: "right: a fence without operations", ranks: twice(winFence(10)), want: nil},
		{name: "right: a fence, and the window freed", ranks: twice(winFence(10), free), want: nil},
		{name: "right: a request that the unlock completed", ranks: []string{winLock(10, 1) + rput + winUnlock(13, 1) + free, free}},
		{name: "right: windows that are not freed", ranks: []string{winCall(10, "lock_all") + winPut(11, 1) + winCall(12, "unlock_all"), ""}},
		{name: "aborted", ranks: []string{winLock(10, 1) + winPut(11, 1) + never(callAt(12, "MPI_Abort", `"comm:c":1,"errorcode:i":1`)), winCall(20, "lock_all") + never(barrier(21))},
			want: []string{}, doubt: "rank 0 called MPI_Abort"},
	} {
		t.Run(tt.name, tt.run)
	}
}

// A process may pass a synchronization from which another never returned; what
// it did then is analysed.
func TestBehindACallThatNeverReturned(t *testing.T) {
	text := twoWindows + "rank 0\n" + winFence(10) + winPut(11, 1) + never(winLock(12, 1)) + "rank 1\n" + never(winFence(20))
	res := inMemory(t, packed(t, 2, text), evc.Encoded, 1)
	require.Equal(t, []string{"MC304 12 10"}, usageOf(res))
	require.EqualValues(t, 1, res.Basis.Operations)
}

// A trace that is cut says nothing of epochs that are open where it ends.
func TestCutTraceLeavesEpochsOpen(t *testing.T) {
	text := twoWindows + "rank 0\n" + winLock(10, 1) + winPut(11, 1) + "rank 1\n" + finalize(99)
	res := inMemory(t, packed(t, 2, text), evc.Encoded, 1)
	require.Empty(t, res.Findings)
	require.Equal(t, Undecided, res.Verdict)
}

func TestMemoryGone(t *testing.T) {
	isend := callAt(10, "MPI_Isend", `"buf":"0x5000","count":1,"datatype":1,"dest":1,"tag":0,"comm":1,"request":7`)
	recv := callAt(20, "MPI_Recv", `"buf":"0x7000","count":1,"datatype":1,"source":0,"tag":0,"comm":1,"status":[0,0,4,0]`)
	wait := callAt(12, "MPI_Wait", `"request":7,"done":1`)
	store := `{"access":"store","addr":"0x5000","size":4,"stack":[{"func":"f","file":"a.c","line":30}]}` + "\n"
	locked := func(calls ...string) string { return winLock(10, 1) + winPut(11, 1) + join(calls...) }
	free := winCall(50, "free")
	for _, tt := range []usageCase{
		{name: "the origin buffer is freed", ranks: []string{locked(memoryGone(12, "0x5000", 64, 0), winUnlock(13, 1)), ""}, want: []string{"MC307 11 12"}},
		{name: "the function returns", ranks: []string{locked(memoryGone(12, "0x4fc0", 128, 1), winUnlock(13, 1)), ""}, want: []string{"MC307 11 12"}},
		{name: "the buffer of a message", ranks: []string{isend + memoryGone(11, "0x5000", 64, 0) + wait, recv}, want: []string{"MC307 10 11"}},
		{name: "window memory, an operation is pending", ranks: []string{locked(winUnlock(13, 1)), memoryGone(20, "0x1000", 64, 0)}, want: []string{"MC307 11 20"}},
		{name: "window memory, the operation comes later", ranks: []string{barrier(9) + locked(winUnlock(13, 1)), memoryGone(20, "0x1000", 64, 0) + barrier(9)}, want: []string{"MC307 11 20"}},

		{name: "the memory is used again", ranks: []string{locked(memoryGone(12, "0x5000", 64, 1), store, winUnlock(13, 1)), ""}, want: []string{"MC307 11 12"}},

		{name: "right: after the unlock", ranks: []string{locked(winUnlock(12, 1), memoryGone(13, "0x5000", 64, 0)), ""}},
		{name: "right: after flush_local", ranks: []string{locked(callAt(12, "MPI_Win_flush_local", `"rank":1,"win":5`), memoryGone(13, "0x5000", 64, 1), winUnlock(14, 1)), ""}},
		{name: "right: other memory", ranks: []string{locked(memoryGone(12, "0x5004", 64, 0), winUnlock(13, 1)), ""}},
		{name: "right: after the wait", ranks: []string{isend + wait + memoryGone(13, "0x5000", 64, 0), recv}},
		{name: "right: window memory after MPI_Win_free", ranks: []string{locked(winUnlock(12, 1), free), free + memoryGone(60, "0x1000", 64, 0)}},
		{name: "right: window memory that nobody accesses any more", ranks: []string{locked(winUnlock(12, 1), barrier(13)), barrier(13) + memoryGone(60, "0x1000", 64, 0)}},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestOrderOfCollectiveCalls(t *testing.T) {
	world := func(line int, fn string, root int) string { return collectiveOn(line, fn, 1, root) }
	second := func(line int, fn string) string { return collectiveOn(line, fn, 2, 0) }
	for _, tt := range []usageCase{
		{name: "different calls", ranks: []string{barrier(10), world(20, "MPI_Allreduce", 0)}, want: []string{"MC308 10 20"}, doubt: "what the calls order after that is not known"},
		{name: "in different order", ranks: []string{barrier(10) + winFence(11), winFence(20) + barrier(21)}, want: []string{"MC308 10 20"}, doubt: "calls MPI_Barrier"},
		{name: "one less", ranks: []string{world(10, "MPI_Bcast", 0) + world(11, "MPI_Bcast", 0) + world(12, "MPI_Reduce", 0), world(20, "MPI_Bcast", 0) + world(21, "MPI_Reduce", 0) + world(22, "MPI_Bcast", 0)},
			want: []string{"MC308 11 21"}, doubt: "calls MPI_Bcast"},
		{name: "different roots", ranks: []string{world(10, "MPI_Bcast", 0), world(20, "MPI_Bcast", 1)}, want: []string{"MC308 10 20"}, doubt: "root"},
		{name: "blocking and not", ranks: []string{
			callAt(10, "MPI_Ibarrier", `"comm:c":1,"request:q":7`) + callAt(11, "MPI_Wait", `"request":7,"done":1`), barrier(20),
		}, want: []string{"MC308 10 20"}, doubt: "calls MPI_"},
		{name: "fence and free", ranks: []string{winFence(10) + winCall(11, "free"), winCall(20, "free")}, want: []string{"MC308 10 20"}, doubt: "calls MPI_Win_f"},
		{name: "fences of two windows", ranks: []string{winFence(10) + on6(winFence(11)), on6(winFence(20)) + winFence(21)}, want: []string{"MC308 10 20"}, doubt: "different communicators or windows"},
		{name: "assertions of one only", ranks: []string{winFence(10, "NOPRECEDE"), winFence(20, "NOPRECEDE", "NOSUCCEED")}, want: []string{"MC308 10 20"}},
		{name: "a deadlock of two calls", ranks: []string{never(barrier(10)), never(second(20, "MPI_Barrier"))}, want: []string{"MC308 10 20"}, doubt: "never returned"},
		{name: "a deadlock of fences", ranks: []string{never(winFence(10)), never(on6(winFence(20)))}, want: []string{"MC308 10 20"}, doubt: "never returned"},
		{name: "different calls that never returned", ranks: []string{never(barrier(10)), never(world(20, "MPI_Bcast", 0))}, want: []string{"MC308 10 20"}, doubt: "never returned"},
		{name: "a call that another process never makes", ranks: []string{never(barrier(10)), ""}, want: []string{"MC308 10 99"}, doubt: "never returned"},

		{name: "right: the same, at different places", ranks: []string{barrier(10) + world(11, "MPI_Bcast", 0), barrier(20) + world(21, "MPI_Bcast", 0)}},
		{name: "right: two communicators interleaved", ranks: []string{barrier(10) + second(11, "MPI_Barrier") + winFence(12), barrier(20) + second(21, "MPI_Barrier") + winFence(22)}},
		{name: "right: a non-blocking call overlaps a blocking one", ranks: []string{
			callAt(10, "MPI_Ibarrier", `"comm:c":1,"request:q":7`) + second(11, "MPI_Barrier") + callAt(12, "MPI_Wait", `"request":7,"done":1`),
			second(20, "MPI_Barrier") + callAt(21, "MPI_Ibarrier", `"comm:c":1,"request:q":7`) + callAt(22, "MPI_Wait", `"request":7,"done":1`),
		}},
		{name: "right: local assertions differ", ranks: []string{callAt(10, "MPI_Win_fence", `"assert":2,"win":5`), callAt(20, "MPI_Win_fence", `"assert":4,"win":5`)}},
		{name: "stopped in a barrier while another computes", ranks: []string{never(barrier(10)), never(callAt(20, "MPI_Recv", `"buf":"0x7000","count":1,"datatype":1,"source":0,"tag":0,"comm":1`))},
			want: []string{}, doubt: "never returned"},
		{name: "collective calls of several threads", ranks: []string{
			barrier(10) + strings.Replace(second(11, "MPI_Barrier"), `{"call"`, `{"strand":1,"call"`, 1),
			strings.Replace(second(21, "MPI_Barrier"), `{"call"`, `{"strand":1,"call"`, 1) + barrier(20),
		}, want: []string{}, doubt: "different communicators"},
	} {
		t.Run(tt.name, tt.run)
	}
}

// line returns the line of the place that a report points at, or 0.
func line(stack []symbols.Frame) int {
	f, _ := symbols.Here(stack)
	return f.Line
}
