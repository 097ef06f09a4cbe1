package core

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/mcchk/mcchk/trace"
)

// What strands are going to do to words. In which order the updates of a word took
// effect may show only by what is fetched later, when those who have fetched before
// must have gone on. So the planner also looks at operations that are still to come, of
// which it needs the values and times only.

const (
	// mostForeseen bounds the operations that are looked at of one strand, and
	// mostCallsAhead the calls between which they stand; fewForeseen are looked at in
	// any case.
	fewForeseen    = 64
	mostForeseen   = 256
	mostCallsAhead = 8 * mostForeseen
	// mostEventsAhead bounds the events that are read ahead, most of which may be
	// loads and stores.
	mostEventsAhead = 1 << 13
	// mostForeseeing bounds the strands that are looked at for one word.
	mostForeseeing = 32
	// foresightSteps bounds a search with what is foreseen.
	foresightSteps = 1 << 14
)

// Foresight is what a strand is going to do to words.
type Foresight struct {
	strand *Strand
	calls  Lookahead // behind those that it is known of, of a process with one strand
	number uint64    // of the event of the last of those, in the trace
	ops    []foreseen
	open   map[int64]*WordOp // of which it will be told what they fetched, by number
	ends   []completion      // the calls that complete operations
	until  int64             // all that it begins before is known, ns
}

// foreseen is an operation that is still to come.
type foreseen struct {
	key    WordKey
	op     *WordOp
	of     any    // what completes it tells by that
	number uint64 // of the event of its call, in the trace
}

// completion is a call to come that completes operations.
type completion struct {
	number uint64 // of its event, in the trace
	end    int64  // when it returns, ns
	which  func(of any) bool
}

// over reports whether its call was replayed.
func (x *foreseen) over() bool { return x.number <= x.op.strand.pos }

// foresight returns what the strand is going to do; nil: that is not known.
func (s *Strand) foresight() *Foresight {
	if s.stream == nil {
		return nil
	}
	f := s.foresees
	if f == nil || s.team == nil && f.calls.Over() {
		f = &Foresight{strand: s, open: map[int64]*WordOp{}}
		if s.team == nil {
			f.calls = s.Ahead()
		}
		s.foresees = f
	}
	n := 0
	for n < len(f.ops) && f.ops[n].over() {
		n++
	}
	f.ops = slices.Delete(f.ops, 0, n)
	n = 0
	for n < len(f.ends) && f.ends[n].number <= s.pos {
		n++
	}
	f.ends = slices.Delete(f.ends, 0, n)
	if s.team != nil {
		f.lookAtQueue()
		return f
	}
	for len(f.ops) < mostForeseen && f.calls.next-s.ahead.taken < mostCallsAhead {
		before := f.calls
		c := f.calls.within(mostEventsAhead)
		if c == nil {
			if f.calls.ended() {
				f.until = math.MaxInt64
			}
			break
		}
		if n := s.m.function(c.Fn).note; n != nil && n.first { // what follows may be of others
			f.calls = before
			break
		}
		f.look(c, f.calls.number)
	}
	return f
}

// lookAtQueue looks at what was read of one of several strands of a process, and waits to be
// replayed.
func (f *Foresight) lookAtQueue() {
	s, q := f.strand, &f.strand.queue
	if f.number < s.pos { // all that was looked at has been replayed
		clear(f.open)
	}
	from := sort.Search(q.len(), func(i int) bool { return q.at(i).pos >= max(f.number, s.pos) })
	for i := from; i < min(q.len(), mostCallsAhead); i++ {
		if len(f.ops) == mostForeseen {
			return
		}
		x := q.at(i)
		if f.number = x.pos + 1; x.stretch == nil && x.event.Kind == trace.KindCall {
			f.look(x.event.Call, f.number)
		}
	}
	if q.len() <= mostCallsAhead {
		if f.until = s.latest; s.team.over || s.closing {
			f.until = math.MaxInt64
		}
	}
}

// look looks at a call that is still to come, of which the number in the trace is given.
func (f *Foresight) look(c *trace.Call, number uint64) {
	f.until, f.number = max(f.until, c.Begin), number
	if fn := f.strand.m.function(c.Fn); fn.meaning != nil && fn.meaning.Foresee != nil && c.Returned {
		fn.meaning.Foresee(f.strand, &Call{Call: c, function: fn}, f)
	}
}

// Issue says that the call issues an operation, and under which number Fetched will tell
// what it fetched; 0: it fetches nothing, and is complete when Complete says so.
func (f *Foresight) Issue(k WordKey, c *trace.Call, update Update, number int64, of any) {
	op := &WordOp{update: update, began: c.Begin, fetches: number != 0}
	if number != 0 {
		f.open[number] = op
	}
	f.add(k, op)
	f.ops[len(f.ops)-1].of = of
}

// Tell says what the update that was said last has found, and when that was known, ns.
func (f *Foresight) Tell(bits, ended int64) {
	op := f.ops[len(f.ops)-1].op
	op.found, op.ended = Value{bits, true}, ended
}

// Complete says that the call completes operations.
func (f *Foresight) Complete(c *trace.Call, which func(of any) bool) {
	f.ends = append(f.ends, completion{f.number, c.End, which})
	for _, x := range f.ops {
		if x.of != nil && !x.op.complete && which(x.of) {
			x.op.complete, x.op.done = true, c.End
		}
	}
}

// foretell says of an operation that was issued, and is not complete, when a call to come will
// have completed it.
func (f *Foresight) foretell(op *WordOp) {
	if op.complete || op.by == nil || op.will > 0 {
		return
	}
	from := sort.Search(len(f.ends), func(i int) bool { return f.ends[i].number > max(op.pos, op.foretold) })
	for _, x := range f.ends[from:] {
		if op.foretold = x.number; x.which(op.by) {
			op.will = x.end
			op.sooner()
			return
		}
	}
}

// Forget says that it will not be told what an operation has fetched: another one is about to
// overwrite that.
func (f *Foresight) Forget(number int64) { delete(f.open, number) }

// Fetched says what an operation has fetched, and when that was known, ns.
func (f *Foresight) Fetched(number, bits, ended int64) {
	if op := f.open[number]; op != nil {
		delete(f.open, number)
		op.found, op.ended, op.blocked = Value{bits, true}, ended, true
		f.again(op)
	}
}

// again forgets what the strand has read before an operation, where it has read the same before that,
// and reads it now, with nothing else done to the word: of polls the first and the last count.
func (f *Foresight) again(op *WordOp) {
	last := len(f.ops) - 1
	for last >= 0 && f.ops[last].op != op {
		last--
	}
	middle := f.before(last, op)
	if f.before(middle, op) >= 0 {
		f.ops = slices.Delete(f.ops, middle, middle+1)
	}
}

// before returns the place of the operation on a word before one of them, where it has read what
// another one has; else -1.
func (f *Foresight) before(place int, as *WordOp) int {
	for i := place - 1; i >= 0; i-- {
		if x := &f.ops[i]; x.key == f.ops[place].key {
			if x.op.found == as.found && !x.op.writes() && !as.writes() {
				return i
			}
			return -1
		}
	}
	return -1
}

// Did says that the call performs an operation at once, and what it has fetched.
func (f *Foresight) Did(k WordKey, c *trace.Call, update Update, bits int64) {
	f.add(k, &WordOp{update: update, began: c.Begin, fetches: true, blocked: true, found: Value{bits, true}, ended: c.End})
}

// Saw says what the call has read in the strand's own memory when it began.
func (f *Foresight) Saw(k WordKey, c *trace.Call, bits int64) {
	f.add(k, &WordOp{look: true, began: c.Begin, fetches: true, blocked: true, found: Value{bits, true}, ended: c.Begin})
}

// Looked says what the call has read there.
func (f *Foresight) Looked(k WordKey, c *trace.Call, bits int64) {
	f.add(k, &WordOp{look: true, began: c.Begin, fetches: true, blocked: true, found: Value{bits, true}, ended: c.End})
}

// Waited says that the call waits until what it reads there meets a condition.
func (f *Foresight) Waited(k WordKey, c *trace.Call, meets func(int64) bool) {
	f.add(k, &WordOp{look: true, began: c.Begin, fetches: true, blocked: true, meets: meets, ended: c.End})
}

// Atomic says that the call performs an atomic operation of the language.
func (f *Foresight) Atomic(c *Call, a Atomic) {
	k := f.strand.wordOf(a)
	if a.Fetches {
		f.Did(k, c.Call, a.Update, a.Found)
		return
	}
	f.add(k, &WordOp{update: a.Update, began: c.Begin, complete: true, done: c.End})
}

// add adds an operation of the call that is looked at.
func (f *Foresight) add(k WordKey, op *WordOp) {
	op.strand = f.strand
	f.ops = append(f.ops, foreseen{key: k, op: op, number: f.number})
}

// foreseen returns what the visitors of a word are going to do to it, and those of the
// operations that fetch, in the order of their ends. closed: whatever these may have fetched is
// among all that is known; there may be others, which are left out then.
func (w *word) foreseen() (all [][]*WordOp, goals []*WordOp, closed bool) {
	until := int64(math.MaxInt64)
	if len(w.m.processes) <= mostForeseeing {
		for s := range w.m.all { // also those who will come to it
			f := s.foresight()
			if f == nil {
				continue
			}
			if i := slices.IndexFunc(f.ops, func(x foreseen) bool { return x.key == w.key }); i < 0 {
				continue
			} else if s.line == noLine { // it has done nothing yet
				until = min(until, f.ops[i].op.began)
			} else {
				w.visitor(s)
			}
		}
	}
	all = make([][]*WordOp, len(w.visitors))
	horizon := sync.OnceValue(w.horizon)
	if len(w.visitors) > mostForeseeing {
		return all, nil, false
	}
	for i, v := range w.visitors {
		f := v.strand.foresight()
		if f == nil {
			continue
		}
		until = min(until, f.until)
		for _, op := range v.queue[:min(len(v.queue), fewForeseen)] {
			f.foretell(op)
		}
		for _, x := range f.ops {
			if x.key != w.key {
				continue
			}
			if len(all[i]) >= fewForeseen && x.op.began > horizon() ||
				x.op.fetches && !x.op.found.Known && x.op.meets == nil { // what it leaves is not known, nor when
				until = min(until, x.op.began)
				break
			}
			all[i] = append(all[i], x.op)
			if x.op.fetches {
				goals = append(goals, x.op)
			}
		}
	}
	slices.SortFunc(goals, func(a, b *WordOp) int { return cmp.Compare(a.end(), b.end()) })
	known := 0
	for known < len(goals) && goals[known].end() < until {
		known++
	}
	if known > 0 {
		return all, goals[:known], true
	}
	return all, goals, false
}

// horizon returns when all operations were over that are issued and not decided, as far
// as that is known; ns.
func (w *word) horizon() int64 {
	last := int64(math.MinInt64)
	note := func(x *WordOp) {
		if end := x.end(); end < math.MaxInt64 {
			last = max(last, end)
		}
	}
	for _, v := range w.visitors {
		for _, x := range v.queue {
			note(x)
		}
	}
	for x := range w.blocked.all() {
		note(x)
	}
	return last
}
