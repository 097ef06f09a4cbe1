package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
	"github.com/mcchk/mcchk/trial"
)

// What TryFixes is bounded by: replays, and the work of all of them together, in events; of it,
// where there are warnings alone, few would wait for more than a part. A step of a search for the
// order of operations on a word counts as an event.
const (
	mostTrials     = 300
	trialWork      = 1 << 22
	workOfWarnings = 1 << 20
)

// Why fixes are not tried.
const (
	tooLong     = "the run is too long to try them all"
	otherValues = "operations would fetch other values than they did"
	unsettled   = "operations fetched values that nobody is known to have left, so that order may be missing in which it removes all of the finding"
)

// TryFixes reads the traces of a result once more and tries the fixes of its findings, as
// far as these say which lines they change: the run is replayed as the changed program
// would have gone. A fix that does not remove its finding, brings a new one, cannot be
// carried out or would change a value without saying so is taken out of the list; what
// was not tried comes behind what was, and says why (conflicts.Trial).
//
// It asks for the traces, and gives the same for the result of Run and for that of
// MergePartials, whatever the number of workers. Of the options it heeds Jobs, Progress,
// MaxMemory and Heap. Errors are those of Run, ErrOtherRun, and the context's: then the
// result is as it was. Of a result of several runs, the fixes of a finding are tried on the
// run that it is shown of.
func TryFixes(ctx context.Context, res *Result, opts Options) error {
	if len(res.Runs) == 0 {
		return tryFixes(ctx, res, opts)
	}
	for k, of := range res.Runs {
		var at []int // in res.Findings
		part := *of
		part.Findings = nil
		for i := range res.Findings {
			if res.Findings[i].Runs.Shown == k {
				at, part.Findings = append(at, i), append(part.Findings, res.Findings[i])
			}
		}
		if err := tryFixes(ctx, &part, opts); err != nil {
			return err
		}
		for n, i := range at {
			fixes := part.Findings[n].Fixes
			for x := range fixes {
				for y, removed := range fixes[x].Trial.Removes {
					fixes[x].Trial.Removes[y] = at[removed]
				}
			}
			res.Findings[i].Fixes = fixes
		}
	}
	return nil
}

func tryFixes(ctx context.Context, res *Result, opts Options) error {
	r, err := reopen(ctx, res, opts)
	if err != nil {
		return err
	}
	defer r.close()
	return r.tryFixes(res)
}

func (r *run) tryFixes(res *Result) error {
	return r.newTrials().try(res)
}

func (r *run) newTrials() *trials {
	n, _ := r.newNamer() // the error is a warning of the result already
	return &trials{run: r, namer: n, statements: map[trial.Site]int{}, at: map[stackKey][]trial.At{}, results: map[string]*attempt{}}
}

// trials is the fixes of a result under trial.
type trials struct {
	*run
	namer      *namer
	statements map[trial.Site]int      // that fixes name
	at         map[stackKey][]trial.At // which of them a stack is at
	scan       *trial.Scan
	clues      *clues
	maker      models.Derived
	before     verdictOf // of the run as it was
	results    map[string]*attempt
	queue      []*attempt // in the order in which they are to be tried
	room       int        // for so many replays
	work       int        // that they may take, in events
}

// attempt is what comes of trying some steps.
type attempt struct {
	steps     []conflicts.Step
	plan      *trial.Plan
	late      *trial.Plan // the same with collective calls at other places; nil: there is none
	next      *trial.Plan // the same with them in the next iteration of a loop; nil: there is none
	blocks    bool        // where they come late they would make processes wait for each other for ever
	why       error       // why there is no plan
	untried   string
	changes   bool // a value
	after     verdictOf
	ending    bool      // after is that of late
	following bool      // after is that of next
	end       verdictOf // of late, where after is that of plan; without findings where that was not tried
}

// verdictOf is what a replay leads to: the findings, and what did not go well.
type verdictOf struct {
	findings map[findingKey]bool
	pairs    map[findingKey]uint64 // of each finding
	strange  bool                  // operations fetched what nobody is known to have left
	problems map[string]bool
	ended    int
	work     int // of the replay, in events
}

func (t *trials) try(res *Result) error {
	t.collect(res)
	if len(t.queue) == 0 {
		t.conclude(res)
		return nil
	}
	if err := t.prepare(res); err != nil {
		return err
	}
	if err := t.strengthen(res); err != nil {
		return err
	}
	if err := t.replayAll(t.queue); err != nil {
		return err
	}
	late := t.latest(res)
	if err := t.replayEnds(res); err != nil {
		return err
	}
	if err := t.replayAll(late); err != nil {
		return err
	}
	t.conclude(res)
	return nil
}

// latest lists the attempts at the ends of the places that texts of fixes allow, where
// these do at the beginning.
func (t *trials) latest(res *Result) []*attempt {
	if t.room == 0 {
		return nil
	}
	tried := len(t.queue)
	for i := range res.Findings {
		f := &res.Findings[i]
		for k := range f.Fixes {
			if o := t.results[t.key(f.Fixes[k].Steps)]; o != nil && t.works(&o.after, t.namer.keyOfFinding(f)) {
				t.enqueue(f.Fixes[k].Latest)
			}
		}
	}
	late := t.queue[tried:]
	for _, o := range late {
		o.plan, o.why = t.scan.Plan(o.steps, t.statement, &t.maker, trial.Early)
	}
	return late
}

// replayEnds tries changes whose collective calls may come anywhere between two statements
// at the end of that place, where they do at the beginning.
func (t *trials) replayEnds(res *Result) error {
	for i := range res.Findings {
		f := &res.Findings[i]
		for k := range f.Fixes {
			for _, fix := range []*conflicts.Fix{f.Fixes[k].Less, &f.Fixes[k]} {
				if fix == nil || fix.Finally == "" {
					continue
				}
				o := t.results[t.key(fix.Steps)]
				if o == nil || o.late == nil || o.ending || o.following || o.end.findings != nil || !t.works(&o.after, t.namer.keyOfFinding(f)) || !t.affords(1) {
					continue
				}
				if o.late.Same(o.plan) {
					o.end = o.after
					continue
				}
				end, err := t.replayPlan(o.late)
				if err != nil {
					return err
				}
				o.end = end
			}
		}
	}
	return nil
}

func (t *trials) replayPlan(plan *trial.Plan) (verdictOf, error) {
	t.room--
	return t.changed(func(rank int, s trial.Stream) core.Stream { return derived{plan.Stream(rank, s)} })
}

// replayAll tries attempts.
func (t *trials) replayAll(queue []*attempt) error {
	for _, o := range queue {
		switch {
		case o.why != nil || o.changes || o.untried != "":
			continue
		case !t.affords(1):
			o.untried = tooLong
			continue
		}
		for _, plan := range []*trial.Plan{o.plan, o.late, o.next} {
			clean := o.after.findings != nil && t.clean(&o.after)
			if plan == nil || !t.wants(o, plan, clean) {
				continue
			}
			after, err := t.replayPlan(plan)
			if err != nil {
				return err
			}
			if !clean || t.clean(&after) {
				o.after, o.ending, o.following = after, plan == o.late, plan == o.next
			}
		}
	}
	return nil
}

// wants reports whether another plan of an attempt is to be tried; clean: the one before brought nothing new.
func (t *trials) wants(o *attempt, plan *trial.Plan, clean bool) bool {
	left := len(o.after.findings)
	switch {
	case o.after.findings == nil:
		return true
	case clean:
		return plan == o.next && left == len(t.before.findings) && t.affords(1) // nothing is gone
	default:
		return plan != o.next || left == 0
	}
}

// prepare looks at the run as it was, and makes the plans, unless that takes too long.
func (t *trials) prepare(res *Result) error {
	t.room, t.work = mostTrials, workOfWarnings
	if slices.ContainsFunc(res.Findings, func(f conflicts.Finding) bool { return f.Severity == conflicts.Error }) {
		t.work = trialWork
	}
	t.before.work = int(min(res.Basis.Accesses+res.Basis.Calls, trialWork)) // at least
	if !t.affords(2) {                                                      // there is another replay to come
		t.room = 0
		return nil
	}
	if err := t.look(); err != nil {
		return err
	}
	if t.scan.Full() || !t.affords(1) {
		t.room = 0
		return nil
	}
	t.plan(res)
	return t.values()
}

// affords reports whether so many more replays may be made, if they take as much work as
// that of the run as it was.
func (t *trials) affords(replays int) bool {
	return t.room >= replays && t.work >= replays*t.before.work
}

// spend takes the work of a replay from what is left of it.
func (t *trials) spend(m *core.Machine) int {
	s := m.Stats()
	work := int(s.Accesses + s.Calls + s.Searched)
	t.work -= work
	return work
}

// collect lists the steps of all fixes, the first fix of each finding in front, and behind all
// the changes that are tried in place of some (conflicts.Fix.More).
func (t *trials) collect(res *Result) {
	var more []*conflicts.Fix
	for any, k := true, 0; any; k++ {
		any = false
		for i := range res.Findings {
			f := &res.Findings[i]
			if k >= len(f.Fixes) {
				continue
			}
			any = true
			if f.Rule == conflicts.RuleLockOrder || f.OneOrder { // about another order than that of the replay
				continue
			}
			for _, fix := range []*conflicts.Fix{f.Fixes[k].Less, &f.Fixes[k]} {
				if fix != nil {
					t.enqueue(fix.Steps)
					more = append(more, fix.More)
				}
			}
			t.key(f.Fixes[k].Latest) // notes where its statements are executed
		}
	}
	for _, fix := range more {
		for ; fix != nil; fix = fix.More {
			t.enqueue(fix.Steps)
		}
	}
}

func (t *trials) enqueue(steps []conflicts.Step) {
	if key := t.key(steps); key != "" && t.results[key] == nil {
		t.results[key] = &attempt{steps: steps}
		t.queue = append(t.queue, t.results[key])
	}
}

// key tells steps apart; "" of none.
func (t *trials) key(steps []conflicts.Step) string {
	var b strings.Builder
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(&b, "%s %v %d %t %t %s %d %s %d\n", s.Do, s.Calls, s.Window, s.Private, s.Completes, s.At.Call, t.statement(&s.At), s.To.Call, t.statement(&s.To))
	}
	return b.String()
}

// statement returns the number of the statement that a call or access is at; -1 where
// its line is not known.
func (t *trials) statement(p *conflicts.SyncPoint) int {
	site, ok := siteOf(p.Stack)
	if !ok {
		return -1
	}
	if _, ok := t.statements[site]; !ok {
		t.statements[site] = len(t.statements)
	}
	return t.statements[site]
}

func siteOf(stack []symbols.Frame) (trial.Site, bool) {
	f, ok := symbols.Here(stack)
	return trial.Site{File: f.File, Line: f.Line, Func: f.Func}, ok && f.File != "" && f.Line > 0
}

// stackAt returns which of the statements a recorded stack is at, its callers' included.
func (t *trials) stackAt(rank int, stack uint32) []trial.At {
	key := stackKey{int32(rank), stack}
	all, ok := t.at[key]
	if !ok {
		for i, f := range t.namer.stack(key.rank, stack) {
			if n, known := t.statements[trial.Site{File: f.File, Line: f.Line, Func: f.Func}]; known {
				all = append(all, trial.At{Site: n, Inner: i == 0})
			}
		}
		t.at[key] = all
	}
	return all
}

// look replays the run as it was, and notes where statements are executed. It reads
// the traces that the namer knows the stacks of.
func (t *trials) look() error {
	t.scan = trial.NewScan(len(t.readers), t.stackAt)
	t.clues = newClues(t.scan, len(t.readers))
	before, err := t.replay(t.readers, t.clues, func(rank int, s trial.Stream) core.Stream { return t.scan.Stream(rank, s) })
	t.before = before
	return err
}

// changed replays the run once more, with its streams changed, up to where it is known that
// something does not go well that did before.
func (t *trials) changed(change func(int, trial.Stream) core.Stream) (verdictOf, error) {
	readers, err := t.openAgain()
	defer closeAll(readers)
	if err != nil {
		return verdictOf{}, err
	}
	troubles := 0
	t.enoughOf = func(m *core.Machine) bool {
		if n := m.Troubles(); n > troubles {
			troubles = n
			return slices.ContainsFunc(m.Problems(), func(p core.Problem) bool { return !t.before.problems[textOf(&p)] })
		}
		return false
	}
	defer func() { t.enoughOf = nil }()
	return t.replay(readers, nil, change)
}

func (t *trials) replay(readers []*trace.Reader, o core.Observer, change func(int, trial.Stream) core.Stream) (verdictOf, error) {
	opts := t.replayOptions()
	opts.Observer = o
	m, groups, err := t.searchIn(streamsOf(readers, change), opts)
	switch {
	case err != nil:
		return verdictOf{}, err
	case t.stopped != nil:
		return verdictOf{}, t.stopped
	}
	v := verdictOf{findings: map[findingKey]bool{}, pairs: map[findingKey]uint64{}, strange: m.Choices().Unexplained(), problems: map[string]bool{}, ended: m.Stats().Ended, work: t.spend(m)}
	for _, f := range t.namer.findings(groups, m.Usages()) {
		v.findings[f.key], v.pairs[f.key] = true, f.Count
	}
	for _, p := range m.Problems() {
		v.problems[textOf(&p)] = true
	}
	return v, nil
}

// textOf tells problems of a replay apart.
func textOf(p *core.Problem) string { return fmt.Sprint(p.Kind, p.Fn, p.Text) }

// streamsOf changes the streams of some readers.
func streamsOf(readers []*trace.Reader, change func(int, trial.Stream) core.Stream) []core.Stream {
	streams := make([]core.Stream, len(readers))
	for rank, reader := range readers {
		if reader != nil {
			streams[rank] = change(rank, reader)
		}
	}
	return streams
}

// derived is a stream with calls of which the trace does not define the operations.
type derived struct{ trial.Stream }

func (s derived) Op(id int64) string {
	if name := models.DerivedOp(id); name != "" {
		return name
	}
	return s.Stream.Op(id)
}

// plan makes the plans.
func (t *trials) plan(res *Result) {
	t.scan.Require(append(t.clues.needs(), waits(res.Findings)...))
	for _, o := range t.queue {
		o.plan, o.why = t.scan.Plan(o.steps, t.statement, &t.maker, trial.Early)
		if o.why != nil && !errors.Is(o.why, trial.ErrBlocked) || !slices.ContainsFunc(o.steps, func(s conflicts.Step) bool {
			return s.Do == conflicts.StepMeet || s.Do == conflicts.StepMeetEach
		}) {
			continue
		}
		late, why := t.scan.Plan(o.steps, t.statement, &t.maker, trial.Late)
		o.blocks = errors.Is(why, trial.ErrBlocked)
		if why == nil {
			o.late, o.why = late, nil
		}
		if next, why := t.scan.Plan(o.steps, t.statement, &t.maker, trial.Next); why == nil && (o.plan == nil || !next.Same(o.plan)) {
			o.next, o.why = next, nil
		}
	}
}

// values finds out which of the plans change values.
func (t *trials) values() error {
	var moving []*attempt
	var plans []*trial.Plan
	for _, o := range t.queue {
		if o.why == nil && o.plan != nil && len(o.plan.Moved()) > 0 {
			moving, plans = append(moving, o), append(plans, o.plan)
		}
	}
	if len(plans) == 0 {
		return nil
	}
	readers, err := t.openAgain()
	defer closeAll(readers)
	if err != nil {
		return err
	}
	m, err := core.NewMachine(streamsOf(readers, func(_ int, s trial.Stream) core.Stream { return s }), t.replayOptions(), t.models()...)
	if err != nil {
		return err
	}
	v := trial.NewValues(plans, models.OwnsMemory)
	for region, err := range t.replayed(m) {
		if err != nil {
			return err
		}
		if err := v.Add(region); err != nil {
			return err
		}
		region.Release()
	}
	t.spend(m)
	for i, o := range moving {
		if o.changes = v.Changes(i); v.Enough() && !o.changes {
			o.untried = tooLong
		}
	}
	return nil
}
