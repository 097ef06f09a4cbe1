package regions

// LockSpan is a lock that a process held, in a replay that leaves the order of
// locks out. It tells later what that order would have been.
type LockSpan struct {
	Lock
	Ticket int64     // the order in which locks of the target were granted
	From   Point     // where it was granted
	To     Point     // where it was released
	Call   *CallInfo // that took it
}

// excludes reports whether s was released before t was granted because they
// exclude each other.
func (s *LockSpan) excludes(t *LockSpan) bool {
	return s.Ticket < t.Ticket && s.Object == t.Object && s.Target == t.Target && (s.Exclusive || t.Exclusive)
}

// maxLockSteps bounds the search for an order of locks.
const maxLockSteps = 1 << 22

// LockOrder tells of two accesses that are unordered only because the order of
// locks was left out which locks ordered them in the run: one that was granted
// and released, and a later one that had to wait for it. Where it takes
// several such pairs, it is the first. It returns nil when the order of locks was
// not left out, or does not order the accesses.
func (r *Region) LockOrder(a, b *Access) (first, then *CallInfo) {
	if len(r.LockSpans) == 0 {
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
	locks := r.LockSpans
	var queue []step
	released, granted := make([]bool, len(locks)), make([]bool, len(locks))
	after := func(p Point, root, next int) { // locks released after p
		for i := range locks {
			if released[i] || !r.Before(p, locks[i].To) {
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
			if r.Before(t.From, b.Start) || b.Gated && r.Before(t.From, b.Gate) {
				return locks[q.root].Call, locks[next].Call
			}
			after(t.From, q.root, next)
			steps += len(locks)
		}
	}
	return nil, nil
}
