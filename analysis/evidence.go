package analysis

import (
	"cmp"
	"encoding/hex"
	"errors"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/symbols"
)

// evidence is what an analysis has found, in the terms of the traces: all that
// the result tells but for the names of places. What several analyses for
// parts of memory have found is joined in this form.
type evidence struct {
	Directory string
	Run       string
	Began     int64 // when the run did, ns since 1970; 0 where that was not recorded
	Clock     string
	Model     MemoryModel
	Program   string
	Library   string
	Launch    Launch
	Layers    symbols.Layers // as the places were marked
	Basis     Basis
	Groups    []conflicts.Group
	Predicted []conflicts.Group // errors when the order of locks is left out
	Compared  bool              // another of the orders was tried that values leave open:
	Others    []conflicts.Group // errors in that
	Open      []core.OpenOrder
	Usages    []core.Usage
	MayOrder  []string // functions called that may order processes in ways not known

	// What there is of both where these functions order all that they can.
	Firm       []conflicts.Group
	FirmUsages []core.Usage

	Caveats  []Caveat // those that name no places
	Allowed  []Caveat
	Unseen   []Unseen // that may be allowed of Problems
	Problems []core.Problem
	Warnings []string
}

// gather replays and searches.
func (r *run) gather() (*evidence, error) {
	opts := r.replayOptions()
	r.streams = r.prefetch(opts.Part)
	m, groups, err := r.search(r.streams, opts)
	if errors.Is(err, core.ErrSkipped) {
		if err := r.again(); err != nil {
			return nil, err
		}
		r.streams = prefetchAll(r.readers)
		m, groups, err = r.search(r.streams, opts)
	}
	if err != nil {
		return nil, err
	}
	e := r.evidence(m, groups)
	if r.stopped == nil {
		e.Problems = m.Problems()
		if err := r.firm(e, m); err != nil {
			return nil, err
		}
	}
	if r.stopped == nil {
		if r.opts.Predict {
			if e.Predicted, err = r.predict(); err != nil {
				return nil, err
			}
			if c := m.Choices(); c.Open > 0 && r.stopped == nil {
				if err := r.otherOrder(e, c); err != nil {
					return nil, err
				}
			}
		}
	}
	e.Problems = append(e.Problems, r.cuts(m)...)
	var memory *memoryError
	switch {
	case errors.As(r.stopped, &memory):
		e.Caveats = append(e.Caveats, r.tooLarge(r.held))
	case r.stopped != nil:
		e.Caveats = append(e.Caveats, r.interrupted())
	}
	return e, nil
}

// evidence is what is known of a run, whose replay may go on.
func (r *run) evidence(m *core.Machine, groups []conflicts.Group) *evidence {
	return &evidence{
		Directory: r.dir.Path,
		Run:       hex.EncodeToString(r.dir.Run[:]),
		Began:     r.began(),
		Clock:     r.opts.Clock,
		Model:     cmp.Or(r.opts.MemoryModel, ModelAuto),
		Layers:    r.opts.Layers,
		Program:   r.info("program"),
		Library:   r.info("mpi.library"),
		Launch:    r.launch(),
		Basis:     r.basis(m),
		Groups:    groups,
		Usages:    m.Usages(),
		MayOrder:  m.MayOrder(),
		Caveats:   r.caveats(),
		Allowed:   r.mayGoUnseen(),
		Unseen:    r.opts.Unseen,
	}
}

// began returns when the first process of the run began to record, ns since 1970; 0
// where that is not known of all.
func (r *run) began() int64 {
	first := int64(0)
	for i, f := range r.dir.Files {
		t := int64(f.Header.Realtime)
		if t == 0 {
			return 0
		}
		if i == 0 || t < first {
			first = t
		}
	}
	return first
}

// conclude names the places and comes to a verdict.
func (e *evidence) conclude(n *namer) *Result {
	res := &Result{
		Directory: e.Directory,
		Run:       e.Run,
		Clock:     e.Clock,
		Model:     e.Model,
		Program:   e.Program,
		Began:     beganAt(e.Began),
		Library:   e.Library,
		Launch:    e.Launch,
		Basis:     e.Basis,
		Warnings:  e.Warnings,
		Layers:    e.Layers,
	}
	n.know(e.MayOrder, e.Problems)
	n.tellApart(e)
	n.firm = n.firmly(e)
	all := n.findings(e.Groups, e.Usages)
	if e.Compared {
		all = n.compared(all, e)
	}
	if len(e.Predicted) > 0 {
		all = append(all, n.predicted(e.Predicted, all)...)
	}
	res.Findings = sorted(all)
	proposeTogether(res.Findings)
	res.Caveats, res.Allowed = n.caveats(e)
	res.Verdict = VerdictOn(res)
	return res
}
