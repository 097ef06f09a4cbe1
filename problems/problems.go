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
//   - both are conflicts of one rule that nothing orders, of accesses on the same two call paths;
//   - both are of operations that are complete too late, and one call would have
//     completed both in time;
//   - both are of operations that one function issues with one variable as their buffer;
//   - the one is of an operation that fetches a value again and again and is not complete
//     there, and the other is a conflict that nothing orders, of what its process does next:
//     the value might have ordered it;
//   - the one is of a load in the condition of a loop, and the other a conflict that nothing orders, of
//     what its process does next, and the other process has done before it left the value: the same;
//   - both are calls that the same earlier call should have allowed, or operations on one
//     window that are in no epoch since the same call, or none: one call would open it;
//   - one change of one statement was proposed for the one, tried, and seen to remove both,
//     with all that they are together with, and neither comes by that statement on a call
//     path of its own.
//
// Calls are the same where the innermost frames of their paths are, since a function may be
// wrong wherever it is called from. But these may be of a wrapper of MPI calls, and a conflict
// that nothing orders need not be one for what is wrong with the completion of its operation.
// There what came of trying the fixes has the last word: findings that have no whole path, or
// only the operation, in common stay together only if a fix of one removes the other, or one of
// them was not tried.
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
// first, then the others in their order. Of the gravest that is the first one with a fix that
// removes them all, where there is any, or else that says that a call was used wrongly.
type Problem struct{ Findings []int }

// Lead returns the finding to read first.
func (p *Problem) Lead() int { return p.Findings[0] }

// Of groups findings. Problems are in the order of their leads, and each finding is in
// one of them.
func Of(findings []conflicts.Finding) []Problem {
	g := grouping{parent: make([]int, len(findings)), of: map[string]int{}}
	for i := range findings {
		g.parent[i] = i
	}
	for i := range findings {
		for _, k := range keys(&findings[i]) {
			g.join(i, k)
		}
	}
	g.joinLate(findings)
	g.joinUnordered(findings)
	g.joinPolled(findings)
	g.joinLoops(findings)
	g.part(findings)
	g.joinTried(findings)
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
		out[i].lead(findings)
	}
	slices.SortFunc(out, func(p, q Problem) int { return cmp.Compare(p.Lead(), q.Lead()) })
	return out
}

// includes reports whether a list without repetitions has all elements of another.
func includes(list, of []int) bool {
	if len(list) < len(of) {
		return false
	}
	has := make(map[int]bool, len(list))
	for _, k := range list {
		has[k] = true
	}
	return !slices.ContainsFunc(of, func(k int) bool { return !has[k] })
}

// rank orders severities from the gravest.
func rank(s conflicts.Severity) int {
	return slices.Index([]conflicts.Severity{conflicts.Error, conflicts.Warning, conflicts.Note}, s)
}

// grouping joins findings that have something in common.
type grouping struct {
	parent []int
	of     map[string]int // a finding that has a key
	joined []joint
}

// joint is two findings that were joined; surely, unless it was for the innermost frames of
// call paths only, for where they lie, or for the operation of both.
type joint struct {
	findings [2]int
	surely   bool
}

func (g *grouping) root(i int) int {
	for g.parent[i] != i {
		g.parent[i] = g.parent[g.parent[i]]
		i = g.parent[i]
	}
	return i
}

func (g *grouping) union(i, k int, surely bool) {
	g.joined = append(g.joined, joint{[2]int{i, k}, surely})
	i, k = g.root(i), g.root(k)
	g.parent[max(i, k)] = min(i, k)
}

func (g *grouping) join(i int, k key) {
	g.meet(i, k)
	for _, text := range k.texts() {
		if _, ok := g.of[text]; !ok {
			g.of[text] = i
		}
	}
}

// meet joins a finding with others that have a key.
func (g *grouping) meet(i int, k key) {
	for whole, text := range k.texts() {
		if first, ok := g.of[text]; ok {
			g.union(i, first, whole == 1)
		}
	}
}

// key is what findings of one problem have in common: with the innermost frames of the
// calls, and with their whole paths.
type key struct{ near, whole string }

func (k key) texts() [2]string { return [2]string{"near " + k.near, "whole " + k.whole} }

// keyOf is the key of calls, in any order.
func keyOf(kind string, calls ...*conflicts.SyncPoint) key {
	var near, whole []string
	for _, c := range calls {
		if c.Call != "" {
			near, whole = append(near, site(c)), append(whole, path(c))
		}
	}
	slices.Sort(near)
	slices.Sort(whole)
	return key{kind + "\x00" + strings.Join(near, "\x00"), kind + "\x00" + strings.Join(whole, "\x00")}
}

// keys returns what a finding has in common with others of its problem; none where
// the calls are not known that would tell.
func keys(f *conflicts.Finding) []key {
	var out []key
	add := func(kind string, calls ...*conflicts.SyncPoint) {
		if slices.ContainsFunc(calls, func(c *conflicts.SyncPoint) bool { return c.Call != "" }) {
			out = append(out, keyOf(kind, calls...))
		}
	}
	if f.Class == conflicts.AcrossProcesses && f.Began == 0 && len(f.First.Stack) > 0 && len(f.Second.Stack) > 0 {
		out = append(out, samePlaces(f))
	}
	if f.Rule == conflicts.RuleOutsideEpoch { // what would open one for all
		out = append(out, keyOf("no epoch "+f.WinName, &f.First.Started))
	}
	if of, ok := oneBuffer(f); ok {
		out = append(out, of)
	}
	if f.Class == conflicts.Usage {
		add("usage "+f.Rule+" "+f.WinName, &f.First.Started)
	}
	switch op := operation(f); {
	case op != nil:
		add("operation", callOf(op))
		if f.Class == conflicts.AcrossProcesses {
			next := op.Next
			if next.Call == "" { // its strand synchronizes no more
				next = never(op)
			}
			add("late", &next)
		}
	case f.Class == conflicts.Usage:
	case sameCall(f) && !f.Again:
		// Both processes do the same in one place: no call that both make would
		// come between.
	case f.First.Atomic && f.Second.Atomic:
		// Such operations may be meant to meet: those of a lock, beside what it protects.
		add("atomic after", &f.First.Before.SyncPoint, &f.Second.Before.SyncPoint)
		add("atomic before", &f.First.After.SyncPoint, &f.Second.After.SyncPoint)
	default:
		add("after", &f.First.Before.SyncPoint, &f.Second.Before.SyncPoint)
		add("before", &f.First.After.SyncPoint, &f.Second.After.SyncPoint)
	}
	return out
}

// samePlaces is the key of findings of one rule about accesses on the same two call paths, whichever
// processes and windows these are of.
func samePlaces(f *conflicts.Finding) key {
	var at [2]*conflicts.SyncPoint
	for i, s := range []*conflicts.Side{&f.First, &f.Second} {
		at[i] = callOf(s)
		at[i].Call = cmp.Or(s.Call, s.Role)
	}
	k := keyOf(fmt.Sprintf("places %s %v", f.Rule, f.First.Atomic && f.Second.Atomic), at[:]...)
	return key{k.whole, k.whole}
}

// oneBuffer is the key of findings of operations that a function issues with one variable as the buffer of
// them all: one for each would do.
func oneBuffer(f *conflicts.Finding) (key, bool) {
	if f.Rule != conflicts.RuleSameOrigin || f.Variable.Name == "" || !f.First.Class.Buffer() || !f.Second.Class.Buffer() {
		return key{}, false
	}
	at, other := never(&f.First), never(&f.Second)
	if path(&at) != path(&other) {
		return key{}, false
	}
	k := keyOf("buffer "+f.Variable.Name, &at)
	return key{k.whole, k.whole}, true
}

// callOf is the call that makes an access.
func callOf(s *conflicts.Side) *conflicts.SyncPoint {
	return &conflicts.SyncPoint{Call: s.Call, Rank: s.Rank, Event: s.Event, Stack: s.Stack}
}

// operation returns the operation that is not complete where it should be, or is in no
// epoch; nil where that is not what is wrong.
func operation(f *conflicts.Finding) *conflicts.Side {
	switch {
	case f.Rule == conflicts.RuleFreedPending && f.Second.Call != "":
		return &f.Second
	case f.Rule == conflicts.RuleMemoryGone, f.Rule == conflicts.RuleOutsideEpoch:
		return &f.First
	}
	return late(f)
}

// sameCall reports whether both accesses are made on one call path.
func sameCall(f *conflicts.Finding) bool {
	return f.First.Role == f.Second.Role && site(callOf(&f.First)) == site(callOf(&f.Second))
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
	next     *conflicts.SyncPoint
}

// joinLate joins findings within processes: operations that one completion would have
// completed in time, because it comes after all of them and before all that conflicts
// with them. Of processes that miss several between the same calls, the first belong
// together, and so on. Nothing completes some at all: of these, what is issued in one
// function, through one window or none, could have one completion.
func (g *grouping) joinLate(findings []conflicts.Finding) {
	type process struct {
		next string
		rank int
	}
	var order []process
	spans := map[process][]span{}
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
		next := p.Next
		if p.Done.Call == "" {
			next = never(p)
		}
		if next.Call == "" {
			continue
		}
		k := process{site(&next), p.Rank}
		if spans[k] == nil {
			order = append(order, k)
		}
		spans[k] = append(spans[k], span{i, p.Event, other.Event, &next})
	}
	for _, k := range order {
		all := spans[k]
		slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.to, b.to) })
		for n := 0; len(all) > 0; n++ {
			first := all[0] // the completion stands just before what conflicts here
			all = slices.DeleteFunc(all, func(s span) bool {
				if s.from < first.to || s == first {
					g.union(first.finding, s.finding, path(s.next) == path(first.next))
					return true
				}
				return false
			})
			g.join(first.finding, keyOf(fmt.Sprintf("completion %d", n), first.next))
		}
	}
}

// never stands for the call that would complete an operation which nothing completes: one for
// all that a function issues through one window, or none, in one kind of epoch.
func never(op *conflicts.Side) conflicts.SyncPoint {
	frames := slices.Clone(symbols.Path(op.Stack))
	if at := symbols.HereAt(frames); at >= 0 {
		frames[at].Line, frames[at].Offset = 0, 0
	}
	through := ""
	if op.Made.Call != "" {
		through = path(&op.Made)
	}
	return conflicts.SyncPoint{Call: fmt.Sprintf("none %s %s", op.Epoch, through), Stack: frames}
}

// joinUnordered joins conflicts that nothing orders with findings of an operation that
// is complete too late or in no epoch: the call that is missing there orders them, unless
// trials of fixes have shown that each needs its own.
func (g *grouping) joinUnordered(findings []conflicts.Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Class != conflicts.AcrossProcesses || late(f) != nil {
			continue
		}
		for _, s := range []*conflicts.Side{&f.First, &f.Second} {
			if s.Call == "" {
				continue
			}
			for _, text := range keyOf("operation", callOf(s)).texts() {
				if first, ok := g.of[text]; ok {
					g.union(i, first, false)
				}
			}
		}
	}
}

// joinPolled joins conflicts that nothing orders with findings of an operation that fetches in a
// loop, and is not complete there, if it lies between the same two synchronizations as one of
// the accesses: who waits for a value so has it too late for what follows to come after it.
func (g *grouping) joinPolled(findings []conflicts.Finding) {
	between := func(s *conflicts.Side) string { return site(&s.Started) + "\x00" + site(&s.Next) }
	polled := map[string]int{}
	for i := range findings {
		f := &findings[i]
		if p := late(f); f.Class == conflicts.WithinEpoch && p != nil && p.Role == fetched && sameCall(f) && p.Next.Call != "" {
			polled[between(p)] = i
		}
	}
	for i := range findings {
		f := &findings[i]
		if f.Class != conflicts.AcrossProcesses || f.Began != 0 {
			continue
		}
		for _, s := range []*conflicts.Side{&f.First, &f.Second} {
			if k, ok := polled[between(s)]; ok {
				g.union(i, k, false)
			}
		}
	}
}

// joinLoops joins conflicts that nothing orders with that of a loop which may wait by loads for what another
// process leaves, where the value would have ordered them: what the one does behind the loop, and the other
// before that.
func (g *grouping) joinLoops(findings []conflicts.Finding) {
	for i := range findings {
		load, leaves := looping(&findings[i])
		if load == nil {
			continue
		}
		for k := range findings {
			f := &findings[k]
			if k == i || f.Class != conflicts.AcrossProcesses || f.Began != 0 || f.Region != findings[i].Region {
				continue
			}
			for _, x := range [][2]*conflicts.Side{{&f.First, &f.Second}, {&f.Second, &f.First}} {
				if x[0].Rank == load.Rank && x[0].Event > load.Event && x[1].Rank == leaves.Rank && x[1].Event < leaves.Event {
					g.union(i, k, true)
				}
			}
		}
	}
}

// looping returns the load of a finding that may wait in a loop, and what leaves the value; nil where there is none.
func looping(f *conflicts.Finding) (load, leaves *conflicts.Side) {
	switch {
	case f.First.Polls:
		return &f.First, &f.Second
	case f.Second.Polls:
		return &f.Second, &f.First
	}
	return nil, nil
}

// fetched is the role of memory that an operation on a value puts what it was into.
const fetched = "result buffer"

// part takes apart what trials of fixes have shown to be several problems: findings that
// were joined for the innermost frames of a call path only, or for where they lie, if fixes of both were tried and
// none removes the other. In such frames a wrapper of MPI calls may be all that they share.
func (g *grouping) part(findings []conflicts.Finding) {
	joined, before := g.joined, make([]int, len(findings))
	for i := range findings {
		before[i] = g.root(i)
	}
	tried := make([]bool, len(findings)) // by root
	for i := range findings {
		g.parent[i] = i
		tried[i] = slices.ContainsFunc(findings[i].Fixes, func(x conflicts.Fix) bool { return x.Trial.Tried })
	}
	union := func(i, k int) {
		i, k = g.root(i), g.root(k)
		g.parent[max(i, k)] = min(i, k)
		tried[min(i, k)] = tried[i] || tried[k]
	}
	for _, x := range joined {
		if x.surely {
			union(x.findings[0], x.findings[1])
		}
	}
	for i := range findings {
		for _, fix := range findings[i].Fixes {
			for _, k := range fix.Trial.Removes {
				if fix.Trial.Tried && before[i] == before[k] {
					union(i, k)
				}
			}
		}
	}
	for _, x := range joined {
		if i, k := g.root(x.findings[0]), g.root(x.findings[1]); !tried[i] || !tried[k] {
			union(i, k)
		}
	}
}

// joinTried joins problems that one change was seen to remove.
func (g *grouping) joinTried(findings []conflicts.Finding) {
	of := map[int][]int{} // the findings of each problem, by root
	for i := range findings {
		of[g.root(i)] = append(of[g.root(i)], i)
	}
	for i := range findings {
		for k := range findings[i].Fixes {
			fix := &findings[i].Fixes[k]
			if !fix.Trial.Tried || len(fix.Steps) != 1 || !includes(fix.Trial.Removes, of[g.root(i)]) {
				continue
			}
			for _, other := range fix.Trial.Removes {
				p, q := g.root(i), g.root(other)
				if p == q || !includes(fix.Trial.Removes, of[q]) {
					continue
				}
				all := slices.Concat(of[p], of[q])
				if !slices.ContainsFunc(all, func(n int) bool { return comesBy(&findings[n], &fix.Steps[0]) }) {
					g.parent[max(p, q)] = min(p, q)
					of[min(p, q)] = all
				}
			}
		}
	}
}

// comesBy reports whether a finding comes by a statement that a step changes, on another
// call path than the step says: that may be a statement of a wrapper, of which a change
// hides what is wrong elsewhere.
func comesBy(f *conflicts.Finding, step *conflicts.Step) bool {
	return slices.ContainsFunc([]*conflicts.SyncPoint{&step.At, &step.To}, func(at *conflicts.SyncPoint) bool {
		frames := symbols.Path(at.Stack)
		here := symbols.HereAt(frames)
		if here < 0 {
			return false
		}
		statement, callers := line(&frames[here]), named(at, frames[here:])
		for _, stack := range stacks(f) {
			frames := symbols.Path(stack)
			for i := range frames {
				if line(&frames[i]) == statement && named(at, frames[i:]) != callers {
					return true
				}
			}
		}
		return false
	})
}

// stacks lists those of a finding's accesses and of the calls that it tells of.
func stacks(f *conflicts.Finding) (all [][]symbols.Frame) {
	for _, s := range []*conflicts.Side{&f.First, &f.Second} {
		all = append(all, s.Stack, s.Started.Stack, s.Next.Stack, s.Done.Stack, s.Heard.Stack, s.Passed.Stack, s.Local.Stack, s.Before.Stack, s.After.Stack)
	}
	return all
}
