package tracer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Coarrays: gfortran makes calls of a library (-fcoarray=lib), and OpenCoarrays makes
// calls of MPI of these, which are recorded. Each function that objects call of the
// library gets a stub, so that what it calls is of the program's statement, and that the
// locks that it takes for each transfer are not taken for the program's.

const coarrayPrefix = "_gfortran_caf_"

var (
	// reCoarrayTransfer fits the functions that transfer data between images, or work on one word: a
	// lock, an event, an atomic variable.
	reCoarrayTransfer = regexp.MustCompile(`^((send|get|sendget)(_by_ref)?|(event|atomic)_\w+|lock|unlock)$`)
	// reCoarrayQuiet fits those that end the program or tell a number.
	reCoarrayQuiet = regexp.MustCompile(`^(stop_\w+|error_stop\w*|this_image|num_images|get_communicator|is_present)$`)
	// reCoarrayUnknown fits those whose order is not known.
	reCoarrayUnknown = regexp.MustCompile(`^((form|change|end|sync)_team|team_number|fail_image|failed_images|stopped_images|image_status)$`)
)

// coarrayKind is what a function of a coarray library does: t: it transfers data, and locks windows for
// that, o: something else in which calls of MPI are made, 0: it needs no stub.
func coarrayKind(symbol string) byte {
	name, ok := strings.CutPrefix(symbol, coarrayPrefix)
	switch {
	case !ok || reCoarrayQuiet.MatchString(name):
		return 0
	case reCoarrayTransfer.MatchString(name):
		return 't'
	}
	return 'o'
}

// coarrayUnknown reports whether what a function of a coarray library orders is not known.
func coarrayUnknown(symbol string) bool {
	name, ok := strings.CutPrefix(symbol, coarrayPrefix)
	return ok && reCoarrayUnknown.MatchString(name)
}

// coarraySource is C for what calls of these functions come to first.
func coarraySource(functions map[string]bool) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		fmt.Fprint(&text, strings.NewReplacer("NAME", name, "KIND", fmt.Sprint(coarrayKind(name))).Replace(coarrayStub))
	}
	return text.String()
}

// behindStubs are the options of the link by which a static library gives functions that only stubs
// call, behind it.
func behindStubs(functions map[string]bool) []string {
	var options []string
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		options = append(options, "-Wl,-u,"+name)
	}
	return options
}

// coarrayStub calls the function with the same arguments, of which at most 16 are not in
// registers.
const coarrayStub = `__asm__(".pushsection .text\n"
	"\t.hidden __wrap_NAME\n"
	"\t.globl __wrap_NAME\n"
	"\t.weak __real_NAME\n"
	"\t.type __wrap_NAME, @function\n"
	"__wrap_NAME:\n"
	"\t.cfi_startproc\n"
	"\tpushq %rbp\n"
	"\t.cfi_def_cfa_offset 16\n"
	"\t.cfi_offset 6, -16\n"
	"\tmovq %rsp, %rbp\n"
	"\t.cfi_def_cfa_register 6\n"
	"\tpushq %r9\n\tpushq %r8\n\tpushq %rcx\n\tpushq %rdx\n\tpushq %rsi\n\tpushq %rdi\n"
	"\tmovl $KIND, %edi\n"
	"\tmovq %rbp, %rsi\n"
	"\tcall mcchk_coarray@PLT\n"
	"\tpopq %rdi\n\tpopq %rsi\n\tpopq %rdx\n\tpopq %rcx\n\tpopq %r8\n\tpopq %r9\n"
	"\tmovl $16, %eax\n"
	"1:\tpushq 8(%rbp,%rax,8)\n"
	"\tdecl %eax\n"
	"\tjnz 1b\n"
	"\tcall __real_NAME@PLT\n"
	"\taddq $128, %rsp\n"
	"\tpushq %rax\n\tpushq %rax\n"
	"\txorl %edi, %edi\n"
	"\txorl %esi, %esi\n"
	"\tcall mcchk_coarray@PLT\n"
	"\tpopq %rax\n\tpopq %rax\n"
	"\tpopq %rbp\n"
	"\t.cfi_def_cfa 7, 8\n"
	"\tret\n"
	"\t.cfi_endproc\n"
	".popsection\n");
`
