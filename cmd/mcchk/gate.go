package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/gate"
	"github.com/mcchk/mcchk/problems"
)

// gateOptions say which findings count.
type gateOptions struct {
	baseline         string
	writeBaseline    string
	suppressions     string
	writeSuppression string
	accept           []string // fingerprints, or how they begin
	acceptProblem    []string // of findings of which the whole problem is meant
	reason           string   // why they are accepted

	files gate.Gate // what baseline and suppressions hold
	flags *pflag.FlagSet
	none  []string // files that settings name and that do not exist yet
}

func (o *gateOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.baseline, "baseline", "", "`FILE` of known findings, which do not count")
	f.StringVar(&o.writeBaseline, "write-baseline", "", "write all findings that are not suppressed to `FILE`, for --baseline")
	f.StringArrayVar(&o.accept, "accept", nil, "add the finding with this `FINGERPRINT`, or the beginning of it, to the file of --baseline; repeatable, needs --reason")
	f.StringArrayVar(&o.acceptProblem, "accept-problem", nil, "the same with all findings of the problem of the finding with this `FINGERPRINT`")
	f.StringVar(&o.reason, "reason", "", "why what --accept and --accept-problem name is accepted")
	f.StringVar(&o.suppressions, "suppressions", "", "`FILE` of findings that do not count, with reasons")
	f.StringVar(&o.writeSuppression, "gen-suppressions", "", "write entries for --suppressions to `FILE`, one per finding, for you to fill in the reasons")
}

// read reads the files, before anything takes time. Settings may name files that are yet
// to be made: nothing is accepted by them.
func (o *gateOptions) read() error {
	o.files, o.none = gate.Gate{}, nil
	if o.baseline != "" {
		written := o.writeBaseline
		if o.accepts() {
			written = o.baseline
		}
		b, err := gate.ReadBaseline(o.baseline)
		if o.files.Baseline = b; err != nil && !o.yetToCome("baseline", o.baseline, written, err) {
			return usagef("%w", err)
		}
	}
	if err := o.checkAccept(); err != nil {
		return err
	}
	if o.suppressions != "" {
		s, err := gate.ReadSuppressions(o.suppressions)
		if o.files.Suppressions = s; err != nil && !o.yetToCome("suppressions", o.suppressions, o.writeSuppression, err) {
			return usagef("%w", err)
		}
	}
	return nil
}

// accepts reports whether findings are to be added to the baseline.
func (o *gateOptions) accepts() bool { return len(o.accept)+len(o.acceptProblem) > 0 }

// checkAccept refuses what findings cannot be added to, or with.
func (o *gateOptions) checkAccept() error {
	reason := strings.TrimSpace(o.reason)
	switch {
	case !o.accepts() && o.reason != "":
		return usagef("--reason: --accept FINGERPRINT or --accept-problem FINGERPRINT is missing")
	case !o.accepts():
		return nil
	case o.baseline == "":
		return usagef("--accept: name the file that the finding is added to with --baseline, or in .mcchk.yaml")
	case o.writeBaseline != "":
		return usagef("--write-baseline writes all findings, and --accept adds some to those known: give one of them")
	case reason == "":
		return usagef("--accept: say with --reason why")
	case o.files.Baseline != nil && o.files.Baseline.Old:
		return usagef("--accept: %s is of an older mcchk; write it anew first: --baseline %[1]s --write-baseline %[1]s", o.baseline)
	}
	return nil
}

// yetToCome reports whether a file that cannot be read may be missing, and notes it
// unless this command writes it.
func (o *gateOptions) yetToCome(flag, path, written string, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) || o.flags.Changed(flag) && path != written {
		return false
	}
	if written == "" {
		o.none = append(o.none, path)
	}
	return true
}

// gate takes what does not count out of the findings, and tells what the files
// name in vain.
func (a *app) gate(res *analysis.Result, o *gateOptions) *analysis.Result {
	res, outcome := o.files.Apply(res)
	a.sayOutcome(res, outcome, o)
	return res
}

// writeGate writes the baseline and the suppressions that were asked for.
func (a *app) writeGate(res *analysis.Result, o *gateOptions) error {
	var b *gate.Baseline
	var written []gate.Known
	path, what := o.writeBaseline, "written"
	switch {
	case o.accepts():
		found, err := o.accepted(res)
		if err != nil {
			return err
		}
		path, what = o.baseline, "added"
		b, written = o.files.Baseline.Add(found, res.Sources, strings.TrimSpace(o.reason))
	case path != "":
		b = gate.NewBaseline(res)
		written = b.Findings
	}
	if b != nil {
		if len(res.Caveats) > 0 {
			a.say("warning: the baseline comes from an incomplete run; see the caveats in the report")
		}
		if err := b.WriteFile(path); err != nil {
			return err
		}
		a.sayWritten(path, what, written, len(b.Findings))
	}
	if o.writeSuppression != "" {
		if err := os.WriteFile(o.writeSuppression, gate.WriteSuppressions(res), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// accepted returns the findings that --accept and --accept-problem name, each once. A problem
// may be named by a finding that is accepted already.
func (o *gateOptions) accepted(res *analysis.Result) ([]conflicts.Finding, error) {
	wanted := map[int]bool{}
	all := slices.Clone(res.Findings)
	for i := range res.Accepted {
		all = append(all, res.Accepted[i].Finding)
	}
	known := func(i int) bool { return i >= len(res.Findings) }
	find := func(flag, name string) ([]int, error) {
		at, err := fingerprint.Find(all, res.Sources, name)
		switch {
		case errors.Is(err, fingerprint.ErrSeveral):
			return nil, usagef("--%s: %w: give more of it", flag, err)
		case err != nil && len(res.Findings) == 0:
			return nil, usagef("--%s: %w; nothing is added: there is none that is not accepted already", flag, err)
		case err != nil:
			return nil, usagef("--%s: %w; nothing is added. There are:\n%s", flag, err, listFindings(res))
		}
		return at, nil
	}
	add := func(flag, name string, found []int) error {
		if !slices.ContainsFunc(found, func(i int) bool { return !known(i) }) {
			return usagef("--%s: %s is accepted already; nothing is added", flag, name)
		}
		for _, i := range found {
			wanted[i] = true
		}
		return nil
	}
	for _, name := range o.accept {
		at, err := find("accept", name)
		if err != nil {
			return nil, err
		}
		if err := add("accept", name, at); err != nil {
			return nil, err
		}
	}
	for _, name := range o.acceptProblem {
		at, err := find("accept-problem", name)
		if err != nil {
			return nil, err
		}
		var found []int
		for _, p := range problems.Of(all) {
			if slices.ContainsFunc(at, func(i int) bool { return slices.Contains(p.Findings, i) }) {
				found = append(found, p.Findings...)
			}
		}
		if err := add("accept-problem", name, found); err != nil {
			return nil, err
		}
	}
	var out []conflicts.Finding
	for i := range res.Findings {
		if wanted[i] {
			out = append(out, res.Findings[i])
		}
	}
	return out, nil
}

// sayWritten lists what a baseline was given.
func (a *app) sayWritten(path, what string, written []gate.Known, all int) {
	const most = 50
	count := fmt.Sprintf("%d findings %s", len(written), what)
	if len(written) == 1 {
		count = "1 finding " + what
	}
	if all > len(written) {
		count += fmt.Sprintf(", %d known now", all)
	}
	if len(written) > 0 {
		count += ":"
	}
	a.say("%s: %s", path, count)
	for _, k := range written[:min(most, len(written))] {
		a.say("  %s  %s", k.Fingerprint[:12], k)
	}
	if more := len(written) - most; more > 0 {
		a.say("  and %d more", more)
	}
}

func (a *app) sayOutcome(res *analysis.Result, outcome gate.Outcome, o *gateOptions) {
	if len(res.Findings) > 0 && len(o.none) > 0 { // otherwise there is nothing to accept
		verb := "does not exist yet, so it accepts"
		if len(o.none) > 1 {
			verb = "do not exist yet, so they accept"
		}
		how := ""
		if slices.Contains(o.none, o.baseline) && o.writeBaseline == "" {
			how = "; to accept what was found: mcchk analyze --write-baseline " + o.baseline
		}
		a.say("%s %s nothing%s", strings.Join(o.none, " and "), verb, how)
	}
	if b := o.files.Baseline; b != nil && b.Old && o.writeBaseline != o.baseline {
		a.say("warning: %s is of an older mcchk: each of its findings also accepts new ones that share its innermost lines. Write it anew: --baseline %[1]s --write-baseline %[1]s", o.baseline)
	}
	if n := len(outcome.Vanished); n > 0 {
		why := "fixed, or not reached in this run; --write-baseline drops them"
		if len(res.Caveats) > 0 {
			why = "the run is incomplete, so they may still be there"
		}
		a.say("%s: %d of %d known findings were not found (%s):", o.baseline, n, len(o.files.Baseline.Findings), why)
		for _, k := range outcome.Vanished {
			a.say("  %s", k)
		}
	}
	for i := range outcome.Unused {
		s := &outcome.Unused[i]
		a.say("warning: %s:%d: the entry matches no finding (%s)", o.suppressions, s.Line, s)
	}
}
