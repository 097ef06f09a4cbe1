package symbols

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Site returns the frame that a call is named by: that of Here, or, where TellApart or
// TellWithin found others there, the innermost one that tells it from them, or that of TellBeside. within is then
// the function that is called there and its line, "fence at window.h:20", without the file
// where that is the same, or, of a frame within that of Here, the function that has that line;
// otherwise "". It is false for an empty stack.
func Site(stack []Frame) (at Frame, within string, ok bool) {
	i, k := HereAt(stack), siteAt(stack)
	switch {
	case i < 0:
		return Frame{}, "", false
	case k < i:
		return stack[k], stack[k].Func, true
	case k > i:
		return stack[k], lineIn(stack[i], stack[k].File), true
	}
	return stack[i], "", true
}

// siteAt is the index of the frame that Site returns; -1 of an empty stack.
func siteAt(stack []Frame) int {
	i := HereAt(stack)
	for k, f := range stack {
		if i >= 0 && f.Site && k != i {
			return k
		}
	}
	return i
}

// Outward returns a stack from the frame that Site returns on, without those within.
func Outward(stack []Frame) []Frame { return stack[max(0, siteAt(stack)):] }

// lineIn names the function and line of a frame, as what is called from a file.
func lineIn(f Frame, file string) string {
	switch {
	case f.Func == "" || f.File == "" || f.Line <= 0:
		return f.Func
	case f.File == file:
		return fmt.Sprintf("%s at line %d", f.Func, f.Line)
	}
	return fmt.Sprintf("%s at %s:%d", f.Func, filepath.Base(f.File), f.Line)
}

// TellApart marks frames of the stacks of one call, such as MPI_Win_fence: where several
// call paths lead to one place, each stack is named by the innermost frame that is on its
// path alone, if that has a source line.
func TellApart(stacks [][]Frame) {
	byPlace := map[string][][]Frame{}
	for _, stack := range stacks {
		if here, ok := Here(stack); ok && here.File != "" {
			key := placeKey(here)
			byPlace[key] = append(byPlace[key], stack)
		}
	}
	for _, alike := range byPlace {
		tellApart(alike)
	}
}

// tellApart marks stacks that have their place in common.
func tellApart(stacks [][]Frame) {
	paths := map[string][]string{} // by the whole path: its ends, from the innermost frame to each
	sharing := map[string]int{}    // paths that begin so
	for _, stack := range stacks {
		begins := beginnings(stack)
		if len(begins) == 0 || paths[begins[len(begins)-1]] != nil {
			continue
		}
		paths[begins[len(begins)-1]] = begins
		for _, b := range begins {
			sharing[b]++
		}
	}
	if len(paths) < 2 {
		return
	}
	for _, stack := range stacks {
		at, begins := onPath(stack), beginnings(stack)
		for i, k := range at {
			if sharing[begins[i]] == 1 {
				stack[k].Site = stack[k].File != "" && stack[k].Line > 0
				break
			}
		}
	}
}

// TellWithin marks frames of two stacks with one place: those at which the paths part
// that lead from there to the two calls. Others that come from that place are marked at the
// same depth. Those that are marked already stay as they are.
func TellWithin(first, second []Frame, others [][]Frame) {
	i, k := HereAt(first), HereAt(second)
	if i < 0 || k < 0 || first[i].File == "" || placeKey(first[i]) != placeKey(second[k]) {
		return
	}
	depth := 0 // frames from the place on that both have
	for depth <= i && depth <= k && placeKey(first[i-depth]) == placeKey(second[k-depth]) {
		depth++
	}
	if depth > i || depth > k { // one of them is called by what the other is, or where that is
		return
	}
	for _, stack := range append([][]Frame{first, second}, others...) {
		h := HereAt(stack)
		same := h >= depth && !slices.ContainsFunc(stack, func(f Frame) bool { return f.Site })
		for d := 0; same && d < depth; d++ {
			same = placeKey(stack[h-d]) == placeKey(first[i-d])
		}
		if same {
			f := &stack[h-depth]
			f.Site = f.File != "" && f.Line > 0 && f.Layer != Library
		}
	}
}

// TellBeside marks frames of the stacks of calls that a finding tells beside an access of the same
// process, where they are made in functions that the access is not: the innermost one of a function
// that it is made in, too. There the calls stand beside it, whoever else comes to that. Marks further in
// stay, and so do all where two calls would be the same.
func TellBeside(access []Frame, calls [][]Frame) {
	type function struct{ name, file string }
	in := map[function]bool{}
	for _, f := range Path(access) {
		in[function{f.Func, f.File}] = f.Func != "" && f.File != ""
	}
	at := make([]int, len(calls)) // the frame to mark; -1: none
	for c, stack := range calls {
		at[c] = -1
		if i := HereAt(stack); i >= 0 && siteAt(stack) >= i {
			k := i + slices.IndexFunc(stack[i:], func(f Frame) bool { return in[function{f.Func, f.File}] })
			if k > i && stack[k].Line > 0 && stack[k].Layer != Library && (siteAt(stack) == i || siteAt(stack) > k) {
				at[c] = k
			}
		}
	}
	for c, stack := range calls {
		for d, other := range calls[:c] {
			if at[c] >= 0 && at[d] >= 0 && placeKey(stack[at[c]]) == placeKey(other[at[d]]) && !slices.Equal(beginnings(stack), beginnings(other)) &&
				placeKey(stack[HereAt(stack)]) == placeKey(other[HereAt(other)]) {
				return
			}
		}
	}
	for c, stack := range calls {
		if at[c] < 0 {
			continue
		}
		for i := range stack {
			stack[i].Site = i == at[c]
		}
	}
}

// onPath returns the indices of the frames of a stack that are on its path.
func onPath(stack []Frame) []int {
	var at []int
	path := Path(stack)
	for i := range stack {
		if len(at) < len(path) && stack[i] == path[len(at)] {
			at = append(at, i)
		}
	}
	return at
}

// beginnings returns the path of a stack as texts, from the innermost frame to each.
func beginnings(stack []Frame) []string {
	var out []string
	var b strings.Builder
	for _, f := range Path(stack) {
		b.WriteString(placeKey(f))
		out = append(out, b.String())
	}
	return out
}

// placeKey is what reports name the place of a frame by. Functions on one line are not told
// apart: instances of a template.
func placeKey(f Frame) string {
	if f.File != "" && f.Line > 0 {
		return fmt.Sprintf("%s:%d\n", f.File, f.Line)
	}
	return fmt.Sprintf("%s\x00%s\x00%d\x00%s\x00%x\n", f.Func, f.File, f.Line, f.Module, offsetOf(f))
}

// offsetOf tells frames without a source line apart.
func offsetOf(f Frame) uint64 {
	if f.File != "" {
		return 0
	}
	return f.Offset
}
