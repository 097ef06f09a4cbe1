package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/symbols"
)

// spanText says when an access takes place: epoch, the synchronization before it,
// and what completes or follows it.
func spanText(f *conflicts.Finding, s *conflicts.Side) string {
	if s.Role == "" {
		return ""
	}
	parts := []string{models.Terms(f).Who(s)}
	if mode := models.Mode(f, s); mode != "" {
		parts = append(parts, mode)
	}
	if held := locks(f, s); s.Epoch == "" && held != "" {
		parts = append(parts, "holding "+held)
	}
	if s.Started.Call != "" {
		parts = append(parts, "after "+syncText(f, s, &s.Started))
	}
	switch {
	case s.Pending && s.Done.Call == "" && f.Rule == conflicts.RuleMemoryGone:
		parts = append(parts, "not complete by then")
	case s.Pending && s.Done.Call == "" && s.Class.Buffer(): // which may be gone before the run is over
		parts = append(parts, "not completed as long as its buffer is there")
	case s.Pending && s.Done.Call == "":
		parts = append(parts, "never completed")
	case s.Pending:
		parts = append(parts, completed(s)+syncText(f, s, &s.Done))
	case s.Done.Call != "" && (s.Done.Call != s.Call || compareStacks(s.Done.Stack, s.Stack) != 0): // not the call itself
		parts = append(parts, "before "+syncText(f, s, &s.Done))
	}
	return strings.Join(parts, ", ")
}

// completed introduces the call that completes an access. One of the target's
// completes it only once the origin has called MPI_Win_complete.
func completed(s *conflicts.Side) string {
	if s.Done.Rank != s.Rank {
		return "complete at the target with "
	}
	return "completed by "
}

// syncText names a call by its place, in the access's own file by the line alone.
func syncText(f *conflicts.Finding, s *conflicts.Side, p *conflicts.SyncPoint) string {
	there, within, ok := symbols.Site(p.Stack)
	if !ok {
		return name(p)
	}
	at := placeIn(f, there)
	if here, _ := symbols.Here(s.Stack); there.File != "" && there.File == here.File {
		at = fmt.Sprintf("line %d", there.Line)
	}
	if within != "" {
		at += ", in " + within
	}
	return name(p) + " (" + at + ")" + elsewhere(f, s, p)
}

// name is that of a call, with what makes it order nothing.
func name(p *conflicts.SyncPoint) string {
	if p.With != "" {
		return p.Call + " with " + p.With
	}
	return p.Call
}

// elsewhere names the process of a call, where it is not that of the access.
func elsewhere(f *conflicts.Finding, s *conflicts.Side, p *conflicts.SyncPoint) string {
	if s.Rank == p.Rank {
		return ""
	}
	return " of " + models.Terms(f).Number(p.Rank)
}

// longestFunction is how long the name of a function of the program may be, in bytes, to be written
// with the arguments of its templates.
const longestFunction = 80

// functionIn is the function of a frame in a stack.
func functionIn(f symbols.Frame) string {
	if f.Layer == symbols.Library || len(f.Func) > longestFunction {
		return symbols.Brief(f.Func)
	}
	return f.Func
}

// mostOfLibraries is how many calls within libraries are written that follow one another; of more
// only the last one is, which the program makes, if it does.
const mostOfLibraries = 3

// stackText writes a call stack on one line, innermost first, and why a source
// line is missing.
func stackText(of *conflicts.Finding, frames []symbols.Frame) string {
	var parts []string
	reason := ""
	for i := 0; i < len(frames); i++ {
		n := slices.IndexFunc(frames[i:], func(f symbols.Frame) bool { return f.Layer != symbols.Library })
		if rest := len(frames) - i; i > 0 && n < 0 && rest > mostOfLibraries { // what runs a thread, say
			parts = append(parts, fmt.Sprintf("… %d calls within libraries", rest))
			break
		}
		if i > 0 && n > mostOfLibraries {
			parts = append(parts, fmt.Sprintf("… %d calls within libraries …", n-1))
			i += n - 1
		}
		f := frames[i]
		if i > 0 && f.File == "" && f.Func == "" {
			continue
		}
		if f.File == "" && f.Layer == symbols.Application && reason == "" {
			reason = f.Reason
		}
		s := placeIn(of, f)
		if f.Func != "" && f.File != "" {
			s = functionIn(f) + " (" + s + ")"
		}
		parts = append(parts, s)
		if f.Func == "main" || f.Func == "MAIN__" {
			break
		}
	}
	s := strings.Join(parts, " < ")
	if reason != "" {
		s += "; no line: " + reason
	}
	return s
}
