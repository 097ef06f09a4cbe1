package scenario

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// records dumps the trace of a process, as it was packed, without its header and
// the definitions of functions, stacks and source places.
func dumped(t *testing.T, file []byte) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, trace.Dump(context.Background(), bytes.NewReader(file), &text))
	var b strings.Builder
	for line := range strings.Lines(text.String()) {
		skip := false
		for _, start := range []string{`{"mcct"`, `{"fn"`, `{"chunk"`, `{"stack"`, `{"pc"`} {
			skip = skip || strings.HasPrefix(line, start)
		}
		if !skip {
			b.WriteString(line)
		}
	}
	return b.String()
}

func parsed(t *testing.T, text string) *Trace {
	t.Helper()
	s, err := Parse("test.txt", text)
	require.NoError(t, err)
	return s.Trace
}

func lines(t *testing.T, text string, rank int) string {
	t.Helper()
	got, err := parsed(t, text).Lines(rank)
	require.NoError(t, err)
	return got
}

// TestLines: what stands in a scenario is what is recorded.
func TestLines(t *testing.T) {
	const head = `{"mcct":1,"rank":0,"ranks":2}
{"comm":1,"rank":0,"ranks":[[0,1,2]]}
{"type":1,"combiner":"named","name":"MPI_INT","size":4,"lb":0,"extent":4,"ints":[],"addrs":[],"types":[]}
{"op":1,"name":"MPI_SUM"}
`
	const finish = `{"call":"MPI_Finalize","stack":[{"func":"main","file":"a.c","line":99}],"args":{}}
{"end":{"idle":0,"accesses":1,"units":1}}
`
	at := func(line string) string { return `"stack":[{"func":"main","file":"a.c","line":` + line + `}],` }
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a call", "12: MPI_Win_unlock rank=1 win=5", `{"call":"MPI_Win_unlock",` + at("12") + `"args":{"rank:r":1,"win:w":5}}`},
		{"short, and what is left out", "12: unlock rank=1   # on window 5", `{"call":"MPI_Win_unlock",` + at("12") + `"args":{"rank:r":1,"win:w":5}}`},
		{"another default", "defaults win=6 tag=3\n12: unlock rank=1", `{"call":"MPI_Win_unlock",` + at("12") + `"args":{"rank:r":1,"win:w":6}}`},
		{"both names of a call", "win_wait\nwait", `{"call":"MPI_Win_wait","args":{"win:w":5}}` + "\n" + `{"call":"MPI_Wait","args":{"request:q":7,"done:i":1}}`},
		{"names of ours", "lock_ticket rank=0 ticket=2\nmcchk_signal rank=1 resource=3", `{"call":"mcchk_Lock_ticket","args":{"rank:r":0,"win:w":5,"ticket:i":2}}
{"call":"mcchk_signal","args":{"win:w":5,"rank:r":1,"resource:i":3,"count:i":-1}}`},
		{"a put", "put to=1 disp=8 count=2 target_datatype=3", `{"call":"MPI_Put","args":{"origin_addr:p":"0x5000","origin_count:i":2,"origin_datatype:t":1,"target_rank:r":1,"target_disp:i":8,"target_count:i":2,"target_datatype:t":3,"win:w":5}}`},
		{"a receive", "recv from=1 tag=2", `{"call":"MPI_Recv","args":{"buf:p":"0x7000","count:i":1,"datatype:t":1,"source:r":1,"tag:g":2,"comm:c":1,"status:S":[1,2,4,0]}}`},
		{"constants", "fence assert=NOPRECEDE|MPI_MODE_NOSUCCEED\nlock rank=PROC_NULL lock_type=EXCLUSIVE", `{"call":"MPI_Win_fence","args":{"assert:a":24,"win:w":5}}
{"call":"MPI_Win_lock","args":{"lock_type:l":2,"rank:r":-2,"win:w":5,"ticket:i":-1}}`},
		{"lists", "win_post group=[1,0]\nwin_start group=[]", `{"call":"MPI_Win_post","args":{"group:G":[1,0],"win:w":5}}` + "\n" + `{"call":"MPI_Win_start","args":{"group:G":[],"win:w":5}}`},
		{"an unknown call", "MPI_Win_shrink win:w=5 pe:r=-1", `{"call":"MPI_Win_shrink","args":{"win:w":5,"pe:r":-1}}`},
		{"a declared call", "function shmem_putmem dest:p=0x1000 nelems:i=4 pe:r\nshmem_putmem pe=1 nelems=2", `{"call":"shmem_putmem","args":{"dest:p":"0x1000","nelems:i":2,"pe:r":1}}`},
		{"places", "f@b.c:3 < 14: barrier", `{"call":"MPI_Barrier","stack":[{"func":"f","file":"b.c","line":3},{"func":"main","file":"a.c","line":14}],"args":{"comm:c":1}}`},
		{"another file", "rank 0 in f@b.c\n3: sync\nrank 0 in c.c\n4: sync", `{"call":"MPI_Win_sync","stack":[{"func":"f","file":"b.c","line":3}],"args":{"win:w":5}}
{"call":"MPI_Win_sync","stack":[{"func":"main","file":"c.c","line":4}],"args":{"win:w":5}}`},
		{"loads and stores", "20: load 0x1000\nstore 4096 size=8 count=3 (atomic) (library)\nstore 0x10 stride=-8 count=2", `{"access":"load","addr":"0x1000","size":4,"stack":[{"func":"main","file":"a.c","line":20}]}
{"access":"store","addr":"0x1000","size":8,"stride":8,"count":3,"atomic":true,"library":true}
{"access":"store","addr":"0x10","size":4,"stride":-8,"count":2}`},
		{"threads", "thread 1\nbarrier\nload 0x10\nthread 0\nbarrier", `{"call":"MPI_Barrier","args":{"comm:c":1},"strand":1}
{"access":"load","addr":"0x10","size":4,"strand":1}
{"call":"MPI_Barrier","args":{"comm:c":1}}`},
		{"definitions", "type 2: vector size=8 extent=36 ints=[2,1,8] types=[MPI_INT]\ntype 3: MPI_DOUBLE size=8\ncomm 2: ranks=[2,0,1] remote=[5]\ncomm 3: ranks=[1]\nop 4: MPI_MAX\nbcast type=DOUBLE\nallreduce op=MAX comm=2",
			`{"type":2,"combiner":"vector","size":8,"lb":0,"extent":36,"ints":[2,1,8],"addrs":[],"types":[1]}
{"type":3,"combiner":"named","name":"MPI_DOUBLE","size":8,"lb":0,"extent":8,"ints":[],"addrs":[],"types":[]}
{"comm":2,"rank":1,"ranks":[[2,1,1],[0,1,2]],"remote":[[5,1,1]]}
{"op":4,"name":"MPI_MAX"}
{"call":"MPI_Bcast","args":{"buffer:p":"0x7000","count:i":1,"datatype:t":3,"root:r":0,"comm:c":1}}
{"call":"MPI_Allreduce","args":{"sendbuf:p":"0x7000","recvbuf:p":"0x7100","count:i":1,"datatype:t":1,"op:o":4,"comm:c":2}}`},
		{"other records", "lost calls=1 accesses=12 reason=2\ninfo build = {\"a\": [\"b # c\"]}\n{\"mark\":2}", `{"lost":{"reason":2,"calls":1,"accesses":12}}
{"info":"build","value":"{\"a\": [\"b # c\"]}"}
{"mark":2}`},
		{"what others do", "rank 1\nbarrier\nranks 1 0\nsync\nevery rank\nwin_free", `{"call":"MPI_Win_sync","args":{"win:w":5}}` + "\n" + `{"call":"MPI_Win_free","args":{"win:w":5}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != "" {
				tt.want += "\n"
			}
			require.Equal(t, head+tt.want+finish, lines(t, "rank 0\n"+tt.text, 0))
		})
	}
}

// TestEnds: how the trace of a process ends.
func TestEnds(t *testing.T) {
	const finalize, end = `{"call":"MPI_Finalize","args":{}}`, `{"end":{"idle":0,"accesses":1,"units":1}}`
	for _, tt := range []struct{ text, want string }{
		{"7: barrier (never returns)", `"returned":false,"stack":[{"func":"main","file":"a.c","line":7}],"args":{"comm:c":1}}`},
		{"barrier (fails)\nfinalize", `{"call":"MPI_Barrier","failed":true,"args":{"comm:c":1}}` + "\n" + finalize + "\n" + end},
		{"finalize\nsync", finalize + "\n" + `{"call":"MPI_Win_sync","args":{"win:w":5}}` + "\n" + end},
		{"finalize\nend units=0 idle=3", finalize + "\n" + `{"end":{"idle":3,"accesses":0,"units":0}}`},
		{"sync\nend units=1 accesses=2", `{"call":"MPI_Win_sync","args":{"win:w":5}}` + "\n" + `{"end":{"idle":0,"accesses":2,"units":1}}`},
		{"sync\nkilled", `{"call":"MPI_Win_sync","args":{"win:w":5}}`},
	} {
		require.True(t, strings.HasSuffix(lines(t, "rank 1\n"+tt.text, 1), tt.want+"\n"), tt.text)
	}
	require.Empty(t, lines(t, "every rank\nsync\nrank 1\nno trace", 1))

	whole, err := parsed(t, "rank 1\nbarrier").Files()
	require.NoError(t, err)
	cut, err := parsed(t, "rank 1\nbarrier\ncut bytes=20").Files()
	require.NoError(t, err)
	require.Equal(t, whole[0], cut[0])
	require.Equal(t, whole[1][:len(whole[1])-20], cut[1])
	absent, err := parsed(t, "rank 1\nno trace").Files()
	require.NoError(t, err)
	require.NotNil(t, absent[0])
	require.Nil(t, absent[1])
}

// TestProcesses: how many there are.
func TestProcesses(t *testing.T) {
	for text, want := range map[string]int{"": 2, "rank 0": 2, "rank 3": 4, "ranks 0 4": 5, "processes 1\nevery rank\nsync": 1, "processes 6\nrank 1": 6} {
		files, err := parsed(t, text).Files()
		require.NoError(t, err)
		require.Len(t, files, want, text)
	}
}

// TestBuilder: a trace built by a program is that of a scenario.
func TestBuilder(t *testing.T) {
	want := parsed(t, `run 00112233445566778899aabbccddeeff
every rank
  1: win_create size=32
  type 2: vector size=8 extent=36 ints=[2,1,8] types=[MPI_INT]
rank 0
  f@b.c:2: win_post group=[1,2]
  3: lock rank=PROC_NULL (fails)
  4: store 0x1000 size=8
ranks 1 2
  5: barrier (never returns)
thread 3
  load 0x20
`)
	got := NewTrace(3)
	got.run = want.run
	got.Every().Call(1, "win_create", Args{"size": 32})
	got.Every().Type(trace.Type{ID: 2, Combiner: trace.Vector, Size: 8, Extent: 36, Ints: []int64{2, 1, 8}, Types: []int64{1}})
	zero := got.Rank(0)
	zero.In("f", "b.c").Call(2, "win_post", Args{"group": []int{1, 2}})
	zero.Call(3, "lock", Args{"rank": "PROC_NULL"}, Fails)
	zero.Access(4, trace.Access{Store: true, Addr: 0x1000, Size: 8})
	others := got.Rank(1, 2)
	others.Call(5, "barrier", nil, NeverReturns)
	others.Thread(3).Access(0, trace.Access{Addr: 0x20, Size: 4})
	for rank := range 3 {
		a, err := want.Lines(rank)
		require.NoError(t, err)
		b, err := got.Lines(rank)
		require.NoError(t, err)
		require.Equal(t, a, b)
	}
	files, err := got.Files()
	require.NoError(t, err)
	require.Contains(t, dumped(t, files[0]), `"group":[1,2]`)

	changed, err := got.With("size", 8).Lines(0)
	require.NoError(t, err)
	require.Contains(t, changed, `"size:i":8`)
	unchanged, err := got.Lines(0)
	require.NoError(t, err)
	require.Contains(t, unchanged, `"size:i":32`, "With leaves the trace alone")
}

// TestBuilderErrors: the first error of a program that builds a trace.
func TestBuilderErrors(t *testing.T) {
	for want, build := range map[string]func(*Trace){
		"fense is not known (did you mean fence?)":  func(r *Trace) { r.Rank(0).Call(1, "fense", nil) },
		"needs its argument target_rank":            func(r *Trace) { r.Rank(0).Call(1, "put", Args{"disp": 8}) },
		"a load or store of 0 bytes":                func(r *Trace) { r.Rank(0).Access(1, trace.Access{Addr: 1}) },
		"(stumbles) says nothing of a call":         func(r *Trace) { r.Rank(0).Call(1, "sync", nil, "stumbles") },
		"rank 2 of 2 processes":                     func(r *Trace) { r.Rank(2).Call(1, "sync", nil) },
		"MPI_Win_sync has no argument wind; it has": func(r *Trace) { r.Rank(0).Call(1, "sync", Args{"wind": 1}) },
	} {
		r := NewTrace(2)
		build(r)
		r.Every().Call(2, "barrier", nil)
		_, err := r.Files()
		require.ErrorContains(t, err, want)
	}
}

// TestErrors: where and what.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"# story\n\n12: fence", `t.txt:3: a heading has to come first`},
		{"rank 0\n12: fense", "t.txt:2: fense is not known (did you mean fence?)"},
		{"rank 0\n12: fense win=5", "t.txt:2: fense is not known (did you mean fence?), and its argument win has no kind"},
		{"rank 0\n12:", "t.txt:2: 12: is not known"},
		{"rank 0\nx: fence", "t.txt:2: a place such as 12 or function@file.c:12 is expected"},
		{"rank 0\n12: fence win", `t.txt:2: argument=value is expected in place of "win"`},
		{"rank 0\n12: fence win=", `t.txt:2: argument=value is expected in place of "win="`},
		{"rank 0\n12: fence window=5", "t.txt:2: MPI_Win_fence has no argument window; it has assert, win"},
		{"rank 0\n12: fence win=x", `t.txt:2: argument win: "x" is no number`},
		{"rank 0\n12: fence win=[5]", "t.txt:2: argument win: one number is expected"},
		{"rank 0\n12: win_post group=1", "t.txt:2: argument group: a list such as [1,2] is expected"},
		{"rank 0\n12: fence win=5 win=6", "t.txt:2: argument win is given twice"},
		{"rank 0\n12: put to=1 target_rank=1", "t.txt:2: argument target_rank is given twice"},
		{"rank 0\n12: fence win:i=5", "t.txt:2: argument win is of kind w"},
		{"rank 0\n12: unlock", "t.txt:2: MPI_Win_unlock needs its argument rank"},
		{"rank 0\n12: fence (sometimes)", "t.txt:2: (sometimes) says nothing of a call: (never returns), (fails)"},
		{"rank 0\n12: fence (fails) win=5", "t.txt:2: remarks, each in parentheses, are expected at the end"},
		{"rank 0\nload", "t.txt:2: load needs an address"},
		{"rank 0\nload 0x10 width=4", "t.txt:2: width is not known here: size, stride, count"},
		{"rank 0\nload 0x10 size=4 size=8", "t.txt:2: size is given twice"},
		{"rank 0\nload 0x10 size=0", "t.txt:2: a load or store of 0 bytes"},
		{"rank 0\nload 0x10 (fails)", "t.txt:2: (fails) says nothing of a load: (atomic), (library)"},
		{"rank x", `t.txt:1: a rank is expected in place of "x"`},
		{"every process", `t.txt:1: "rank 0", "ranks 0 1" or "every rank" is expected`},
		{"thread 1", "t.txt:1: a heading has to come first"},
		{"processes 0", "t.txt:1: a number of processes is expected"},
		{"processes 1\nrank 1", "rank 1 of 1 processes"},
		{"function f x", "t.txt:1: argument x of f needs its kind"},
		{"short s", "t.txt:1: short NAME ARGUMENT… is expected"},
		{"rank 0\ntype 2 vector", `t.txt:2: a definition such as "2: …" is expected`},
		{"rank 0\ntype 2: vector width=1", "t.txt:2: width is not known here: size, lb, extent"},
		{"rank 0\ncomm 2: ranks=[x]", `t.txt:2: ranks: "x" is no number`},
		{"rank 0\ncut 20", "t.txt:2: argument=value is expected"},
		{"rank 0\ncut bytes=0", "t.txt:2: cut bytes=NUMBER is expected"},
		{"rank 0\nkilled now", "t.txt:2: killed stands alone"},
		{"rank 0\nno file", `t.txt:2: "no trace" or "no proposal: TEXT" is expected`},
		{"rank 0\ninfo build", "t.txt:2: info KEY = VALUE is expected"},
		{"rank 0\n{\"surprise\":1}", "rank 0: line 5"},
		{"| more", "t.txt:1: there is no text that | would continue"},
		{"expect", `t.txt:1: "expect RULE PLACE…" or "expect nothing" is expected`},
		{"why: so", `t.txt:1: an explanation stands behind`},
		{"expect nothing\nproposal move: it", `t.txt:2: an explanation stands behind`},
		{"caveat unmatched", `t.txt:1: "KIND: TEXT" is expected`},
		{"verdict race\nverdict race", "t.txt:2: a second verdict"},
		{"under", "t.txt:1: a condition is expected"},
	} {
		_, err := Parse("t.txt", tt.text)
		require.ErrorContains(t, err, tt.want, tt.text)
	}
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// TestArchives: several scenarios in a file, what stands before them, and where
// their errors are.
func TestArchives(t *testing.T) {
	const head = "# About fences.\ndefaults win=6\nevery rank\n  1: win_create\n"
	path := written(t, "fences.txtar", head+"-- one --\n# Its story,\n# continued.\nrank 0\n  2: fence\n# no story\nexpect nothing\nverdict undecided\n-- two words --\nrank 1\n  3: sync\nexpect MC301 3\nverdict usage error\n")
	list, err := ReadFile(path)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "one", list[0].Name)
	require.Equal(t, []string{"Its story,", "continued."}, list[0].Story)
	require.Equal(t, path+":11", list[0].Expect[0].Where)
	require.Equal(t, "two words", list[1].Name)
	require.Equal(t, path+":16", list[1].Expect[0].Where)
	for i, want := range []string{"MPI_Win_fence", "MPI_Win_sync"} {
		text, err := list[i].Trace.Lines(i)
		require.NoError(t, err)
		require.Contains(t, text, `{"call":"MPI_Win_create"`)
		require.Contains(t, text, `{"call":"`+want+`"`)
		require.Contains(t, text, `"win:w":6`)
	}

	list, err = ReadFile(written(t, "alone.txt", "# A story.\nrank 0\n2: fence\nexpect nothing\nverdict undecided\n"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "alone", list[0].Name)
	require.Equal(t, []string{"A story."}, list[0].Story)

	for _, tt := range []struct{ name, text, want string }{
		{"a.txt", "rank 0\n", "a.txt:1: a file of scenarios begins with its story"},
		{"a.txt", "# Story.\nrank 0\n", "a.txt: nothing is expected of the scenario"},
		{"a.txt", "# Story.\nverdict race\n", "a.txt:2: findings are missing"},
		{"a.txt", "# Story.\nexpect nothing\n", "a.txt:2: a line with the verdict is missing"},
		{"a.txt", "# Story.\nexpect nothing\nexpect MC101 3\nverdict race\n", `a.txt:2: findings are expected, and "expect nothing"`},
		{"a.txt", "# Story.\nexpect nothing\nverdict race\nunder --predict\nexpect nothing\n", "a.txt:5: a line with the verdict is missing"},
		{"a.txtar", "# Story.\n", `a.txtar: no line "-- name --" begins a scenario`},
		{"a.txtar", head + "-- one --\n", "a.txtar:5: nothing is expected of the scenario"},
		{"a.txtar", head + "-- one --\nexpect nothing\nverdict race\n-- one --\nexpect nothing\nverdict race\n", `a.txtar:8: there are two scenarios "one"`},
		{"a.txtar", head + "-- one --\nexpect nothing\nverdict race\n-- two --\n\n3: fense\n", "a.txtar:10: a heading has to come first"},
		{"a.txtar", "# Story.\n\nrank x\n-- one --\n", "a.txtar:3: a rank is expected"},
	} {
		_, err := ReadFile(written(t, tt.name, tt.text))
		require.ErrorContains(t, err, tt.want, tt.text)
	}
	_, err = ReadFile(filepath.Join(t.TempDir(), "none.txt"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
