package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// Join makes one result of those of several runs of a program. Findings of the same
// call paths are one, which says in which runs it was found; it is shown as the first
// run has it in which it is gravest. The verdict is the worst, what stands in the way of
// one in any run stands in the way of it, and of the basis what can be counted is the sum.
// Of one result the outcome is that itself.
func Join(runs []*Result) *Result {
	if len(runs) == 1 {
		return runs[0]
	}
	first := runs[0]
	res := &Result{
		Runs: runs, Directory: first.Directory, Program: first.Program, Began: first.Began,
		Library: first.Library, Launch: first.Launch, Clock: first.Clock, Layers: first.Layers,
	}
	var readers []*sources.Reader
	caveats, allowed, warnings := newJoinedTexts(len(runs)), newJoinedTexts(len(runs)), newJoinedTexts(len(runs))
	for k, r := range runs {
		res.Interrupted = res.Interrupted || r.Interrupted
		res.Basis.add(&r.Basis, k == 0)
		readers = append(readers, r.Sources)
		for _, c := range r.Caveats {
			caveats.add(k, c)
		}
		for _, c := range r.Allowed {
			allowed.add(k, c)
		}
		for _, w := range r.Warnings {
			warnings.add(k, Caveat{Text: w})
		}
	}
	res.Findings = joinFindings(runs)
	res.Caveats, res.Allowed = caveats.list(), allowed.list()
	for _, w := range warnings.list() {
		res.Warnings = append(res.Warnings, w.Text)
	}
	var differ []string
	res.Sources, differ = sources.Join(readers)
	for _, file := range differ {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%s was not the same in all runs: its lines are shown as in the first run that kept them", file))
	}
	for _, r := range runs[1:] {
		if r.Program != first.Program {
			res.Warnings = append(res.Warnings, fmt.Sprintf("the runs are of different programs: %s and %s", first.Program, r.Program))
			break
		}
	}
	res.Verdict = VerdictOn(res)
	return res
}

// add adds another basis: the most of the processes that there were, and of those whose traces are
// missing or have no end, and the sum of all else.
func (b *Basis) add(c *Basis, first bool) {
	if first {
		*b = *c
		return
	}
	missing, cut := max(b.RanksInRun-b.Ranks, c.RanksInRun-c.Ranks), max(b.Ranks-b.Ended, c.Ranks-c.Ended)
	b.Ranks = max(b.Ranks, c.Ranks)
	b.RanksInRun, b.Ended = b.Ranks+missing, b.Ranks-cut
	b.Windows += c.Windows
	b.Regions += c.Regions
	b.Calls += c.Calls
	b.Operations += c.Operations
	b.Loads += c.Loads
	b.Stores += c.Stores
	b.Accesses += c.Accesses
	b.LostCalls += c.LostCalls
	b.LostAccess += c.LostAccess
	b.Instruments = max(b.Instruments, c.Instruments)
	b.Preloaded = b.Preloaded || c.Preloaded
}

// joinFindings returns the findings of all runs, in the order of a result.
func joinFindings(runs []*Result) []conflicts.Finding {
	n := &namer{paths: map[*symbols.Frame]string{}}
	at := map[findingKey]int{}
	var all []found
	for k, r := range runs {
		for i := range r.Findings {
			f := r.Findings[i]
			key := n.keyOfFinding(&f)
			old, ok := at[key]
			if !ok {
				f.Runs = conflicts.Runs{Counts: make([]uint64, len(runs)), Shown: k}
				f.Runs.Counts[k] = f.Count
				at[key] = len(all)
				all = append(all, found{f, key})
				continue
			}
			all[old].meet(&f, k)
		}
	}
	return sorted(all)
}

// meet adds the same finding of another run.
func (f *found) meet(g *conflicts.Finding, run int) {
	runs, count := f.Runs, f.Count+g.Count
	ranks := slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.Ranks, g.Ranks))))
	runs.Counts[run] = g.Count
	if graver(g.Severity, f.Severity) {
		f.Finding, runs.Shown = *g, run
	}
	f.Runs, f.Count, f.Ranks = runs, count, ranks
}

// graver reports whether one severity is graver than another.
func graver(a, b conflicts.Severity) bool { return gravity(a) < gravity(b) }

// gravity is the place of a severity among all, the gravest first.
func gravity(s conflicts.Severity) int {
	return slices.Index([]conflicts.Severity{conflicts.Error, conflicts.Warning, conflicts.Note}, s)
}

// joinedTexts are caveats of several runs: the same of several is one.
type joinedTexts struct {
	runs  int
	at    map[string]int
	texts []Caveat
	of    [][]int // the runs of each, from 1
}

func newJoinedTexts(runs int) *joinedTexts { return &joinedTexts{runs: runs, at: map[string]int{}} }

func (j *joinedTexts) add(run int, c Caveat) {
	key := string(c.Kind) + "\x00" + c.Text
	i, ok := j.at[key]
	if !ok {
		i = len(j.texts)
		j.at[key] = i
		j.texts, j.of = append(j.texts, c), append(j.of, nil)
	}
	old := &j.texts[i]
	old.Ranks = slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Ranks, c.Ranks))))
	old.Count = max(old.Count, c.Count)
	j.of[i] = append(j.of[i], run+1)
}

// list returns what there was, with the runs of what there was not in all.
func (j *joinedTexts) list() []Caveat {
	for i := range j.texts {
		if len(j.of[i]) < j.runs {
			j.texts[i].Text = fmt.Sprintf("%s (%s of %d)", j.texts[i].Text, runsText(j.of[i]), j.runs)
		}
	}
	return j.texts
}

// runsText names runs by their numbers: "run 2", "runs 1, 3".
func runsText(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("run %d", numbers[0])
	}
	return "runs " + strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}
