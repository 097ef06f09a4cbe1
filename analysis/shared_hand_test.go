package analysis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
)

// Window 5 is a shared-memory window of 64 bytes at 0x1000 in each process, and
// lies at 0x90000 where the other process sees it; window 6 is one of 64 bytes
// at 0x3000.
const sharedAndOther = `{"call":"MPI_Win_allocate_shared","args":{"baseptr":"0x1000","size":64,"disp_unit":1,"comm":1,"win":5,"model":1}}
{"call":"MPI_Win_create","args":{"base":"0x3000","size":64,"disp_unit":1,"comm":1,"win":6,"model":1}}
rank 0
{"call":"mcchk_Shared_segment","args":{"win":5,"rank":1,"base":"0x90000","size":64}}
rank 1
{"call":"mcchk_Shared_segment","args":{"win":5,"rank":0,"base":"0x90000","size":64}}
`

// Rank 0 locks the memory of rank 1, which is in front of it, and uses it as the
// buffer of something that lasts; both meet in a barrier; rank 0 gives the lock
// up. Meanwhile rank 1 stores there, under its own lock of itself. The two locks
// keep the store and the buffer apart only where the buffer is done with before
// rank 0 gives its lock up: a lock protects what happens between lock and unlock.
func TestBuffersThatOutlastTheirLock(t *testing.T) {
	const mapped = "0x90008"
	operation := func(fn string, target int, more string) string {
		return callAt(4, fn, fmt.Sprintf(`"origin_addr":"%s","origin_count":1,"origin_datatype":1,"target_rank":%d,"target_disp":32,"target_count":1,"target_datatype":1,"win":6%s`, mapped, target, more))
	}
	get := operation("MPI_Get", 0, "")
	rget := operation("MPI_Rget", 0, `,"request":7`)
	put := operation("MPI_Put", 0, "")
	fetch := callAt(4, "MPI_Fetch_and_op", fmt.Sprintf(`"origin_addr":"0x5000","result_addr":"%s","datatype":1,"target_rank":0,"target_disp":32,"op:o":1,"win":6`, mapped))
	swap := callAt(4, "MPI_Compare_and_swap", fmt.Sprintf(`"origin_addr":"0x5000","compare_addr":"0x5010","result_addr":"%s","datatype":1,"target_rank":0,"target_disp":32,"win":5`, mapped))
	irecv := callAt(4, "MPI_Irecv", fmt.Sprintf(`"buf":"%s","count":1,"datatype":1,"source":0,"tag":3,"comm":1,"request":7`, mapped))
	send := callAt(5, "MPI_Send", `"buf":"0x5000","count":1,"datatype":1,"dest":0,"tag":3,"comm":1`)
	readBegin := callAt(4, "MPI_File_read_all_begin", fmt.Sprintf(`"fh:f":9,"buf:p":"%s","count:i":1,"datatype:t":1`, mapped))
	readEnd := callAt(8, "MPI_File_read_all_end", `"fh:f":9,"buf:p":"0x90008","status:S":[-1,-1,4,0]`)
	wait := callAt(8, "MPI_Wait", `"request":7,"status":[0,3,4,0],"done":1`)
	fence6 := func(line int) string { return on6(winFence(line)) }
	lock := func(kind, rank int) string {
		return callAt(3, "MPI_Win_lock", fmt.Sprintf(`"lock_type":%d,"rank":%d,"win":5,"ticket":0`, kind, rank))
	}
	lockAll, unlockAll := winCall(3, "lock_all"), winCall(7, "unlock_all")
	const exclusive = 2
	store := `{"access":"store","addr":"0x1008","size":4,"stack":[{"func":"main","file":"a.c","line":12}]}` + "\n"
	underLock := callAt(11, "MPI_Win_lock", `"lock_type":2,"rank":1,"win":5,"ticket":0`) + store + winUnlock(13, 1)
	underLockAll := winCall(11, "lock_all") + store + winCall(13, "unlock_all")
	meet := barrier(6)

	tests := []struct {
		name      string
		zero, one string
		rule      string // "" for none
	}{
		{"a get in a fence epoch of another window", fence6(2) + lockAll + get + meet + unlockAll + fence6(8), fence6(2) + underLock + meet + fence6(8), "MC102"},
		{"a get, with the fence before the unlock", fence6(2) + lockAll + get + meet + fence6(8) + unlockAll, fence6(2) + underLock + meet + fence6(8), ""},
		{"a get, unlocked before they meet", fence6(2) + lockAll + get + unlockAll + meet + fence6(8), fence6(2) + underLock + meet + fence6(8), "MC102"},
		{"a fetch in a fence epoch of another window", fence6(2) + lockAll + fetch + meet + unlockAll + fence6(8), fence6(2) + underLock + meet + fence6(8), "MC102"},
		{"a fence that completes nothing comes first", fence6(2) + lockAll + get + meet + on6(winFence(8, "NOPRECEDE")) + unlockAll + fence6(9),
			fence6(2) + underLock + meet + on6(winFence(8, "NOPRECEDE")) + fence6(9), "MC102"},
		{"a put between start and complete", on6(winGroup(1, "post", 0)) + on6(winGroup(2, "start", 0)) + lockAll + put + meet + unlockAll + on6(winCall(8, "complete")) + on6(winCall(9, "wait")),
			underLock + meet, "MC102"},
		{"a put, with the complete before the unlock", on6(winGroup(1, "post", 0)) + on6(winGroup(2, "start", 0)) + lockAll + put + meet + on6(winCall(8, "complete")) + unlockAll + on6(winCall(9, "wait")),
			underLock + meet, ""},
		{"a swap under another lock of the same window", lock(exclusive, 1) + lock(exclusive, 0) + swap + meet + winUnlock(7, 1) + winUnlock(8, 0), underLockAll + meet, "MC102"},
		{"a swap, its own lock is given up first", lock(exclusive, 1) + lock(exclusive, 0) + swap + meet + winUnlock(7, 0) + winUnlock(8, 1), underLockAll + meet, ""},
		{"a get under a lock of another window, flushed too late", on6(lockAll) + lockAll + get + meet + unlockAll + on6(winFlush(8, 0)) + on6(unlockAll), underLock + meet, "MC102"},
		{"a get, flushed locally before the unlock", on6(lockAll) + lockAll + get + meet + on6(winCall(8, "flush_local_all")) + unlockAll + on6(unlockAll), underLock + meet, ""},
		{"a get, another target flushed before the unlock", on6(lockAll) + lockAll + get + meet + on6(winFlush(8, 1)) + unlockAll + on6(unlockAll), underLock + meet, "MC102"},
		{"a get with a request, waited for too late", on6(lockAll) + lockAll + rget + meet + unlockAll + wait + on6(unlockAll), underLock + meet, "MC102"},
		{"a get with a request, waited for before the unlock", on6(lockAll) + lockAll + rget + meet + wait + unlockAll + on6(unlockAll), underLock + meet, ""},
		{"a receive, waited for too late", lockAll + irecv + meet + unlockAll + send + wait, underLock + meet, "MC108"},
		{"a receive, waited for before the unlock", lockAll + irecv + meet + send + wait + unlockAll, underLock + meet, ""},
		{"a split read of a file, ended too late", lockAll + readBegin + meet + unlockAll + readEnd, underLock + meet, "MC108"},
		{"a split read of a file, ended before the unlock", lockAll + readBegin + meet + readEnd + unlockAll, underLock + meet, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := packed(t, 2, sharedAndOther+"rank 0\n"+tt.zero+finish+"rank 1\n"+tt.one+finish)
			for _, clock := range []string{evc.Encoded, evc.Vector} {
				res := inMemory(t, files, clock, 1)
				want := []string{}
				if tt.rule != "" {
					want = append(want, tt.rule+" 4 12")
				}
				require.Equal(t, want, usageOf(res), clock)
			}
		})
	}
}
