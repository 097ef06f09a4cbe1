package regions

// lockSpan is a lock that a process held on a target of a window, in a replay
// that leaves the order of locks out (Options.AnyLockOrder). It tells later
// what that order would have been.
type lockSpan struct {
	win       int64
	target    int32 // world rank
	exclusive bool
	ticket    int64     // the order in which locks of the target were granted
	from      Point     // where it was granted
	to        Point     // where it was released
	lock      *CallInfo // the call that opened the epoch
}

// openLock notes that a lock with ticket n was granted.
func (m *Machine) openLock(p *proc, w *window, l *lockEpoch, target int32, n int64) {
	s := &lockSpan{
		win: w.ID, target: w.members[target], exclusive: l.exclusive, ticket: n,
		from: p.here(), to: Point{Rank: p.rank, Seg: never}, lock: l.call,
	}
	l.spans = append(l.spans, s)
	m.lockSpans = append(m.lockSpans, s)
}

// close notes that the locks of an epoch are released.
func (l *lockEpoch) close(p *proc) {
	for _, s := range l.spans {
		s.to = p.here()
	}
}

// regionLocks returns the locks of the region that ends; later changes do not
// touch them.
func (m *Machine) regionLocks() []lockSpan {
	if len(m.lockSpans) == 0 {
		return nil
	}
	out := make([]lockSpan, len(m.lockSpans))
	for i, s := range m.lockSpans {
		out[i] = *s
	}
	return out
}

// carryLocks takes the locks that are still held into the region that begins.
func (m *Machine) carryLocks() {
	open := m.lockSpans[:0]
	for _, s := range m.lockSpans {
		if s.to.Seg == never {
			s.from = Point{Rank: s.from.Rank, Seg: before}
			open = append(open, s)
		}
	}
	clear(m.lockSpans[len(open):])
	m.lockSpans = open
}

// excludes reports whether s was released before t was granted because they
// exclude each other.
func (s *lockSpan) excludes(t *lockSpan) bool {
	return s.ticket < t.ticket && s.win == t.win && s.target == t.target && (s.exclusive || t.exclusive)
}

// maxLockSteps bounds the search for an order of locks.
const maxLockSteps = 1 << 22

// LockOrder tells of two accesses that are unordered only because the order of
// locks was left out which locks ordered them in the run: one that was granted
// and released, and a later one that had to wait for it. Where it takes
// several such pairs, it is the first. It returns nil when the order of locks was
// not left out, or does not order the accesses.
func (r *Region) LockOrder(a, b *Access) (first, then *CallInfo) {
	if len(r.lockSpans) == 0 {
		return nil, nil
	}
	if first, then = r.lockPath(a, b); first == nil {
		first, then = r.lockPath(b, a)
	}
	return first, then
}

// lockPath searches for a chain of locks from the end of a to the start of b,
// the shortest first.
func (r *Region) lockPath(a, b *Access) (first, then *CallInfo) {
	type step struct{ at, root, next int } // a lock, and the first pair of its chain
	locks := r.lockSpans
	var queue []step
	released, granted := make([]bool, len(locks)), make([]bool, len(locks))
	after := func(p Point, root, next int) { // locks released after p
		for i := range locks {
			if released[i] || !r.Before(p, locks[i].to) {
				continue
			}
			released[i] = true
			if next < 0 {
				queue = append(queue, step{i, i, -1})
			} else {
				queue = append(queue, step{i, root, next})
			}
		}
	}
	after(a.End, -1, -1)
	steps := 0
	for ; len(queue) > 0 && steps < maxLockSteps; queue = queue[1:] {
		q := queue[0]
		steps += len(locks)
		for j := range locks {
			t := &locks[j]
			if granted[j] || !locks[q.at].excludes(t) {
				continue
			}
			granted[j] = true
			next := q.next
			if next < 0 {
				next = j
			}
			if r.Before(t.from, b.Start) || b.Gated && r.Before(t.from, b.Gate) {
				return locks[q.root].lock, locks[next].lock
			}
			after(t.from, q.root, next)
			steps += len(locks)
		}
	}
	return nil, nil
}
