// Package scenario reads runs of several processes that a person wrote down,
// with what an analysis has to say of them, and makes traces of them. It is for
// tests.
//
//	# Rank 1 loads what the put of rank 0 may still write.
//	every rank
//	  1: win_create
//	  2: fence
//	rank 0
//	  3: put to=1 disp=8
//	rank 1
//	  4: load 0x1008
//	every rank
//	  5: fence
//
//	expect MC102 3 4
//	verdict race
//
// A file begins with its story, in lines that begin with #. A .txt file is one
// scenario. A .txtar file holds several on one topic, each behind a line
// "-- name --"; what stands before the first of them stands before each. Lines
// that begin with # are remarks anywhere, and so is what follows " #" behind a call.
//
// # Processes
//
// A heading says who does what follows: "rank 0", "ranks 0 2" or "every rank".
// There are as many processes as the headings name, but at least two, unless a
// line "processes 1" says otherwise. "thread 1" under a heading: that thread of
// the process does what follows. Calls of a process happen in the order of the
// file, whatever the thread. "in f@b.c" at the end of a heading names the
// function and the file of the lines below, "in b.c" the file alone; else they
// are those of main in a.c.
//
// The trace of a process ends with MPI_Finalize (at line 99, where the scenario
// has none) and the tracer's summary (units=1 accesses=1), unless a call never
// returned or one of these says something else:
//
//	killed             the process ended here, without a summary
//	end units=0        the summary; MPI_Finalize is not added
//	cut bytes=120      the last bytes of the file are missing
//	no trace           there is no file
//
// # Calls
//
// A call is a line: its place, its name, the arguments that matter to the
// scenario, and what is special about it.
//
//	12: lock rank=1 lock_type=EXCLUSIVE
//	13: barrier comm=2 (never returns)
//	copy@util.c:3 < main@a.c:14: put to=1 (fails)
//	MPI_Win_shrink win:w=5
//
// The place is a line number, with another function and file than those of the
// heading as function@file:line. Frames behind < are the callers. A call without
// a place has no stack.
//
// The name is that of MPI, or shorter: without MPI_ (win_create, wait), and
// without MPI_Win_ where MPI has no other call of that name (fence, lock_all,
// but win_start, win_wait). Names that begin with mcchk_ may leave that out.
//
// Arguments have the names of the trace format (docs/trace-format.md), or short
// ones that stand for one or two of them, such as "to" for the rank at the other
// end and "count" for both counts of a put. Those left out are as defaults.txt
// says, and where that says nothing 0 or empty; but ranks have to be given. A
// value is a number (12, -1, 0x1000), the name of a constant, a datatype or an
// operation, which may leave out MPI_, MPI_MODE_ or MPI_LOCK_, several of these
// joined by | (assert=NOPRECEDE|NOSUCCEED), or a list ([0,2,4,0], without
// spaces). "defaults win=6 model=0" changes what is left out below.
//
// A call that package trace does not know needs the kind of each argument, where
// it is first used (win:w=5) or in a line such as
//
//	function shmem_putmem dest:p=0x1000 source:p=0x5000 nelems:i=4 pe:r
//
// whose values are its own defaults.
//
// # Loads and stores, and other records
//
//	20: store 0x1008
//	21: load 0x1000 size=8 stride=16 count=100 (atomic) (library)
//	lost calls=1 accesses=12 reason=1
//	type 2: vector size=8 extent=36 ints=[2,1,8] types=[MPI_INT]
//	type 3: MPI_DOUBLE size=8
//	comm 2: ranks=[0,2]
//	op 2: MPI_MAX
//	info program = ./app
//	{"mark":2,"strand":1}
//
// A load or store has 4 bytes unless it says otherwise. MPI_COMM_WORLD (1),
// MPI_INT (type 1) and MPI_SUM (operation 1) are always defined; a communicator
// is written into the traces of its members only. A line that begins with a
// brace is a line of JSON Lines. "run" and 32 hexadecimal digits is the
// identifier of the run.
//
// # What is expected
//
//	expect MC102 3 b.c:7 (warning)
//	  why: MPI_Put (line 3) ... nothing makes the one wait for the other
//	  sought path: ...heard of rank 0 only up to MPI_Win_fence (line 2)...
//	  proposal synchronize: let rank 1 wait...
//	  no proposal: ...accumulate...
//	verdict race
//	caveat unmatched: rank 0 never returned from MPI_Barrier...
//
// All findings are listed, in any order (those that read alike in that of the
// report): the rule and the places that the finding is about, in its order, - for
// an unknown one. "expect nothing" means that there are none.
// Findings are errors unless they are marked. A scenario has one verdict and all
// its caveats. Of a finding the explanation may be given: why, what was sought and
// in vain, and what is proposed; if one proposal is given then all are. In texts
// ... stands for anything; a text may be continued in a line that begins with |.
//
// "under --predict" or any other condition, in a line of its own: what follows is
// expected under that condition. Which there are is a matter of the test.
package scenario
