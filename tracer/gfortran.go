package tracer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// libgfortranCalls are the functions of gfortran's library that read or write arrays
// and variables of the program, and how (mcchk_gfortran in runtime/gfortran.c). Those
// that are not here are named in docs/limits.md.
var libgfortranCalls = []struct {
	name  *regexp.Regexp
	reads string
}{
	{regexp.MustCompile(`^internal_unpack$`), "w"},
	{regexp.MustCompile(`^(matmul_\w+)$`), "wrr"},
	{regexp.MustCompile(`^(pack|unpack0)$`), "wrr"},
	{regexp.MustCompile(`^unpack1$`), "wrrr"},
	{regexp.MustCompile(`^(transpose|reshape)(_\w+)?$`), "wr"},
	{regexp.MustCompile(`^(pack_s|spread)$`), "wr"},
	{regexp.MustCompile(`^spread_scalar$`), "w"},
	{regexp.MustCompile(`^(cshift|eoshift)[0-3]_\w+$`), "wr"},
	{regexp.MustCompile(`^[sm]?(minloc|maxloc|findloc)[01]_\w+$`), "wr"},
	{regexp.MustCompile(`^[sm]?(sum|product|minval|maxval|norm2|any|all|count|parity|iall|iany|iparity)_\w+$`), "wr"},
	{regexp.MustCompile(`^arandom_\w+$`), "w"},
	{regexp.MustCompile(`^transfer_array_write$`), "-r"},
	{regexp.MustCompile(`^transfer_array$`), "-w"},
	{regexp.MustCompile(`^transfer_(integer|real|real128|logical|character)_write$`), "-R"},
	{regexp.MustCompile(`^transfer_(integer|real|real128|logical|character)$`), "-W"},
	{regexp.MustCompile(`^transfer_complex(128)?_write$`), "-C"},
	{regexp.MustCompile(`^transfer_complex(128)?$`), "-D"},
}

const libgfortranPrefix = "_gfortran_"

// libgfortranReads says what a function of that name reads and writes, "" when it is
// not known for any.
func libgfortranReads(symbol string) string {
	name, ok := strings.CutPrefix(symbol, libgfortranPrefix)
	if !ok {
		return ""
	}
	for _, c := range libgfortranCalls {
		if c.name.MatchString(name) {
			return c.reads
		}
	}
	return ""
}

// libgfortranSource is C for what calls of these functions come to first, and
// libgfortranWraps the options of the link that bring them there.
func libgfortranSource(functions map[string]bool) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		fmt.Fprintf(&text, libgfortranStub, libgfortranReads(name), name, name, name, name, name, name)
	}
	return text.String()
}

func libgfortranWraps(functions map[string]bool) []string {
	var options []string
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		options = append(options, "-Wl,--wrap="+name)
	}
	return options
}

// libgfortranStub takes any number of arguments, and leaves them where they are.
const libgfortranStub = `__asm__(".pushsection .rodata\n"
	"1:\t.asciz \"%s\"\n"
	".popsection\n"
	".pushsection .text\n"
	"\t.hidden __wrap_%s\n"
	"\t.globl __wrap_%s\n"
	"\t.weak __real_%s\n"
	"\t.type __wrap_%s, @function\n"
	"__wrap_%s:\n"
	"\t.cfi_startproc\n"
	"\tpushq %%rbp\n"
	"\t.cfi_def_cfa_offset 16\n"
	"\t.cfi_offset 6, -16\n"
	"\tmovq %%rsp, %%rbp\n"
	"\t.cfi_def_cfa_register 6\n"
	"\tpushq %%rax\n\tpushq %%r10\n"
	"\tpushq %%r9\n\tpushq %%r8\n\tpushq %%rcx\n\tpushq %%rdx\n\tpushq %%rsi\n\tpushq %%rdi\n"
	"\tleaq 1b(%%rip), %%rdi\n"
	"\tmovq %%rsp, %%rsi\n"
	"\tmovq %%rbp, %%rdx\n"
	"\tcall mcchk_gfortran@PLT\n"
	"\tpopq %%rdi\n\tpopq %%rsi\n\tpopq %%rdx\n\tpopq %%rcx\n\tpopq %%r8\n\tpopq %%r9\n"
	"\tpopq %%r10\n\tpopq %%rax\n"
	"\tpopq %%rbp\n"
	"\t.cfi_def_cfa 7, 8\n"
	"\tjmp __real_%s@PLT\n"
	"\t.cfi_endproc\n"
	".popsection\n");
`
