package oracle

// Happens tells which calls of a program happen before which others.
type Happens struct{ o *order }

// Happens builds the relation. It normalizes the program first; errors are those
// of Races.
func (p *Program) Happens() (*Happens, error) {
	if err := p.Normalize(); err != nil {
		return nil, err
	}
	o, err := newOrder(p)
	if err != nil {
		return nil, err
	}
	return &Happens{o}, nil
}

// Before reports whether what call a orders after itself comes before another
// call b is over; where over is set, what follows a comes before that, and
// where only is set, before b orders others after itself. Calls are indices in
// Program.Calls.
func (h *Happens) Before(a, b int, over, only bool) bool {
	from, to := at(a, signal), at(b, leave)
	if over {
		from = at(a, leave)
	}
	if only {
		to = at(b, signal)
	}
	return h.o.before(from, to)
}
