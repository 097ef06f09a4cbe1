package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Threaded returns the program with its calls, loads and stores divided among strands of
// their processes: threads that fork, join, lock, signal and meet at barriers, and tasks
// with dependences. What MPI asks a program to order is ordered. Most of the programs are
// then made free of races again, or nearly so.
func (p *Program) Threaded(r *rand.Rand) *Program {
	q := p.clone()
	q.Calls = nil
	x := threader{Rand: r, p: q, s: newSimulation(q)}
	for i := range p.Calls {
		x.unit = max(x.unit, p.Calls[i].Unit)
		if c := &p.Calls[i]; c.makesComm() && c.New >= 0 {
			x.s.made[c.New] = true
		}
	}
	for rank := range p.Ranks {
		x.s.ranks[rank].team = newTeam()
		x.procs = append(x.procs, threading{
			rank: rank, live: []int{0}, next: 1, ends: map[int]int{}, late: map[int][]Call{}, tasks: map[int][]*drawnTask{},
			busy: 0.15 + 0.6*r.Float64(), with: r.IntN(1 << 5), most: 2 + r.IntN(4), held: [2]int{-1, -1},
		})
	}
	for _, c := range p.Calls {
		if err := x.call(c); err != nil {
			panic(fmt.Sprintf("oracle: %v cannot be made by strand %d: %v\n%s", c, c.Strand, err, q)) // the generator is wrong
		}
	}
	for rank := range x.procs {
		x.finish(&x.procs[rank])
	}
	if err := q.Normalize(); err != nil {
		panic(fmt.Sprintf("oracle: %v\n%s", err, q))
	}
	if r.Float64() < 0.6 {
		q = purge(q, r)
	}
	return q
}

// threader divides the calls of a program among strands.
type threader struct {
	*rand.Rand
	p       *Program
	s       *simulation
	procs   []threading
	objects int
	unit    int
}

// threading is what strands a process has.
type threading struct {
	rank    int
	live    []int
	next    int // number of the next strand
	most    int // strands at once
	busy    float64
	with    int            // kinds of order, as bits
	present int            // the strand that made the last call
	coming  []Call         // acquires with which forked strands begin
	ended   []int          // strands that were not joined
	ends    map[int]int    // objects that ends of strands released
	late    map[int][]Call // what strands acquire before anything else that they do
	held    [2]int         // who has each mutex; -1: nobody
	tasks   map[int][]*drawnTask
}

// drawnTask is a task of OpenMP.
type drawnTask struct {
	begin        Call
	after        []*drawnTask
	on           int  // what it depends on
	out          bool // otherwise it only reads that
	strand       int  // once it has begun
	object       int  // that its end releases
	begun, ended bool
}

// Kinds of order that strands of a process may have.
const (
	withTasks = 1 << iota
	withBarriers
	withMutexes
	withSignals
	withForks
)

// Objects that any strand may release and acquire: mutexes first, then others.
const firstObject = 8

func (x *threader) object() int { x.objects++; return firstObject + x.objects }

// emit adds an event or call of a strand.
func (x *threader) emit(c Call) error {
	t := &x.procs[c.Rank]
	if late := t.late[c.Strand]; len(late) > 0 {
		delete(t.late, c.Strand)
		for _, d := range late {
			if err := x.emit(d); err != nil {
				return err
			}
		}
	}
	if c.isStrandEvent() {
		x.unit++
		c.Unit = x.unit
	}
	if err := x.s.step(&c); err != nil {
		return err
	}
	x.p.Calls = append(x.p.Calls, c)
	return nil
}

// event is emit for events of strands, which can always be made.
func (x *threader) event(t *threading, strand int, fn string, object int, what string) {
	x.must(Call{Rank: t.rank, Strand: strand, Fn: fn, Object: object, Op: what})
}

func (x *threader) must(c Call) {
	if err := x.emit(c); err != nil {
		panic(fmt.Sprintf("oracle: %v: %v", c, err))
	}
}

// call makes a call by some strand of its process, after what it has to come after.
func (x *threader) call(c Call) error {
	t := &x.procs[c.Rank]
	for x.Float64() < t.busy {
		x.act(t)
	}
	if x.IntN(2) == 0 || !slices.Contains(t.live, t.present) {
		t.present = pick(x.Rand, t.live)
	}
	c.Strand = t.present
	// Beside a fence behind which there is no epoch, an operation may be in none.
	if c.closes() && (x.Float64() < 0.6 || c.Fn == "MPI_Win_fence" && c.Assert&trace.AssertNoSucceed != 0) {
		for _, m := range x.s.ranks[t.rank].team.issued[c.Win] {
			x.know(t, c.Strand, m.strand)
		}
	}
	for _, other := range x.s.ranks[t.rank].team.unknown(&c, c.resources()) {
		x.know(t, c.Strand, other)
	}
	return x.emit(c)
}

// closes reports whether the call completes operations of its epoch.
func (c *Call) closes() bool {
	return c.isFlush() || c.Fn == "MPI_Win_unlock" || c.Fn == "MPI_Win_unlock_all" || c.Fn == "MPI_Win_fence"
}

// know lets a strand know all that another has done.
func (x *threader) know(t *threading, strand, other int) {
	switch {
	case strand == other:
	case slices.Contains(t.live, other):
		o := x.object()
		x.event(t, other, strandRelease, o, "signal")
		x.must(Call{Rank: t.rank, Strand: strand, Fn: strandAcquire, Object: o, Op: "signal", Last: true})
	default:
		x.event(t, strand, strandAcquire, t.ends[other], "end")
	}
}

// act lets strands of a process do something with each other.
func (x *threader) act(t *threading) {
	s := pick(x.Rand, t.live)
	switch kind := x.IntN(12); {
	case kind < 2 && len(t.live) < t.most && (t.with&withForks != 0 || len(t.live) == 1):
		x.fork(t, s)
	case kind == 2 && len(t.coming) > 0:
		x.begin(t, x.IntN(len(t.coming)))
	case kind == 3 && s != 0:
		x.end(t, s)
	case kind == 4 && len(t.ended) > 0:
		k := x.IntN(len(t.ended))
		x.event(t, s, strandAcquire, t.ends[t.ended[k]], "end")
		t.ended = slices.Delete(t.ended, k, k+1)
	case kind < 7 && t.with&withMutexes != 0:
		x.lock(t, s, x.IntN(len(t.held)))
	case kind == 7 && t.with&withSignals != 0:
		x.event(t, s, pick(x.Rand, []string{strandRelease, strandAcquire}), 3+x.IntN(2), "atomic")
	case kind == 8 && t.with&withBarriers != 0:
		x.barrier(t)
	case kind < 11 && t.with&withTasks != 0:
		x.task(t, s)
	case kind == 11 && t.with&withTasks != 0:
		x.taskwait(t, s)
	}
}

// fork makes strands that begin some time.
func (x *threader) fork(t *threading, s int) {
	o := x.object()
	x.event(t, s, strandFork, o, "fork")
	n := 1 + x.IntN(3)
	for k := range n {
		t.coming = append(t.coming, Call{Rank: t.rank, Strand: t.next, Fn: strandAcquire, Object: o, Op: "fork", Last: n == 1 && k == 0})
		t.next++
	}
	for x.IntN(3) > 0 && len(t.coming) > 0 {
		x.begin(t, len(t.coming)-1)
	}
}

func (x *threader) begin(t *threading, k int) {
	c := t.coming[k]
	t.coming = slices.Delete(t.coming, k, k+1)
	if others := slices.IndexFunc(t.coming, func(d Call) bool { return d.Object == c.Object }); others < 0 {
		c.Last = true
	}
	x.must(c)
	t.live = append(t.live, c.Strand)
}

func (x *threader) end(t *threading, s int) {
	for k, by := range t.held {
		if by == s {
			x.lock(t, s, k)
		}
	}
	for _, task := range t.tasks[s] {
		if !task.begun && x.IntN(2) == 0 {
			x.run(t, task)
		}
	}
	o := x.object()
	x.event(t, s, strandRelease, o, "end")
	x.event(t, s, strandEnd, 0, "")
	t.ends[s] = o
	t.ended = append(t.ended, s)
	t.live = slices.DeleteFunc(t.live, func(k int) bool { return k == s })
	for _, all := range t.tasks {
		for _, task := range all {
			if task.begun && task.strand == s {
				task.ended, task.object = true, o
			}
		}
	}
}

// lock locks a mutex, or unlocks it.
func (x *threader) lock(t *threading, s, k int) {
	switch t.held[k] {
	case -1:
		t.held[k] = s
		x.event(t, s, strandAcquire, 1+k, "mutex")
	case s:
		t.held[k] = -1
		x.event(t, s, strandRelease, 1+k, "mutex")
	}
}

// barrier lets some or all strands meet. Some leave it later than others.
func (x *threader) barrier(t *threading) {
	var who []int
	all := x.IntN(2) == 0
	for _, k := range x.Perm(len(t.live)) {
		if all || x.IntN(3) > 0 {
			who = append(who, t.live[k])
		}
	}
	if len(who) < 2 {
		return
	}
	o := x.object()
	for _, s := range who {
		x.event(t, s, strandRelease, o, "barrier")
	}
	for _, s := range who {
		t.late[s] = append(t.late[s], Call{Rank: t.rank, Strand: s, Fn: strandAcquire, Object: o, Op: "barrier"})
	}
}

// task creates a task, which comes after those created before it that depend on the same.
func (x *threader) task(t *threading, s int) {
	if len(t.live) >= t.most {
		return
	}
	o := x.object()
	x.event(t, s, strandFork, o, "task")
	task := &drawnTask{begin: Call{Rank: t.rank, Strand: t.next, Fn: strandAcquire, Object: o, Op: "task", Last: true},
		on: x.IntN(3), out: x.IntN(2) == 0, strand: t.next}
	t.next++
	for _, before := range t.tasks[s] {
		if task.on > 0 && before.on == task.on && (before.out || task.out) {
			task.after = append(task.after, before)
		}
	}
	t.tasks[s] = append(t.tasks[s], task)
	if x.IntN(2) == 0 {
		x.run(t, task)
	}
}

// run begins a task, once those that it depends on are over.
func (x *threader) run(t *threading, task *drawnTask) {
	if task.begun {
		return
	}
	for _, before := range task.after {
		x.over(t, before)
	}
	task.begun = true
	x.must(task.begin)
	t.live = append(t.live, task.strand)
	for _, before := range task.after {
		x.event(t, task.strand, strandAcquire, before.object, "dependence")
	}
}

// over brings a task to its end.
func (x *threader) over(t *threading, task *drawnTask) {
	x.run(t, task)
	if !task.ended {
		x.end(t, task.strand)
	}
}

// taskwait waits for the tasks that a strand has created.
func (x *threader) taskwait(t *threading, s int) {
	all := t.tasks[s]
	for _, task := range all {
		x.over(t, task)
	}
	for _, task := range all {
		x.event(t, s, strandAcquire, task.object, "taskwait")
	}
	delete(t.tasks, s)
}

// finish brings most strands to their ends: some never end. The first comes after all calls.
func (x *threader) finish(t *threading) {
	for len(t.coming) > 0 && x.IntN(4) > 0 {
		x.begin(t, 0)
	}
	for _, s := range slices.Clone(t.live) {
		if s != 0 && slices.Contains(t.live, s) && x.IntN(8) > 0 {
			x.end(t, s)
		}
	}
	for _, s := range t.ended {
		if x.IntN(4) > 0 {
			x.event(t, 0, strandAcquire, t.ends[s], "end")
		}
	}
	for _, s := range x.s.ranks[t.rank].team.beside() {
		x.know(t, 0, s)
	}
}
