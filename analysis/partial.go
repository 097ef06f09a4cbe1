package analysis

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// partialFormat is the version of the files. It changes with any change of
// what they hold.
const partialFormat = 9

// Errors of partial results.
var (
	// ErrPartial: a file is no partial result, or is damaged.
	ErrPartial = errors.New("not a partial result")
	// ErrParts: partial results that do not belong together, or not all of them.
	ErrParts = errors.New("cannot merge the parts")
)

// Partial is what the analysis of one part has found: compressed JSON, which
// only the same version of the program reads.
type Partial struct {
	Format  int
	Version string // of the program; set by who writes
	Shard   Shard
	Path    string `json:"-"` // of the file it was read from

	// What all parts of an analysis have in common.
	Run      string
	Options  partialOptions
	Basis    Basis
	Usages   []core.Usage
	MayOrder []string
	Problems []core.Problem

	FirmUsages []core.Usage // none where this part had no need to know

	// What may differ with the machine.
	Directory string
	Began     int64 // as in evidence
	Program   string
	Library   string
	Launch    Launch
	Caveats   []Caveat
	Allowed   []Caveat
	Warnings  []string

	// What is this part's own.
	Groups    []conflicts.Group
	Firm      []conflicts.Group
	Predicted []conflicts.Group
	Others    []conflicts.Group
	Compared  bool
	Open      []core.OpenOrder
	Places    []stackPlace // of all stacks that any of this names
	Variables []variableAt // that the findings are about

	Sources *sources.Stored // the text kept with the traces; in the first part only
}

// partialOptions are the options that a result depends on.
type partialOptions struct {
	Clock   string
	Model   MemoryModel
	Predict bool
	Layers  symbols.Layers
	Unseen  []Unseen
}

// stackPlace is where a recorded stack was.
type stackPlace struct {
	Rank   int32
	Stack  uint32
	Frames []symbols.Frame
}

func newPartial(s Shard, o Options, run string, e *evidence) *Partial {
	return &Partial{
		Format: partialFormat, Shard: s,
		Run: run, Options: partialOptions{o.Clock, cmp.Or(o.MemoryModel, ModelAuto), o.Predict, o.Layers, o.Unseen},
		Basis: e.Basis, Usages: e.Usages, MayOrder: e.MayOrder, Problems: e.Problems,
		Directory: e.Directory, Began: e.Began, Program: e.Program, Library: e.Library, Launch: e.Launch, Caveats: e.Caveats, Allowed: e.Allowed, Warnings: e.Warnings,
		Groups: e.Groups, Firm: e.Firm, FirmUsages: e.FirmUsages, Predicted: e.Predicted, Others: e.Others, Compared: e.Compared, Open: e.Open,
	}
}

// placesOfStacks lists the stacks that were named.
func placesOfStacks(n *namer) []stackPlace {
	var out []stackPlace
	for key, frames := range n.stacks {
		out = append(out, stackPlace{key.rank, key.stack, frames})
	}
	slices.SortFunc(out, func(a, b stackPlace) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Stack, b.Stack))
	})
	return out
}

// WriteFile writes the result to a file, under a temporary name until it is
// complete: there is never half a result under its own.
func (p *Partial) WriteFile(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := p.write(f); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (p *Partial) write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	z := gzip.NewWriter(buf)
	if err := json.NewEncoder(z).Encode(p); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

// ReadPartial reads a file that WriteFile wrote. An error wraps ErrPartial when
// it holds no complete partial result, or one of another version of the program.
func ReadPartial(path, version string) (*Partial, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &Partial{}
	if err := p.read(f); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrPartial, err)
	}
	p.Path = path
	if p.Format != partialFormat || p.Version != version {
		return nil, fmt.Errorf("%s: %w of this version (%s): it was written by version %s", path, ErrPartial, version, p.Version)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrPartial, err)
	}
	return p, nil
}

func (p *Partial) read(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(z) // to the checksum at the end
	if err != nil {
		return err
	}
	return json.Unmarshal(data, p)
}

// check refuses what the program never writes and would stumble over.
func (p *Partial) check() error {
	if !p.Shard.valid() {
		return fmt.Errorf("part %s", p.Shard)
	}
	for _, g := range slices.Concat(p.Groups, p.Firm, p.Predicted, p.Others) {
		a, b := g.Sample.First.Call, g.Sample.Second.Call
		if a == nil || b == nil {
			return errors.New("a conflict that is none")
		}
	}
	for _, u := range slices.Concat(p.Usages, p.FirmUsages) {
		if u.Call == nil {
			return errors.New("a usage error that is none")
		}
	}
	return nil
}

// MergePartials joins the parts of an analysis into its result. An error wraps
// ErrParts and names the files or parts that are missing, there twice, or of
// another run, other options or other traces. heap is how many bytes the program may
// have in use, as Options.Heap: of more findings than that is enough for, the result has
// the first only, and says so. 0: no limit.
func MergePartials(parts []*Partial, heap int64) (*Result, error) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Partial) int { return cmp.Compare(a.Shard.Index, b.Shard.Index) })
	if err := belongTogether(parts); err != nil {
		return nil, err
	}
	first := parts[0]
	e := &evidence{
		Directory: first.Directory, Run: first.Run, Clock: first.Options.Clock, Model: first.Options.Model,
		Program: first.Program, Library: first.Library, Launch: first.Launch, Layers: first.Options.Layers,
		Basis: first.Basis, Usages: first.Usages, MayOrder: first.MayOrder,
		Caveats: first.Caveats, Allowed: first.Allowed, Unseen: first.Options.Unseen, Problems: first.Problems, Began: first.Began,
	}
	n := &namer{stacks: map[stackKey][]symbols.Frame{}, variables: map[variableKey]named{}}
	var groups, firm, predicted, others [][]conflicts.Group
	e.Compared, e.Open = first.Compared, first.Open
	for _, p := range parts {
		groups, firm, predicted, others = append(groups, p.Groups), append(firm, p.Firm), append(predicted, p.Predicted), append(others, p.Others)
		if len(e.FirmUsages) == 0 {
			e.FirmUsages = p.FirmUsages
		}
		e.Compared = e.Compared && p.Compared
		for _, w := range p.Warnings {
			if !slices.Contains(e.Warnings, w) {
				e.Warnings = append(e.Warnings, w)
			}
		}
		for _, s := range p.Places {
			n.stacks[stackKey{s.Rank, s.Stack}] = s.Frames
		}
		for _, v := range p.Variables {
			n.variables[v.Key] = named{v.Variable, v.Block}
		}
	}
	e.Groups, e.Firm, e.Predicted, e.Others = conflicts.Join(groups...), conflicts.Join(firm...), conflicts.Join(predicted...), conflicts.Join(others...)
	e.leaveOut(heap)
	n.sources = sources.NewReader(first.Sources, sources.Disk{})
	res := e.conclude(n)
	res.showSources(n.sources)
	return res, nil
}

// leaveOut leaves out the conflicts of which the findings would not fit into memory.
func (e *evidence) leaveOut(heap int64) {
	most, found := int(heap/100*heapShare/findingBytes), len(e.Groups)+len(e.Predicted)+len(e.Others)
	if heap == 0 || found+len(e.Firm) <= most {
		return
	}
	e.Groups = e.Groups[:min(most, len(e.Groups))]
	most -= len(e.Groups)
	e.Firm = e.Firm[:min(most, len(e.Firm))]
	most -= len(e.Firm)
	e.Predicted = e.Predicted[:min(most, len(e.Predicted))]
	e.Others = e.Others[:min(most-len(e.Predicted), len(e.Others))]
	e.Compared = false
	left := uint64(found - len(e.Groups) - len(e.Predicted) - len(e.Others))
	if left == 0 {
		return
	}
	e.Caveats = append(slices.Clip(e.Caveats), Caveat{
		Kind: TooLarge, Count: left,
		Text: fmt.Sprintf("%s left out, because all of them would need more memory than the merge may take (%d MiB of heap); fix what is reported and run the program again, or merge with more memory (--max-memory)",
			plural(left, "conflict was", "conflicts were"), heap>>20),
	})
}

// belongTogether checks that some parts, in their order, are one analysis.
func belongTogether(parts []*Partial) error {
	if len(parts) == 0 {
		return fmt.Errorf("%w: there are none", ErrParts)
	}
	first := parts[0]
	seen := map[int]*Partial{}
	for _, p := range parts {
		if what := first.differs(p); what != "" {
			return fmt.Errorf("%w: %s and %s are of %s", ErrParts, first.Path, p.Path, what)
		}
		if old := seen[p.Shard.Index]; old != nil {
			return fmt.Errorf("%w: %s and %s are both part %s", ErrParts, old.Path, p.Path, p.Shard)
		}
		seen[p.Shard.Index] = p
	}
	const most = 20
	var missing []string
	for i := 1; i <= first.Shard.Of && len(missing) <= most; i++ {
		if seen[i] == nil {
			missing = append(missing, Shard{i, first.Shard.Of}.String())
		}
	}
	if len(missing) > 0 {
		return &MissingParts{Parts: missing}
	}
	return nil
}

// MissingParts is the error of an analysis of which parts are missing: ErrParts.
type MissingParts struct {
	Parts []string // "2/8", the first of them
}

func (m *MissingParts) Error() string {
	return fmt.Sprintf("%v: missing %s", ErrParts, joined(m.Parts))
}

// Unwrap returns ErrParts.
func (m *MissingParts) Unwrap() error { return ErrParts }

func joined(parts []string) string {
	const most = 20
	text := ""
	for i, p := range parts {
		switch {
		case i == most:
			return text + ", …"
		case i > 0:
			text += ", "
		}
		text += p
	}
	return text
}

// differs says in what two parts are not of one analysis; "" when they are.
func (p *Partial) differs(q *Partial) string {
	switch {
	case p.Run != q.Run:
		return fmt.Sprintf("different runs (%s and %s)", p.Run, q.Run)
	case p.Shard.Of != q.Shard.Of:
		return fmt.Sprintf("analyses in different numbers of parts (%d and %d)", p.Shard.Of, q.Shard.Of)
	case !reflect.DeepEqual(p.Options, q.Options):
		return fmt.Sprintf("analyses with different options (%s and %s)", p.Options, q.Options)
	case p.Basis != q.Basis, !same(p.Usages, q.Usages), !same(p.MayOrder, q.MayOrder), !same(p.Problems, q.Problems):
		return "different traces: files were added, removed or cut between the two, or one is damaged where only one part reads it (mcchk analyze without --shard tells)"
	}
	return ""
}

// same compares lists of which an empty one may be nil.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

func (o partialOptions) String() string {
	text := fmt.Sprintf("--clock %s --memory-model %s", o.Clock, o.Model)
	if o.Predict {
		text += " --predict"
	}
	return text + o.listFlags()
}

// listFlags are the flags for Layers and Unseen, each behind a space.
func (o partialOptions) listFlags() string {
	text := ""
	for _, pattern := range o.Layers.Libraries {
		text += fmt.Sprintf(" --libraries '%s'", pattern)
	}
	for _, pattern := range o.Layers.Wrappers {
		text += fmt.Sprintf(" --wrappers '%s'", pattern)
	}
	for _, u := range o.Unseen {
		text += fmt.Sprintf(" --unseen '%s=%s'", u.Part, u.Reason)
	}
	return text
}

// Flags are the flags of mcchk analyze that are not as they are by default, each
// behind a space.
func (o partialOptions) Flags() string {
	text := ""
	if o.Clock != evc.Auto {
		text += " --clock " + o.Clock
	}
	if o.Model != ModelAuto {
		text += " --memory-model " + string(o.Model)
	}
	if o.Predict {
		text += " --predict"
	}
	return text + o.listFlags()
}
