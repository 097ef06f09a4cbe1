package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFixes: what is proposed must be right when it is carried out to the
// letter. Two processes, a window of 64 bytes at 0x1000 of each.
func TestFixes(t *testing.T) {
	join := func(s ...string) string { return strings.Join(s, "") }
	op := func(line int, fn string, target, disp int, more string) string {
		return callAt(line, "MPI_"+fn, putArgs(target, disp, 1, 1)+more)
	}
	local := func(line int, what, addr string) string {
		return fmt.Sprintf(`{"access":"%s","addr":"%s","size":4,"stack":[{"func":"main","file":"a.c","line":%d}]}`+"\n", what, addr, line)
	}
	const sum = `,"op":1`
	lockAll, unlockAll := winCall(1, "lock_all"), winCall(99, "unlock_all")
	flushLocal := callAt(11, "MPI_Win_flush_local", `"rank":1,"win":5`)
	tests := []struct {
		name      string
		zero, one string
		why       string   // part of it
		fixes     []string // the first words of each, in order
		never     string   // no fix has it
	}{
		{
			name: "accumulate and get: an atomic read comes first, and no lock within lock_all",
			zero: join(lockAll, op(10, "Accumulate", 1, 8, sum), flushLocal, unlockAll),
			one:  join(lockAll, op(20, "Get", 1, 8, ""), winFlush(21, 1), unlockAll),
			why:  "MPI_Win_flush_local (line 11) completes MPI_Accumulate (line 10) at its origin only, not at rank 1",
			fixes: []string{
				"use MPI_Get_accumulate or MPI_Fetch_and_op with MPI_NO_OP in place of MPI_Get (line 20), if any order will do: accumulate operations of the same datatype (MPI_INT) may meet",
				"call MPI_Win_flush for rank 1 after MPI_Accumulate (line 10), and let rank 1 wait for rank 0 (a barrier that both call, or a message) after that and before MPI_Get (line 20), so that MPI_Get reads what MPI_Accumulate wrote",
				"the other way round: make MPI_Accumulate (line 10) only after MPI_Win_flush (line 21), when rank 0 has waited for rank 1",
				"let the two processes use different places of the window",
				"make each access between an MPI_Win_lock(MPI_LOCK_EXCLUSIVE, …) of rank 1 and an MPI_Win_unlock of its own, instead of within MPI_Win_lock_all",
			},
		},
		{
			name: "accumulate and put: no accumulate operation for the put",
			zero: join(lockAll, op(10, "Accumulate", 1, 8, sum), unlockAll),
			one:  join(lockAll, op(20, "Put", 1, 8, ""), unlockAll),
			fixes: []string{
				"call MPI_Win_flush for rank 1 after MPI_Accumulate (line 10), and let rank 1 wait for rank 0 (a barrier that both call, or a message) after that and before MPI_Put (line 20), so that the value of MPI_Put remains",
				"the other way round: call MPI_Win_flush for rank 1 after MPI_Put (line 20), and make MPI_Accumulate (line 10) only after that", "let the two", "make each",
			},
			never: "MPI_REPLACE",
		},
		{
			name: "elements that overlap in part: no accumulate operations, and the bytes",
			zero: join(winFence(1), op(10, "Put", 1, 1, ""), winFence(30)),
			one:  join(winFence(1), op(20, "Put", 1, 2, ""), winFence(30)),
			why:  "rank 0 writes bytes 1 to 4 and rank 1 writes bytes 2 to 5 of the window, where the displacement unit of rank 1 is 1",
			fixes: []string{"call MPI_Win_fence in all processes of the window after MPI_Put (line 10) and before MPI_Put (line 20), so that the value of MPI_Put (line 20) remains",
				"let the two processes use different places of the window (now bytes 1 to 4 and bytes 2 to 5"},
			never: "accumulate",
		},
		{
			name:  "atomic elements that overlap in part",
			zero:  join(winFence(1), op(10, "Accumulate", 1, 1, sum), winFence(30)),
			one:   join(winFence(1), op(20, "Accumulate", 1, 2, sum), winFence(30)),
			why:   "the elements of these overlap only in part",
			fixes: []string{"let the elements lie at the same places, or at different ones (now bytes 1 to 4 and bytes 2 to 5", "call MPI_Win_fence", "let the two"},
			never: "one datatype",
		},
		{
			name: "a store between post and wait: before or behind, and which value remains",
			zero: join(winGroup(10, "start", 1), op(11, "Put", 1, 8, ""), winCall(12, "complete")),
			one:  join(winGroup(20, "post", 0), local(21, "store", "0x1008"), winCall(22, "wait")),
			fixes: []string{"move the store (line 21) before MPI_Win_post (line 20), so that the value of MPI_Put remains",
				"move the store (line 21) behind MPI_Win_wait (line 22), so that the value of the store remains"},
		},
		{
			name: "a load between post and wait",
			zero: join(winGroup(10, "start", 1), op(11, "Put", 1, 8, ""), winCall(12, "complete")),
			one:  join(winGroup(20, "post", 0), local(21, "load", "0x1008"), winCall(22, "wait")),
			fixes: []string{"move the load (line 21) behind MPI_Win_wait (line 22), so that the load reads what MPI_Put wrote",
				"move the load (line 21) before MPI_Win_post (line 20), so that the load reads the value from before MPI_Put"},
		},
		{
			name: "a store above a get of another process: in the order of the lines",
			zero: join(lockAll, op(30, "Get", 1, 8, ""), winFlush(31, 1), unlockAll),
			one:  join(lockAll, local(20, "store", "0x1008"), unlockAll),
			fixes: []string{
				"let rank 0 wait for rank 1 (a barrier that both call, or a message) after the store (line 20) and before MPI_Get (line 30), so that MPI_Get reads what the store wrote",
				"the other way round: make the store (line 20) only after MPI_Win_flush (line 31), when rank 1 has waited for rank 0 (a barrier that both call, or a message), so that MPI_Get reads the value from before the store",
				"make each access between",
			},
		},
		{
			name: "a fence that makes nobody wait is named",
			zero: join(winFence(1, "NOPRECEDE"), op(10, "Put", 1, 8, ""), winFence(30)),
			one:  join(winFence(1, "NOPRECEDE"), op(10, "Put", 1, 8, ""), winFence(30)),
			why:  "both lie between MPI_Win_fence with MPI_MODE_NOPRECEDE (line 1) and MPI_Win_fence (line 30)",
			fixes: []string{"let the two processes use different places of the window", "let the two processes take turns",
				"use MPI_Accumulate with MPI_REPLACE in place of MPI_Put (line 10), if any order will do"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			create := `{"call":"MPI_Win_create","args":{"base":"0x1000","size":64,"disp_unit":1,"comm":1,"win":5,"model":1}}` + "\n"
			end := callAt(100, "MPI_Win_free", `"win":5`) + finalize(101)
			res := inMemoryWith(t, packed(t, 2, create+"rank 0\n"+tt.zero+end+"rank 1\n"+tt.one+end), Options{Clock: "evc"})
			require.NotEmpty(t, res.Findings)
			f := res.Findings[0]
			require.Contains(t, f.Why, tt.why)
			require.Len(t, f.Fixes, len(tt.fixes), "%q", f.Fix())
			for i, want := range tt.fixes {
				require.True(t, strings.HasPrefix(f.Fixes[i].Text, want), "%q\nis not %q", f.Fixes[i].Text, want)
			}
			if tt.never != "" {
				require.NotContains(t, f.Fix(), tt.never)
			}
		})
	}
}
