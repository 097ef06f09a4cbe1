package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/tracer"
)

type doctorOptions struct {
	tracer tracer.DoctorOptions
	json   bool
}

func (o *doctorOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.tracer.MPICC, "mpicc", "", "MPI compiler for C (default $MCCHK_MPICC, else mpicc)")
	f.StringVar(&o.tracer.MPICXX, "mpicxx", "", "MPI compiler for C++ (default $MCCHK_MPICXX, else the one beside that for C, else mpicxx)")
	f.StringVar(&o.tracer.MPIFC, "mpifc", "", "MPI compiler for Fortran (default $MCCHK_MPIFC, else the one beside that for C, else mpifort)")
	f.StringVar(&o.tracer.Compiler, "compiler", "", "compiler under it: gcc or clang (default $MCCHK_COMPILER, else its own)")
	f.StringVar(&o.tracer.MPIExec, "mpiexec", "", "launcher to compare the program with (default the one beside the MPI compiler for C, else mpiexec)")
	f.StringVarP(&o.tracer.TraceDir, "output", "o", defaultTraceDir, "directory for the traces of mcchk run: check that it is writable and has room")
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func newDoctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [PROGRAM | DIR]",
		Short: "Check compilers and MPI, a program, or recorded traces",
		Long: `Checks that the compilers, the MPI library and the directory for traces meet the
needs of tracing. For a program, also tells how it was instrumented, which parts
were not, whether it has debug information, and which MPI library it uses.

For a directory of traces, tells whether they are complete and all from one run,
and how that run ended.

Exit status: 0 no problem, 1 problems, 2 wrong use, 3 the checks failed.`,
		Example: "  mcchk doctor ./app\n  mcchk doctor mcchk-traces",
		Args:    needs(0, 1, "one program or one directory of traces, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.tracer.Binary = args[0]
			}
			return a.doctor(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (a *app) doctor(ctx context.Context, o doctorOptions) error {
	findings, err := a.backend.doctor(ctx, o.tracer)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(append([]tracer.Finding{}, findings...))
	} else {
		err = a.printFindings(findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Health == tracer.Problem {
			return &statusError{status: exitFindings}
		}
	}
	return nil
}

func (a *app) printFindings(findings []tracer.Finding) error {
	paint := map[tracer.Health]*color.Color{
		tracer.OK:      color.New(color.FgGreen),
		tracer.Warning: color.New(color.FgYellow, color.Bold),
		tracer.Problem: color.New(color.FgRed, color.Bold),
	}
	for _, c := range paint {
		if a.colorOn(a.out) {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	for _, f := range findings {
		word := fmt.Sprintf("%-7s", f.Health)
		if c := paint[f.Health]; c != nil {
			word = c.Sprint(word)
		}
		if _, err := fmt.Fprintf(a.out, "%s  %s: %s\n", word, f.Check, f.Text); err != nil {
			return err
		}
		if f.Fix != "" {
			if _, err := fmt.Fprintf(a.out, "         %s\n", f.Fix); err != nil {
				return err
			}
		}
	}
	return nil
}
