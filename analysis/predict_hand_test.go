package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/trace"
)

// Two windows on two processes: window 5 holds data, window 6 is locked. The
// lines of rank 0 and rank 1 are those of a.c and b.c. Rank 0 got its lock first.
func TestPredict(t *testing.T) {
	line := 0
	at := func() string {
		line++
		return fmt.Sprintf(`"stack":[{"func":"main","file":"a.c","line":%d}]`, line)
	}
	call := func(fn, args string) string { return fmt.Sprintf(`{"call":"%s",%s,"args":{%s}}`+"\n", fn, at(), args) }
	op := func(fn string, win int) string {
		return call(fn, fmt.Sprintf(`"origin_addr":"0x5000","origin_count":1,"origin_datatype":1,"target_rank":1,"target_disp":8,"target_count":1,"target_datatype":1,"win":%d`, win))
	}
	lock := func(kind int64, win, ticket int) string {
		return call("MPI_Win_lock", fmt.Sprintf(`"lock_type:l":%d,"rank:r":1,"assert:a":0,"win:w":%d,"ticket:i":%d`, kind, win, ticket))
	}
	unlock := func(win int) string { return call("MPI_Win_unlock", fmt.Sprintf(`"rank":1,"win":%d`, win)) }
	lockAll := func(win int) string { return call("MPI_Win_lock_all", fmt.Sprintf(`"win":%d`, win)) }
	unlockAll := func(win int) string { return call("MPI_Win_unlock_all", fmt.Sprintf(`"win":%d`, win)) }
	ticket := func(n int) string {
		return call("mcchk_Lock_ticket", fmt.Sprintf(`"rank:r":1,"win:w":6,"ticket:i":%d`, n))
	}
	flush := func() string { return call("MPI_Win_flush", `"rank":1,"win":5`) }
	send := func(to int) string {
		return call("MPI_Send", fmt.Sprintf(`"buf":"0x7000","count":1,"datatype":1,"dest":%d,"tag":2,"comm":1`, to))
	}
	recv := func(from int) string {
		return call("MPI_Recv", fmt.Sprintf(`"buf:p":"0x7000","count:i":1,"datatype:t":1,"source:r":%d,"tag:g":2,"comm:c":1,"status:S":[%d,2,4,0]`, from, from))
	}
	const shared, exclusive = trace.LockShared, trace.LockExclusive
	exclusiveOp := func(fn string, n int) string { return lock(exclusive, 5, n) + op(fn, 5) + unlock(5) }

	tests := []struct {
		name        string
		zero, one   string
		want        int // findings of MC202
		why         string
		atAnotherOp bool
	}{
		{
			name: "a counter under exclusive locks", want: 0,
			zero: exclusiveOp("MPI_Get", 0) + exclusiveOp("MPI_Put", 2),
			one:  exclusiveOp("MPI_Get", 1) + exclusiveOp("MPI_Put", 3),
		},
		{
			name: "ordered by the locks alone", want: 1, why: "had rank 1 got it first",
			zero: lockAll(5) + op("MPI_Put", 5) + flush() + lock(exclusive, 6, 0) + unlock(6) + unlockAll(5),
			one:  lock(exclusive, 6, 1) + unlock(6) + lockAll(5) + op("MPI_Put", 5) + unlockAll(5),
		},
		{
			name: "a flag handed over under a lock", want: 1, why: "only because rank 0 got its lock",
			zero: lockAll(5) + op("MPI_Put", 5) + flush() + lock(exclusive, 6, 0) + op("MPI_Put", 6) + unlock(6) + unlockAll(5),
			one:  lock(shared, 6, 1) + op("MPI_Get", 6) + unlock(6) + lockAll(5) + op("MPI_Get", 5) + unlockAll(5),
		},
		{
			name: "ordered by a message too", want: 0,
			zero: lockAll(5) + op("MPI_Put", 5) + flush() + lock(exclusive, 6, 0) + unlock(6) + send(1) + unlockAll(5),
			one:  lock(exclusive, 6, 1) + unlock(6) + recv(0) + lockAll(5) + op("MPI_Put", 5) + unlockAll(5),
		},
		{
			name: "a lock_all before an exclusive lock", want: 1, why: "(MPI_Win_lock_all",
			zero: lockAll(5) + op("MPI_Put", 5) + flush() + lockAll(6) + ticket(0) + op("MPI_Get", 6) + unlockAll(6) + unlockAll(5),
			one:  lock(exclusive, 6, 1) + unlock(6) + lockAll(5) + op("MPI_Put", 5) + unlockAll(5),
		},
		{
			name: "the lock of one side does not exclude", want: 1, why: "had rank 1 got it first",
			zero: lock(exclusive, 5, 0) + op("MPI_Put", 5) + flush() + unlock(5),
			one:  lock(exclusive, 5, 1) + unlock(5) + `{"access":"store","addr":"0x1008","size":4,"stack":[{"func":"f","file":"b.c","line":3}]}` + "\n",
		},
		{
			name: "a race anyway is not predicted", want: 0, atAnotherOp: true,
			zero: lockAll(5) + op("MPI_Put", 5) + lock(exclusive, 6, 0) + unlock(6) + unlockAll(5),
			one:  lock(exclusive, 6, 1) + unlock(6) + lockAll(5) + op("MPI_Put", 5) + unlockAll(5),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := create + strings.NewReplacer(`"win":5`, `"win":6`, "0x1000", "0x3000").Replace(create) +
				"rank 0\n" + tt.zero + finish + "rank 1\n" + strings.ReplaceAll(tt.one, "a.c", "b.c") + finish
			files := packed(t, 2, text)
			plain := inMemoryWith(t, files, Options{Clock: "evc"})
			require.Empty(t, plain.Doubts)
			res := inMemoryWith(t, files, Options{Clock: "evc", Predict: true})
			require.Equal(t, plain.Verdict, res.Verdict, "--predict changes the verdict")
			require.Equal(t, tt.atAnotherOp, plain.Verdict == Race)
			require.Len(t, res.Findings, len(plain.Findings)+tt.want)
			for _, f := range res.Findings {
				if f.Rule != conflicts.RuleLockOrder {
					continue
				}
				require.Equal(t, conflicts.Warning, f.Severity)
				require.Contains(t, f.Why, tt.why)
				t.Log(f.Why)
			}
		})
	}
}
