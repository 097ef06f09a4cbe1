package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/analysis"
)

// unseenOptions say which parts of a program need not be instrumented.
type unseenOptions struct{ list []string }

func (o *unseenOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.list, "unseen", nil, "`PART=REASON`: loads and stores of this part of the program (* stands for any characters) may go unseen, and why; repeatable")
}

// parts returns what the options say.
func (o *unseenOptions) parts() ([]analysis.Unseen, error) {
	var out []analysis.Unseen
	for _, text := range o.list {
		if err := checkUnseen(text); err != nil {
			return nil, usagef("--unseen: %w", err)
		}
		part, reason, _ := strings.Cut(text, "=")
		out = append(out, analysis.Unseen{Part: strings.TrimSpace(part), Reason: strings.TrimSpace(reason)})
	}
	return out, nil
}

// checkUnseen says what is wrong with PART=REASON.
func checkUnseen(text string) error {
	part, reason, _ := strings.Cut(text, "=")
	switch {
	case strings.Trim(part, "* ") == "":
		return fmt.Errorf("%q names no part", text)
	case strings.TrimSpace(reason) == "":
		return errors.New("the reason is missing: say why the loads and stores of " + strings.TrimSpace(part) + " do not matter")
	}
	return nil
}
