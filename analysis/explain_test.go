package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
)

// TestExplanations: the cause that a finding names is that of the program. Two
// processes, a window of 64 bytes at 0x1000 of each, buffers at 0x5000. Calls
// are at the lines of a.c for rank 0 and, counted on, for rank 1.
func TestExplanations(t *testing.T) {
	line := 0
	at := func() string {
		line++
		return fmt.Sprintf(`"stack":[{"func":"main","file":"a.c","line":%d}]`, line)
	}
	call := func(fn, args string) string {
		return fmt.Sprintf(`{"call":"MPI_%s",%s,"args":{%s}}`+"\n", fn, at(), args)
	}
	op := func(fn string, target int) string {
		return call(fn, fmt.Sprintf(`"origin_addr":"0x5000","origin_count":1,"origin_datatype":1,"target_rank":%d,"target_disp":8,"target_count":1,"target_datatype":1,"win":5`, target))
	}
	load := func(addr string) string {
		return fmt.Sprintf(`{"access":"load","addr":"%s","size":4,%s}`+"\n", addr, at())
	}
	win := func(fn string) string { return call("Win_"+fn, `"win":5`) }
	flush := func(rank int) string { return call("Win_flush", fmt.Sprintf(`"rank":%d,"win":5`, rank)) }
	barrier := func() string { return call("Barrier", `"comm":1`) }
	const finish = `{"call":"MPI_Win_free","args":{"win":5}}` + "\n" + `{"call":"MPI_Finalize","args":{}}` + "\n" + `{"end":{"units":1}}` + "\n"

	tests := []struct {
		name      string
		zero, one func() string
		why       string
		sought    []string // "kind: part of the text"
		fixes     []string // "kind: part of the text"
	}{
		{
			name:   "a flush of another target",
			zero:   func() string { return win("lock_all") + op("Get", 1) + flush(0) + load("0x5000") + win("unlock_all") },
			one:    func() string { return "" },
			why:    "MPI_Get (line 2) is complete only with MPI_Win_unlock_all (line 5), and the load (line 4) comes before that; MPI_Win_flush (line 3) stands between them, but does not complete it: it is of another window, target or kind",
			sought: []string{"completion: there is only MPI_Win_flush (line 3)"},
			fixes:  []string{"complete: MPI_Win_flush_local for its target", "move: move the load (line 4) behind MPI_Win_unlock_all (line 5)"},
		},
		{
			name:   "a barrier before the completion",
			zero:   func() string { return win("lock_all") + op("Put", 1) + barrier() + win("unlock_all") },
			one:    func() string { return barrier() + load("0x1008") },
			why:    "MPI_Put (line 2) of rank 0 is complete only with MPI_Win_unlock_all (line 4), and nothing makes rank 1 wait for that before the load (line 6); the last that rank 1 had heard of rank 0 by then is MPI_Barrier (line 3), which does not complete it; a lock of rank 1 excludes only those that lock too, which rank 1 does not for the load (line 6)",
			sought: []string{"path: rank 1 waiting for MPI_Win_unlock_all (line 4) of rank 0 before the load (line 6): it has heard of rank 0 only up to MPI_Barrier (line 3)", "lock: rank 0 holds a shared lock of all ranks (MPI_Win_lock_all), rank 1 none"},
			fixes: []string{"complete: call MPI_Win_flush for rank 1 after MPI_Put (line 2) and before MPI_Barrier (line 3) of rank 0",
				"synchronize: let rank 1 wait for rank 0", "lock: instead of within MPI_Win_lock_all"},
		},
		{
			name:   "one fence epoch",
			zero:   func() string { return win("fence") + op("Put", 1) + win("fence") },
			one:    func() string { return win("fence") + load("0x1008") + win("fence") },
			why:    "MPI_Put (line 2) of rank 0 may access the bytes until MPI_Win_fence (line 3); the load (line 5) of rank 1 lies between MPI_Win_fence (line 4) and MPI_Win_fence (line 6); nothing makes the one wait for the other",
			sought: []string{"path: heard of rank 0 only up to MPI_Win_fence (line 1)", "path: heard of rank 1 only up to MPI_Win_fence (line 4)"},
			fixes:  []string{"synchronize: call MPI_Win_fence in all processes of the window after MPI_Put (line 2) and before the load (line 5), so that the load reads what MPI_Put wrote"},
		},
		{
			name:   "two puts in one lock_all epoch",
			zero:   func() string { return win("lock_all") + op("Put", 1) + op("Get", 1) + win("unlock_all") },
			one:    func() string { return "" },
			why:    "MPI_Put (line 2) is complete only with MPI_Win_unlock_all (line 4), and MPI_Get (line 3) comes before that",
			sought: []string{"completion: there is none"},
			fixes:  []string{"complete: call MPI_Win_flush for rank 1 between MPI_Put (line 2) and MPI_Get (line 3)", "operation: accumulate", "separate: different places"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line = 0
			create := `{"call":"MPI_Win_create","args":{"base":"0x1000","size":64,"disp_unit":1,"comm":1,"win":5,"model":1}}` + "\n"
			files := packed(t, 2, create+"rank 0\n"+tt.zero()+finish+"rank 1\n"+tt.one()+finish)
			res := inMemoryWith(t, files, Options{Clock: "evc"})
			var f *conflicts.Finding
			for i := range res.Findings { // the one at the target, where there are others
				if f == nil || res.Findings[i].Window != 0 {
					f = &res.Findings[i]
				}
			}
			require.NotNil(t, f)
			require.Equal(t, tt.why, f.Why)
			require.Len(t, f.Sought, len(tt.sought))
			for i, want := range tt.sought {
				kind, part, _ := strings.Cut(want, ": ")
				require.Equal(t, kind, string(f.Sought[i].Kind))
				require.Contains(t, f.Sought[i].Text, part)
			}
			require.Len(t, f.Fixes, len(tt.fixes))
			for i, want := range tt.fixes {
				kind, part, _ := strings.Cut(want, ": ")
				require.Equal(t, kind, string(f.Fixes[i].Kind))
				require.Contains(t, f.Fixes[i].Text, part)
			}
		})
	}
}
