package clocks

import "math"

// line is the correction of one process by forward amortization, as far as it is needed to
// go on: its last jump.
type line struct {
	slower int64
	last   jump
	any    bool
}

// jump is a moment at which a process's clock is put forward.
type jump struct {
	at            int64 // uncorrected
	before, after int64 // correction up to the moment, and from it on
	past          int64 // when what was left of the jump before it was or would have been over
}

// height is how far a jump puts the clock forward.
func (j *jump) height() int64 { return j.after - j.before }

// stretch returns the beginning of the stretch over which a jump is spread.
func (j *jump) stretch() int64 { return j.at - gentle*j.height() }

// over is when nothing is left of the correction of a jump, unless there is another one.
func (l *line) over() int64 { return l.last.at + l.last.after*l.slower }

// at returns the correction at a moment that lies behind the jump before the last.
func (l *line) at(t int64) int64 {
	switch j := &l.last; {
	case !l.any:
		return 0
	case t >= j.at:
		return max(0, j.after-(t-j.at)/l.slower)
	case t >= j.past:
		return 0
	default:
		return j.before + (j.past-t)/l.slower
	}
}

// advance puts the clock forward from a moment on, so that it shows at least `to` there. It
// reports whether that took a new jump, which then is the last; one at the moment of the
// last makes that higher.
func (l *line) advance(t, to int64) (jumped, higher bool) {
	if l.any {
		t = max(t, l.last.at) // what was said of earlier moments stands
	}
	now := l.at(t)
	if t+now >= to {
		return false, false
	}
	if l.any && t == l.last.at {
		l.last.after = to - t
		return false, true
	}
	past := int64(math.MinInt64)
	if l.any {
		past = min(t, l.over())
	}
	l.last, l.any = jump{at: t, before: now, after: to - t, past: past}, true
	return true, false
}
