package main

import (
	"fmt"
	"io"
	"time"

	"github.com/mcchk/mcchk/analysis"
)

// progressInterval is how often a progress line is written at most.
const progressInterval = 200 * time.Millisecond

// progress shows how far a command is, on one line of a terminal that is
// written over and over. On anything but a terminal it shows nothing.
type progress struct {
	w     io.Writer // nil: show nothing
	last  time.Time
	shown bool
}

func (a *app) newProgress() *progress {
	if !isTerminal(a.err) {
		return &progress{}
	}
	return &progress{w: a.err}
}

func (p *progress) update(at analysis.Progress) {
	p.say("analysing: %d concurrent regions, %d accesses", at.Regions, at.Accesses)
}

// say shows a line in place of the one before, unless that is too new.
func (p *progress) say(format string, args ...any) {
	now := time.Now()
	if p.w == nil || now.Sub(p.last) < progressInterval {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r\x1b[Kmcchk: "+format, args...)
}

// clear removes the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
