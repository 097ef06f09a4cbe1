// Package symbols turns program counters into functions, files and lines with
// the debug information (DWARF) of the program and its shared libraries.
//
// A Resolver is asked for an address of a module. It looks into its Table of
// places resolved earlier (perhaps on another machine), then into the module's
// own file, and then into the separate debug file that belongs to it. What was
// found once is kept. A Resolver never fails: where something is missing, the
// frame says what and why.
//
// Which frames are those of the application, and which of libraries and
// wrappers, a Layers says; Here and Path go by that.
package symbols

import "slices"

// Frame is one place of a call stack.
type Frame struct {
	Func    string // demangled; "" when unknown
	File    string // as the compiler wrote it; "" when unknown
	Line    int    // 1-based; 0 when unknown
	Column  int    // 1-based; 0 when unknown
	Module  string // path of the executable or library
	Offset  uint64 // address in the module's file (virtual address)
	Inlined bool   // inlined into the next frame
	Part    bool   // of a part that the compiler took out of the function (Append)
	Reason  string // why File is missing: "no debug information (compile with -g)", …
	Layer   Layer  // whose code it is, as Layers.Mark says
	Site    bool   // a call is named by it (TellApart, TellWithin)
}

// Here returns the frame of a stack, innermost first, that a report points at:
// the innermost one of the application that has a source line; where there is
// none, the innermost of all. It is false for an empty stack.
func Here(stack []Frame) (Frame, bool) {
	i := HereAt(stack)
	if i < 0 {
		return Frame{}, false
	}
	return stack[i], true
}

// HereAt returns the index of the frame that Here returns; -1 for an empty stack.
func HereAt(stack []Frame) int {
	for i, f := range stack {
		if f.Layer == Application && f.File != "" {
			return i
		}
	}
	return min(0, len(stack)-1)
}

// Append adds the frames of a caller to a stack. Where the compiler took a part out of a function,
// and inlined the rest of it elsewhere, the part is called from there: this is one execution of
// the function, and one frame. So is what gfortran makes of a procedure with ENTRY statements: a
// function for each entry, which calls the one with the code of all.
func Append(stack, caller []Frame) []Frame {
	n := len(stack)
	if n > 0 && len(caller) > 0 && stack[n-1].Part && stack[n-1].Func != "" && stack[n-1].Func == caller[0].Func {
		part := caller[0].Part // of a part of the part
		caller = caller[1:]
		stack[n-1].Part = part
	}
	stack = append(stack, caller...)
	for i := max(0, n-1); i+1 < len(stack); i++ {
		f, entry := &stack[i], &stack[i+1]
		if name, ok := withEntries(f.Func); ok && entry.File == f.File && (entry.Func == name || entry.Line < f.Line) {
			f.Func, f.Inlined = name, entry.Inlined
			stack = slices.Delete(stack, i+1, i+2)
		}
	}
	return stack
}

// Path returns the frames that tell one call path of a program from another: all
// but those of libraries, and of a recursive function the innermost one. So
// there are no more paths than functions can call one another, however deep the
// recursion. Where there are only frames of libraries, these are the path.
// It ends with the code of a region or task of OpenMP: who executes that, and from where, is
// up to the OpenMP library and the number of threads.
func Path(stack []Frame) []Frame {
	type function struct{ name, file string }
	var own, all []Frame
	seen := map[function]bool{}
	for _, f := range stack {
		if of := (function{f.Func, f.File}); f.Func != "" {
			if seen[of] {
				continue
			}
			seen[of] = true
		}
		all = append(all, f)
		if f.Layer != Library {
			own = append(own, f)
			if IsOpenMPRegion(f.Func) {
				break
			}
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}
