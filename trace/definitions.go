package trace

import "sync"

// definitions is what the identifiers in one process's events stand for.
type definitions struct {
	fns     []*Fn   // by identifier
	common  *common // with other processes; nil: nothing is
	stacks  map[uint32]*Stack
	types   map[int64]*Type
	comms   map[int64]*Comm
	ops     map[int64]string
	sources map[uint64][]Source
	info    map[string][]string
	modules []Module
	blocks  []Block
	clocks  []Clock
	end     *End
	log     *[]Definition // of what is entered, when somebody wants to know
}

// common is what processes of a run define alike, and is in memory once. Several
// goroutines may use it.
type common struct {
	mu  sync.Mutex
	fns map[string]*Fn // by the record
}

// fn is decodeFn for a reader of several.
func (c *common) fn(b []byte) (*Fn, error) {
	if c == nil {
		return decodeFn(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.fns[string(b)]; f != nil {
		return f, nil
	}
	f, err := decodeFn(b)
	if err == nil {
		c.fns[string(b)] = f
	}
	return f, err
}

func (d *definitions) note(x Definition) {
	if d.log != nil {
		*d.log = append(*d.log, x)
	}
}

// apply enters a definition. Records of unknown types say nothing.
func (d *definitions) apply(kind RecordKind, b []byte) error {
	switch kind {
	case RecordFn:
		fn, err := d.common.fn(b)
		if err != nil {
			return err
		}
		d.fns, err = defineFn(d.fns, fn)
		return err
	case RecordStack:
		s, err := decodeStack(b)
		if err != nil {
			return err
		}
		return put(&d.stacks, s.ID, s, nil)
	case RecordType:
		t, err := decodeType(b)
		if err != nil {
			return err
		}
		d.note(Definition{Type: t})
		return put(&d.types, int64(t.ID), t, nil)
	case RecordComm:
		c, err := decodeComm(b)
		if err != nil {
			return err
		}
		d.note(Definition{Comm: c})
		return put(&d.comms, c.ID, c, nil)
	case RecordOp:
		id, name, err := decodeOp(b)
		if err == nil {
			d.note(Definition{Op: id, Name: name})
		}
		return put(&d.ops, id, name, err)
	case RecordInfo:
		key, value, err := decodeInfo(b)
		if err == nil {
			d.note(Definition{Key: key, Value: value})
		}
		return put(&d.info, key, append(d.info[key], value), err)
	case RecordSource:
		s, err := decodeSource(b)
		return put(&d.sources, s.PC, append(d.sources[s.PC], s), err)
	case RecordBlock:
		x, err := decodeBlock(b)
		if err != nil {
			return err
		}
		d.blocks = append(d.blocks, x)
	case RecordModule:
		m, err := decodeModule(b)
		if err != nil {
			return err
		}
		d.modules = append(d.modules, m)
	case RecordClock:
		c, err := decodeClock(b)
		if err != nil {
			return err
		}
		d.clocks = append(d.clocks, c)
	}
	return nil
}

// put enters a value unless its decoding failed.
func put[K comparable, V any](table *map[K]V, key K, value V, err error) error {
	if err != nil {
		return err
	}
	if *table == nil {
		*table = map[K]V{}
	}
	(*table)[key] = value
	return nil
}

// Type returns the definition of a datatype, or nil when none has come.
func (r *Reader) Type(id int64) *Type { return r.defs.types[id] }

// Comm returns the definition of a communicator, or nil when none has come.
func (r *Reader) Comm(id int64) *Comm { return r.defs.comms[id] }

// Op returns the name of a reduction operation, "MPI_SUM" or "user", or ""
// when no definition has come.
func (r *Reader) Op(id int64) string { return r.defs.ops[id] }

// Stack returns the program counters of a call stack, innermost first, or nil
// when no definition has come. They are return addresses. Do not change it.
func (r *Reader) Stack(id uint32) []uint64 {
	defer r.guard()()
	if s := r.defs.stacks[id]; s != nil {
		return s.PCs
	}
	return nil
}

// FramePointers returns the frame pointers of the innermost functions of a call stack,
// in the order of Stack, as far as they are known. Do not change it.
func (r *Reader) FramePointers(id uint32) []uint64 {
	defer r.guard()()
	if s := r.defs.stacks[id]; s != nil {
		return s.Pointers
	}
	return nil
}

// Modules returns the program's memory map as far as it was seen. Do not
// change it.
func (r *Reader) Modules() []Module {
	defer r.guard()()
	return r.defs.modules
}

// Blocks returns the blocks of memory of which it is known where they were allocated, in
// the order in which that was told. Do not change it.
func (r *Reader) Blocks() []Block {
	defer r.guard()()
	return r.defs.blocks
}

// Sources returns the source places of a program counter of a stack, given
// exactly as it stands there: its inlined frames, innermost first. It is nil
// when the file does not carry them.
func (r *Reader) Sources(pc uint64) []Source {
	defer r.guard()()
	return r.defs.sources[pc]
}

// Info returns the values of a key of the tracer's own information, in order.
func (r *Reader) Info(key string) []string {
	defer r.guard()()
	return r.defs.info[key]
}

// Clocks returns how the process's clock related to that of world rank 0, as
// far as it was seen.
func (r *Reader) Clocks() []Clock { return r.defs.clocks }

// End returns the tracer's closing summary, or nil when it was not seen yet.
func (r *Reader) End() *End { return r.defs.end }
