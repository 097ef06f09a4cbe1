package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/config"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/report"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/tracer"
)

// settings are all that .mcchk.yaml and the environment can set. Each is a flag
// of the same name of the commands that use it.
func settings() []config.Setting {
	colors := []string{colorAuto, colorAlways, colorNever}
	return []config.Setting{
		{Name: "format", Kind: config.Formats, Default: report.Formats()[0], Choices: report.Formats(), Usage: "reports to write, as FORMAT[=FILE]"},
		{Name: "fail-on", Default: "error", Choices: severityNames(), Usage: "least severity of findings that gives exit status 1"},
		{Name: "baseline", Kind: config.Path, Usage: "file of known findings, which do not count"},
		{Name: "suppressions", Kind: config.Path, Usage: "file of findings that do not count, with reasons"},
		{Name: "libraries", Kind: config.Patterns, Valid: symbols.CheckPattern, Usage: "files or folders of libraries: findings are reported where the program calls them, and told apart there"},
		{Name: "wrappers", Kind: config.Patterns, Valid: symbols.CheckPattern, Usage: "files or folders of the program that wrap MPI: findings are reported where they are called"},
		{Name: "unseen", Kind: config.Parts, Valid: checkUnseen, Usage: "parts of the program whose loads and stores may go unseen, with reasons: a list of part: and reason:, or of PART=REASON"},
		{Name: "memory-model", Default: memoryModels[0], Choices: memoryModels, Usage: "memory model by which windows are judged"},
		{Name: "predict", Kind: config.Bool, Default: "false", Usage: "also warn of accesses that would race if locks were granted, or memory updated, in another order"},
		{Name: "clock", Default: evc.Auto, Choices: evc.Names(), Usage: "clocks that order events"},
		{Name: "jobs", Kind: config.Count, Default: "0", Usage: "parallel workers of the analysis; 0: one per processor"},
		{Name: "max-memory", Kind: config.Bytes, Default: memoryAuto, Usage: "most memory that an analysis takes, such as 2GiB; auto: half of what the machine, its control group or Slurm gives; 0: no limit"},
		{Name: "output", Kind: config.Path, Default: defaultTraceDir, Usage: "directory for the traces of mcchk run"},
		{Name: "no-sources", Kind: config.Bool, Default: "false", Usage: "mcchk run stores no source text with the traces"},
		{Name: "timeout", Kind: config.Duration, Default: "0s", Usage: "time after which mcchk run ends the program; 0s: never"},
		{Name: "max-trace", Kind: config.Bytes, Default: "0", Usage: "size that the traces of mcchk run may have together, such as 10GiB; recording ends there; 0: no limit"},
		{Name: "mpicc", Usage: "MPI compiler for C; mpicc when not set"},
		{Name: "mpicxx", Usage: "MPI compiler for C++; when not set the one beside mpicc, else mpicxx"},
		{Name: "mpifc", Usage: "MPI compiler for Fortran; when not set the one beside mpicc, else mpifort"},
		{Name: "compiler", Usage: "compiler underneath the MPI compiler: gcc or clang; the MPI compiler's default when not set"},
		{Name: "mpiexec", Usage: "launcher that mcchk doctor checks a program against; mpiexec when not set"},
		{Name: "color", Default: colorAuto, Choices: colors, Usage: "colours"},
	}
}

// otherVariables are read from the environment, and are no settings.
func otherVariables() []string {
	return []string{"MCCHK_CACHE", "MCCHK_PLUGIN", "MCCHK_OPENMP", "MCCHK_VERBOSE", "MCCHK_OSHCC", "MCCHK_OSHCXX", "MCCHK_GASPICC", "MCCHK_GASPICXX", "MCCHK_TRACE_DIR", "MCCHK_RUN_ID", "MCCHK_CHUNK_KIB", "MCCHK_LIVE", "MCCHK_MAX_DISK", "MCCHK_WHEN_FULL", "MCCHK_SOAK", "MCCHK_PROGRAMS", "MCCHK_FIRST_SEED"}
}

// configured are the commands whose flags take their values from settings. The
// others work whatever a settings file holds.
func configured(cmd *cobra.Command) bool {
	return slices.Contains([]string{"analyze", "merge", "run", "watch", "doctor", "explain", "config", "lattice", "timeline", "diff"}, cmd.Name()) && cmd.Parent() == cmd.Root()
}

// heeds reports whether such a command takes a setting. Pictures have formats and
// output files of their own, and of the settings those that findings depend on.
func heeds(cmd *cobra.Command, setting string) bool {
	return !slices.Contains([]string{"lattice", "timeline"}, cmd.Name()) || slices.Contains([]string{"memory-model", "predict", "libraries", "wrappers"}, setting)
}

// loadSettings reads settings file and environment.
func (a *app) loadSettings() (*config.Config, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(settings(), dir, a.getenv)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return c, nil
}

// applySettings gives the flags of a command that are not on the command line
// the values that environment or file set.
func (a *app) applySettings(cmd *cobra.Command) error {
	if !configured(cmd) {
		return nil
	}
	c, err := a.loadSettings()
	if err != nil {
		return err
	}
	for _, s := range settings() {
		f := cmd.Flags().Lookup(s.Name)
		v := c.Of(s.Name)
		if f == nil || !heeds(cmd, s.Name) || f.Changed || v.From == config.FromDefault {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			err = list.Replace(v.Values)
		} else {
			err = f.Value.Set(v.String())
		}
		if err != nil {
			return usagef("%s: %w", v.Where, err)
		}
	}
	return nil
}

// runDirs returns the directories of traces, one a run, that a command is to read. A
// directory that mcchk run --repeat wrote stands for those in it.
func (a *app) runDirs(args []string) ([]string, error) {
	if len(args) == 0 {
		dir, err := a.writtenDir()
		if err != nil {
			return nil, err
		}
		args = []string{dir}
	}
	var dirs []string
	for _, dir := range args {
		if runs := tracer.RunDirs(dir); len(runs) > 0 {
			dirs = append(dirs, runs...)
		} else {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// traceDir returns the directory of traces that a command for one run is to read.
func (a *app) traceDir(args []string) (string, error) {
	dirs, err := a.runDirs(args)
	switch {
	case err != nil:
		return "", err
	case len(dirs) > 1:
		return "", usagef("these are %d runs: name the directory of one, such as %s", len(dirs), dirs[0])
	}
	return dirs[0], nil
}

// writtenDir returns the directory that mcchk run writes unless told otherwise, which is
// then named.
func (a *app) writtenDir() (string, error) {
	c, err := a.loadSettings()
	if err != nil {
		return "", err
	}
	dir := c.Of("output").String()
	if _, err := os.Stat(dir); err != nil {
		return "", usagef("a directory of traces is missing, and %s, which mcchk run would write, does not exist", dir)
	}
	a.say("the traces are those in %s", dir)
	return dir, nil
}

// warnOfVariables names variables of the environment that look like settings and are
// none. Compiler commands say nothing: build systems read what they print.
func (a *app) warnOfVariables(cmd *cobra.Command) {
	if cmd.DisableFlagParsing {
		return
	}
	for _, name := range config.UnknownVariables(settings(), os.Environ(), otherVariables()) {
		a.say("warning: the environment variable %s means nothing to mcchk", name)
	}
}

// compilerSettings fills in what neither the command line nor the environment,
// which the tracer reads itself, says of the compiler.
func (a *app) compilerSettings(o *tracer.CompileOptions) error {
	c, err := a.loadSettings()
	if err != nil {
		return err
	}
	wrapper := map[tracer.Language]string{tracer.C: "mpicc", tracer.CXX: "mpicxx", tracer.Fortran: "mpifc"}[o.Language]
	fill := func(to *string, name string) {
		if v := c.Of(name); *to == "" && v.From == config.FromFile {
			*to = v.String()
		}
	}
	if o.Library == tracer.MPI {
		fill(&o.MPICC, wrapper)
		if v := c.Of("mpicc"); v.From == config.FromFile { // beside which are those for other languages
			o.Env = append(os.Environ(), "MCCHK_MPICC="+v.String())
		}
	}
	fill(&o.Compiler, "compiler")
	return nil
}
