package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rank 0 operates on the window of rank 1 (addresses 0x1000 to 0x1040), which
// loads and stores there.
func TestSeparateModel(t *testing.T) {
	lines := 0
	at := func() string {
		lines++
		return fmt.Sprintf(`"stack":[{"func":"main","file":"a.c","line":%d}]`, lines)
	}
	call := func(fn, args string) string {
		return fmt.Sprintf(`{"call":"MPI_%s",%s,"args":{%s}}`+"\n", fn, at(), args)
	}
	local := func(kind string, addr int) string {
		return fmt.Sprintf(`{"access":"%s","addr":"%#x","size":4,%s}`+"\n", kind, addr, at())
	}
	op := func(fn string, disp int) string {
		return call(fn, fmt.Sprintf(`"origin_addr":"0x5000","origin_count":1,"origin_datatype":1,"target_rank":1,"target_disp":%d,"target_count":1,"target_datatype":1,"win":5`, disp))
	}
	lockAll := func() string { return call("Win_lock_all", `"win":5`) }
	unlockAll := func() string { return call("Win_unlock_all", `"win":5`) }
	flush := func() string { return call("Win_flush", `"rank":1,"win":5`) }
	sync := func() string { return call("Win_sync", `"win":5`) }
	barrier := func() string { return call("Barrier", `"comm":1`) }
	fences := func() string { return call("Win_fence", `"win":5`) }
	barriers := func(n int) string { return strings.Repeat(barrier(), n) }
	put := func() string { return op("Put", 8) + flush() }
	load, store := func() string { return local("load", 0x1008) }, func() string { return local("store", 0x1008) }
	free := func() string { return call("Win_free", `"win":5`) }

	tests := []struct {
		name      string
		zero, one string
		rule      string // "" for none
		why       string
	}{
		{name: "a load after a put and a barrier", rule: "MC109", why: "private copy",
			zero: lockAll() + put() + barrier() + unlockAll(), one: lockAll() + barrier() + load() + unlockAll()},
		{name: "a load after a put, a barrier and a sync",
			zero: lockAll() + put() + barrier() + unlockAll(), one: lockAll() + barrier() + sync() + load() + unlockAll()},
		{name: "the sync before the barrier", rule: "MC109",
			zero: lockAll() + put() + barrier() + unlockAll(), one: lockAll() + sync() + barrier() + load() + unlockAll()},
		{name: "a load three barriers after the put", rule: "MC109",
			zero: lockAll() + put() + barriers(3) + unlockAll(), one: lockAll() + barriers(3) + load() + unlockAll()},
		{name: "three barriers and a sync among them",
			zero: lockAll() + put() + barriers(3) + unlockAll(), one: lockAll() + barrier() + sync() + barriers(2) + load() + unlockAll()},
		{name: "a load elsewhere, three barriers after the put",
			zero: lockAll() + put() + barriers(3) + unlockAll(), one: lockAll() + barriers(3) + local("load", 0x1010) + unlockAll()},
		{name: "a store elsewhere, three barriers after the put", rule: "MC110", why: "even at different places",
			zero: lockAll() + put() + barriers(3) + unlockAll(), one: lockAll() + barriers(3) + local("store", 0x1010) + unlockAll()},
		{name: "a get three barriers after a store", rule: "MC109",
			zero: lockAll() + barriers(3) + op("Get", 8) + unlockAll(), one: lockAll() + store() + barriers(3) + unlockAll()},
		{name: "a get after a store, an unlock_all and a barrier",
			zero: lockAll() + barriers(3) + op("Get", 8) + unlockAll(), one: lockAll() + store() + unlockAll() + barriers(3)},
		{name: "a get after a store, a lock_all and a barrier", rule: "MC109",
			zero: lockAll() + barriers(3) + op("Get", 8) + unlockAll(), one: store() + lockAll() + barriers(3) + unlockAll()},
		{name: "a put elsewhere while a store is not published", rule: "MC110",
			zero: lockAll() + barriers(2) + op("Put", 32) + unlockAll(), one: lockAll() + store() + barriers(2) + unlockAll()},
		{name: "a get elsewhere while a store is not published",
			zero: lockAll() + barriers(2) + op("Get", 32) + unlockAll(), one: lockAll() + store() + barriers(2) + unlockAll()},
		{name: "a store and a put in one fence epoch", rule: "MC110",
			zero: fences() + op("Put", 32) + fences(), one: fences() + store() + fences()},
		{name: "a store and a put in two fence epochs",
			zero: fences() + op("Put", 32) + fences() + fences(), one: fences() + fences() + store() + fences()},
		{name: "a store and a put in one fence epoch at one place are a race of any model", rule: "MC102",
			zero: fences() + op("Put", 8) + fences(), one: fences() + store() + fences()},
		{name: "a load and a put in one fence epoch",
			zero: fences() + op("Put", 32) + fences(), one: fences() + load() + fences()},
		{name: "post and wait",
			zero: call("Win_start", `"group:R":[1],"win":5`) + op("Put", 8) + call("Win_complete", `"win":5`),
			one:  store() + call("Win_post", `"group:R":[0],"win":5`) + call("Win_wait", `"win":5`) + load()},
		{name: "a receive into the window while a put is elsewhere", rule: "MC110",
			zero: fences() + call("Send", `"buf":"0x5100","count":1,"datatype":1,"dest":1,"tag":2,"comm":1`) + op("Put", 32) + fences(),
			one:  fences() + call("Recv", `"buf":"0x1008","count":1,"datatype":1,"source":0,"tag":2,"comm":1,"status":[0,2,4,0]`) + fences()},
		{name: "a store outside of the window",
			zero: fences() + op("Put", 32) + fences(), one: fences() + local("store", 0x1040) + fences()},
		{name: "a store after the window is freed",
			zero: lockAll() + put() + unlockAll() + free(), one: free() + store()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := create + "rank 0\n" + tt.zero + finish + "rank 1\n" + tt.one + finish
			text = strings.ReplaceAll(text, `"group:R"`, `"group:G"`)
			check := func(files [][]byte, model Model, rule string) {
				res := inMemoryWith(t, files, Options{Clock: "evc", Model: model})
				require.Empty(t, res.Doubts)
				if rule == "" {
					require.Empty(t, res.Findings)
					require.Equal(t, NoRace, res.Verdict)
					return
				}
				require.Len(t, res.Findings, 1)
				require.Equal(t, rule, res.Findings[0].Rule)
				require.Contains(t, res.Findings[0].Why, tt.why)
				require.Equal(t, Race, res.Verdict)
			}
			unified, separate := packed(t, 2, text), packed(t, 2, strings.ReplaceAll(text, `"model":1`, `"model":0`))
			other := tt.rule
			if tt.rule == "MC109" || tt.rule == "MC110" {
				other = ""
			}
			check(separate, ModelAuto, tt.rule)
			check(unified, ModelSeparate, tt.rule)
			if tt.why != "" {
				tt.why = ""
			}
			check(unified, ModelAuto, other)
			check(separate, ModelUnified, other)
		})
	}
}
