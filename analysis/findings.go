package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// findingKey is what makes two groups one finding: the rule, and of both accesses
// what they are, their call paths and where their windows were made.
type findingKey struct {
	rule          string
	first, second sideKey
}

// asTold is the key with the access first that a report speaks of first.
func (f *found) asTold() findingKey {
	if lead, _ := explain.Sides(&f.Finding); lead == &f.Second {
		return findingKey{f.key.rule, f.key.second, f.key.first}
	}
	return f.key
}

// compare sorts by place, those without a known source last, then by rule, then by call
// path.
func (k *findingKey) compare(l *findingKey) int {
	return cmp.Or(
		k.first.comparePlace(&l.first), k.second.comparePlace(&l.second), cmp.Compare(k.rule, l.rule),
		k.first.comparePath(&l.first), k.second.comparePath(&l.second),
	)
}

type sideKey struct {
	file string // where a report points at
	line int
	addr uint64 // where there is no line
	role string
	call string
	path string // symbols.Path of the access, as a text
	made string // the same of the call that made its window
}

func (k *sideKey) compare(l *sideKey) int { return cmp.Or(k.comparePlace(l), k.comparePath(l)) }

func (k *sideKey) comparePlace(l *sideKey) int {
	unknown := func(k *sideKey) int {
		if k.line == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(unknown(k), unknown(l)), cmp.Compare(k.file, l.file), cmp.Compare(k.line, l.line), cmp.Compare(k.addr, l.addr),
		cmp.Compare(k.role, l.role), cmp.Compare(k.call, l.call),
	)
}

func (k *sideKey) comparePath(l *sideKey) int {
	return cmp.Or(cmp.Compare(k.path, l.path), cmp.Compare(k.made, l.made))
}

func (n *namer) keyOf(s *conflicts.Side) sideKey {
	k := sideKey{role: s.Role, call: s.Call, path: n.path(s.Stack), made: n.path(s.Made.Stack)}
	if f, ok := symbols.Here(s.Stack); ok {
		k.file, k.line = f.File, f.Line
		if f.File == "" {
			k.file, k.addr = f.Module, f.Offset
		}
	}
	return k
}

func (n *namer) keyOfFinding(f *conflicts.Finding) findingKey {
	k := findingKey{f.Rule, n.keyOf(&f.First), n.keyOf(&f.Second)}
	if f.First.Class == regions.Local && f.Second.Class == regions.Local { // the owner need not go through a window
		made := cmp.Or(k.first.made, k.second.made)
		k.first.made, k.second.made = made, made
	}
	return k
}

// found is a finding with what tells it from others.
type found struct {
	conflicts.Finding
	key findingKey
}

// entry is a finding that grows.
type entry struct {
	finding conflicts.Finding
	sample  *conflicts.Sample // of the pair shown; nil of a usage error
	ranks   map[int]bool
}

// findings turns groups and usage errors into findings, in no order: those of
// the same call paths are one.
func (n *namer) findings(groups []conflicts.Group, usages []core.Usage) []found {
	entries := map[findingKey]*entry{}
	for i := range groups {
		g := &groups[i]
		f := n.finding(g)
		key := n.keyOfFinding(&f)
		e := entries[key]
		switch {
		case e == nil:
			e = &entry{finding: f, sample: &g.Sample, ranks: map[int]bool{}}
			entries[key] = e
		case g.Sample.EarlierThan(e.sample):
			f.Count += e.finding.Count
			e.finding, e.sample = f, &g.Sample
		default:
			e.finding.Count += f.Count
		}
		e.ranks[int(g.First.Rank)] = true
		e.ranks[int(g.Second.Rank)] = true
		for _, o := range g.Owners {
			e.ranks[int(o)] = true
		}
	}
	n.addUsages(entries, usages)
	out := make([]found, 0, len(entries))
	for key, e := range entries {
		for r := range e.ranks {
			e.finding.Ranks = append(e.finding.Ranks, r)
		}
		slices.Sort(e.finding.Ranks)
		out = append(out, found{e.finding, key})
	}
	out = dropCovered(out)
	if len(n.unknown) > 0 {
		for i := range out {
			if f, ok := n.firm[out[i].key]; ok {
				out[i] = f
			} else {
				n.weaken(&out[i].Finding)
			}
		}
	}
	for i := range out {
		n.weakenStrands(&out[i].Finding)
	}
	return out
}

// dropCovered drops findings of rules that yield to another one, where the same
// two call paths are in an error of that.
func dropCovered(fs []found) []found {
	covered := map[pathPair]int{}
	yields := func(f *found) int {
		rule, _ := models.Lookup(f.Rule)
		return rule.Yields
	}
	for i := range fs {
		f := &fs[i]
		if f.Severity != conflicts.Error || f.Class == conflicts.Usage {
			continue
		}
		pair := f.key.pair()
		least, ok := covered[pair]
		if y := yields(f); !ok || y < least {
			covered[pair] = y
		}
	}
	return slices.DeleteFunc(fs, func(f found) bool {
		least, ok := covered[f.key.pair()]
		return ok && least < yields(&f)
	})
}

// sorted returns findings in the order of all reports: errors first, then by the place of the
// access that a report speaks of first, that of the other, rule and call paths.
func sorted(fs []found) []conflicts.Finding {
	slices.SortFunc(fs, func(a, b found) int {
		x, y := a.asTold(), b.asTold()
		return cmp.Or(cmp.Compare(gravity(a.Severity), gravity(b.Severity)), x.compare(&y))
	})
	out := make([]conflicts.Finding, len(fs))
	for i := range fs {
		out[i] = fs[i].Finding
	}
	return out
}

// weaken makes an error between two processes, or two threads of one, a warning when calls
// that are not understood may have ordered them; and one between two writes of GASPI, of which
// another process says when the first has arrived.
func (n *namer) weaken(f *conflicts.Finding) {
	pair := f.Class == conflicts.AcrossProcesses || f.Rule == conflicts.RuleGaspiOrder ||
		f.Rule == conflicts.RuleMemoryGone && f.First.Rank != f.Second.Rank
	threads := f.Class != conflicts.Usage && f.First.Rank == f.Second.Rank && f.First.Thread != f.Second.Thread
	if (pair || threads) && f.Severity == conflicts.Error {
		f.Severity = conflicts.Warning
		n.ofThreads, n.ofOne = n.ofThreads || threads, n.ofOne || f.Rule == conflicts.RuleGaspiOrder
		n.weakened++
		f.Why += "; but " + strings.Join(n.unknown, ", ") + " may have done so, which the trace does not tell"
	}
}

// know says of what the order is not known: by calls, and by problems with threads.
func (n *namer) know(mayOrder []string, problems []core.Problem) {
	n.unknown, n.unordered, n.strangers = mayOrder, core.Unordered(problems), core.Strangers(problems)
}

// weakenStrands makes an error a warning that may be for want of what orders threads, or tasks,
// of one process, where that is not recorded in full: between two of these; and, where nothing
// says when threads began and ended, of one that is not the first, whose operations another may
// have completed, and which another may have synchronized with other processes.
func (n *namer) weakenStrands(f *conflicts.Finding) {
	if f.Severity != conflicts.Error || f.Class == conflicts.Usage {
		return
	}
	loose := func(s *conflicts.Side) bool { return s.Thread != 0 && n.strangers[s.Rank] }
	between := f.Class == conflicts.WithinEpoch && n.unordered[f.First.Rank] &&
		(f.First.Thread != f.Second.Thread || explain.UnorderedStrands(f))
	if between || loose(&f.First) || loose(&f.Second) {
		f.Severity = conflicts.Warning
		n.strands++
		f.Why += "; but something may, for not all that orders threads and tasks is recorded"
	}
}

func (n *namer) finding(g *conflicts.Group) conflicts.Finding {
	s := &g.Sample
	f := conflicts.Finding{
		Rule: g.Rule, Class: conflicts.AcrossProcesses,
		First: n.side(g.First, &s.First), Second: n.side(g.Second, &s.Second),
		Owner: int(s.Owner), Lo: s.Lo, Hi: s.Hi, Region: s.Region, Count: g.Count,
		Again: g.Count > uint64(len(g.Owners)),
	}
	rule, _ := models.Lookup(g.Rule)
	f.Severity = rule.Severity
	if g.First.Rank == g.Second.Rank {
		f.Class = conflicts.WithinEpoch
	}
	switch {
	case s.FirstBegan:
		f.Began = 1
	case s.SecondBegan:
		f.Began = 2
	}
	f.Variable, f.Block = n.memory(g)
	if x := s.Exposed; x != nil {
		f.Window = x.ID
		f.WinName, f.WinNumber = n.object(x.Object), x.Number
		f.Lo, f.Hi = s.Lo-x.Base, s.Hi-x.Base
		f.Mode, f.DispUnit = x.Mode, x.Unit
		if x.Attached != nil {
			f.Attached, f.Part = n.syncPoint(x.Attached), x.Lo-x.Base
		}
		for _, side := range []*conflicts.Side{&f.First, &f.Second} {
			side.Lo, side.Hi = side.Lo-x.Base, side.Hi-x.Base
		}
	}
	if rule.Usage() {
		f.Class = conflicts.Usage
	}
	if n.swapped(&f) {
		f.First, f.Second = f.Second, f.First
		f.Began = [...]int{0, 2, 1}[f.Began]
	}
	if g.Rule == conflicts.RuleLockOrder {
		f.Granted = [2]conflicts.SyncPoint{n.syncPoint(s.Locks[0]), n.syncPoint(s.Locks[1])}
	}
	n.seePolls(&f)
	f.Explanation = models.Explain(&f)
	return f
}

// object names what exposes memory: by its number, the name that the program gave it, and
// its creation.
func (n *namer) object(w *regions.Object) string {
	name := cmp.Or(w.Called, fmt.Sprintf("%s %d", w.Kind, w.Number))
	if w.Name != "" {
		name += fmt.Sprintf(" %q", w.Name)
	}
	if w.Created != nil {
		name += fmt.Sprintf(" (%s%s)", w.Created.Fn, n.where(w.Created))
	}
	return name
}

// swapped puts the sides of a finding in an order that depends on the call paths
// alone: one-sided operations first, then by place. So the same pair of paths is
// one finding whatever the ranks.
func (n *namer) swapped(f *conflicts.Finding) bool {
	switch f.Rule {
	case conflicts.RuleMemoryGone:
		return f.First.Class.Gone()
	case conflicts.RuleAssertion:
		return f.Second.Class == regions.Vouched
	}
	a, b := f.First.Call == "", f.Second.Call == ""
	if a != b {
		return a
	}
	x, y := n.keyOf(&f.First), n.keyOf(&f.Second)
	return x.compare(&y) > 0
}

func (n *namer) side(site conflicts.Site, t *conflicts.Touch) conflicts.Side {
	s := conflicts.Side{
		Rank: int(site.Rank), Thread: t.Call.Thread, Event: t.Call.Pos, Call: site.Fn, Role: site.Role, Class: t.Class,
		Write: t.Write, Atomic: t.Atomic, Op: t.Op, Type: t.Type,
		Stack:   n.stack(site.Rank, site.Stack),
		Epoch:   t.Call.Mode,
		Started: n.syncPoint(t.Started),
		Next:    n.syncPoint(t.Next),
		Made:    n.syncPoint(t.Made),
		Done:    n.syncPoint(ended(t)),
		Left:    n.syncPoint(t.Left),
		Heard:   n.syncPoint(t.Heard),
		Passed:  n.syncPoint(t.Passed),
		Missed:  n.syncPoint(t.Missed),
		Beside:  n.syncPoint(t.Beside),
		Pending: t.Spans && t.Class != regions.Vouched && !(t.Class == regions.Target && completesItself(t)),
		Local:   n.syncPoint(t.Call.Local),
		Lo:      t.Lo, Hi: t.Hi, Holes: t.Holes, Unit: t.Unit,
	}
	if x := t.Weak; x != nil {
		s.Weak = conflicts.WeakOrder{Wrote: n.syncPoint(x.Wrote), Read: n.syncPoint(x.Read), RelaxedWrite: x.RelaxedWrite, RelaxedRead: x.RelaxedRead}
	}
	s.Local.Event = 0 // may be that of another access of the same line
	s.Before, s.After = n.turn(t.Before), n.turn(t.After)
	for _, l := range t.Held {
		lock := conflicts.Lock{Exclusive: l.Exclusive, Void: l.Void, Target: int(l.Target), Window: l.Object}
		if l.Of != nil {
			lock.WinName = n.object(l.Of)
		}
		s.Locks = append(s.Locks, lock)
	}
	return s
}

// ended returns the call that completes an access; nil: none does.
func ended(t *conflicts.Touch) *regions.CallInfo {
	if t.Spans && t.Done != nil && models.Abandons(t.Done.Fn) {
		return nil
	}
	return t.Done
}

// completesItself reports whether an operation is complete when the call that makes it returns.
func completesItself(t *conflicts.Touch) bool {
	return t.Done != nil && t.Done.Pos == t.Call.Pos && t.Done.Rank == t.Call.Rank
}

func (n *namer) syncPoint(c *regions.CallInfo) conflicts.SyncPoint {
	if c == nil {
		return conflicts.SyncPoint{}
	}
	p := conflicts.SyncPoint{Call: c.Fn, Rank: int(c.Rank), Thread: c.Thread, Event: c.Pos, Stack: n.stack(c.Rank, c.Stack)}
	if c.Loose {
		p.With = models.Loose(c)
	}
	return p
}

func (n *namer) turn(c *regions.CallInfo) conflicts.Turn {
	t := conflicts.Turn{SyncPoint: n.syncPoint(c)}
	if c != nil && c.Members != nil {
		for _, r := range *c.Members {
			t.Members = append(t.Members, int(r))
		}
	}
	return t
}
