package report

import (
	"fmt"
	"path/filepath"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/lattice"
)

type htmlWindow struct {
	Name   textRef    `json:"name"`
	Run    int        `json:"run,omitempty"` // number of the run, of several
	Number int        `json:"number"`        // of the window in its run, from 1; 0: not known
	Parts  []htmlPart `json:"parts,omitempty"`
	Others int        `json:"others,omitempty"` // parts that are left out
}

// htmlPart is a map of one process's part of a window.
type htmlPart struct {
	Owner  int         `json:"owner"`
	Cell   uint64      `json:"cell"`
	Tracks []htmlTrack `json:"tracks"`
}

type htmlTrack struct {
	Rank  int      `json:"rank"`  // -1: several others
	Kind  int      `json:"kind"`  // of regions.Kind
	Bytes []uint64 `json:"bytes"` // ranges one after another: from, up to, from, up to
}

// htmlLattice is the events around a finding: a lattice.Lattice.
type htmlLattice struct {
	Lines    []htmlLine   `json:"lines"`
	Events   []htmlEvent  `json:"events"` // causes before effects
	Edges    []htmlEdge   `json:"edges"`
	Accesses []htmlAccess `json:"acc"`
}

type htmlLine struct {
	Rank   int    `json:"rank"`
	Strand uint32 `json:"strand,omitempty"`
	Before bool   `json:"before,omitempty"`
	After  bool   `json:"after,omitempty"`
}

type htmlEvent struct {
	Line  int     `json:"l"` // -1: a join
	Kind  string  `json:"k"`
	Part  string  `json:"p,omitempty"`
	Name  textRef `json:"n"`
	At    textRef `json:"at"` // place in the source, without folders
	To    textRef `json:"to"` // of what has one target
	Gap   bool    `json:"gap,omitempty"`
	Layer int     `json:"y,omitempty"`
}

type htmlEdge struct {
	From  int    `json:"f"`
	To    int    `json:"t"`
	Kind  string `json:"k"`
	Found string `json:"v,omitempty"` // which value was found, and where
}

type htmlAccess struct {
	Side  int `json:"side"` // of the finding, 0 or 1
	Event int `json:"e"`
	Done  int `json:"d"` // -1: none shown
}

// mostBounds is how many ends of ranges the maps of windows may have in all.
const mostBounds = 200_000

// pictures takes the maps of windows, as far as there is room, and the events
// around findings.
func (d *dataWriter) pictures(p *analysis.Pictures) {
	d.data.Missing, d.data.Drawn = p.Missing, len(p.Lattices)
	for i, l := range p.Lattices {
		if i < len(d.data.Findings) && l != nil && len(l.Events) > 0 {
			d.data.Events[i] = d.lattice(l, d.swapped[i])
		}
	}
	d.windowMaps(p.Windows)
}

func (d *dataWriter) windowMaps(maps []analysis.WindowMap) {
	left := mostBounds
	for _, m := range maps {
		w := &d.data.Windows[d.windowIndex(windowKey{m.Run, m.Window}, m.Number, m.Name)]
		w.Others = m.Others
		for _, part := range m.Parts {
			size := 0
			for _, t := range part.Tracks {
				size += 2 * len(t.Runs)
			}
			if left -= size; left < 0 {
				w.Others++
				continue
			}
			out := htmlPart{Owner: part.Owner, Cell: part.Cell, Tracks: []htmlTrack{}}
			for _, t := range part.Tracks {
				track := htmlTrack{Rank: t.Rank, Kind: int(t.Kind), Bytes: []uint64{}}
				for _, r := range t.Runs {
					track.Bytes = append(track.Bytes, r.Lo, r.Hi)
				}
				out.Tracks = append(out.Tracks, track)
			}
			w.Parts = append(w.Parts, out)
		}
	}
}

// eventPlace is the place of an event, "halo.c:12"; "" where it is not known.
func eventPlace(e *lattice.Event) string {
	if e.Place.File == "" || e.Place.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(e.Place.File), e.Place.Line)
}

// lattice takes the events around a finding.
func (d *dataWriter) lattice(l *lattice.Lattice, swapped bool) *htmlLattice {
	out := &htmlLattice{Lines: []htmlLine{}, Events: []htmlEvent{}, Edges: []htmlEdge{}, Accesses: []htmlAccess{}}
	for _, x := range l.Lines {
		out.Lines = append(out.Lines, htmlLine{x.Rank, x.Strand, x.Before, x.After})
	}
	for i := range l.Events {
		e := &l.Events[i]
		to := ""
		if e.Target >= 0 {
			to = numbered(d.data.Process, []int{e.Target})
		}
		out.Events = append(out.Events, htmlEvent{
			Line: e.Line, Kind: string(e.Kind), Part: string(e.Part), Name: d.text(e.Name), At: d.text(eventPlace(e)),
			To: d.text(to), Gap: e.Gap, Layer: e.Layer,
		})
	}
	for _, e := range l.Edges {
		found := ""
		if e.Found != nil {
			found = "found " + e.Found.String()
		}
		out.Edges = append(out.Edges, htmlEdge{e.From, e.To, string(e.Kind), found})
	}
	for _, a := range l.Accesses {
		side := a.Side - 1
		if swapped {
			side = 1 - side
		}
		out.Accesses = append(out.Accesses, htmlAccess{side, a.Event, a.Done})
	}
	return out
}
