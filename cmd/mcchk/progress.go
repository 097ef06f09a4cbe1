package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcchk/mcchk/analysis"
)

// progressInterval is how often a progress line is written at most.
const progressInterval = 200 * time.Millisecond

// progress shows how far a command is, on one line of a terminal that is
// written over and over. On anything but a terminal it shows nothing.
type progress struct {
	w     io.Writer // nil: show nothing
	began time.Time
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
	now := time.Now()
	if p.began.IsZero() {
		p.began = now
	}
	p.say("%s", progressLine(at, now.Sub(p.began)))
}

// progressLine says how far an analysis is that began so long ago, and what
// remains.
func progressLine(at analysis.Progress, since time.Duration) string {
	line := "analysing: "
	if at.Bytes > 0 {
		line += fmt.Sprintf("%d %% of %s read, ", 100*min(at.Read, at.Bytes)/at.Bytes, byteCount(at.Bytes))
	}
	line += fmt.Sprintf("%d concurrent regions", at.Regions)
	if at.Regions == 1 {
		line = strings.TrimSuffix(line, "s")
	}
	// The first moments say nothing of those to come.
	if since >= 2*time.Second && at.Read > 0 && at.Read < at.Bytes {
		left := time.Duration(float64(since) * float64(at.Bytes-at.Read) / float64(at.Read))
		line += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return line
}

// byteCount writes a number of bytes for people.
func byteCount(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	x, names := float64(n)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for len(names) > 1 && x >= unit {
		x, names = x/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %s", x, names[0])
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
