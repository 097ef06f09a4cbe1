package core

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Order through memory: atomic operations of several strands on one word, of which
// the trace has what they write and what they fetch. Whoever fetches a value comes
// after the update that left it, and after all updates before that one.
//
// In which order the updates took effect is worked out while they are replayed
// (placement.go). A strand that has fetched a value stands still until all strands
// do: by then whatever can have gone before was issued.

// WordKey names a word.
type WordKey = regions.Word

// Value is what a word holds.
type Value struct {
	Bits  int64
	Known bool
}

// Update is what an operation makes of a value, and whether it writes at all. Neither
// value need be known.
type Update func(before Value) (after Value, writes bool)

// CompareAndSwap returns the update of an operation that writes where it finds what it
// compares with. Of a value that is not known, it is not known either.
func CompareAndSwap(compare, to int64) Update {
	return func(v Value) (Value, bool) {
		switch {
		case !v.Known:
			return v, true
		case v.Bits != compare:
			return v, false
		}
		return Value{Bits: to, Known: true}, true
	}
}

// WordOp is an operation on a word, from its issue on.
type WordOp struct {
	strand *Strand
	word   *word
	region int
	update Update  // nil: it writes nothing
	group  string  // of updates that leave the same in any order; "": none
	issued *Signal // nil: it orders nothing
	fn     string  // that makes it
	stack  uint32

	look    bool             // one to come: it reads the strand's own memory, and need not come after what that has issued
	fetches bool             // it will be known what it fetched
	blocked bool             // it is known, and not decided
	meets   func(int64) bool // a wait: of what it fetched only this is known; nil: of any other
	behind  *WordOp          // a wait: what it read when it began, which was not enough; nil: that is not known
	unsure  func()           // it cannot be told what left what it fetched; nil: that does not matter

	began, ended int64         // when it was issued, and when what it fetched was known; ns
	floor        *version      // it fetches no earlier one
	after        []*WordOp     // updates that took effect before it was issued, the last of each strand
	pos          uint64        // of the event that issues it
	issuedAt     regions.Point // where it was issued
	from         int           // in that region
	told         regions.Point // of an update: from where on a strand knows what it fetched; zero: nowhere
	completed    regions.Point // where its update is complete, for the others
	complete     bool
	also         []regions.Point // of a process with threads, further moments from which it is
	done         int64           // when that was, ns
	by           any             // what completes it tells by that (Foresight.Complete); nil: nothing that can be foreseen
	will         int64           // when it will be complete by a call to come, ns; 0: that is not known
	foretold     uint64          // of the calls to come, those up to this number in the trace do not complete it

	found Value    // what it fetched, once that is known
	made  *version // what it wrote, once it is placed
	saw   *version // what it fetched, once that is decided
	over  Signal   // that it is decided; stands for the updates that it comes after
	seen  func(by *Strand, alone bool)
	shown func() bool // whether that has no consequences any more
	order order
	goal  *planner // of which it is a goal

	planner int64 // the number of the last one that it was a read of
	slot    int   // among the reads of that

	does  string // of an update: by which operation
	peers *peers // of an update; nil: it takes effect in its turn
	bound int    // of one that is placed: the number of the last version that it comes after for certain

	turn   int     // of an update, among those of its strand
	looked *looked // of a read
	place  int     // among those undecided
	run    *run    // of the blocked operations of its word
	nth    int     // of all operations of which it was known what they fetched
}

// version is what a word held for a while.
type version struct {
	number int
	by     *WordOp // nil: nobody who is known
	value  Value
	before Signal // stands for the issues of all updates up to it
	// What atomic loads of the language learn from it, if anything.
	published evc.Time
	publishes bool
	head      head
	marks     []lineMark
}

// lineMark is the last mark of a strand, with an Observer.
type lineMark struct {
	line int32
	mark Mark
}

// word is what is known of a word in a concurrent region.
type word struct {
	m         *Machine
	key       WordKey
	versions  []*version // from the oldest that may still be fetched
	visitors  []*visitor // by line
	effects   *effects   // also among words.effects
	blocked   blockedOps // that have fetched what is not decided yet
	schedule  *schedule  // of what is decided next; or nil
	visited   bool       // since the phase began
	reading   int        // operations of which it is not known yet what they fetched
	presumed  int64      // what it held at first, if that is not known, and nothing speaks against it
	lost      bool       // what it held at first is not known any more
	recalled  bool       // what it held at first was remembered
	open      bool       // of several orders of its updates one was taken
	revised   int        // how often something was learned of versions that are there
	sure      bool       // planners try first what has found the value that is there, since the ends of calls led nowhere
	untimely  bool       // values contradicted the times of calls
	disturbed bool       // something else than operations has written to it
	stored    bool       // its owner has stored to it plainly
	shows     bool       // some of its updates have OnSeen
	several   bool       // processes update it by different operations
	crossed   bool       // which may have taken effect at once
}

// words are those of the present region.
type words struct {
	region    int
	all       map[WordKey]*word
	undecided undecided            // operations of them
	effects   map[WordKey]*effects // of words that are there, and of others with updates that are pending
	fetched   int                  // operations that were so
	debt      int                  // steps of searches beyond those that decisions have paid for
	short     bool                 // a search for the present decision was not made to its end
	held      remembered
	serial    serial
	carried   int // updates of words that were kept because their order is open

	planners int64 // that have reads
}

// steps is how many a search may take.
func (w *words) steps() int {
	if w.spent() {
		return spentSteps
	}
	return searchSteps
}

// spent reports whether searches have taken more steps than there are for them.
func (w *words) spent() bool { return w.debt > searchDebt }

// issues is the last signal that a strand gave by issuing an operation on a word.
type issues struct {
	signal *Signal
	pos    uint64
	ended  uint64 // accesses that the strand had completed
	region int
	seg    int32 // the separate region that it begins: what the strand learns begins another
}

func (m *Machine) word(k WordKey) *word {
	w := m.words.all[k]
	if w == nil {
		w = &word{m: m, key: k, versions: []*version{{}}, effects: m.words.effectsOf(k), crossed: m.words.serial.vague}
		h, ok := m.words.held.recall(k)
		w.lost = h.lost || !ok && m.words.held.lost
		ok = ok && !h.lost
		if w.presumed, w.recalled, w.open = h.bits, ok, h.open; ok && !h.presumed {
			w.versions[0].value = Value{Bits: h.bits, Known: true}
		}
		m.give(&w.versions[0].before, evc.Time{})
		m.disturb(bytesOf(k)) // words of another size there
		m.words.all[k] = w
		m.processes[k.Owner].words.add(m, k)
		if !ok {
			m.processes[k.Owner].storedBefore(w)
		}
	}
	w.visited = true
	return w
}

// visitor returns what the word knows of a strand.
func (w *word) visitor(s *Strand) *visitor {
	i, found := slices.BinarySearchFunc(w.visitors, s.line, func(v *visitor, line int32) int { return cmp.Compare(v.strand.line, line) })
	if !found {
		w.visitors = slices.Insert(w.visitors, i, &visitor{strand: s})
	}
	return w.visitors[i]
}

// index returns the place of a strand that has visited the word.
func (w *word) index(s *Strand) int {
	i, _ := slices.BinarySearchFunc(w.visitors, s.line, func(v *visitor, line int32) int { return cmp.Compare(v.strand.line, line) })
	return i
}

func (w *word) last() *version { return w.versions[len(w.versions)-1] }

// Issue begins an operation of the strand on a word at a time, ns; update is nil
// where it writes nothing; fetches: Fetch will tell what it fetched. What the strand has
// done before comes before what those do who see the update. It returns nil where values
// are ignored.
func (s *Strand) Issue(k WordKey, began int64, update Update, fetches bool) *WordOp {
	if s.m.opts.IgnoreValues {
		return nil
	}
	op := s.visit(s.m.word(k), s.call.Call, began, update, false)
	if op.fetches = fetches; fetches {
		op.word.reading++
	}
	if update != nil {
		op.issued = s.publish()
	}
	return op
}

// Look begins a read, of which Fetch will tell what it fetched, of a word in the strand's own
// memory, without an operation: what the process has sent to it need not be there yet. unsure,
// unless it is nil, is called where a write of an unknown value may have left that. Look
// returns nil where values are ignored.
func (s *Strand) Look(k WordKey, began int64, unsure func()) *WordOp {
	if s.m.opts.IgnoreValues {
		return nil
	}
	op := s.visit(s.m.word(k), s.call.Call, began, nil, true)
	op.fetches, op.unsure = true, unsure
	return op
}

// Overwrite begins a write of an unknown value to a word, if anybody has read it, or is expected to.
// It orders nobody.
func (s *Strand) Overwrite(k WordKey, began int64, expected bool) *WordOp {
	w := s.m.words.all[k]
	switch {
	case w != nil:
	case expected && !s.m.opts.IgnoreValues:
		w = s.m.word(k)
	default:
		return nil
	}
	w.stored = true
	return s.visit(w, s.call.Call, began, blur, false)
}

// Expect begins a wait of the strand for a value of a word that meets a condition: a read
// that Fetch orders after the first update which left one, behind what another operation
// read when it began, which did not meet it. unsure is called where it cannot be told
// which update it was.
func (s *Strand) Expect(k WordKey, began int64, meets func(int64) bool, behind *WordOp, unsure func()) *WordOp {
	op := s.visit(s.m.word(k), s.call.Call, began, nil, true)
	op.fetches, op.meets, op.behind, op.unsure = true, meets, behind, unsure
	return op
}

// Tell says what an update of which the strand learns nothing found.
func (op *WordOp) Tell(bits, ended int64) {
	if op != nil {
		op.found, op.ended = Value{bits, true}, ended
		op.sooner()
	}
}

// visit begins an operation of a call, or of none; look: a read of the strand's own memory, which need not come
// after what its process has issued.
func (s *Strand) visit(w *word, by *trace.Call, began int64, update Update, look bool) *WordOp {
	if by, at := &s.m.writing.by, bytesOf(w.key); len(*by) == 0 || (*by)[len(*by)-1] != at {
		*by = append(*by, at)
	}
	op := &WordOp{strand: s, word: w, region: s.m.index, update: update, began: began, pos: s.pos, floor: w.versions[0]}
	if by != nil {
		op.fn, op.stack = by.Fn.Name, by.Stack
	}
	if s.team != nil {
		op.issuedAt, op.from = s.Now(), s.m.index
	}
	for _, v := range w.visitors {
		if n := len(v.queue); v.strand == s && n > 0 && v.queue[n-1].complete {
			v.queue[n-1].done = min(v.queue[n-1].done, began)
			v.queue[n-1].sooner()
		}
		if x := v.known(s); x != nil && x.number > op.floor.number {
			op.floor = x
		}
		if x := v.effective(s, look); x != nil {
			op.after = append(op.after, x)
		}
	}
	if update != nil {
		w.visitor(s).push(op)
	}
	w.follow(op, (*schedule).issued)
	return op
}

// publish returns a signal that carries what the strand has done so far. It begins a
// separate region that findings take for a part of the one before.
func (s *Strand) publish() *Signal {
	m, x := s.m, &s.issued
	again := x.signal != nil && x.region == m.index && x.seg == s.path.segment() && s.pos-x.pos <= 1 && x.ended == s.ended && s.team == nil
	x.pos, x.ended, x.region = s.pos, s.ended, m.index
	if again { // it has done nothing in between; what it issued only matters to other threads
		return x.signal
	}
	x.signal = &Signal{}
	now := m.clock.Time(m.clock.Now(int(s.line)))
	m.clock.Tick(int(s.line))
	m.watch.signal(s, []*Signal{x.signal})
	m.give(x.signal, now)
	m.watch.over(s)
	if c := s.event.Call; s.event.Kind == trace.KindCall && (!trace.IsNote(c.Fn.Name) || trace.Language(c.Fn.Name) != "") {
		s.mark(regions.Landmark{Pos: s.pos, Fn: c.Fn, Stack: c.Stack, Thread: s.thread, Leaves: true})
	}
	s.addSegment(s.within())
	x.seg = s.path.segment()
	return x.signal
}

// CompletedBy says by what the calls that complete the operation tell that they do.
func (op *WordOp) CompletedBy(of any) {
	if op != nil {
		op.by = of
	}
}

// Complete says that the update is complete at its word.
func (op *WordOp) Complete(at regions.Point) {
	switch {
	case op == nil, op.complete && op.strand.team == nil:
		return
	case op.region != op.word.m.index:
		op.complete = true
		return
	}
	if op.complete { // another thread has shown it too
		op.also = append(op.also, at)
	} else {
		op.completed, op.complete = at, true
		if ended := op.strand.current.callEnded; ended != 0 { // which may be another strand's
			op.done = ended
		}
		op.sooner()
	}
	if op.made != nil {
		op.word.visitor(op.strand).saw(at, op.made)
	}
}

// Fetched is what an operation on a word has fetched.
type Fetched struct {
	Op     *WordOp
	Bits   int64
	Before int64 // when that was known, where it was before the others, ns; else 0
}

// Fetch orders the strand after the updates that operations have seen, by what these have
// fetched: its own, or of another strand of its process that it comes after the issue of.
// Each strand that learns so says it for itself, and the first time decides. ended is when
// that was known, ns.
func (s *Strand) Fetch(c *Call, all []Fetched, ended int64) {
	waits, after := s.Learn(all, ended)
	if len(waits) == 0 {
		after()
		return
	}
	s.Synchronize(c, nil, waits, after)
}

// Learn is Fetch for a call that waits for more than that: what it has to wait for first, and
// what is to be done when that is over.
func (s *Strand) Learn(all []Fetched, ended int64) (waits []Wait, after func()) {
	var mine []*WordOp
	what := func() string { return "for the update of which it has fetched the value" }
	for _, f := range all {
		op := f.Op
		if op.region != s.m.index { // what it may have seen is not known any more
			continue
		}
		op.fetched(f.Bits, cmp.Or(f.Before, ended))
		if op.orders(s) {
			waits = append(waits, Wait{On: &op.over, What: what})
		}
		mine = append(mine, op)
	}
	return waits, func() {
		for _, op := range mine {
			op.arrive(s)
		}
	}
}

// fetched says what the operation has fetched, and when that was known to one strand, ns.
func (op *WordOp) fetched(bits, ended int64) {
	switch {
	case op.over.given:
	case op.blocked:
		op.ended = min(op.ended, ended)
		op.sooner()
	default:
		if op.fetches {
			op.word.reading--
		}
		if op.ended = ended; op.meets == nil {
			op.found = Value{bits, true}
		}
		op.sooner()
		op.decide()
	}
}

// orders reports whether a strand may have to wait for what the operation saw.
func (op *WordOp) orders(s *Strand) bool {
	if !op.over.given {
		return true
	}
	return op.saw != nil && op.saw.number > op.word.visitor(s).waited && !op.word.m.past(&op.saw.before)
}

// OnSeen lets f be called when a strand has come after the update, because of what it
// fetched: once for each strand, unless over says that this has no consequences any more.
// Where another of some that are Unordered may have been in its place, alone is false, and f
// counts for what is common to all of them; it is called once more when it was the update
// itself for certain.
func (op *WordOp) OnSeen(f func(by *Strand, alone bool), over func() bool) {
	if op != nil {
		op.seen, op.shown = f, over
		op.word.shows = true
	}
}

// shows reports whether strands that come after the update may learn something by that.
func (op *WordOp) shows() bool { return op != nil && op.seen != nil && !op.shown() }

// after returns the versions behind a number, up to one that is there.
func (w *word) after(number int, last *version) []*version {
	first := w.versions[0].number
	return w.versions[max(0, number+1-first):max(0, number+1-first, last.number+1-first)]
}

// arrive notes that a strand comes after what the operation saw.
func (op *WordOp) arrive(s *Strand) {
	if op.saw == nil || op.region != op.word.m.index {
		return
	}
	op.noteWeak(s)
	op.word.sees(s, op.saw)
	if op.made != nil && op.told.Pos == 0 {
		op.told = s.Now()
	}
	v := op.word.visitor(s)
	v.close(s, op.saw.number)
	var passed []*version
	if op.word.shows {
		passed = op.word.after(v.waited, op.saw)
	}
	for _, x := range passed {
		if x.by != nil && x.by.seen != nil {
			alone := !x.by.peers.mayReplace(x, op.saw.number)
			if !alone {
				v.leaveOpen(x)
			}
			x.by.seen(s, alone)
		}
	}
	if !op.order.language || op.order.acquire { // else what was before the update is still to be learned
		v.waited = max(v.waited, op.saw.number)
	}
	x := op.saw
	if op.made != nil {
		x = op.made
	}
	v.saw(s.Now(), x)
}
