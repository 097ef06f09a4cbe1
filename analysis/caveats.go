package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// caveats lists why the result does not rest on the whole run, as far as the
// traces say so by themselves.
func (r *run) caveats() []Caveat {
	var out []Caveat
	if missing := r.dir.Missing; len(missing) > 0 {
		out = append(out, Caveat{
			Kind: MissingRank, Ranks: missing, Count: uint64(len(missing)),
			Text: fmt.Sprintf("%d of %d processes have no readable trace, so nothing is known of what they did or ordered; copy all rank files into one directory",
				len(missing), r.dir.Ranks),
		})
	}
	for _, bad := range r.dir.Bad {
		out = append(out, Caveat{Kind: CutTrace, Text: fmt.Sprintf("a trace file cannot be read: %v", bad.Err)})
	}
	return append(out, r.uninstrumented()...)
}

// interrupted says how far an analysis came that was interrupted.
func (r *run) interrupted() Caveat {
	return Caveat{
		Kind: Interrupted,
		Text: fmt.Sprintf("the analysis was interrupted after %s: the rest was not analysed, so calls in it that complete or order accesses are not known", r.howFar()),
	}
}

// howFar says what was analysed.
func (r *run) howFar() string {
	text := plural(uint64(r.regions), "concurrent region", "concurrent regions")
	if read, all := r.dir.BytesRead()-r.vain, r.bytes(); all > 0 {
		text += fmt.Sprintf(" and %d %% of the traces", 100*min(read, all)/all)
	}
	return text
}

// bytes is how much there is to read of the traces.
func (r *run) bytes() int64 {
	if r.opts.Predict {
		return 2 * r.dir.Bytes()
	}
	return r.dir.Bytes()
}

// caveats lists all caveats, sorted, and what is none because it may go unseen.
func (n *namer) caveats(e *evidence) (out, allowed []Caveat) {
	out, allowed = slices.Clone(e.Caveats), slices.Clone(e.Allowed)
	var may mayBeUnseen
	for _, p := range e.Problems {
		if i := n.unseenIn(p, &may, e.Unseen); i >= 0 {
			allowed = append(allowed, Caveat{
				Kind: NotInstrumented, Ranks: p.Ranks, Count: 1,
				Text: fmt.Sprintf("%s%s, which is allowed (%s)", p.Text, n.where(p.Call), e.Unseen[i].Reason),
			})
			continue
		}
		out = append(out, n.caveat(p))
	}
	if n.weakened > 0 {
		between := " between processes"
		switch {
		case n.ofOne:
			between = ""
		case n.ofThreads:
			between = " between processes or threads"
		}
		out = append(out, Caveat{
			Kind: NotUnderstood, Count: n.weakened,
			Text: fmt.Sprintf("%s%s counted as a warning, because %s may have ordered them",
				plural(n.weakened, "conflict", "conflicts"), between, strings.Join(n.unknown, ", ")),
		})
	}
	if n.strands > 0 {
		out = append(out, Caveat{
			Kind: Threads, Count: n.strands,
			Text: plural(n.strands, "conflict", "conflicts") + " of threads or tasks counted as a warning, because not all that orders these is recorded",
		})
	}
	if n.depends > 0 {
		out = append(out, Caveat{
			Kind: NotUnderstood, Count: n.depends,
			Text: fmt.Sprintf("%s counted as a warning, because values leave open in which order memory was updated: %s",
				plural(n.depends, "conflict", "conflicts"), n.openOrders(e.Open)),
		})
	}
	inWords(out, models.TermsOf(e.Basis.Model).Rank)
	slices.SortStableFunc(out, func(a, b Caveat) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Text, b.Text))
	})
	return out, allowed
}

// unseenIn returns the entry that allows what is unseen because of a call to be so, by the file that makes
// the call; -1: none.
func (n *namer) unseenIn(p core.Problem, may *mayBeUnseen, all []Unseen) int {
	if p.Kind != core.Unseen || p.Call == nil {
		return -1
	}
	if f, ok := symbols.Here(n.stack(p.Call.Rank, p.Call.Stack)); ok && f.File != "" {
		return may.entry(f.File, all)
	}
	return -1
}

// ofRanks are processes as core calls them, which knows no model.
var ofRanks = regexp.MustCompile(`\brank(s?) (\d)`)

// inWords has caveats call processes what the model of a run does.
func inWords(all []Caveat, rank string) {
	for i := range all {
		all[i].Text = ofRanks.ReplaceAllString(all[i].Text, rank+"$1 $2")
	}
}

// cuts tells of traces that end before their process did; those with one reason and
// one last call together.
func (r *run) cuts(m *core.Machine) []core.Problem {
	type key struct{ reason, fn string }
	var keys []key
	found := map[key]*core.Problem{}
	for rank, reader := range r.readers {
		if reader == nil || !r.streams.over(rank) || reader.Cut() == nil {
			continue
		}
		cut, last := reader.Cut(), m.Strand(int32(rank)).LastCall()
		k := key{reason: cut.Reason}
		if last != nil {
			k.fn = last.Fn
		}
		p := found[k]
		if p == nil {
			p = &core.Problem{
				Kind: core.Damaged, Rank: int32(rank), Call: last, Text: fmt.Sprintf("the trace of rank %d ends early", rank),
				Tail: fmt.Sprintf(" (%s; offset %d): the run was analysed up to there", cut.Reason, cut.Offset),
			}
			if last != nil {
				p.Text += ", after " + last.Fn
			}
			found[k], keys = p, append(keys, k)
		}
		p.Ranks = append(p.Ranks, rank)
		p.Count++
	}
	out := make([]core.Problem, len(keys))
	for i, k := range keys {
		out[i] = *found[k]
	}
	return out
}

// buildInfo is what mcchk cc leaves in the program at link time.
type buildInfo struct {
	Uninstrumented []string `json:"uninstrumented"`
	CopiesUnseen   string   `json:"copies_unseen"` // packages that would have them seen
	Bypassed       []string `json:"bypassed"`      // functions called past the tracer
}

// uninstrumented tells of code whose loads and stores nobody records.
func (r *run) uninstrumented() []Caveat {
	var none, loaded []int
	parts, past, copies := map[string][]int{}, map[string][]int{}, map[string][]int{}
	counts := map[string]int{}
	for rank, reader := range r.readers {
		if reader == nil {
			continue
		}
		end := reader.End()
		switch {
		case preloaded(reader):
			loaded = append(loaded, rank)
		case end != nil && end.Units == 0:
			none = append(none, rank)
		}
		for _, b := range builds(reader) {
			unseen, _ := r.unseen(b.Uninstrumented)
			if len(unseen) > 0 {
				list := strings.Join(unseen, ", ")
				parts[list] = append(parts[list], rank)
			}
			if b.CopiesUnseen != "" {
				copies[b.CopiesUnseen] = append(copies[b.CopiesUnseen], rank)
			}
			for text, n := range models.Bypassed(b.Bypassed) {
				past[text] = append(past[text], rank)
				counts[text] = n
			}
		}
	}
	var out []Caveat
	if len(none) > 0 {
		out = append(out, Caveat{
			Kind: NotInstrumented, Ranks: none, Count: uint64(len(none)),
			Text: "no part of the program is instrumented, so its loads and stores were not seen: compile it with mcchk cc, not only link it",
		})
	}
	if len(loaded) > 0 {
		out = append(out, Caveat{
			Kind: NotInstrumented, Ranks: loaded, Count: uint64(len(loaded)),
			Text: "the program was recorded by --preload, which sees calls of MPI and their buffers, and none of its loads and stores",
		})
	}
	for list, ranks := range parts {
		out = append(out, Caveat{
			Kind: NotInstrumented, Ranks: ranks, Count: uint64(strings.Count(list, ", ") + 1),
			Text: fmt.Sprintf("loads and stores of these parts of the program were not seen, because mcchk cc did not compile them (where they cannot touch memory that one-sided operations use, --unseen says so): %s", list),
		})
	}
	for packages, ranks := range copies {
		out = append(out, Caveat{
			Kind: NotInstrumented, Ranks: ranks, Count: 1,
			Text: fmt.Sprintf("small arrays, structures and characters that the program assigns or fills as a whole were not seen, because it was compiled without the plug-in of gfortran (Debian: apt install %s)", packages),
		})
	}
	for text, ranks := range past {
		out = append(out, Caveat{Kind: NotUnderstood, Ranks: ranks, Count: uint64(counts[text]), Text: text})
	}
	return out
}

// preloaded reports whether a trace is of the run-time as a library of its own.
func preloaded(reader *trace.Reader) bool {
	return slices.Contains(reader.Info("tracer.mode"), "preload")
}

// preloaded reports whether any trace is.
func (r *run) preloaded() bool {
	return slices.ContainsFunc(r.readers, func(reader *trace.Reader) bool { return reader != nil && preloaded(reader) })
}

// unseen divides parts that are not instrumented into those that nobody allowed to
// be so, and the others by the entry that allows them.
func (r *run) unseen(parts []string) (unseen []string, allowed map[Unseen][]string) {
	allowed = map[Unseen][]string{}
	for _, part := range parts {
		i := r.allows.entry(part, r.opts.Unseen)
		if i < 0 {
			unseen = append(unseen, part)
		} else {
			allowed[r.opts.Unseen[i]] = append(allowed[r.opts.Unseen[i]], part)
		}
	}
	return unseen, allowed
}

// mayBeUnseen knows which entry of Options.Unseen, if any, names a part.
type mayBeUnseen struct {
	patterns []*regexp.Regexp // of the entries
	entries  map[string]int   // by part, of those asked for; -1: none
}

// entry returns the entry that names a part by its path or by the last element of that:
// which of them the linker was given depends on the build. -1: none.
func (a *mayBeUnseen) entry(part string, all []Unseen) int {
	if a.entries == nil {
		a.entries = map[string]int{}
		for _, u := range all {
			quoted := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(u.Part, "\uFFFD")), `\*`, ".*")
			a.patterns = append(a.patterns, regexp.MustCompile("^(?s:"+quoted+")$"))
		}
	}
	i, known := a.entries[part]
	if !known {
		i = slices.IndexFunc(a.patterns, func(p *regexp.Regexp) bool { return p.MatchString(part) || p.MatchString(path.Base(part)) })
		a.entries[part] = i
	}
	return i
}

// mayGoUnseen lists what is not seen of the program, and need not be.
func (r *run) mayGoUnseen() []Caveat {
	type entry struct {
		parts  string
		reason string
	}
	ranks := map[entry][]int{}
	for rank, reader := range r.readers {
		if reader == nil {
			continue
		}
		for _, b := range builds(reader) {
			_, allowed := r.unseen(b.Uninstrumented)
			for u, parts := range allowed {
				e := entry{strings.Join(parts, ", "), u.Reason}
				ranks[e] = append(ranks[e], rank)
			}
		}
	}
	var out []Caveat
	for e, ranks := range ranks {
		out = append(out, Caveat{
			Kind: NotInstrumented, Ranks: ranks, Count: uint64(strings.Count(e.parts, ", ") + 1),
			Text: fmt.Sprintf("loads and stores of these parts of the program were not seen, which is allowed: %s (%s)", e.parts, e.reason),
		})
	}
	slices.SortFunc(out, func(a, b Caveat) int { return cmp.Or(slices.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Text, b.Text)) })
	return out
}

// builds reads what mcchk cc left in the program of a trace.
func builds(reader *trace.Reader) []buildInfo {
	var out []buildInfo
	for _, text := range reader.Info("build") {
		var b buildInfo
		if err := json.Unmarshal([]byte(text), &b); err == nil {
			out = append(out, b)
		}
	}
	return out
}

// caveat words a problem of the replay.
func (n *namer) caveat(p core.Problem) Caveat {
	d := Caveat{Ranks: p.Ranks, Count: p.Count, Text: p.Text}
	where := ""
	if p.Call != nil {
		where = n.where(p.Call)
	}
	if p.For != nil {
		p.Text = strings.Replace(p.Text, p.For.Fn, p.For.Fn+n.where(p.For), 1)
	}
	switch p.Kind {
	case core.NotUnderstood:
		d.Kind = NotUnderstood
		d.Text = fmt.Sprintf("%s of %s %s not understood", plural(p.Count, "call", "calls"), p.Fn, was(p.Count))
		if p.Text != "" {
			d.Text += " (" + p.Text + ")"
		}
		d.Text += where + ": what they order, complete or access is missing from the result"
	case core.Lost:
		d.Kind = LostEvents
		d.Text = fmt.Sprintf("%s lost: %s", plural(p.Count, "event was", "events were"), p.Text)
	case core.Damaged:
		d.Kind = CutTrace
		d.Text += where + p.Tail
		if p.Count > 1 {
			d.Text += fmt.Sprintf(" (and %d more)", p.Count-1)
		}
	case core.Threads:
		d.Kind = Threads
		d.Text += where + "; what threads and tasks do to the buffers of one another, or what orders them, is not recorded in full, so conflicts between them may go unseen"
	case core.Unseen:
		d.Kind = NotInstrumented
		d.Text += where + ": conflicts with them are not found"
	case core.Failed:
		d.Kind = NotUnderstood
		d.Text = fmt.Sprintf("%s of %s returned an error%s and %s ignored", plural(p.Count, "call", "calls"), p.Fn, where, was(p.Count))
	case core.Values:
		d.Kind = NotUnderstood
		d.Text += fmt.Sprintf(" (%s): order through this memory is missing from the result", plural(p.Count, "time", "times"))
	case core.Mismatch:
		d.Kind = Unmatched
		d.Text += where + ": what the calls order after that is not known"
	default: // Unmatched
		d.Kind = Unmatched
		d.Text += where + p.Tail
		if p.Count > 1 {
			d.Text += fmt.Sprintf(" (and %d more)", p.Count-1)
		}
	}
	return d
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func was(n uint64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
