package regions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ProblemKind names what a Machine could not do.
type ProblemKind string

// Kinds of problems.
const (
	NotUnderstood ProblemKind = "not-understood" // a call without a meaning in the table, or with arguments that have none
	Unmatched     ProblemKind = "unmatched"      // processes that wait for what never came
	Mismatch      ProblemKind = "mismatch"       // collective calls in different order
	Lost          ProblemKind = "lost"           // the tracer could not record
	Damaged       ProblemKind = "damaged"        // a trace that could not be read on
	Threads       ProblemKind = "threads"        // accesses of several threads of a process
	Failed        ProblemKind = "failed"         // calls that returned an error
)

// Problem is something that a verdict must not pass over.
type Problem struct {
	Kind  ProblemKind
	Rank  int32 // where it was met first
	Ranks []int // all of them, ascending
	Fn    string
	Call  *CallInfo // of the first; nil where there is no call
	Count uint64
	Text  string // of the first; the place of Call belongs behind it
	Tail  string // what comes behind the place
	// MayOrder: a call that is not understood may have ordered processes.
	MayOrder bool
}

// problems gathers equal ones: of one kind, function and reason.
type problems struct {
	byKey map[problemKey]*Problem
	rank  map[problemKey]map[int]bool
}

type problemKey struct {
	kind   ProblemKind
	fn     string
	reason string
}

func (ps *problems) add(p Problem) {
	ps.addAs(p, problemKey{p.Kind, p.Fn, ""})
}

func (ps *problems) addAs(p Problem, key problemKey) {
	if ps.byKey == nil {
		ps.byKey, ps.rank = map[problemKey]*Problem{}, map[problemKey]map[int]bool{}
	}
	p.Count = max(p.Count, 1)
	if old := ps.byKey[key]; old != nil {
		old.Count += p.Count
	} else {
		ps.byKey[key] = &p
		ps.rank[key] = map[int]bool{}
	}
	ps.rank[key][int(p.Rank)] = true
}

func (ps *problems) notUnderstood(fn string, call *CallInfo, reason string) {
	ps.addAs(Problem{Kind: NotUnderstood, Rank: call.Rank, Fn: fn, Call: call, Text: reason}, problemKey{NotUnderstood, fn, reason})
}

func (ps *problems) unreturned(p *proc, c *call) {
	text, tail := fmt.Sprintf("rank %d never returned from %s", p.rank, known(c.Fn.Name)), ""
	if c.Fn.Name == "MPI_Abort" {
		text, tail = fmt.Sprintf("rank %d called MPI_Abort", p.rank), ": the run is analysed up to there"
	}
	ps.add(Problem{Kind: Unmatched, Rank: p.rank, Fn: c.Fn.Name, Call: p.info(c), Text: text, Tail: tail})
}

// known is a function as a user knows it: the tracer's own notes are made within
// an MPI call, whose place they have.
func known(fn string) string {
	if isNote(fn) {
		return "an MPI call"
	}
	return fn
}

// stuck notes which processes wait for what, when none can go on.
func (ps *problems) stuck(m *Machine) {
	var gone []string
	for _, p := range m.procs {
		if p.state == ended && !p.finished {
			gone = append(gone, fmt.Sprint(p.rank))
		}
	}
	for _, p := range m.procs {
		var call *CallInfo
		var tail string
		switch p.state {
		case waiting:
			call = p.syncCall
			if what := p.waits[0].what; what != nil {
				tail = " " + what()
			}
		case arrived:
			if p.left {
				continue // said already
			}
			call = p.closing
			tail = " for all processes"
		default:
			continue
		}
		if len(gone) > 0 {
			tail += ", but the trace of rank " + strings.Join(gone, ", ") + " ends before that"
		}
		ps.add(Problem{Kind: Unmatched, Rank: p.rank, Fn: call.Fn, Call: call, Tail: tail,
			Text: fmt.Sprintf("rank %d waits in %s", p.rank, known(call.Fn))})
	}
}

func (ps *problems) list(m *Machine) []Problem {
	var out []Problem
	for key, p := range ps.byKey {
		q := *p
		for r := range ps.rank[key] {
			q.Ranks = append(q.Ranks, r)
		}
		slices.Sort(q.Ranks)
		if q.Kind == NotUnderstood {
			r := table[q.Fn]
			q.MayOrder = r == nil || r.op == operationRole{} // a one-sided operation orders nothing
		}
		out = append(out, q)
	}
	for _, p := range m.procs {
		if n := len(p.strands); n > 0 {
			out = append(out, Problem{Kind: Threads, Rank: p.rank, Ranks: []int{int(p.rank)}, Count: uint64(n),
				Text: fmt.Sprintf("rank %d accessed window memory or buffers from %d further threads", p.rank, n)})
		}
	}
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Fn, b.Fn), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Text, b.Text))
	})
	return out
}
