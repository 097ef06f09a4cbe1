package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
)

func newMergeCommand(a *app) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Join the partial results of an analysis in parts",
		Long: `Joins the partial results of 'mcchk analyze --shard' into the report that a single
analysis would have written. All parts must be present, and come from the same
traces, options and version of mcchk.

Exit status: as for 'mcchk analyze'; also 3 when a part is missing, damaged, or
does not belong with the others.`,
		Example: `  mcchk analyze --shard 1/2 traces -o part-1
  mcchk analyze --shard 2/2 traces -o part-2
  mcchk merge part-1 part-2`,
		Args: needs(1, -1, "a partial result"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.merge(cmd.Context(), args, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (a *app) merge(ctx context.Context, paths []string, o reportOptions) error {
	var limits analysis.Options
	o.memory.bound(&limits, a.getenv)
	var parts []*analysis.Partial
	var bad []error
	for _, path := range paths {
		p, err := analysis.ReadPartial(path, versionOfParts())
		if err != nil {
			bad = append(bad, err)
			continue
		}
		parts = append(parts, p)
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w\nanalyse these parts again: mcchk analyze --shard I/N DIR -o FILE", errors.Join(bad...))
	}
	res, err := analysis.MergePartials(parts, limits.Heap)
	var missing *analysis.MissingParts
	if errors.As(err, &missing) {
		return fmt.Errorf("%w\nto analyse one: mcchk analyze --shard %s%s %s -o %s", err,
			missing.Parts[0], parts[0].Options.Flags(), parts[0].Directory, filepath.Join(filepath.Dir(paths[0]), "mcchk-part."+strings.Replace(missing.Parts[0], "/", "-of-", 1)))
	}
	if err != nil {
		return err
	}
	return a.conclude(ctx, res, o)
}
