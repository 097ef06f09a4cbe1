package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/tracer"
)

// Exit statuses, the same for every command and format.
const (
	exitOK       = 0 // nothing at or above the threshold
	exitFindings = 1
	exitUsage    = 2
	exitFailure  = 3 // no verdict possible, or something failed
)

// app is everything that the commands have of the outside.
type app struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	getenv  func(string) string
	backend backend

	color   string // --color
	started bool   // a command's own function began: errors are not wrong use
}

// statusError ends the program with a status. err may be nil: all is said.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// usagef is an error of wrong use that only a command's function can see.
func usagef(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// run executes a command line, argv[0] included, and returns the exit status.
func (a *app) run(ctx context.Context, argv []string) int {
	if len(argv) > 0 {
		if named, ok := tracer.CompilerNamed(argv[0]); ok {
			return a.finish(ctx, a.compile(ctx, named, argv[1:]))
		}
		argv = argv[1:]
	}
	root := newRootCommand(a)
	root.SetArgs(argv)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		var own *statusError
		if !errors.As(err, &own) {
			err = usagef("%w\nSee '%s --help'.", err, cmd.CommandPath())
		}
	}
	return a.finish(ctx, err)
}

// finish says what went wrong and turns it into a status.
func (a *app) finish(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	var own *statusError
	isOwn := errors.As(err, &own)
	switch {
	case isOwn && own.err == nil:
		return own.status
	case ctx.Err() != nil && !isOwn:
		fmt.Fprintln(a.err, "mcchk: interrupted")
		return exitFailure
	}
	fmt.Fprintf(a.err, "mcchk: %v\n", err)
	if isOwn {
		return own.status
	}
	return exitFailure
}

// newRootCommand builds the command tree.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcchk",
		Short: "Find memory consistency errors in MPI one-sided programs",
		Long: `mcchk finds memory consistency errors (data races) in MPI programs that use
one-sided communication. Compile the program with 'mcchk cc' and run it with
'mcchk run', which reports pairs of conflicting accesses that nothing orders.

Exit status: 0 nothing found at or above the threshold, 1 findings,
2 wrong use, 3 no verdict possible.`,
		Example: `  mcchk cc -O2 -g -o app app.c
  mcchk run -o traces -- mpiexec -n 2 ./app
  mcchk analyze traces`,
		Version:           versionLine(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.applySettings(cmd); err != nil {
				return err
			}
			if err := checkColor(a.color); err != nil {
				return err
			}
			a.warnOfVariables(cmd)
			a.started = true
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(suggestFlag)
	root.PersistentFlags().StringVar(&a.color, "color", colorAuto, "colour: auto, always or never")
	root.AddCommand(
		newCompileCommand(a, tracer.MPI, tracer.C), newCompileCommand(a, tracer.MPI, tracer.CXX), newCompileCommand(a, tracer.MPI, tracer.Fortran),
		newCompileCommand(a, tracer.SHMEM, tracer.C), newCompileCommand(a, tracer.SHMEM, tracer.CXX),
		newRunCommand(a), newWatchCommand(a), newAnalyzeCommand(a), newMergeCommand(a), newDiffCommand(a),
		newDumpCommand(a), newPackCommand(a), newGenerateCommand(a), newExperimentCommand(a),
		newLatticeCommand(a), newTimelineCommand(a), newClocksCommand(a), newExplainCommand(a), newDoctorCommand(a), newConfigCommand(a), newManualCommand(a), newVersionCommand(a),
	)
	refuseOtherShells(root)
	return root
}

// refuseOtherShells makes a shell that has no completion script wrong use; cobra
// would print its help and succeed.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range cmd.Commands() {
			shells = append(shells, shell.Name())
		}
		cmd.Args = nil
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("completion: name a shell: %s", strings.Join(shells, ", "))
			}
			return usagef("completion: %q is none of %s%s", args[0], strings.Join(shells, ", "), didYouMean(args[0], shells))
		}
	}
}

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

func checkColor(mode string) error {
	switch mode {
	case colorAuto, colorAlways, colorNever:
		return nil
	}
	return usagef("--color: %q is none of auto, always, never", mode)
}

// colorOn decides on colours for one stream.
func (a *app) colorOn(w io.Writer) bool {
	switch a.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	return a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" && isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// say writes a diagnostic.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.err, "mcchk: "+format+"\n", args...)
}
