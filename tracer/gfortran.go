package tracer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// libgfortranCalls are the functions of gfortran's library that read or write arrays
// and variables of the program, and how: a letter for each argument (mcchk_gfortran in
// runtime/gfortran.c). Those that are not here are named in docs/limits.md. Of a name
// that several fit, the first counts.
var libgfortranCalls = []struct {
	name  *regexp.Regexp
	reads string
}{
	{regexp.MustCompile(`^(matmul_\w+)$`), "wrr"},

	// Of characters, the length of an element of the result comes behind the result.
	{regexp.MustCompile(`^pack_char4?$`), "w-rrr"},
	{regexp.MustCompile(`^pack_s_char4?$`), "w-r-r"},
	{regexp.MustCompile(`^unpack0_char4?$`), "w-rr"},
	{regexp.MustCompile(`^unpack1_char4?$`), "w-rrr"},
	{regexp.MustCompile(`^reshape_char4?$`), "w-r-r"},
	{regexp.MustCompile(`^spread_char4?$`), "w-r"},
	{regexp.MustCompile(`^(c|eo)shift0_\d+_char4?$`), "w-r"},
	{regexp.MustCompile(`^(c|eo)shift1_\d+_char4?$`), "w-rr"},
	{regexp.MustCompile(`^eoshift2_\d+_char4?$`), "w-r-r"},
	{regexp.MustCompile(`^eoshift3_\d+_char4?$`), "w-rrr"},
	{regexp.MustCompile(`^m(min|max)val0_s1$`), ">1-rr"},
	{regexp.MustCompile(`^s?(min|max)val0_s1$`), ">1-r"},
	{regexp.MustCompile(`^m(min|max)val1_s1$`), "w-r-r"},
	{regexp.MustCompile(`^s?(min|max)val1_s1$`), "w-r"},
	{regexp.MustCompile(`^m(min|max)loc2_\w+$`), "rr"},
	{regexp.MustCompile(`^s?(min|max)loc2_\w+$`), "r"},
	{regexp.MustCompile(`^mfindloc2_\w+$`), "r-r"},
	{regexp.MustCompile(`^s?findloc2_\w+$`), "r"},

	{regexp.MustCompile(`^pack$`), "wrrr"},
	{regexp.MustCompile(`^unpack0$`), "wrr"},
	{regexp.MustCompile(`^unpack1$`), "wrrr"},
	{regexp.MustCompile(`^transpose(_\w+)?$`), "wr"},
	{regexp.MustCompile(`^reshape(_\w+)?$`), "wr-r"},
	{regexp.MustCompile(`^pack_s$`), "wr-r"},
	{regexp.MustCompile(`^spread$`), "wr"},
	{regexp.MustCompile(`^spread(_\w+)?_scalar$`), "w"},
	{regexp.MustCompile(`^(c|eo)shift0_\d+$`), "wr"},
	{regexp.MustCompile(`^(c|eo)shift1_\d+$`), "wrr"},
	{regexp.MustCompile(`^eoshift2_\d+$`), "wr-r"},
	{regexp.MustCompile(`^eoshift3_\d+$`), "wrrr"},
	{regexp.MustCompile(`^m(min|max)loc0_\w+$`), "wrr"},
	{regexp.MustCompile(`^m(min|max)loc1_\w+$`), "wr-r"},
	{regexp.MustCompile(`^mfindloc0_\w+$`), "wr-r"},
	{regexp.MustCompile(`^mfindloc1_\w+$`), "wr--r"},
	{regexp.MustCompile(`^s?(minloc|maxloc|findloc)[01]_\w+$`), "wr"},
	{regexp.MustCompile(`^m(sum|product|minval|maxval|iall|iany|iparity)_\w+$`), "wr-r"},
	{regexp.MustCompile(`^s?(sum|product|minval|maxval|norm2|any|all|count|parity|iall|iany|iparity)_\w+$`), "wr"},
	{regexp.MustCompile(`^bessel_[jy]n_\w+$`), "w"},

	{regexp.MustCompile(`^compare_string(_char4)?$`), "-<0-<2"},
	{regexp.MustCompile(`^concat_string(_char4)?$`), "->0-<2-<4"},
	{regexp.MustCompile(`^adjust[lr](_char4)?$`), ">1-<1"},
	{regexp.MustCompile(`^string_trim(_char4)?$`), "---<2"},
	{regexp.MustCompile(`^string_len_trim(_char4)?$`), "-<0"},
	{regexp.MustCompile(`^string_(index|scan|verify)(_char4)?$`), "-<0-<2"},
	{regexp.MustCompile(`^string_minmax(_char4)?$`), "---M"},
	{regexp.MustCompile(`^select_string(_char4)?$`), "--<3"},
	{regexp.MustCompile(`^convert_char[14]_to_char[14]$`), "--<1"},

	{regexp.MustCompile(`^arandom_\w+$`), "w"},
	{regexp.MustCompile(`^random_(r4)$`), "4"},
	{regexp.MustCompile(`^random_(r8)$`), "8"},
	{regexp.MustCompile(`^random_(r10|r16|r17)$`), "x"},
	{regexp.MustCompile(`^random_seed_i4$`), "4rw"},
	{regexp.MustCompile(`^random_seed_i8$`), "8rw"},
	{regexp.MustCompile(`^cpu_time_4$`), "4"},
	{regexp.MustCompile(`^cpu_time_8$`), "8"},
	{regexp.MustCompile(`^cpu_time_1[067]$`), "x"},
	{regexp.MustCompile(`^system_clock_4$`), "444"},
	{regexp.MustCompile(`^system_clock_8$`), "888"},
	{regexp.MustCompile(`^second_sub$`), "4"},
	{regexp.MustCompile(`^[de]time_sub$`), "w4"},
	{regexp.MustCompile(`^i(date|time)_i[48]$`), "w"},
	{regexp.MustCompile(`^date_and_time$`), ">4>5>6w"},
	{regexp.MustCompile(`^get_command_argument_i4$`), "->444"},
	{regexp.MustCompile(`^get_command_argument_i8$`), "->488"},
	{regexp.MustCompile(`^get_command_i4$`), ">344"},
	{regexp.MustCompile(`^get_command_i8$`), ">388"},
	{regexp.MustCompile(`^get_environment_variable_i4$`), "<5>644"},
	{regexp.MustCompile(`^get_environment_variable_i8$`), "<5>688"},
	{regexp.MustCompile(`^getarg_i[48]$`), "->2"},
	{regexp.MustCompile(`^(getcwd|hostnm)_i4_sub$`), ">24"},
	{regexp.MustCompile(`^(getcwd|hostnm)_i8_sub$`), ">28"},
	{regexp.MustCompile(`^(fdate_sub|gerror|getlog)$`), ">1"},

	{regexp.MustCompile(`^transfer_array_write$`), "-r"},
	{regexp.MustCompile(`^transfer_array$`), "-w"},
	{regexp.MustCompile(`^transfer_(integer|real|real128|logical|character)_write$`), "-R"},
	{regexp.MustCompile(`^transfer_(integer|real|real128|logical|character)$`), "-W"},
	{regexp.MustCompile(`^transfer_complex(128)?_write$`), "-C"},
	{regexp.MustCompile(`^transfer_complex(128)?$`), "-D"},
	{regexp.MustCompile(`^transfer_character_wide_write$`), "-X"},
	{regexp.MustCompile(`^transfer_character_wide$`), "-Y"},
	{regexp.MustCompile(`^st_read$`), "i"},
	{regexp.MustCompile(`^st_write$`), "o"},
	{regexp.MustCompile(`^st_(read|write)_done$`), "d"},
	{regexp.MustCompile(`^st_set_nml_var$`), "N"},
	{regexp.MustCompile(`^st_set_nml_var_dim$`), "n"},
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
			if strings.HasSuffix(name, "_char4") && strings.ContainsAny(c.reads, "<>M") {
				return "*" + c.reads
			}
			return c.reads
		}
	}
	return ""
}

// libgfortranSource is C for what calls of these functions come to first, and
// wraps the options of the link that bring them there.
func libgfortranSource(functions map[string]bool) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		fmt.Fprintf(&text, libgfortranStub, libgfortranReads(name), name, name, name, name, name, name)
	}
	return text.String()
}

func wraps(functions map[string]bool) []string {
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
