// Package problems groups findings that one change to the program would remove
// together: a barrier that is missing, a flush that comes too late. Each group is a
// problem; its findings are the places where it shows.
//
// Nothing is merged: a finding keeps its own places, fingerprint and count. Findings
// belong together when
//
//   - both are conflicts of processes that nothing made wait for each other, between
//     the same calls with which these processes wait: a call that is missing there
//     would have ordered them;
//   - both are of operations that are complete too late, by the same call;
//   - both are calls that the same earlier call should have allowed.
package problems

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// Problem is findings that belong together, as their indices: first the one to read
// first, then the others in their order.
type Problem struct{ Findings []int }

// Lead returns the finding to read first.
func (p *Problem) Lead() int { return p.Findings[0] }

// Of groups findings. Problems are in the order of the first of their findings, and
// each finding is in one of them.
func Of(findings []conflicts.Finding) []Problem {
	g := grouping{parent: make([]int, len(findings)), of: map[string]int{}}
	for i := range findings {
		g.parent[i] = i
	}
	for i := range findings {
		for _, key := range keys(&findings[i]) {
			g.join(i, key)
		}
	}
	g.joinLate(findings)
	var out []Problem
	at := map[int]int{}
	for i := range findings {
		root := g.root(i)
		k, ok := at[root]
		if !ok {
			k = len(out)
			at[root] = k
			out = append(out, Problem{})
		}
		out[k].Findings = append(out[k].Findings, i)
	}
	for i := range out {
		slices.SortStableFunc(out[i].Findings, func(a, b int) int {
			return cmp.Compare(rank(findings[a].Severity), rank(findings[b].Severity))
		})
	}
	return out
}

// rank orders severities from the gravest.
func rank(s conflicts.Severity) int {
	return slices.Index([]conflicts.Severity{conflicts.Error, conflicts.Warning, conflicts.Note}, s)
}

// grouping joins findings that have something in common.
type grouping struct {
	parent []int
	of     map[string]int // a finding that has a key
}

func (g *grouping) root(i int) int {
	for g.parent[i] != i {
		g.parent[i] = g.parent[g.parent[i]]
		i = g.parent[i]
	}
	return i
}

func (g *grouping) union(i, k int) {
	i, k = g.root(i), g.root(k)
	g.parent[max(i, k)] = min(i, k)
}

func (g *grouping) join(i int, key string) {
	if first, ok := g.of[key]; ok {
		g.union(i, first)
	} else {
		g.of[key] = i
	}
}

// keys returns what a finding has in common with others of its problem; none where
// that takes more than equal keys (joinLate), and where the calls are not known that
// would tell.
func keys(f *conflicts.Finding) []string {
	var out []string
	add := func(kind string, calls ...*conflicts.SyncPoint) {
		var sites []string
		for _, c := range calls {
			if c.Call != "" {
				sites = append(sites, site(c))
			}
		}
		if len(sites) > 0 {
			slices.Sort(sites)
			out = append(out, kind+"\x00"+strings.Join(sites, "\x00"))
		}
	}
	switch p := late(f); {
	case f.Class == conflicts.Usage:
		add("usage "+f.Rule+" "+f.WinName, &f.First.Started)
	case f.Class == conflicts.AcrossProcesses && p == nil && sameCall(f) && !f.Again:
		// Both processes do the same in one place: no call that both make would
		// come between.
	case f.Class == conflicts.AcrossProcesses && p == nil:
		add("after", &f.First.Before.SyncPoint, &f.Second.Before.SyncPoint)
		add("before", &f.First.After.SyncPoint, &f.Second.After.SyncPoint)
	case f.Class == conflicts.AcrossProcesses:
		add("late", &p.Done, &p.After.SyncPoint)
	}
	return out
}

// sameCall reports whether both accesses are made on one call path.
func sameCall(f *conflicts.Finding) bool {
	at := func(s *conflicts.Side) string { return site(&conflicts.SyncPoint{Call: s.Call, Stack: s.Stack}) }
	return f.First.Role == f.Second.Role && at(&f.First) == at(&f.Second)
}

// late returns the side that starts before the other whatever the timing, and is not
// complete in time; nil where neither does.
func late(f *conflicts.Finding) *conflicts.Side {
	switch {
	case f.Began == 1 && f.First.Pending:
		return &f.First
	case f.Began == 2 && f.Second.Pending:
		return &f.Second
	}
	return nil
}

// span is where in the trace of a process the completion of an operation is missing:
// after the operation, and before the access that conflicts with it.
type span struct {
	finding  int
	from, to uint64 // events
}

// joinLate joins findings within processes: operations that one completion would have
// completed in time, because it comes after all of them and before all that conflicts
// with them.
func (g *grouping) joinLate(findings []conflicts.Finding) {
	type key struct {
		done string
		rank int
	}
	var order []key
	spans := map[key][]span{}
	for i := range findings {
		f := &findings[i]
		p := late(f)
		if f.Class != conflicts.WithinEpoch || p == nil {
			continue
		}
		other := &f.First
		if p == other {
			other = &f.Second
		}
		k := key{site(&p.Done), p.Rank}
		if spans[k] == nil {
			order = append(order, k)
		}
		spans[k] = append(spans[k], span{i, p.Event, other.Event})
	}
	for _, k := range order {
		all := spans[k]
		slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.to, b.to) })
		for len(all) > 0 {
			first := all[0] // the completion stands just before what conflicts here
			all = slices.DeleteFunc(all, func(s span) bool {
				if s.from < first.to || s == first {
					g.union(first.finding, s.finding)
					return true
				}
				return false
			})
		}
	}
}

// site names the place of a call, wherever the program runs.
func site(s *conflicts.SyncPoint) string {
	parts := []string{s.Call}
	for _, f := range symbols.Path(s.Stack) {
		if f.File != "" {
			parts = append(parts, fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line))
		} else {
			parts = append(parts, fmt.Sprintf("%s %s+%x", f.Func, f.Module, f.Offset))
		}
	}
	return strings.Join(parts, " < ")
}
