package main

import (
	"context"
	"slices"
	"time"

	"github.com/mcchk/mcchk/analysis"
)

// draw gives a result what the drawings of a report need, if a report has some.
// Where that cannot be had, the report says why, and the result is the same.
func (a *app) draw(ctx context.Context, res *analysis.Result, o reportOptions) {
	if !slices.ContainsFunc(o.outputs, func(o output) bool { return o.format == "html" }) {
		return
	}
	if res.GivenBack {
		res.Pictures = &analysis.Pictures{Missing: "The traces were given back while they were analysed (--max-disk), so they were not read for drawings."}
		return
	}
	if res.Interrupted {
		res.Pictures = &analysis.Pictures{Missing: "The analysis was interrupted, so the traces were not read for drawings."}
		return
	}
	progress := a.newProgress()
	opts := analysis.Options{Progress: progress.update}
	o.memory.bound(&opts, a.getenv)
	pictures, err := a.backend.draw(ctx, res, opts)
	progress.clear()
	if err != nil {
		a.say("warning: the HTML report has no drawings of windows and events, because the traces could not be read again: %v", err)
		pictures = &analysis.Pictures{Missing: "The traces could not be read for the drawings of windows and events."}
	}
	res.Pictures = pictures
}

// tryFixes tries the fixes of the findings on the traces. Where that cannot be done, the
// report has them as they are.
func (a *app) tryFixes(ctx context.Context, res *analysis.Result, o reportOptions) {
	if res.Interrupted || res.GivenBack || len(res.Findings) == 0 {
		return
	}
	progress, began := a.newProgress(), time.Now()
	opts := analysis.Options{Progress: progress.update}
	o.memory.bound(&opts, a.getenv)
	err := a.backend.tryFixes(ctx, res, opts)
	progress.clear()
	if o.stats {
		a.say("stats: fixes were tried for %.2f s", time.Since(began).Seconds())
	}
	if err != nil {
		a.say("warning: the fixes were not tried, because the traces could not be read again: %v", err)
	}
}
