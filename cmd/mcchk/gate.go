package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/gate"
)

// gateOptions say which findings count.
type gateOptions struct {
	baseline         string
	writeBaseline    string
	suppressions     string
	writeSuppression string

	files gate.Gate // what baseline and suppressions hold
	flags *pflag.FlagSet
	none  []string // files that settings name and that do not exist yet
}

func (o *gateOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.baseline, "baseline", "", "`FILE` of known findings, which do not count")
	f.StringVar(&o.writeBaseline, "write-baseline", "", "write all findings that are not suppressed to `FILE`, for --baseline")
	f.StringVar(&o.suppressions, "suppressions", "", "`FILE` of findings that do not count, with reasons")
	f.StringVar(&o.writeSuppression, "gen-suppressions", "", "write entries for --suppressions to `FILE`, one per finding, for you to fill in the reasons")
}

// read reads the files, before anything takes time. Settings may name files that are yet
// to be made: nothing is accepted by them.
func (o *gateOptions) read() error {
	o.files, o.none = gate.Gate{}, nil
	if o.baseline != "" {
		b, err := gate.ReadBaseline(o.baseline)
		if o.files.Baseline = b; err != nil && !o.yetToCome("baseline", o.baseline, o.writeBaseline, err) {
			return usagef("%w", err)
		}
	}
	if o.suppressions != "" {
		s, err := gate.ReadSuppressions(o.suppressions)
		if o.files.Suppressions = s; err != nil && !o.yetToCome("suppressions", o.suppressions, o.writeSuppression, err) {
			return usagef("%w", err)
		}
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
	if o.writeBaseline != "" {
		if len(res.Caveats) > 0 {
			a.say("warning: the baseline comes from an incomplete run; see the caveats in the report")
		}
		b := gate.NewBaseline(res)
		if err := b.WriteFile(o.writeBaseline); err != nil {
			return err
		}
		a.say("%s: %d known findings written", o.writeBaseline, len(b.Findings))
	}
	if o.writeSuppression != "" {
		if err := os.WriteFile(o.writeSuppression, gate.WriteSuppressions(res), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) sayOutcome(res *analysis.Result, outcome gate.Outcome, o *gateOptions) {
	for _, path := range o.none {
		a.say("%s does not exist yet, so it accepts nothing", path)
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
