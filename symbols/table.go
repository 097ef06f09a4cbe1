package symbols

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// TableFile is the name under which a table lies beside the traces.
const TableFile = "symbols.json"

const tableVersion = 1

// Table keeps resolved places, so that traces can be analysed where the
// program's files are missing. A nil table is empty. It is safe for
// concurrent use.
type Table struct {
	mu     sync.RWMutex
	places map[Module]map[uint64][]Frame
}

// Add stores the frames of an address (as of Resolver.Resolve), which must not
// be changed afterwards.
func (t *Table) Add(m Module, addr uint64, frames []Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		t.places = map[Module]map[uint64][]Frame{}
	}
	if t.places[m] == nil {
		t.places[m] = map[uint64][]Frame{}
	}
	t.places[m][addr] = frames
}

// Lookup returns what was stored for an address.
func (t *Table) Lookup(m Module, addr uint64) ([]Frame, bool) {
	if t == nil {
		return nil, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	frames, ok := t.places[m][addr]
	return frames, ok
}

// Len returns the number of stored addresses.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := 0
	for _, places := range t.places {
		n += len(places)
	}
	return n
}

// The file: modules by path and build id, places by address.
type tableFile struct {
	Version int           `json:"version"`
	Modules []tableModule `json:"modules"`
}

type tableModule struct {
	Path    string       `json:"path"`
	BuildID string       `json:"build_id,omitempty"`
	Places  []tablePlace `json:"places"`
}

type tablePlace struct {
	Address string       `json:"address"`
	Frames  []tableFrame `json:"frames"`
}

type tableFrame struct {
	Func    string `json:"func,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Inlined bool   `json:"inlined,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Write writes the table as JSON, the same bytes for the same content.
func (t *Table) Write(w io.Writer) error {
	out := tableFile{Version: tableVersion, Modules: []tableModule{}}
	if t != nil {
		t.mu.RLock()
		defer t.mu.RUnlock()
		modules := slices.SortedFunc(maps.Keys(t.places), func(a, b Module) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.BuildID, b.BuildID))
		})
		for _, m := range modules {
			out.Modules = append(out.Modules, tableOf(m, t.places[m]))
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write symbols: %w", err)
	}
	return nil
}

func tableOf(m Module, places map[uint64][]Frame) tableModule {
	tm := tableModule{Path: m.Path, BuildID: m.BuildID}
	for _, addr := range slices.Sorted(maps.Keys(places)) {
		p := tablePlace{Address: fmt.Sprintf("0x%x", addr)}
		for _, f := range places[addr] {
			p.Frames = append(p.Frames, tableFrame{f.Func, f.File, f.Line, f.Column, f.Inlined, f.Reason})
		}
		tm.Places = append(tm.Places, p)
	}
	return tm
}

// ReadTable reads what Write wrote.
func ReadTable(r io.Reader) (*Table, error) {
	var in tableFile
	if err := json.NewDecoder(r).Decode(&in); err != nil {
		return nil, fmt.Errorf("read symbols: %w", err)
	}
	if in.Version != tableVersion {
		return nil, fmt.Errorf("read symbols: version %d, this program reads version %d", in.Version, tableVersion)
	}
	t := &Table{}
	for _, tm := range in.Modules {
		m := Module{Path: tm.Path, BuildID: tm.BuildID}
		for _, p := range tm.Places {
			addr, err := strconv.ParseUint(p.Address, 0, 64)
			if err != nil {
				return nil, fmt.Errorf("read symbols: module %s: address %q is not a number", m.Path, p.Address)
			}
			if len(p.Frames) == 0 {
				return nil, fmt.Errorf("read symbols: module %s: address %s has no frame", m.Path, p.Address)
			}
			frames := make([]Frame, len(p.Frames))
			for i, f := range p.Frames {
				frames[i] = Frame{Func: f.Func, File: f.File, Line: f.Line, Column: f.Column,
					Inlined: f.Inlined, Reason: f.Reason, Module: m.Path, Offset: addr}
			}
			t.Add(m, addr, frames)
		}
	}
	return t, nil
}
