package analysis

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// packed turns hand-written trace lines into files, one a rank. Lines before
// the first "rank" line go into all of them; every rank gets a header, the
// world communicator and MPI_INT as type 1.
func packed(t testing.TB, ranks int, text string) [][]byte {
	t.Helper()
	files := make([]strings.Builder, ranks)
	for i := range files {
		fmt.Fprintf(&files[i], `{"mcct":1,"rank":%d,"ranks":%d}`+"\n", i, ranks)
		fmt.Fprintf(&files[i], `{"comm":1,"rank":%d,"ranks":[[0,1,%d]]}`+"\n", i, ranks)
		fmt.Fprintln(&files[i], `{"type":1,"combiner":"named","name":"MPI_INT","size":4,"lb":0,"extent":4}`)
		fmt.Fprintln(&files[i], `{"op":1,"name":"MPI_SUM"}`)
	}
	to := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if n, err := fmt.Sscanf(line, "rank %d", &to); n == 1 && err == nil {
			continue
		}
		for i := range files {
			if to < 0 || to == i {
				fmt.Fprintln(&files[i], line)
			}
		}
	}
	out := make([][]byte, ranks)
	for i := range files {
		var buf bytes.Buffer
		require.NoError(t, trace.Pack(context.Background(), strings.NewReader(files[i].String()), &buf))
		out[i] = buf.Bytes()
	}
	return out
}

const (
	create = `{"call":"MPI_Win_create","args":{"base":"0x1000","size":64,"disp_unit":1,"comm":1,"win":5,"model":1}}` + "\n"
	fence  = `{"call":"MPI_Win_fence","args":{"win":5}}` + "\n"
	put1   = `{"call":"MPI_Put","stack":[{"func":"main","file":"a.c","line":7}],"args":{"origin_addr":"0x5000","origin_count":1,"origin_datatype":1,"target_rank":1,"target_disp":8,"target_count":1,"target_datatype":1,"win":5}}` + "\n"
	store8 = `{"access":"store","addr":"0x1008","size":4,"stack":[{"func":"f","file":"b.c","line":3}]}` + "\n"
	finish = `{"call":"MPI_Finalize"}` + "\n" + `{"end":{"units":1,"accesses":1}}` + "\n"
)

func TestVerdicts(t *testing.T) {
	correct := create + fence + "rank 0\n" + put1 + "rank 1\n"
	both := func(s string) string { return "rank 0\n" + s + "rank 1\n" + s }
	tests := []struct {
		name    string
		trace   string
		damage  func([][]byte)
		verdict Verdict
		doubts  []DoubtKind
		text    string // in the doubts
	}{
		{name: "correct", trace: correct + both(fence+finish), verdict: NoRace},
		{name: "race", trace: correct + store8 + both(fence+finish), verdict: Race},
		{
			name: "a call that is not understood", verdict: Undecided, doubts: []DoubtKind{NotUnderstood},
			trace: correct + `{"call":"MPI_Win_shrink","args":{"win:w":5}}` + "\n" + both(fence+finish),
			text:  "1 call of MPI_Win_shrink was not understood",
		},
		{
			name: "a race that a call that is not understood may prevent", verdict: Undecided, doubts: []DoubtKind{NotUnderstood},
			trace: correct + store8 + `{"call":"MPI_Win_shrink","args":{"win:w":5}}` + "\n" + both(fence+finish),
		},
		{
			name: "a race within a process besides a call that is not understood", verdict: Race, doubts: []DoubtKind{NotUnderstood},
			trace: correct + "rank 0\n" + strings.ReplaceAll(store8, "0x1008", "0x5000") + `{"call":"MPI_Win_shrink","args":{"win:w":5}}` + "\n" + both(fence+finish),
		},
		{
			name: "a rank without trace", trace: correct + both(fence+finish), verdict: Undecided,
			damage: func(f [][]byte) { f[0] = nil },
			doubts: []DoubtKind{MissingRank, Unmatched}, text: "1 of 2 processes have no readable trace",
		},
		{
			name: "a cut trace", trace: correct + both(fence+finish), verdict: Undecided,
			damage: func(f [][]byte) { f[1] = f[1][:len(f[1])-120] },
			doubts: []DoubtKind{CutTrace, Unmatched}, text: "a trace ends early",
		},
		{
			name: "lost events", trace: correct + `{"lost":{"reason":1,"calls":0,"accesses":12}}` + "\n" + both(fence+finish),
			verdict: Undecided, doubts: []DoubtKind{LostEvents}, text: "12 events were lost: the disk was full",
		},
		{
			name: "nothing instrumented", verdict: Undecided, doubts: []DoubtKind{NotInstrumented},
			trace: correct + both(fence+`{"call":"MPI_Finalize"}`+"\n"+`{"end":{"units":0}}`+"\n"),
			text:  "no part of the program is instrumented",
		},
		{
			name: "a part not instrumented", verdict: Undecided, doubts: []DoubtKind{NotInstrumented},
			trace: `{"info":"build","value":"{\"uninstrumented\":[\"util.o\"]}"}` + "\n" + correct + both(fence+finish),
			text:  "util.o",
		},
		{
			name: "calls past the tracer", verdict: Undecided, doubts: []DoubtKind{NotUnderstood},
			trace: `{"info":"build","value":"{\"bypassed\":[\"PMPI_Send\"]}"}` + "\n" + correct + both(fence+finish),
			text:  "calls of PMPI_Send",
		},
		{
			name: "a process that stays in a barrier", verdict: Undecided, doubts: []DoubtKind{Unmatched},
			trace: correct + both(fence) + "rank 0\n" + `{"call":"MPI_Barrier","returned":false,"args":{"comm":1}}` + "\n" + "rank 1\n" + `{"call":"MPI_Barrier","args":{"comm":1}}` + "\n" + finish,
			text:  "rank 0 never returned from MPI_Barrier",
		},
		{
			name: "a record of the tracer that was not finished", verdict: Undecided, doubts: []DoubtKind{Unmatched},
			trace: correct + "rank 0\n" + `{"call":"mcchk_Lock_ticket","returned":false,"args":{"rank":0,"win":0,"ticket":0}}` + "\n" + "rank 1\n" + fence,
			text:  "rank 0 never returned from an MPI call",
		},
		{
			name: "a receive without its message", verdict: Undecided, doubts: []DoubtKind{Unmatched},
			trace: correct + `{"call":"MPI_Recv","args":{"buf":"0x7000","count":1,"datatype":1,"source":0,"tag":3,"comm":1,"status":[0,3,4,0]}}` + "\n" + both(fence+finish),
			text:  "rank 1 waits in MPI_Recv for a message",
		},
		{
			name: "collective calls in different order", verdict: Misuse, doubts: []DoubtKind{Unmatched},
			trace: correct + "rank 0\n" + `{"call":"MPI_Barrier","args":{"comm":1}}` + "\n" + fence + finish + "rank 1\n" + fence + `{"call":"MPI_Barrier","args":{"comm":1}}` + "\n" + finish,
			text:  "calls MPI_Barrier where rank",
		},
		{
			name: "a one-sided call outside of any epoch", verdict: Misuse,
			trace: create + "rank 0\n" + put1 + both(fence+finish),
		},
		{
			name: "threads", verdict: Undecided, doubts: []DoubtKind{Threads},
			trace: correct + both(`{"mark":2,"strand":1}`+"\n"+`{"access":"store","addr":"0x1020","size":4,"strand":1}`+"\n"+fence+finish),
			text:  "from 1 further threads",
		},
		{
			name: "the separate memory model", verdict: NoRace,
			trace: strings.ReplaceAll(correct, `"model":1`, `"model":0`) + both(fence+finish),
		},
		{
			name: "an undefined datatype", verdict: Undecided, doubts: []DoubtKind{NotUnderstood},
			trace: create + fence + "rank 0\n" + strings.ReplaceAll(put1, `"target_datatype":1`, `"target_datatype":9`) + both(fence+finish),
			text:  "datatype 9 is not defined",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := packed(t, 2, tt.trace)
			if tt.damage != nil {
				tt.damage(files)
			}
			res := inMemory(t, files, "evc", 2)
			var kinds []DoubtKind
			var texts []string
			for _, d := range res.Doubts {
				if len(kinds) == 0 || kinds[len(kinds)-1] != d.Kind {
					kinds = append(kinds, d.Kind)
				}
				texts = append(texts, d.Text)
			}
			require.Equal(t, tt.verdict, res.Verdict, "%v", texts)
			require.Equal(t, tt.doubts, kinds, "%v", texts)
			require.Contains(t, strings.Join(texts, "\n"), tt.text)
		})
	}
}

func TestFindingTellsBothSides(t *testing.T) {
	res := inMemory(t, packed(t, 2, create+fence+"rank 0\n"+put1+"rank 1\n"+store8+"rank 0\n"+fence+finish+"rank 1\n"+fence+finish), "evc", 1)
	require.Len(t, res.Findings, 1)
	f := res.Findings[0]
	require.Equal(t, "MC102", f.Rule)
	require.Equal(t, "MPI_Put", f.First.Call)
	require.Equal(t, "a.c", f.First.Stack[0].File)
	require.Equal(t, 7, f.First.Stack[0].Line)
	require.EqualValues(t, "fence", f.First.Epoch)
	require.True(t, f.First.Pending)
	require.Equal(t, "MPI_Win_fence", f.First.Done.Call)
	require.Equal(t, "store", f.Second.Role)
	require.Equal(t, 3, f.Second.Stack[0].Line)
	require.Equal(t, 1, f.Owner)
	require.EqualValues(t, 5, f.Window)
	require.Equal(t, []uint64{8, 12}, []uint64{f.Lo, f.Hi})
	require.Equal(t, []int{0, 1}, f.Ranks)
	require.Equal(t, 2, f.Region)
	require.NotEmpty(t, f.Why)
	require.NotEmpty(t, f.Fixes)
}

// The findings do not depend on the number of workers.
func TestSameFindingsForAnyNumberOfWorkers(t *testing.T) {
	var text strings.Builder
	text.WriteString(create)
	for r := range 3 {
		fmt.Fprintf(&text, "rank %d\n%s", r, fence)
		for k := range 20 {
			fmt.Fprintf(&text, `{"call":"MPI_Put","stack":[{"func":"main","file":"a.c","line":%d}],"args":{"origin_addr":"0x5000","origin_count":2,"origin_datatype":1,"target_rank":%d,"target_disp":%d,"target_count":2,"target_datatype":1,"win":5}}`+"\n",
				k%5, k%3, 4*(k%7))
			fmt.Fprintf(&text, `{"access":"store","addr":"0x%x","size":4,"stack":[{"func":"f","file":"b.c","line":%d}]}`+"\n", 0x1000+4*k%64, k%4)
		}
		text.WriteString(fence + finish)
	}
	files := packed(t, 3, text.String())
	want := inMemory(t, files, "evc", 1)
	require.Greater(t, len(want.Findings), 10)
	for jobs := 2; jobs < 6; jobs++ {
		require.Equal(t, want, inMemory(t, files, "evc", jobs))
	}
	vector := inMemory(t, files, "vector", 2)
	require.Equal(t, want.Findings, vector.Findings)
}
