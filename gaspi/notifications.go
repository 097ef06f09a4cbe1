package gaspi

import (
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// slotKey names a notification of a process: those are bound to segments.
type slotKey struct {
	rank    int32
	segment int64
	id      int64
}

// slot is what is known of a notification.
type slot struct {
	posted  []*notification // and not reset
	passed  []*notification // by others that were reset, the last of them: they were overwritten, or are late
	waiters []*waiter       // strands of the process that wait for one
	heard   []*waiter       // what each strand has waited for last
	// Of a process with threads, those that were reset, by when that was over, and by the
	// strand that did; and when they were posted, by the writes that come before them.
	gone   []taken
	resets ledger
	posts  map[*lane]*ledger
}

// taken is a notification that a strand has reset.
type taken struct {
	*notification
	by core.Moment
	at int64 // when the call was over, ns
}

// notification is a notification as it was posted.
type notification struct {
	by     *process
	value  int64
	signal core.Signal
	own    []*operation // its data; where there are threads, also writes of the lane that come before it
	lane   *lane        // the writes before it, up to a number; nil: it is chained after its own data only
	upTo   int
	listed bool   // where there are threads, in the region in which it was posted: marks in place of upTo
	marks  []mark // writes of the lane that come before it
	posted core.Moment
	post   entryAt       // among those of the lane and identifier, where there are threads
	covers []firstOf     // of these, those that take effect before it
	reset  entryAt       // among the resets of its identifier, where there are threads
	behind []firstOf     // of these, those that were made before it took effect
	read   bool          // it comes with what is read
	known  []core.Moment // strands of its owner have seen it
	taken  bool          // a call resets it
}

// knownTo reports whether the strand has seen the notification, or comes after one that has.
func (n *notification) knownTo(p *process) bool { return slices.ContainsFunc(n.known, p.ComesAfter) }

// waiter is a call that saw a notification.
type waiter struct {
	p      *process
	strand *core.Strand
	call   core.Call
	value  int64 // that it saw; 0: any
	next   int64 // that the process resets next, of one that saw any; 0: that is not known
	signal core.Signal
	chosen *notification
	behind []*notification // that it comes after besides
	again  bool            // the process had seen it before
	over   regions.Point   // when it was over
	region int
}

func (p *process) slot(rank int32, segment, id int64) *slot {
	key := slotKey{rank, segment, id}
	s := p.m.slots[key]
	if s == nil {
		s = &slot{}
		p.m.slots[key] = s
	}
	return s
}

// notify: the notification takes effect after all writes of its queue to its rank.
func notify(p *process, c *core.Call) {
	to := p.target(c)
	if to == nil {
		return
	}
	l := p.queue(c.Int(argQueue)).lane(to.Rank)
	p.post(c, to, c.Int(argSegmentRemote), &notification{value: c.Int(argNotificationValue), lane: l, upTo: l.next()})
}

// post sends a notification: what the process has done before comes before what its
// receiver does after it has seen it.
func (p *process) post(c *core.Call, to *process, segment int64, n *notification) {
	n.by, n.posted = p, p.Moment()
	switch {
	case n.lane == nil:
	case p.m.Threaded():
		j := n.lane.threads(p)
		n.marks, n.listed = j.known(p), true
		j.posts = append(j.posts, n)
	default:
		n.lane.keep()
	}
	if !n.read {
		for _, op := range n.own {
			op.keep()
		}
	}
	s := p.slot(to.Rank, segment, c.Int(argNotificationID))
	if n.listed {
		posts := s.postsOf(n.lane)
		n.covers = posts.known(p.Strand)
		n.post = posts.add(p, nil)
	}
	s.posted = append(s.posted, n)
	for _, w := range append(slices.Clip(s.heard), s.waiters...) {
		if !w.certain(n) {
			w.unclear()
		}
	}
	p.Synchronize(c, []*core.Signal{&n.signal}, nil, nil)
	for _, w := range s.waiters {
		if w.chosen == nil && w.may(n) {
			w.take(n)
			s.succeeds(n, w.strand)
			p.m.Announce(&w.signal)
		}
	}
}

// succeeds notes that a strand has seen a notification, behind resets of others of the
// identifier: it took effect after them, as it would have been lost otherwise.
func (s *slot) succeeds(n *notification, by *core.Strand) {
	n.behind = join(n.behind, s.resets.known(by))
}

// postsOf returns when notifications were posted that the writes of a lane come before.
func (s *slot) postsOf(l *lane) *ledger {
	if s.posts == nil {
		s.posts = map[*lane]*ledger{}
	}
	if s.posts[l] == nil {
		s.posts[l] = &ledger{}
	}
	return s.posts[l]
}

// forget forgets what all strands know.
func (s *slot) forget(m *Model) {
	s.gone = slices.DeleteFunc(s.gone, func(x taken) bool { return m.IsPast(x.by) })
	s.resets.forget(m)
	for _, l := range s.posts {
		l.forget(m)
	}
}

// may reports whether a call may have seen a notification.
func (w *waiter) may(n *notification) bool {
	if w.value == 0 {
		return w.next == 0 || w.next == n.value
	}
	return w.value == n.value && !n.taken
}

// take says which notification the call has seen; where it has a value, it resets that.
func (w *waiter) take(n *notification) {
	w.chosen = n
	n.taken = n.taken || w.value != 0
}

// certain reports whether a notification that was posted since changes nothing of what
// a call saw: its value is another, or that orders nothing, or it came later, or what it shows is shown by the
// one that was chosen.
func (w *waiter) certain(n *notification) bool {
	switch {
	case w.chosen == nil || w.again || !w.may(n), n.includes(w.chosen):
		return true
	case w.over == (regions.Point{}):
		return false
	}
	return w.region != n.by.m.Index() || n.by.Knows(w.over)
}

// includes reports whether whoever has seen n has seen all that an earlier one shows, such
// as one that had been seen where n was posted.
func (n *notification) includes(earlier *notification) bool {
	if n == earlier || include(n.covers, earlier.post) || include(n.behind, earlier.reset) {
		return true
	}
	if slices.ContainsFunc(earlier.known, func(at core.Moment) bool { return n.by.m.Before(at, n.posted) }) {
		return true
	}
	switch {
	case n.by != earlier.by || n.lane == nil || n.lane != earlier.lane || earlier.listed:
		return false
	case n.listed: // in a later region, or once there were threads
		return true
	}
	return n.upTo >= earlier.upTo
}

func (w *waiter) unclear() {
	w.p.NotUnderstood(&w.call, "which notification of this identifier it saw cannot be told")
}

func waitsome(p *process, c *core.Call) {
	if c.Int(argNum) != 0 {
		p.hear(c, p.slot(p.Rank, c.Int(argSegmentLocal), c.Int(argFirstID)), waiter{next: p.resetsNext(c)}, nil)
	}
}

// resetsNext returns the value of the notification that a call saw, where the process resets that
// next: whichever it was that the call saw, the process does nothing before it comes after that
// one; 0: it does something else.
func (p *process) resetsNext(c *core.Call) int64 {
	next := p.NextCall()
	if next == nil || next.Fn.Name != "gaspi_notify_reset" || !next.Returned {
		return 0
	}
	reset := core.NewCall(next)
	if reset.Failed || reset.Int(argSegmentLocal) != c.Int(argSegmentLocal) || reset.Int(argNotificationID) != c.Int(argFirstID) {
		return 0
	}
	return reset.Int(argOldNotificationVal)
}

// reset takes a notification, whose value it returns.
func reset(p *process, c *core.Call) {
	value := c.Int(argOldNotificationVal)
	if value == 0 {
		return
	}
	s := p.slot(p.Rank, c.Int(argSegmentLocal), c.Int(argNotificationID))
	p.hear(c, s, waiter{value: value}, func(w *waiter) {
		s.without(w.chosen, !p.Threaded())
		if p.Threaded() {
			w.chosen.reset = s.resets.add(p, w.chosen)
			s.goes(taken{w.chosen, p.Moment(), w.call.End})
		}
	})
}

// mostPassed bounds how many notifications are kept that nobody is likely to see any more.
const mostPassed = 64

// without removes a notification that was reset; earlier: and those that were posted before
// it, of which nothing is likely to be seen any more: it has overwritten them. Or it has
// overtaken them, as notifications may.
func (s *slot) without(n *notification, earlier bool) {
	var left []*notification
	i := slices.Index(s.posted, n)
	for k, x := range s.posted {
		switch {
		case k == i:
		case k < i && earlier && n.includes(x):
			s.passed = append(s.passed, x)
		default:
			left = append(left, x)
		}
	}
	s.posted = left
	if more := len(s.passed) - mostPassed; more > 0 {
		s.passed = slices.Delete(s.passed, 0, more)
	}
}

// late returns a notification that others have overtaken, and that a call may have seen: the
// first of them, which is there now; nil: there is none.
func (s *slot) late(w *waiter) *notification {
	i := slices.IndexFunc(s.passed, w.may)
	if i < 0 {
		return nil
	}
	n := s.passed[i]
	s.passed, s.posted = slices.Delete(s.passed, i, i+1), append(s.posted, n)
	return n
}

// hear orders the process after the notification that a call saw, of which the waiter has the values. after, which may be
// nil, is given that.
func (p *process) hear(c *core.Call, s *slot, saw waiter, after func(*waiter)) {
	w := &saw
	w.p, w.strand, w.call = p, p.Strand, *c
	w.call.Call = c.Copy()
	w.choose(s)
	if w.chosen != nil && w.chosen.knownTo(p) {
		w.over, w.region = p.Now(), p.m.Index()
		s.hears(w)
		if after != nil {
			after(w)
		}
		return
	}
	waits := []core.Wait{{On: &w.signal, Soft: true, What: func() string { return "for a notification" }}}
	if w.chosen != nil {
		waits = w.signals()
	} else {
		s.waiters = append(s.waiters, w)
		waits[0].Early = slices.ContainsFunc(s.passed, w.may)
		waits[0].Then = func() []core.Wait {
			if w.chosen == nil {
				return nil
			}
			return w.signals()
		}
	}
	p.Synchronize(c, nil, waits, func() { w.end(s, after) })
}

// signals are those of what the call has seen.
func (w *waiter) signals() []core.Wait {
	w.behind = news(w.chosen.behind, w.strand)
	waits := []core.Wait{{On: &w.chosen.signal}}
	for _, x := range w.behind {
		waits = append(waits, core.Wait{On: &x.signal})
	}
	return waits
}

// choose chooses the notification among those that were posted: the one that all others
// include. Where one is there that the process has seen before, and has not reset, the call
// may have seen that again.
func (w *waiter) choose(s *slot) {
	for _, n := range s.posted {
		if n.knownTo(w.p) && w.may(n) {
			w.take(n)
			w.again = true
			return
		}
	}
	certain, candidates := true, s.posted
	if w.value == 0 {
		for i := s.gonePast(w.call.Begin); i < len(s.gone); i++ { // another strand has reset it, perhaps behind this call
			if x := s.gone[i]; !w.p.ComesAfter(x.by) {
				candidates = append(slices.Clip(candidates), x.notification)
			}
		}
	}
	var first *notification
	for _, n := range candidates {
		switch {
		case !w.may(n):
		case first == nil:
			first = n
		case n.includes(first):
		case first.includes(n):
			first = n
		default:
			w.unclear()
			certain = false
		}
	}
	if first == nil && w.value != 0 {
		first = s.late(w)
	}
	if first == nil {
		return
	}
	w.take(first)
	if certain {
		s.succeeds(first, w.strand)
	}
}

// goes notes a notification that was reset.
func (s *slot) goes(x taken) { s.gone = slices.Insert(s.gone, s.gonePast(x.at+1), x) }

// gonePast returns how many notifications were reset before a time, ns.
func (s *slot) gonePast(at int64) int {
	return sort.Search(len(s.gone), func(i int) bool { return s.gone[i].at >= at })
}

// end is the end of the wait. Where nothing was posted that the call waits for, it has seen
// what is late.
func (w *waiter) end(s *slot, after func(*waiter)) {
	p := w.p
	s.waiters = slices.DeleteFunc(s.waiters, func(x *waiter) bool { return x == w })
	if w.chosen == nil {
		if late := s.late(w); late != nil {
			w.take(late)
			p.Synchronize(&w.call, nil, w.signals(), func() { w.end(s, after) })
			return
		}
	}
	w.over, w.region = p.Now(), p.m.Index()
	s.hears(w)
	if w.chosen == nil {
		p.NotUnderstood(&w.call, "the notification that it saw was not posted by a call that was recorded")
		return
	}
	w.chosen.seen(p)
	for _, x := range w.behind {
		x.seen(p)
	}
	if after != nil {
		after(w)
	}
}

// hears notes what a strand has waited for last.
func (s *slot) hears(w *waiter) {
	for i, x := range s.heard {
		if x.strand == w.strand {
			s.heard[i] = w
			return
		}
	}
	s.heard = append(s.heard, w)
}

// seen completes what the notification shows to be complete.
func (n *notification) seen(by *process) {
	at, call := by.Moment(), by.Synchronizing()
	n.known = append(n.known, at)
	arrived := func(op *operation) {
		if n.by.m.Threaded() {
			if x := n.by.share(op); x.gone != nil && n.lane != nil && by.ComesAfter(*x.gone) {
				return
			}
		}
		if n.read {
			op.waited(true, at, call)
		} else {
			op.arrived(at, call)
		}
	}
	for _, op := range n.own {
		arrived(op)
	}
	switch {
	case n.lane == nil:
	case n.by.m.Threaded():
		j := n.lane.threads(n.by)
		marks := n.marks
		if !n.listed {
			marks = j.upTo(n.upTo)
		}
		j.deal(at.At.Line, marks, arrived)
	default:
		for _, op := range n.lane.until(n.upTo) {
			arrived(op)
		}
	}
}
