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
	mu      sync.RWMutex
	places  map[Module]map[uint64][]Frame
	locals  map[Module]map[uint64][]Placed // of the same addresses
	globals map[Module][]Placed
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

// AddLocals stores the local variables of an address (as of Resolver.Locals).
func (t *Table) AddLocals(m Module, addr uint64, locals []Placed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locals == nil {
		t.locals = map[Module]map[uint64][]Placed{}
	}
	if t.locals[m] == nil {
		t.locals[m] = map[uint64][]Placed{}
	}
	t.locals[m][addr] = locals
}

// Locals returns what was stored for an address; false where none were.
func (t *Table) Locals(m Module, addr uint64) ([]Placed, bool) {
	if t == nil {
		return nil, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	locals, ok := t.locals[m][addr]
	return locals, ok
}

// AddGlobals stores the global variables of a module (as of Resolver.Globals).
func (t *Table) AddGlobals(m Module, globals []Placed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.globals == nil {
		t.globals = map[Module][]Placed{}
	}
	t.globals[m] = globals
}

// Globals returns what was stored for a module; false where none were.
func (t *Table) Globals(m Module) ([]Placed, bool) {
	if t == nil {
		return nil, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	globals, ok := t.globals[m]
	return globals, ok
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
	Path    string          `json:"path"`
	BuildID string          `json:"build_id,omitempty"`
	Places  []tablePlace    `json:"places"`
	Globals []tableVariable `json:"globals,omitempty"`
}

type tablePlace struct {
	Address string          `json:"address"`
	Frames  []tableFrame    `json:"frames"`
	Locals  []tableVariable `json:"locals,omitempty"`
}

// tableVariable is a variable: of a place relative to the frame pointer, of a module at
// an address of its file.
type tableVariable struct {
	Name   string `json:"name"`
	Static bool   `json:"static,omitempty"`
	Func   string `json:"func,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	From   int64  `json:"from"`
	Size   uint64 `json:"size"`
}

func tableVariables(variables []Placed) []tableVariable {
	var out []tableVariable
	for _, v := range variables {
		out = append(out, tableVariable{v.Name, v.Static, v.Func, v.File, v.Line, v.From, v.Size})
	}
	return out
}

func placedVariables(variables []tableVariable) []Placed {
	var out []Placed
	for _, v := range variables {
		out = append(out, Placed{Variable{v.Name, v.Func, v.Static, v.File, v.Line}, v.From, v.Size})
	}
	return out
}

type tableFrame struct {
	Func    string `json:"func,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Inlined bool   `json:"inlined,omitempty"`
	Part    bool   `json:"part,omitempty"`
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
			out.Modules = append(out.Modules, t.of(m))
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

func (t *Table) of(m Module) tableModule {
	tm := tableModule{Path: m.Path, BuildID: m.BuildID, Globals: tableVariables(t.globals[m])}
	for _, addr := range slices.Sorted(maps.Keys(t.places[m])) {
		p := tablePlace{Address: fmt.Sprintf("0x%x", addr), Locals: tableVariables(t.locals[m][addr])}
		for _, f := range t.places[m][addr] {
			p.Frames = append(p.Frames, tableFrame{f.Func, f.File, f.Line, f.Column, f.Inlined, f.Part, f.Reason})
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
					Inlined: f.Inlined, Part: f.Part, Reason: f.Reason, Module: m.Path, Offset: addr}
			}
			t.Add(m, addr, frames)
			if p.Locals != nil {
				t.AddLocals(m, addr, placedVariables(p.Locals))
			}
		}
		if tm.Globals != nil {
			t.AddGlobals(m, placedVariables(tm.Globals))
		}
	}
	return t, nil
}
