package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rank 0 puts, completes the put by a flush and then calls something; rank 1
// calls something and then stores to the same place. The rows say what calls
// order the one before the other.
func TestOrderOfCalls(t *testing.T) {
	call := func(fn, args string) string { return fmt.Sprintf(`{"call":"%s","args":{%s}}`+"\n", fn, args) }
	wait := call("MPI_Wait", `"request":7,"done":1`)
	root := func(r int) string { return fmt.Sprintf(`,"root:r":%d`, r) }
	bcast := `"buffer:p":"0x7000","count:i":1,"datatype:t":1,"comm:c":1,"request:q":7`
	reduce := `"sendbuf:p":"0x7000","recvbuf:p":"0x7100","count:i":1,"datatype:t":1,"op:o":1,"comm:c":1,"request:q":7`
	gather := `"sendbuf:p":"0x7000","sendcount:i":1,"sendtype:t":1,"recvbuf:p":"0x7100","recvcount:i":1,"recvtype:t":1,"comm:c":1,"request:q":7`
	replace := func(peer int) string {
		return call("MPI_Sendrecv_replace", fmt.Sprintf(`"buf:p":"0x7000","count:i":1,"datatype:t":1,"dest:r":%d,"sendtag:g":1,"source:r":%d,"recvtag:g":1,"comm:c":1,"status:S":[%d,1,4,0]`, peer, peer, peer))
	}
	dup := call("MPI_Comm_dup", `"comm:c":1,"newcomm:c":4294967298`)
	sendInit := call("MPI_Send_init", `"buf:p":"0x7000","count:i":1,"datatype:t":1,"dest:r":1,"tag:g":2,"comm:c":1,"request:q":7`)
	recvInit := call("MPI_Recv_init", `"buf:p":"0x7000","count:i":1,"datatype:t":1,"source:r":-1,"tag:g":-1,"comm:c":1,"request:q":7`)
	start := call("MPI_Start", `"request:q":7`)
	gotFromAny := call("MPI_Wait", `"request":7,"status":[0,2,4,0],"done":1`)
	matched := call("MPI_Mprobe", `"source:r":-1,"tag:g":2,"comm:c":1,"status:S":[0,2,4,0],"handle:i":33`) +
		call("MPI_Mrecv", `"buf:p":"0x7000","count:i":1,"datatype:t":1,"message:i":33,"status:S":[0,2,4,0]`)
	tests := []struct {
		name, origin, target string
		race                 bool
	}{
		{"nothing", "", "", true},
		{"ibarrier", call("MPI_Ibarrier", `"comm:c":1,"request:q":7`) + wait, call("MPI_Ibarrier", `"comm:c":1,"request:q":7`) + wait, false},
		{"ibarrier, the store before its wait", call("MPI_Ibarrier", `"comm:c":1,"request:q":7`) + wait, call("MPI_Ibarrier", `"comm:c":1,"request:q":7`), true},
		{"ibcast from the origin", call("MPI_Ibcast", bcast+root(0)) + wait, call("MPI_Ibcast", bcast+root(0)) + wait, false},
		{"ibcast to the origin", call("MPI_Ibcast", bcast+root(1)) + wait, call("MPI_Ibcast", bcast+root(1)) + wait, true},
		{"ireduce to the target", call("MPI_Ireduce", reduce+root(1)) + wait, call("MPI_Ireduce", reduce+root(1)) + wait, false},
		{"ireduce to the origin", call("MPI_Ireduce", reduce+root(0)) + wait, call("MPI_Ireduce", reduce+root(0)) + wait, true},
		{"iallreduce", call("MPI_Iallreduce", reduce) + wait, call("MPI_Iallreduce", reduce) + wait, false},
		{"iscan", call("MPI_Iscan", reduce) + wait, call("MPI_Iscan", reduce) + wait, false},
		{"iallgather", call("MPI_Iallgather", gather) + wait, call("MPI_Iallgather", gather) + wait, false},
		{"igather to the target", call("MPI_Igather", gather+root(1)) + wait, call("MPI_Igather", gather+root(1)) + wait, false},
		{"sendrecv_replace", replace(1), replace(0), false},
		{"comm_dup", dup, dup, false},
		{"persistent messages, the second of two", sendInit + start + wait + start + wait, recvInit + start + gotFromAny + start + gotFromAny, false},
		{"persistent messages, before the second is received", sendInit + start + wait, recvInit + start + gotFromAny, false},
		{"a persistent receive that is not started", sendInit + start + wait, recvInit, true},
		{"matched probe", call("MPI_Send", `"buf":"0x7000","count":1,"datatype":1,"dest":1,"tag":2,"comm":1`), matched, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lockAll, unlockAll := call("MPI_Win_lock_all", `"win":5`), call("MPI_Win_unlock_all", `"win":5`)
			text := create +
				"rank 0\n" + lockAll + put1 + call("MPI_Win_flush", `"rank":1,"win":5`) + tt.origin + unlockAll + finish +
				"rank 1\n" + lockAll + tt.target + store8 + unlockAll
			if tt.name == "ibarrier, the store before its wait" {
				text += wait
			}
			text += finish
			res := inMemory(t, packed(t, 2, text), "evc", 1)
			require.Empty(t, res.Doubts)
			want := NoRace
			if tt.race {
				want = Race
			}
			require.Equal(t, want, res.Verdict)
		})
	}
}

// The buffers of a non-blocking collective call are in use until it is completed.
func TestBuffersOfNonBlockingCollectives(t *testing.T) {
	start := `{"call":"MPI_Iallreduce","stack":[{"func":"main","file":"a.c","line":5}],"args":{"sendbuf:p":"0x1000","recvbuf:p":"0x1008","count:i":1,"datatype:t":1,"op:o":1,"comm:c":1,"request:q":7}}` + "\n"
	wait := `{"call":"MPI_Wait","args":{"request":7,"done":1}}` + "\n"
	for name, text := range map[string]string{
		"store to the receive buffer before the wait": create + start + store8 + wait + finish,
		"store to the receive buffer after the wait":  create + start + wait + store8 + finish,
	} {
		t.Run(name, func(t *testing.T) {
			res := inMemory(t, packed(t, 2, text), "evc", 1)
			require.Empty(t, res.Doubts)
			if strings.Contains(name, "before") {
				require.Len(t, res.Findings, 1)
				require.Equal(t, "MC107", res.Findings[0].Rule)
			} else {
				require.Empty(t, res.Findings)
			}
		})
	}
}

// A buffer of a pending receive in window memory is protected by the lock that
// its process holds on itself, if it is complete before the unlock.
func TestLocksProtectPendingBuffers(t *testing.T) {
	call := func(fn, args string) string { return fmt.Sprintf(`{"call":"%s","args":{%s}}`+"\n", fn, args) }
	irecv := call("MPI_Irecv", `"buf:p":"0x1008","count:i":1,"datatype:t":1,"source:r":1,"tag:g":2,"comm:c":1,"request:q":7`)
	wait := call("MPI_Wait", `"request":7,"status":[1,2,4,0],"done":1`)
	send := call("MPI_Send", `"buf":"0x7000","count":1,"datatype":1,"dest":1,"tag":2,"comm":1`)
	lockAll, unlockAll := call("MPI_Win_lock_all", `"win":5`), call("MPI_Win_unlock_all", `"win":5`)
	origin := call("MPI_Win_lock", `"lock_type:l":2,"rank:r":1,"assert:a":0,"win:w":5,"ticket:i":0`) + put1 + call("MPI_Win_unlock", `"rank":1,"win":5`)
	for name, tt := range map[string]struct {
		target string
		want   Verdict
	}{
		"complete before the unlock": {lockAll + send + irecv + wait + unlockAll, NoRace},
		"complete after the unlock":  {lockAll + send + irecv + unlockAll + wait, Race},
		"begun before the lock":      {send + irecv + lockAll + wait + unlockAll, Race},
	} {
		t.Run(name, func(t *testing.T) {
			res := inMemory(t, packed(t, 2, create+"rank 0\n"+origin+finish+"rank 1\n"+tt.target+finish), "evc", 1)
			require.Empty(t, res.Doubts)
			require.Equal(t, tt.want, res.Verdict)
		})
	}
}
