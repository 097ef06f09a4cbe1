package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/analysis"
)

// Values of --shard beside I/N.
const (
	shardAuto = "auto"
	shardNone = "none"
)

// defaultPartial is the beginning of the names of partial results.
const defaultPartial = "mcchk-part"

// shardOptions say which part of an analysis this is.
type shardOptions struct {
	shard  string
	output string
}

func (o *shardOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.shard, "shard", shardAuto, "analyse part `I/N` only, and write a partial result for 'mcchk merge'; auto: the part that srun or mpiexec gives; none: analyse everything")
	f.StringVarP(&o.output, "partial", "o", "", "`FILE` for the partial result (default "+defaultPartial+".I-of-N)")
}

// part is the part to analyse and the file for what it finds; ok is false when
// all is to be analysed.
func (o *shardOptions) part(getenv func(string) string) (s analysis.Shard, path string, ok bool, err error) {
	switch o.shard {
	case shardNone:
	case shardAuto:
		if s, ok = launched(getenv); ok && (s.Of > 1 || o.output != "") {
			// One command line for all: each needs a file of its own.
			path = o.output
			if path == "" {
				path = defaultPartial
			}
			return s, fmt.Sprintf("%s.%d-of-%d", path, s.Index, s.Of), true, nil
		}
	default:
		if s, err = analysis.ParseShard(o.shard); err != nil {
			return s, "", false, usagef("--shard: %w", err)
		}
		if path = o.output; path == "" {
			path = fmt.Sprintf("%s.%d-of-%d", defaultPartial, s.Index, s.Of)
		}
		return s, path, true, nil
	}
	if o.output != "" {
		return s, "", false, usagef("-o is the file for a partial result: it needs --shard I/N, srun or mpiexec")
	}
	return s, "", false, nil
}

// launchers tell a process which of how many it is, and how many of them are on its
// machine. Those of MPI come first: in a Slurm job, their processes see the variables
// of the job's script too.
var launchers = [...]struct{ rank, size, here string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"}, // not SLURM_NTASKS, which a job's script sees without srun
}

// launched returns the part of a process that a launcher started.
func launched(getenv func(string) string) (analysis.Shard, bool) {
	for _, l := range launchers {
		rank, err1 := strconv.Atoi(getenv(l.rank))
		size, err2 := strconv.Atoi(getenv(l.size))
		if err1 == nil && err2 == nil && rank >= 0 && rank < size {
			return analysis.Shard{Index: rank + 1, Of: size}, true
		}
	}
	return analysis.Shard{}, false
}

// launchedHere returns how many processes a launcher started on this machine, this
// one included; 1 where it does not say so.
func launchedHere(getenv func(string) string) int64 {
	for _, l := range launchers {
		// Slurm has "8(x2),4": tasks of nodes, of which the first stands for all.
		text, _, _ := strings.Cut(strings.ReplaceAll(getenv(l.here), "(", ","), ",")
		if n := number(text); n > 0 {
			return n
		}
	}
	return 1
}

// analyzePart analyses one part and writes what it found.
func (a *app) analyzePart(ctx context.Context, dir string, s analysis.Shard, path string, o analyzeOptions) error {
	progress := a.newProgress()
	p, err := a.backend.analyzePart(ctx, dir, s, o.analysis(progress, a.getenv))
	progress.clear()
	if err == nil {
		p.Version = versionOfParts()
		err = p.WriteFile(path)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted, nothing was written")
		}
		return &statusError{exitFailure, fmt.Errorf("part %s: %w", s, err)}
	}
	for _, w := range p.Warnings {
		a.say("warning: %s", w)
	}
	a.say("part %s of the analysis is in %s", s, path)
	return nil
}

// versionOfParts is the version that partial results are of: they are joined
// by the very program that wrote them.
func versionOfParts() string {
	v := currentVersion()
	if v.Revision != "" {
		return v.Version + " " + v.Revision
	}
	return v.Version
}

// refuseForParts refuses what a part has no report for.
func refuseForParts(cmd *cobra.Command, s analysis.Shard) error {
	for _, name := range []string{"format", "fail-on", "baseline", "write-baseline", "accept", "accept-problem", "suppressions", "gen-suppressions", "stats"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return usagef("--%s: part %s of an analysis has no report; give it to 'mcchk merge' (or --shard none to analyse all)", name, s)
		}
	}
	return nil
}
