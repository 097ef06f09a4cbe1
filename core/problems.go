package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/regions"
)

// ProblemKind names what a Machine could not do.
type ProblemKind string

// Kinds of problems.
const (
	NotUnderstood ProblemKind = "not-understood" // a call that no model knows, or with arguments that have no meaning
	Unmatched     ProblemKind = "unmatched"      // processes that wait for what never came
	Mismatch      ProblemKind = "mismatch"       // calls with which processes meet, in different order
	Lost          ProblemKind = "lost"           // the tracer could not record
	Damaged       ProblemKind = "damaged"        // a trace that could not be read on
	Threads       ProblemKind = "threads"        // threads and tasks of a process, whose order is not known
	Unseen        ProblemKind = "unseen"         // accesses that the tracer does not record
	Failed        ProblemKind = "failed"         // calls that returned an error
	Values        ProblemKind = "values"         // order through memory that was not worked out
)

// Problem is something that a verdict must not pass over.
type Problem struct {
	Kind  ProblemKind
	Rank  int32 // where it was met first
	Ranks []int // all of them, ascending
	Fn    string
	Call  *regions.CallInfo // of the first; nil where there is no call
	Count uint64
	Text  string            // of the first; the place of Call belongs behind it
	Tail  string            // what comes behind the place
	For   *regions.CallInfo // a call that Text names: its place belongs behind that; or nil
	// MayOrder: a call that is not understood may have ordered processes.
	MayOrder bool
}

// problems gathers equal ones: of one kind, function and reason.
type problems struct {
	byKey    map[problemKey]*Problem
	rank     map[problemKey]map[int]bool
	mayOrder orderingCalls
}

type problemKey struct {
	kind   ProblemKind
	fn     string
	reason string
}

// Problems returns what was not understood, not matched or missing so far, in
// a stable order.
func (m *Machine) Problems() []Problem { return m.problems.list(m) }

// Troubles returns how many Problems there are so far.
func (m *Machine) Troubles() int { return len(m.problems.byKey) }

// Report notes a problem. Those of one kind and function are one.
func (m *Machine) Report(p Problem) { m.problems.add(p, problemKey{p.Kind, p.Fn, ""}) }

// NotUnderstood reports a call of the strand; reason: why, where the function is
// known.
func (s *Strand) NotUnderstood(c *Call, reason string) { s.NotUnderstoodFor(c, reason, nil) }

// NotUnderstoodFor is NotUnderstood where the reason names another call.
func (s *Strand) NotUnderstoodFor(c *Call, reason string, other *regions.CallInfo) {
	fn := c.Fn.Name
	// A one-sided operation orders nothing.
	known := c.function != nil && c.function.meaning != nil && c.function.meaning.Kind == OperationCall
	s.m.problems.add(Problem{
		Kind: NotUnderstood, Rank: s.Rank, Fn: fn, Call: s.Info(c), Text: reason, For: other, MayOrder: !known,
	}, problemKey{NotUnderstood, fn, reason})
}

// MayHaveOrdered says that a call of the strand may have come after something that
// another process did, though it is not known what.
func (s *Strand) MayHaveOrdered(fn string) {
	o := &s.m.problems.mayOrder
	o.add(fn, s.Rank)
	o.several, o.unknown = true, true
}

// orderingCalls are calls met that may order processes, but need not. Those of one
// process alone order none.
type orderingCalls struct {
	names   map[string]bool
	rank    int32 // that made the first
	several bool  // another made some too
	unknown bool  // of some of them no model knows how
}

func (o *orderingCalls) add(fn string, rank int32) {
	if o.names == nil {
		o.names, o.rank = map[string]bool{}, rank
	}
	o.names[fn] = true
	o.several = o.several || rank != o.rank
}

func (ps *problems) add(p Problem, key problemKey) {
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

func (ps *problems) unreturned(s *Strand, c *Call) {
	text, tail := fmt.Sprintf("%s never returned from %s", s.name(), s.known(c.Fn.Name)), ""
	if w := c.function.meaning; w != nil && w.Aborts {
		text, tail = fmt.Sprintf("rank %d called %s", s.Rank, c.Fn.Name), ": the run is analysed up to there"
	}
	s.m.Report(Problem{Kind: Unmatched, Rank: s.Rank, Fn: c.Fn.Name, Call: s.Info(c), Text: text, Tail: tail})
}

// known is a function that the strand called as a user knows it.
func (s *Strand) known(fn string) string {
	for _, f := range s.m.functions.all {
		if f.fn.Name == fn && f.meaning != nil && f.meaning.Known != "" {
			return f.meaning.Known
		}
	}
	return fn
}

// stuck notes which strands wait for what, when none can go on.
func (ps *problems) stuck(m *Machine) {
	var gone []string
	for _, p := range m.processes {
		if p.first.state == ended && !p.done {
			gone = append(gone, fmt.Sprint(p.Rank))
		}
	}
	for s := range m.all {
		var call *regions.CallInfo
		var tail string
		switch s.state {
		case waiting:
			call = s.sync.call
			if what := s.sync.waits[0].What; what != nil {
				tail = " " + what()
			}
		case arrived:
			if s.meeting.left {
				continue // said already
			}
			call = s.meeting.call
			tail = " for all processes"
		default:
			continue
		}
		if len(gone) > 0 {
			tail += ", but the trace of rank " + strings.Join(gone, ", ") + " ends before that"
		}
		m.Report(Problem{Kind: Unmatched, Rank: s.Rank, Fn: call.Fn, Call: call, Tail: tail,
			Text: fmt.Sprintf("%s waits in %s", s.name(), s.known(call.Fn))})
	}
}

// What Fn is of a Problem that says that the order of some threads or tasks is not recorded.
const (
	FnThread = "thread"
	FnOpenMP = "OpenMP"
	FnBegin  = "begin" // of one, where it began
)

// Unordered returns the processes of which it is not recorded in full what orders their
// threads or tasks.
func Unordered(ps []Problem) map[int]bool { return ranksOf(ps, FnThread, FnOpenMP, FnBegin) }

// Strangers returns the processes with threads that began where the trace does not say: what
// others do comes neither before nor after what these do, but for what it does tell.
func Strangers(ps []Problem) map[int]bool { return ranksOf(ps, FnThread, FnBegin) }

// ranksOf returns the processes of problems of threads.
func ranksOf(ps []Problem, fns ...string) map[int]bool {
	var ranks map[int]bool
	for _, p := range ps {
		if p.Kind != Threads || !slices.Contains(fns, p.Fn) {
			continue
		}
		if ranks == nil {
			ranks = map[int]bool{}
		}
		for _, r := range p.Ranks {
			ranks[r] = true
		}
	}
	return ranks
}

// tellOfThreads reports whether it is said already of a process that it has threads or tasks
// whose order is not recorded.
func (ps *problems) tellOfThreads(rank int) bool {
	for key, p := range ps.byKey {
		if p.Kind == Threads && (p.Fn == FnThread || p.Fn == FnOpenMP) && ps.rank[key][rank] {
			return true
		}
	}
	return false
}

func (ps *problems) list(m *Machine) []Problem {
	var out []Problem
	for key, p := range ps.byKey {
		q := *p
		for r := range ps.rank[key] {
			q.Ranks = append(q.Ranks, r)
		}
		slices.Sort(q.Ranks)
		out = append(out, q)
	}
	for _, p := range m.processes {
		if n := len(p.threads); n > 0 && !ps.tellOfThreads(int(p.Rank)) {
			out = append(out, Problem{Kind: Threads, Rank: p.Rank, Ranks: []int{int(p.Rank)}, Count: uint64(n),
				Text: fmt.Sprintf("rank %d accessed exposed memory or buffers from %d further threads", p.Rank, n)})
		}
	}
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Fn, b.Fn), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Text, b.Text))
	})
	return out
}
