package main

import (
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/symbols"
)

// layerOptions say which code reports do not point at.
type layerOptions struct{ symbols.Layers }

func (o *layerOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.Libraries, "libraries", nil, "`PATTERN` of files or folders of libraries: findings are reported where the program calls them, and told apart there; repeatable")
	f.StringArrayVar(&o.Wrappers, "wrappers", nil, "`PATTERN` of files or folders of the program that wrap MPI: findings are reported where they are called; repeatable")
}

func (o *layerOptions) check() error {
	for flag, patterns := range map[string][]string{"libraries": o.Libraries, "wrappers": o.Wrappers} {
		for _, p := range patterns {
			if err := symbols.CheckPattern(p); err != nil {
				return usagef("--%s: %w", flag, err)
			}
		}
	}
	return nil
}
