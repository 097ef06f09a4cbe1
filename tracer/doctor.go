package tracer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Health is the outcome of one check of Doctor.
type Health string

// Outcomes, from the best.
const (
	OK      Health = "ok"
	Warning Health = "warning" // works, but slower or with less to say
	Problem Health = "problem" // does not work
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	Check  string `json:"check"` // what was looked at, such as "MPI compiler"
	Health Health `json:"health"`
	Text   string `json:"text"`          // what was found, one sentence
	Fix    string `json:"fix,omitempty"` // what to do about it, "" when ok
}

// DoctorOptions say what Doctor looks at.
type DoctorOptions struct {
	MPICC    string // as in CompileOptions; those for other languages are looked for beside it
	MPICXX   string
	MPIFC    string
	Compiler string
	MPIExec  string // launcher to compare a binary with; "" means that beside MPICC, else mpiexec
	Binary   string // executable to look at, or a directory of traces; "" means only the toolchain
	TraceDir string // where traces will be written; "" means that this is not asked
	Dir      string // working directory; "" means the current one
	Env      []string
}

// Doctor checks whether compilers and MPI library (and a binary, when one is
// given) are as tracing needs them; or what there is of a run, when a directory
// of traces is given. It returns what it found in the order in
// which it looked. The error is only for a cancelled context.
func Doctor(ctx context.Context, o DoctorOptions) ([]Finding, error) {
	return doctor(ctx, o, runtimeSources())
}

func doctor(ctx context.Context, o DoctorOptions, sources fs.FS) ([]Finding, error) {
	d := &examination{tools: newTools(o.Dir, o.Env), options: o, sources: sources}
	if o.MPICC != "" {
		d.tools.env = append(slices.Clone(d.tools.env), wrapperVariables[target{MPI, C}].name+"="+o.MPICC)
	}
	subject := within(o.Dir, o.Binary)
	if info, err := os.Stat(subject); o.Binary != "" && err == nil && info.IsDir() {
		d.traces(subject) // the run is over: compilers do not matter
		return d.findings, context.Cause(ctx)
	}
	d.addressSpace()
	if o.TraceDir != "" {
		d.traceDir(within(o.Dir, o.TraceDir))
	}
	d.toolchain(ctx, target{MPI, C}, o.MPICC)
	d.toolchain(ctx, target{MPI, CXX}, o.MPICXX)
	d.toolchain(ctx, target{MPI, Fortran}, o.MPIFC)
	for _, of := range d.otherModels() {
		d.toolchain(ctx, of, "")
	}
	if o.Binary != "" {
		d.binary(ctx, subject)
	}
	return d.findings, context.Cause(ctx)
}

// examination is one run of Doctor.
type examination struct {
	tools    tools
	options  DoctorOptions
	sources  fs.FS
	findings []Finding
}

func (d *examination) add(check string, h Health, fix, format string, args ...any) {
	d.findings = append(d.findings, Finding{Check: check, Health: h, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// reservedSpace is the address space, in bytes, that the run-time reserves
// (without using memory) for its tables of which pages matter, and some more
// for the program.
const reservedSpace = 100 << 30

func (d *examination) addressSpace() {
	const check = "address space"
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		d.add(check, Warning, "", "the limit cannot be read: %v", err)
		return
	}
	if limit.Cur < reservedSpace {
		d.add(check, Problem, "run: ulimit -v unlimited",
			"limited to %d MiB; the run-time reserves 2.1 TiB of addresses (not of memory)", limit.Cur>>20)
		return
	}
	d.add(check, OK, "", "large enough")
}

// otherModels are the compilers for OpenSHMEM and GASPI that there are: those that the
// environment names, and those of OpenSHMEM that are found under their usual names.
func (d *examination) otherModels() []target {
	var list []target
	for _, of := range []target{{SHMEM, C}, {SHMEM, CXX}, {GASPI, C}, {GASPI, CXX}} {
		v := wrapperVariables[of]
		named := d.tools.getenv(v.name) != "" || of.library == GASPI && d.tools.getenv("GASPI_HOME") != ""
		if _, err := d.tools.look(v.fallback); named || of.library == SHMEM && err == nil {
			list = append(list, of)
		}
	}
	return list
}

// toolchain looks at the compiler of a library and a language, and builds with it.
func (d *examination) toolchain(ctx context.Context, of target, asked string) {
	check := string(of.library) + " " + string(of.language) + " compiler"
	t, v := d.tools, wrapperVariables[of]
	if of.library == GASPI {
		t.findGaspi(nil)
	}
	wrapper, err := findWrapper(&t, of, asked)
	if err != nil {
		health := Problem
		if of != (target{MPI, C}) {
			health = Warning // not needed for programs in C with MPI
		}
		d.add(check, health, "install "+of.library.article()+" library with its compilers, or name the wrapper with "+v.option+" or "+v.name, "%v", err)
		return
	}
	if err := t.chooseCompiler(of, d.options.Compiler); err != nil {
		d.add(check, Problem, "install it, or choose another with --compiler", "%v", err)
		return
	}
	c, err := openCache(&t)
	if err != nil {
		d.add("cache", Problem, "set MCCHK_CACHE to a folder that can be written", "%v", err)
		return
	}
	tc, err := loadToolchain(ctx, &t, c, of, wrapper)
	if err != nil {
		d.add(check, Problem, "choose a working compiler wrapper of "+string(of.library)+" with "+v.option+" or "+v.name, "%v", err)
		return
	}
	d.add(check, OK, "", "%s: %s with %s", strings.Join(wrapper, " "), tc.libraries(), tc.Compiler())
	d.mode(ctx, &t, c, tc, of)
	d.openMP(ctx, &t, tc, of)
	check = of.String() + " run-time library"
	l, err := runtimeLibrary(ctx, &t, c, tc.forC(), d.sources)
	if err != nil {
		d.add(check, Problem, "see the compiler's messages; they concern its own files, not the program's", "%v", err)
		return
	}
	d.add(check, OK, "", "built for %s with %s, in %s", tc.libraries(), tc.Compiler(), l.dir)
	d.smallProgram(ctx, of, asked)
}

// mode says how loads and stores are recorded, and what the faster way needs.
func (d *examination) mode(ctx context.Context, t *tools, c *cache, tc *Toolchain, of target) {
	check := of.String() + " instrumentation"
	switch {
	case tc.Mode() == ModeInline:
		d.plugin(ctx, t, c, tc, of, "inline, each access by itself")
	case tc.Family == familyGCC:
		d.plugin(ctx, t, c, tc, of, "by calls")
	default:
		major := tc.major()
		d.add(check, Warning, fmt.Sprintf("install llvm-link of LLVM %d (Debian: apt install llvm-%d)", major, major),
			"by calls: there is no llvm-link of clang's version %d; inlining is several times faster", major)
	}
}

// openMP says whether the order of OpenMP's tasks can be recorded.
func (d *examination) openMP(ctx context.Context, t *tools, tc *Toolchain, of target) {
	check := of.String() + " OpenMP"
	const undecided = "verdicts of programs with OpenMP will be undecided"
	library := findOpenMP(ctx, t, tc)
	if tc.Family == familyGCC && t.getenv("MCCHK_OPENMP") == openMPOwn {
		d.add(check, Warning, "unset MCCHK_OPENMP", "programs keep libgomp, which does not tell what orders tasks: %s", undecided)
		return
	}
	if library == "" {
		d.add(check, Warning, "install LLVM's OpenMP library ("+openMPPackages+")", "there is no %s, which tells what orders tasks: %s", openMPLibrary, undecided)
		return
	}
	if name, err := lacking(library, map[string]bool{"ompt_start_tool": true}); err != nil || name != "" {
		d.add(check, Warning, "install another build of it ("+openMPPackages+")", "%s was built without OMPT, by which it tells what orders tasks: %s", library, undecided)
		return
	}
	d.add(check, OK, "", "%s tells what orders tasks", library)
}

// plugin says whether the compiler has its plug-in, and how it instruments without.
func (d *examination) plugin(ctx context.Context, t *tools, c *cache, tc *Toolchain, of target, without string) {
	check := of.String() + " instrumentation"
	if t.getenv("MCCHK_PLUGIN") == pluginOff {
		d.add(check, Warning, "unset MCCHK_PLUGIN", "%s: the plug-in of %s is turned off; with it tracing is much cheaper", without, tc.Compiler())
		return
	}
	if _, err := plugin(ctx, t, c, tc); err != nil {
		fix := fmt.Sprintf("install what the plug-in needs (Debian: apt install %s)", tc.pluginPackages())
		if tc.Family == familyGCC && inlines(ctx, t) {
			fix += ", or compile with --compiler clang"
		}
		unseen := ""
		if tc.Family == familyGCC {
			unseen = ", and small copies and structures that calls take or return are seen"
		}
		d.add(check, Warning, fix, "%s: %v; with the plug-in tracing is much cheaper%s", without, err, unseen)
		return
	}
	d.add(check, OK, "", "inline and by whole loops, with a plug-in of %s (the fast way)", tc.Compiler())
}

// smallPrograms are compiled to see whether all parts fit together.
var smallPrograms = map[target]struct{ file, text string }{
	{MPI, C}:       {"program.c", "#include <mpi.h>\nint main(int argc, char **argv)\n{\n\tMPI_Init(&argc, &argv);\n\treturn MPI_Finalize();\n}\n"},
	{MPI, Fortran}: {"program.f90", "program main\n\tuse mpi\n\tinteger :: error\n\tcall MPI_Init(error)\n\tcall MPI_Finalize(error)\nend program\n"},
	{MPI, CXX}: {"program.cc", "#include <mpi.h>\n#include <vector>\nint main(int argc, char **argv)\n{\n\tstd::vector<int> v(argc);\n" +
		"\tMPI_Init(&argc, &argv);\n\treturn MPI_Finalize() + v[0];\n}\n"},
	{SHMEM, C}: {"program.c", "#include <shmem.h>\nint main(void)\n{\n\tshmem_init();\n\tshmem_finalize();\n\treturn 0;\n}\n"},
	{SHMEM, CXX}: {"program.cc", "#include <shmem.h>\n#include <vector>\nint main(int argc, char **)\n{\n\tstd::vector<int> v(argc);\n" +
		"\tshmem_init();\n\tshmem_finalize();\n\treturn v[0];\n}\n"},
	{GASPI, C}: {"program.c", "#include <GASPI.h>\nint main(void)\n{\n\tgaspi_proc_init(GASPI_BLOCK);\n\tgaspi_proc_term(GASPI_BLOCK);\n\treturn 0;\n}\n"},
	{GASPI, CXX}: {"program.cc", "#include <GASPI.h>\n#include <vector>\nint main(int argc, char **)\n{\n\tstd::vector<int> v(argc);\n" +
		"\tgaspi_proc_init(GASPI_BLOCK);\n\tgaspi_proc_term(GASPI_BLOCK);\n\treturn v[0];\n}\n"},
}

func (d *examination) smallProgram(ctx context.Context, of target, wrapper string) {
	check := "small " + of.String() + " program"
	dir, err := os.MkdirTemp("", "mcchk-doctor-")
	if err != nil {
		d.add(check, Problem, "set TMPDIR to a folder that can be written", "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	p := smallPrograms[of]
	source := filepath.Join(dir, p.file)
	if err := os.WriteFile(source, []byte(p.text), 0o600); err != nil {
		d.add(check, Problem, "set TMPDIR to a folder that can be written", "%v", err)
		return
	}
	args, done := []string{"-g", "-O1", source, "-o", filepath.Join(dir, "program")}, "compiles and links"
	if of.library == GASPI { // which programs name in their own way when they are linked
		args, done = append(args, "-c"), "compiles"
	}
	var messages strings.Builder
	code, err := compile(ctx, CompileOptions{
		Library: of.library, Language: of.language, MPICC: wrapper, Compiler: d.options.Compiler, Dir: d.options.Dir, Env: d.tools.env,
		Args:   args,
		Stdout: &messages, Stderr: &messages,
	}, d.sources)
	switch {
	case err != nil:
		d.add(check, Problem, "", "%v\n%s", err, firstLines(messages.String(), 20))
	case code != 0:
		d.add(check, Problem, "try the same with the compiler alone", "compiler and linker end with status %d:\n%s", code, firstLines(messages.String(), 20))
	default:
		d.add(check, OK, "", "%s", done)
	}
}

// mpiOfLauncher tells the MPI library of an mpiexec by what it says of itself,
// "" when it does not say.
func mpiOfLauncher(ctx context.Context, t *tools, launcher string) (path, library string, err error) {
	path, err = t.look(launcher)
	if err != nil {
		return "", "", err
	}
	for _, option := range []string{"--version", "-V"} {
		out, errs, err := t.output(ctx, "", path, option)
		if err != nil {
			continue
		}
		switch text := out + errs; {
		case strings.Contains(text, "Intel(R) MPI"):
			return path, "Intel MPI", nil
		case strings.Contains(text, "HYDRA"), strings.Contains(text, "MPICH"):
			return path, "MPICH", nil
		case strings.Contains(text, "Open MPI"), strings.Contains(text, "OpenRTE"), strings.Contains(text, "open-mpi.org"):
			return path, "Open MPI", nil
		case strings.Contains(text, "slurm"):
			return path, "", nil
		}
	}
	return path, "", nil
}

// sameMPI compares an MPI library, perhaps with its version, with the library
// of a launcher. MPICH's relatives share its launchers.
func sameMPI(library, launcher string) bool {
	if strings.HasPrefix(library, "Open MPI") || launcher == "Open MPI" {
		return strings.HasPrefix(library, launcher)
	}
	return true
}

// isNotELF tells files of another kind, such as scripts.
func isNotELF(err error) bool {
	var path *fs.PathError
	return !errors.As(err, &path)
}
