package tracer

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// LLVM's pass knows accesses of 1, 2, 4, 8 and 16 bytes, and leaves others as
// they are: long double (10 bytes), vectors of 32 and 64, integers of 24 bits.
// They get their call-backs here, in the text form of the instrumented module.

var (
	loadOf  = regexp.MustCompile(`^\s+%\S+ = load (?:volatile )?`)
	storeOf = regexp.MustCompile(`^\s+store (?:volatile )?`)
	debugOf = regexp.MustCompile(`, !dbg !\d+`)
	vector  = regexp.MustCompile(`^<(\d+) x (\S+)>`)
)

// instrumentOddSizes rewrites the file of a module where it has accesses
// without a call-back.
func instrumentOddSizes(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	out, changed := oddSizes(text)
	if !changed {
		return nil
	}
	return os.WriteFile(path, out, 0o600)
}

// oddSizes returns the module with a call-back before each load and store of
// a size that the pass does not know, and whether there was any.
func oddSizes(module []byte) ([]byte, bool) {
	var out bytes.Buffer
	out.Grow(len(module) + len(module)/16)
	count, opaque := 0, false
	for line := range bytes.Lines(module) {
		if size, pointer, kind := oddAccess(string(line)); size > 0 {
			count++
			debug := debugOf.FindString(string(line))
			if strings.HasPrefix(pointer, "ptr ") {
				opaque = true
				fmt.Fprintf(&out, "  call void @__tsan_%s_range(%s, i64 %d)%s\n", kind, pointer, size, debug)
			} else {
				fmt.Fprintf(&out, "  %%mcchk.%d = bitcast %s to i8*%s\n", count, pointer, debug)
				fmt.Fprintf(&out, "  call void @__tsan_%s_range(i8* %%mcchk.%d, i64 %d)%s\n", kind, count, size, debug)
			}
		}
		out.Write(line)
	}
	if count == 0 {
		return module, false
	}
	pointer := "i8*"
	if opaque {
		pointer = "ptr"
	}
	for _, kind := range []string{"read", "write"} {
		if !bytes.Contains(module, []byte("@__tsan_"+kind+"_range(")) {
			fmt.Fprintf(&out, "declare void @__tsan_%s_range(%s, i64)\n", kind, pointer)
		}
	}
	return out.Bytes(), true
}

// oddAccess takes a line of a module apart. It returns the bytes of a load or
// store without a call-back, the pointer with its type, and "read" or "write";
// or 0.
func oddAccess(line string) (size int, pointer, kind string) {
	// Nearly every line ends here.
	load, store := strings.Contains(line, " = load "), strings.Contains(line, " store ")
	if !load && !store {
		return 0, "", ""
	}
	var operands []string
	switch at, st := loadOf.FindString(line), storeOf.FindString(line); {
	case load && at != "":
		kind, operands = "read", topLevel(line[len(at):])
	case store && st != "":
		kind, operands = "write", topLevel(line[len(st):])
	}
	// "T, P ptr, align …" and "T value, P ptr, align …"
	if len(operands) < 2 {
		return 0, "", ""
	}
	bits := bitsOf(operands[0])
	switch bits {
	case 0, 8, 16, 32, 64, 128:
		return 0, "", ""
	}
	pointer = strings.TrimSpace(operands[1])
	if strings.Contains(pointer, "addrspace") {
		return 0, "", ""
	}
	return (bits + 7) / 8, pointer, kind
}

// topLevel splits at the commas that stand in no brackets.
func topLevel(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(s[from:]))
}

// bitsOf returns the size in memory of the type that an operand begins with;
// 0 when it is of no interest.
func bitsOf(operand string) int {
	if m := vector.FindStringSubmatch(operand); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n * elementBits(m[2])
	}
	name, _, _ := strings.Cut(operand, " ")
	bits := elementBits(name)
	if bits == 1 {
		return 8
	}
	return (bits + 7) / 8 * 8
}

func elementBits(name string) int {
	switch name {
	case "half", "bfloat":
		return 16
	case "float":
		return 32
	case "double", "ptr":
		return 64
	case "x86_fp80":
		return 80
	case "fp128", "ppc_fp128":
		return 128
	}
	if strings.HasSuffix(name, "*") {
		return 64
	}
	if digits, ok := strings.CutPrefix(name, "i"); ok {
		n, _ := strconv.Atoi(digits)
		return n
	}
	return 0
}
