package regions

// span is an access that is not yet complete. In each region that it spans it
// is another Access.
type span struct {
	access     *Access
	machine    *Machine
	proc       *proc // that makes it
	request    int64 // that it belongs to, or 0
	done       bool
	listed     bool // it is among the calls of the phase, before it is complete
	gated      bool // waits for the target's fence
	settled    bool // which locks protect it is decided
	locked     bool // it was among the locked ones of its process
	completion Completion

	before, after *span // of those that are open
}

// spanList is the spans that are open, in the order in which they began.
type spanList struct{ first, last *span }

func (l *spanList) add(s *span) {
	s.before = l.last
	if l.last == nil {
		l.first = s
	} else {
		l.last.after = s
	}
	l.last = s
}

func (l *spanList) remove(s *span) {
	if s.before == nil {
		l.first = s.after
	} else {
		s.before.after = s.after
	}
	if s.after == nil {
		l.last = s.before
	} else {
		s.after.before = s.before
	}
	s.before, s.after = nil, nil
}

// all visits the spans. That which is visited may be removed.
func (l *spanList) all(visit func(*span) bool) {
	for s := l.first; s != nil; {
		next := s.after
		if !visit(s) {
			return
		}
		s = next
	}
}

// open begins an access that spans from now until it is closed. The access is
// the Machine's from now on.
func (m *Machine) open(p *proc, a *Access) *span {
	var s *span
	if n := len(m.spareSpans); n > 0 {
		s = m.spareSpans[n-1]
		m.spareSpans = m.spareSpans[:n-1]
		*s = span{}
	} else {
		s = &span{}
	}
	s.access, s.proc, s.machine = a, p, m
	a.Start, a.End, a.Span = p.here(), Point{Rank: p.rank, Seg: never}, &s.completion
	a.Within = p.within()
	m.grown++
	m.spans.add(s)
	return s
}

// close completes an access.
func (s *span) close(at Point, by *CallInfo) {
	if s.done {
		return
	}
	s.access.End, s.completion.By, s.done = at, by, true
	s.machine.spans.remove(s)
	switch {
	case s.listed:
	case s.machine.settle(s.proc, s.access, by):
		s.machine.again = append(s.machine.again, s.access)
	default:
		s.list()
	}
}

// drop takes a span that is closed, and that nothing refers to but its own
// operation, for reuse. Accesses of the phase refer to it.
func (m *Machine) drop(s *span) {
	if !s.listed && !s.locked {
		m.spareSpans = append(m.spareSpans, s)
	}
}

// list adds the access to those of the phase.
func (s *span) list() {
	if !s.listed {
		s.listed = true
		s.machine.calls = append(s.machine.calls, s.access)
	}
}

// listOpen adds the accesses that are not complete to those of the phase.
func (m *Machine) listOpen() {
	for s := range m.spans.all {
		s.list()
	}
}

// lock notes a pending buffer that locks on the process itself protect.
func (p *proc) lock(s *span) {
	s.locked = true
	p.locked = append(p.locked, s)
}
