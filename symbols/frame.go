// Package symbols turns program counters into functions, files and lines with
// the debug information (DWARF) of the program and its shared libraries.
//
// A Resolver is asked for an address of a module. It looks into its Table of
// places resolved earlier (perhaps on another machine), then into the module's
// own file, and then into the separate debug file that belongs to it. What was
// found once is kept. A Resolver never fails: where something is missing, the
// frame says what and why.
package symbols

import "strings"

// Frame is one place of a call stack.
type Frame struct {
	Func    string // demangled; "" when unknown
	File    string // as the compiler wrote it; "" when unknown
	Line    int    // 1-based; 0 when unknown
	Column  int    // 1-based; 0 when unknown
	Module  string // path of the executable or library
	Offset  uint64 // address in the module's file (virtual address)
	Inlined bool   // inlined into the next frame
	Reason  string // why File is missing: "no debug information (compile with -g)", …
}

// systemDirs hold headers and sources that are not the user's.
var systemDirs = []string{"/usr/include/", "/usr/lib/", "/usr/local/include/", "/opt/"}

// Here returns the frame of a stack, innermost first, that a report points at:
// the innermost, but for inlined or small functions of system headers (C++'s
// std::vector) the user's code that called them. It is false for an empty stack.
func Here(stack []Frame) (Frame, bool) {
	for i, f := range stack {
		if f.File == "" {
			break // no debug information: a frame further out is another place
		}
		if !systemFile(f.File) {
			return stack[i], true
		}
	}
	if len(stack) == 0 {
		return Frame{}, false
	}
	return stack[0], true
}

func systemFile(path string) bool {
	for _, dir := range systemDirs {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}
