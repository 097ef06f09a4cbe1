package symbols

import (
	"fmt"
	"strings"
)

// Site returns the frame that a call is named by: that of Here, or, where TellApart found
// others of the same call there, the innermost one that tells it from them. within is then
// the function that makes the call; otherwise "". It is false for an empty stack.
func Site(stack []Frame) (at Frame, within string, ok bool) {
	here, ok := Here(stack)
	for _, f := range stack {
		if f.Site {
			return f, here.Func, true
		}
	}
	return here, "", ok
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

func placeKey(f Frame) string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%s\x00%x\n", f.Func, f.File, f.Line, f.Module, offsetOf(f))
}

// offsetOf tells frames without a source line apart.
func offsetOf(f Frame) uint64 {
	if f.File != "" {
		return 0
	}
	return f.Offset
}
