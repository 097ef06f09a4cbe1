package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/internal/mistaken"
	"github.com/mcchk/mcchk/sources"
)

// baselineVersion changes when older versions of mcchk would misread the file.
const baselineVersion = 2

// innermostVersion is that of files which recognize findings by their innermost
// lines alone. They are read still.
const innermostVersion = 1

// ErrNoBaseline is the error of a file that holds something else.
var ErrNoBaseline = errors.New("no baseline of mcchk")

// Known is a finding of a baseline.
type Known struct {
	Fingerprint string `json:"fingerprint"` // its Hash
	fingerprint.Finding
	Reason string `json:"reason,omitempty"` // why it is accepted; "" of one that was known from the start
}

// Baseline is a list of findings that are known, in the order of its file.
type Baseline struct {
	Findings []Known
	// Old: the file is of a version that recognizes findings by their innermost
	// lines alone. So each of its entries knows all findings that share them.
	Old bool
}

// baselineFile is the form of a baseline in a file.
type baselineFile struct {
	Version  int               `json:"mcchk_baseline"`
	Findings []json.RawMessage `json:"findings"`
}

// NewBaseline makes a baseline of all findings of a result, and of those
// accepted because they were in a baseline before. Suppressed ones are none of
// a baseline's business.
func NewBaseline(res *analysis.Result) *Baseline {
	b := &Baseline{Findings: []Known{}}
	for i := range res.Findings {
		b.Findings = append(b.Findings, knownOf(&res.Findings[i], res.Sources, ""))
	}
	for i := range res.Accepted {
		if a := &res.Accepted[i]; a.By == analysis.Baseline {
			b.Findings = append(b.Findings, knownOf(&a.Finding, res.Sources, a.Reason))
		}
	}
	b.sort()
	return b
}

func knownOf(f *conflicts.Finding, lines *sources.Reader, reason string) Known {
	print := fingerprint.Of(f, lines)
	return Known{print.Hash(), print, reason}
}

// Add returns a baseline that knows findings too, with the reason why, and what was
// added. The baseline itself, which may be nil, stays as it is.
func (b *Baseline) Add(findings []conflicts.Finding, lines *sources.Reader, reason string) (*Baseline, []Known) {
	out := &Baseline{Findings: []Known{}}
	if b != nil {
		out.Findings = append(out.Findings, b.Findings...)
	}
	var added []Known
	for i := range findings {
		added = append(added, knownOf(&findings[i], lines, reason))
	}
	out.Findings = append(out.Findings, added...)
	out.sort()
	return out, added
}

func (b *Baseline) sort() {
	slices.SortFunc(b.Findings, func(x, y Known) int {
		return cmp.Or(cmp.Compare(x.String(), y.String()), cmp.Compare(x.Fingerprint, y.Fingerprint))
	})
}

// WriteFile writes a baseline, replacing the file as a whole.
func (b *Baseline) WriteFile(path string) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(struct {
		Version  int     `json:"mcchk_baseline"`
		Findings []Known `json:"findings"`
	}{baselineVersion, b.Findings}); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if err := replaceFile(path, buf.Bytes()); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}

// replaceFile writes a file so that it is never there in part.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mcchk-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ReadBaseline reads a baseline. Errors name the file, and wrap ErrNoBaseline
// when it holds something else.
func ReadBaseline(path string) (*Baseline, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	b, err := parseBaseline(data)
	switch {
	case errors.Is(err, ErrNoBaseline):
		return nil, fmt.Errorf("baseline %s: %w; restore the file, or remove it and write one with mcchk analyze --write-baseline %[1]s", path, err)
	case err != nil:
		return nil, fmt.Errorf("baseline %s: %w", path, err)
	}
	return b, nil
}

func parseBaseline(data []byte) (*Baseline, error) {
	var file baselineFile
	dec := json.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&file); {
	case file.Version == 0:
		return nil, fmt.Errorf("%w: %s", ErrNoBaseline, mistaken.JSON(data))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoBaseline, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows its end", ErrNoBaseline)
	}
	if file.Version != baselineVersion && file.Version != innermostVersion {
		return nil, fmt.Errorf("version %d of baselines; this mcchk knows version %d: write it anew with --write-baseline", file.Version, baselineVersion)
	}
	b := &Baseline{Old: file.Version == innermostVersion, Findings: []Known{}}
	for i, data := range file.Findings {
		k, err := b.known(data)
		if err != nil {
			return nil, fmt.Errorf("%w: finding %d: %w", ErrNoBaseline, i+1, err)
		}
		if k.Rule == "" || len(k.Sides) < 1 || len(k.Sides) > 2 {
			return nil, fmt.Errorf("%w: finding %d has no rule, or not one or two sides", ErrNoBaseline, i+1)
		}
		b.Findings = append(b.Findings, k)
	}
	return b, nil
}

// known reads an entry.
func (b *Baseline) known(data []byte) (k Known, err error) {
	if !b.Old {
		return k, json.Unmarshal(data, &k)
	}
	k.Finding, err = fingerprint.ReadInnermost(data)
	return k, err
}

// class is findings that a baseline cannot tell apart.
type class struct {
	fingerprint.Finding
	members []int // indices of findings
}

// classes sorts findings by what the baseline recognizes them by.
func (b *Baseline) classes(findings []conflicts.Finding, lines *sources.Reader) []*class {
	var out []*class
	byHash := map[string][]*class{}
	for i := range findings {
		if !b.Old {
			out = append(out, &class{fingerprint.Of(&findings[i], lines), []int{i}})
			continue
		}
		print := fingerprint.Innermost(&findings[i], lines)
		hash := print.Hash()
		k := slices.IndexFunc(byHash[hash], func(c *class) bool { return c.SameLines(print) })
		if k >= 0 {
			byHash[hash][k].members = append(byHash[hash][k].members, i)
			continue
		}
		c := &class{print, []int{i}}
		byHash[hash] = append(byHash[hash], c)
		out = append(out, c)
	}
	return out
}

// match says by which of its own the baseline knows findings, nil where it does not, and
// which of its own are none of them. Each entry knows one finding: a second one like it is new. Of
// several alike, those at their old lines are matched first.
func (b *Baseline) match(findings []conflicts.Finding, lines *sources.Reader) (known []*Known, vanished []Known) {
	known = make([]*Known, len(findings))
	if b == nil {
		return known, nil
	}
	classes := b.classes(findings, lines)
	byHash := map[string][]*class{}
	byPlaces := map[string][]*class{}
	for _, c := range classes {
		hash, places := c.Hash(), c.Places()
		byHash[hash] = append(byHash[hash], c)
		byPlaces[places] = append(byPlaces[places], c)
	}
	matched := make([]bool, len(b.Findings))
	pass := func(candidates func(k *Known) []*class, fits func(k *Known, c *class) bool) {
		for n := range b.Findings {
			k := &b.Findings[n]
			if matched[n] {
				continue
			}
			for _, c := range candidates(k) {
				if known[c.members[0]] == nil && fits(k, c) {
					matched[n] = true
					for _, i := range c.members {
						known[i] = k
					}
					break
				}
			}
		}
	}
	alike := func(k *Known) []*class { return byHash[k.Hash()] }
	inPlace := func(k *Known) []*class { return byPlaces[k.Places()] }
	sameLines := func(k *Known, c *class) bool { return k.SameLines(c.Finding) }
	pass(alike, sameLines)
	pass(alike, func(*Known, *class) bool { return true })
	pass(inPlace, sameLines)
	for n, k := range b.Findings {
		if !matched[n] {
			vanished = append(vanished, k)
		}
	}
	return known, vanished
}
