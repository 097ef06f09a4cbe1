package symbols

import "sync"

// Module is an executable or a shared library of a traced program.
type Module struct {
	Path    string // as the process had mapped it
	BuildID string // hexadecimal; "" when unknown
}

// Options of NewResolver. The zero value is useful.
type Options struct {
	// Table holds places that were resolved earlier; it goes before the files.
	// The resolver only reads it, so it must not change meanwhile.
	Table *Table
	// DebugDirs are the roots of separate debug files; nil means /usr/lib/debug.
	DebugDirs []string
}

// Resolver finds the source places of program counters. It is safe for
// concurrent use, and answers a question asked before without work.
type Resolver struct {
	table     *Table
	debugDirs []string

	mu      sync.Mutex
	modules map[Module]*module
}

// module is the state of one Module: loaded at the first question.
type module struct {
	once sync.Once
	img  *image

	mu    sync.Mutex
	cache map[uint64][]Frame
}

// NewResolver returns a resolver without any file opened yet.
func NewResolver(opts Options) *Resolver {
	dirs := opts.DebugDirs
	if dirs == nil {
		dirs = []string{"/usr/lib/debug"}
	}
	return &Resolver{table: opts.Table, debugDirs: dirs, modules: map[Module]*module{}}
}

// Resolve returns the frames of one address, innermost first: functions
// inlined there, then the function itself. addr is the virtual address in the
// module's file: the load address and, for a return address, 1 are already
// subtracted. There is at least one frame; when its File is missing, its
// Reason says why. The result is shared and must not be changed.
func (r *Resolver) Resolve(m Module, addr uint64) []Frame {
	if frames, ok := r.table.Lookup(m, addr); ok {
		return frames
	}
	mod := r.loaded(m)
	mod.mu.Lock()
	defer mod.mu.Unlock()
	if frames, ok := mod.cache[addr]; ok {
		return frames
	}
	frames := mod.img.frames(addr)
	for i := range frames {
		frames[i].Module, frames[i].Offset = m.Path, addr
	}
	mod.cache[addr] = frames
	return frames
}

// Globals returns the global and static variables of a module, by address. The result
// is shared and must not be changed.
func (r *Resolver) Globals(m Module) []Placed {
	if variables, ok := r.table.Globals(m); ok {
		return variables
	}
	return r.loaded(m).img.globals()
}

// Locals returns the variables that lie in the frame of the function that holds an
// address, as Resolve takes it, and are seen there: relative to its frame pointer, those of
// inner blocks first. The result is shared and must not be changed.
func (r *Resolver) Locals(m Module, addr uint64) []Placed {
	if locals, ok := r.table.Locals(m, addr); ok {
		return locals
	}
	mod := r.loaded(m)
	if mod.img.info == nil {
		return nil
	}
	mod.mu.Lock()
	defer mod.mu.Unlock()
	return mod.img.info.locals(addr)
}

func (r *Resolver) loaded(m Module) *module {
	mod := r.module(m)
	mod.once.Do(func() { mod.img = loadImage(m, r.debugDirs) })
	return mod
}

func (r *Resolver) module(m Module) *module {
	r.mu.Lock()
	defer r.mu.Unlock()
	mod := r.modules[m]
	if mod == nil {
		mod = &module{cache: map[uint64][]Frame{}}
		r.modules[m] = mod
	}
	return mod
}
