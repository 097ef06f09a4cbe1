package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/tracer"
)

const compileHelp = `Compiles and links an MPI program with your own MPI compiler so that it can be
traced. Takes the place of the compiler in builds: make CC="mcchk cc",
CMAKE_C_COMPILER=mcchk-cc (a link to mcchk under that name). The names mcchk-gcc,
mcchk-g++, mcchk-clang and mcchk-clang++ also say which compiler lies underneath.
mcchk fc (mcchk-fc) is for Fortran, with gfortran.

Options of mcchk's own come first; everything after them goes to the compiler:
  --mpicc X        the MPI compiler to use; for cxx --mpicxx X and for fc
                   --mpifc X, or --mpicc with the one for C beside which it
                   stands, such as mpicxx.mpich of mpicc.mpich (default:
                   $MCCHK_MPICC, $MCCHK_MPICXX or $MCCHK_MPIFC, then .mcchk.yaml,
                   then the one beside that for C, then mpicc, mpicxx or mpifort)
  --gaspi          the program uses GASPI, whose header is found in a folder named
                   by -I, in include of $GASPI_HOME, or where the compiler looks. Any
                   compiler does (default: $MCCHK_GASPICC or $MCCHK_GASPICXX, then
                   that of --compiler, then cc or c++); where the program uses MPI
                   too, name an MPI compiler with --mpicc
  --compiler X     the compiler underneath: gcc or clang (default:
                   $MCCHK_COMPILER, then .mcchk.yaml, then the MPI compiler's)
  --plugin X       off: without the compiler plug-in that makes tracing cheap
                   (default: $MCCHK_PLUGIN, then auto: with it, where the headers
                   for plug-ins are installed)
  --openmp X       own: programs of gcc and gfortran keep libgomp (default:
                   $MCCHK_OPENMP, then auto: LLVM's OpenMP library takes its place
                   where it is installed, because it tells what orders tasks)
  --verbose        print on standard error what is done
  -h, --help       this text; after another argument, the compiler's own help`

const oshcompileHelp = `Compiles and links an OpenSHMEM program with your own OpenSHMEM compiler so that
it can be traced. Takes the place of the compiler in builds: make CC="mcchk oshcc".

Options of mcchk's own come first; everything after them goes to the compiler:
  --oshcc X        the OpenSHMEM compiler to use; --oshcxx X is the same (default:
                   $MCCHK_OSHCC or $MCCHK_OSHCXX, then oshcc or oshcxx)
  --compiler X     the compiler underneath: gcc or clang (default:
                   $MCCHK_COMPILER, then .mcchk.yaml, then the OpenSHMEM compiler's)
  --verbose        print on standard error what is done
  -h, --help       this text; after another argument, the compiler's own help`

// newCompileCommand makes cc, cxx, fc, oshcc and oshcxx.
func newCompileCommand(a *app, library tracer.Library, language tracer.Language) *cobra.Command {
	l := map[tracer.Language]struct{ name, ending, option string }{
		tracer.C:       {"cc", "c", "--mpicc"},
		tracer.CXX:     {"cxx", "cc", "--mpicc"},
		tracer.Fortran: {"fc", "f90", "--mpifc"},
	}[language]
	help := compileHelp
	if library == tracer.SHMEM {
		l.name, l.option, help = "osh"+l.name, "--oshcc", oshcompileHelp
	}
	gaspi := ""
	if library == tracer.MPI && language != tracer.Fortran {
		gaspi = "[--gaspi] "
	}
	return &cobra.Command{
		Use:                l.name + " [" + l.option + " X] " + gaspi + "[--compiler gcc|clang] [--plugin auto|off] [--openmp auto|own] [--verbose] COMPILER-ARGUMENT...",
		Short:              "Compile and link a " + string(language) + " program with " + string(library) + " for tracing",
		Long:               help,
		Example:            "  mcchk " + l.name + " -O2 -g -o app app." + l.ending,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			return a.compile(cmd.Context(), tracer.CompileOptions{Library: library, Language: language}, args)
		},
	}
}

// compile runs the compiler that the name of the command stands for. The exit status is
// the compiler's.
func (a *app) compile(ctx context.Context, named tracer.CompileOptions, args []string) error {
	o, wrappers, err := compileOptions(args)
	if err != nil {
		return err
	}
	o.Library, o.Language, o.Compiler = cmp.Or(o.Library, named.Library), named.Language, cmp.Or(o.Compiler, named.Compiler)
	if o.MPICC, err = wrapperOf(named, wrappers); err != nil {
		return err
	}
	if err := a.compilerSettings(&o); err != nil {
		return err
	}
	o.Stdin, o.Stdout, o.Stderr = a.in, a.out, a.err
	if isTerminal(a.err) { // configure scripts read what a compiler says
		o.Waiting = a.err
	}
	status, err := a.backend.compile(ctx, o)
	if err != nil && ctx.Err() == nil {
		a.say("%v", err)
	}
	if err != nil && status == 0 {
		status = exitFailure
	}
	if status != 0 {
		return &statusError{status: status}
	}
	return nil
}

// wrapperOptions are those that name the compiler of a library, by what they are for, in
// the order in which they count.
var wrapperOptions = map[tracer.Library]map[tracer.Language][]string{
	tracer.MPI: {
		tracer.C: {"--mpicc"}, tracer.CXX: {"--mpicxx", "--mpicc"}, tracer.Fortran: {"--mpifc", "--mpicc"},
	},
	tracer.SHMEM: {tracer.C: {"--oshcc", "--oshcxx"}, tracer.CXX: {"--oshcxx", "--oshcc"}},
}

// wrapperOf returns which of the compilers that options name is that of a command.
func wrapperOf(named tracer.CompileOptions, wrappers map[string]string) (chosen string, err error) {
	library := cmp.Or(named.Library, tracer.MPI)
	options := wrapperOptions[library][named.Language]
	for _, name := range slices.Sorted(maps.Keys(wrappers)) {
		if !slices.Contains(options, name) {
			return "", usagef("%s does not name a compiler of %s programs with %s: %s does", name, named.Language, library, options[0])
		}
	}
	for _, name := range options {
		chosen = cmp.Or(chosen, wrappers[name])
	}
	return chosen, nil
}

// compileOptions takes our options off the front of the arguments; the compilers of libraries
// that they name are by option.
func compileOptions(args []string) (o tracer.CompileOptions, wrappers map[string]string, err error) {
	wrappers = map[string]string{}
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		var to *string // nil: a wrapper
		switch name {
		case "--verbose":
			o.Env = append(os.Environ(), "MCCHK_VERBOSE=1")
			args = args[1:]
			continue
		case "--gaspi":
			o.Library = tracer.GASPI
			args = args[1:]
			continue
		case "--mpicc", "--mpicxx", "--mpifc", "--oshcc", "--oshcxx":
		case "--compiler":
			to = &o.Compiler
		case "--plugin":
			to = &o.Plugin
		case "--openmp":
			to = &o.OpenMP
		default:
			o.Args = args
			return o, wrappers, misplaced(args)
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return o, nil, usagef("%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if value == "" {
			return o, nil, usagef("%s needs a value", name)
		}
		if to == nil {
			wrappers[name] = value
		} else {
			*to = value
		}
	}
	return o, nil, usagef("there is nothing to compile or link: the arguments of the compiler are missing")
}

var ownOptions = []string{"--mpicc", "--mpicxx", "--mpifc", "--oshcc", "--oshcxx", "--gaspi", "--compiler", "--plugin", "--openmp"}

// misplaced returns an error where an option of mcchk stands behind others.
func misplaced(args []string) error {
	for _, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); slices.Contains(ownOptions, name) {
			return usagef("mcchk's own options come first: %s follows %s, so it would go to the compiler", name, args[0])
		}
	}
	return nil
}
