package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/trace"
)

type dumpOptions struct {
	ranks []int
}

func (o *dumpOptions) addFlags(f *pflag.FlagSet) {
	f.IntSliceVar(&o.ranks, "rank", nil, "only these ranks of a directory (default all)")
}

func newDumpCommand(a *app) *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use:   "dump FILE|DIR",
		Short: "Print traces as JSON Lines",
		Long: `Prints a trace file, or all those of a directory in rank order, as JSON Lines: one
object per line, header first. 'mcchk pack' turns them back into trace files.
Of a damaged file it prints what can be read, and the exit status is 3.`,
		Example: "  mcchk dump traces --rank 0 | grep MPI_Win_fence",
		Args:    needs(1, 1, "a trace file or a directory of traces"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.dump(cmd.Context(), args[0], o) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (a *app) dump(ctx context.Context, path string, o dumpOptions) error {
	files, failures, err := dumpFiles(path, o)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out)
	for _, file := range files {
		if err := dumpFile(ctx, file, out); err != nil {
			failures = append(failures, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	failures = append(failures, out.Flush())
	return errors.Join(failures...)
}

// dumpFiles lists the trace files that a path and options mean, and what is
// wrong with those that cannot be read at all.
func dumpFiles(path string, o dumpOptions) (files []string, failures []error, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		if len(o.ranks) > 0 {
			return nil, nil, usagef("--rank is for directories, and %s is a file", path)
		}
		return []string{path}, nil, nil
	}
	dir, err := trace.OpenDir(path)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range dir.Files {
		if len(o.ranks) == 0 || slices.Contains(o.ranks, f.Header.Rank) {
			files = append(files, f.Path)
		}
	}
	for _, r := range o.ranks {
		if !slices.ContainsFunc(dir.Files, func(f trace.File) bool { return f.Header.Rank == r }) {
			failures = append(failures, fmt.Errorf("%s: no trace of rank %d", path, r))
		}
	}
	if len(o.ranks) == 0 {
		for _, b := range dir.Bad {
			failures = append(failures, b.Err)
		}
	}
	return files, failures, nil
}

func dumpFile(ctx context.Context, path string, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := trace.Dump(ctx, f, out); err != nil {
		return fmt.Errorf("%s: %w", filepath.Clean(path), err)
	}
	return nil
}
