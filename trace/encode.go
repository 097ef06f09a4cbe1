package trace

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

// The encoders below append one record to b. They report values that the
// record cannot hold, and then leave b as it was.

var le = binary.LittleEndian

func app64[T int64 | uint64](b []byte, v T) []byte { return le.AppendUint64(b, uint64(v)) }

// begin appends the first eight bytes of a record; finish fills in the length.
func begin(b []byte, kind RecordKind, flags uint8, half uint16) []byte {
	b = append(b, byte(kind), flags)
	b = le.AppendUint16(b, half)
	return le.AppendUint32(b, 0)
}

func finish(b []byte, from int) ([]byte, error) {
	b = pad(b, from)
	n := len(b) - from
	if n > maxChunkSize-chunkHeaderSize {
		return b[:from], fmt.Errorf("a record of %d bytes is too long", n)
	}
	le.PutUint32(b[from+4:], uint32(n))
	return b, nil
}

func pad(b []byte, from int) []byte {
	for (len(b)-from)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func flag(set bool, bit uint8) uint8 {
	if set {
		return bit
	}
	return 0
}

func accessFlags(store, atomic, library bool) uint8 {
	return flag(store, accessStore) | flag(atomic, accessAtomic) | flag(library, accessLibrary)
}

func appendAccess(b []byte, a *Access) ([]byte, error) {
	check := *a
	if _, state := check.normalise(); a.Size > math.MaxUint16 || state == accessBad {
		return b, fmt.Errorf("impossible access: address %#x, %d elements of %d bytes, stride %d", a.Addr, a.Count, a.Size, a.Stride)
	}
	b = append(b, byte(RecordAccess), accessFlags(a.Store, a.Atomic, a.Library))
	b = le.AppendUint16(b, uint16(a.Size))
	b = le.AppendUint32(b, a.Stack)
	b = app64(b, a.Addr)
	b = app64(b, a.Stride)
	return app64(b, a.Count), nil
}

// appendCall takes the arguments from c.Args, or, when c.Fn is nil, the words.
func appendCall(b []byte, id uint16, c *Call, words []int64) ([]byte, error) {
	from := len(b)
	if c.Fn != nil && len(c.Args) != len(c.Fn.Args) {
		return b, fmt.Errorf("call of %s with %d arguments, which has %d", c.Fn.Name, len(c.Args), len(c.Fn.Args))
	}
	b = begin(b, RecordCall, flag(c.Returned, callReturned)|flag(c.Failed, callFailed), id)
	b = app64(b, c.Seq)
	b = app64(b, c.Begin)
	b = app64(b, c.End)
	b = le.AppendUint32(b, c.Stack)
	b = le.AppendUint32(b, 0)
	if c.Fn == nil {
		return finish(appendWords(b, words), from)
	}
	for i, v := range c.Args {
		kind := c.Fn.Args[i].Kind
		if !kind.IsList() {
			b = app64(b, v.Int)
			continue
		}
		if kind == ArgStatuses && len(v.List)%StatusWords != 0 {
			return b[:from], fmt.Errorf("argument %s of %s has %d words, not four a status", c.Fn.Args[i].Name, c.Fn.Name, len(v.List))
		}
		b = app64(b, int64(len(v.List)))
		b = appendWords(b, v.List)
	}
	return finish(b, from)
}

func appendWords(b []byte, words []int64) []byte {
	for _, w := range words {
		b = app64(b, w)
	}
	return b
}

func appendFn(b []byte, f *Fn) ([]byte, error) {
	from := len(b)
	text := f.Name
	if len(f.Args) > 0 {
		text += " " + f.argText()
	}
	b, err := finish(append(begin(b, RecordFn, 0, f.ID), text...), from)
	if err != nil {
		return b, err
	}
	if g, err := decodeFn(b[from:]); err != nil || g.Name != f.Name || g.argText() != f.argText() {
		return b[:from], fmt.Errorf("impossible function definition %q", text)
	}
	return b, nil
}

func appendStack(b []byte, s *Stack) ([]byte, error) {
	from := len(b)
	if len(s.Pointers) > min(len(s.PCs), math.MaxUint16) {
		return b, fmt.Errorf("%d frame pointers of %d frames are too many", len(s.Pointers), len(s.PCs))
	}
	b = begin(b, RecordStack, 0, uint16(len(s.Pointers)))
	b = le.AppendUint32(b, s.ID)
	b = le.AppendUint32(b, uint32(len(s.PCs)))
	for _, pc := range s.PCs {
		b = app64(b, pc)
	}
	for _, p := range s.Pointers {
		b = app64(b, p)
	}
	return finish(b, from)
}

func appendType(b []byte, t *Type) ([]byte, error) {
	from := len(b)
	b = begin(b, RecordType, 0, uint16(t.Combiner))
	b = le.AppendUint32(b, t.ID)
	b = le.AppendUint32(b, uint32(len(t.Name)))
	b = app64(b, t.Size)
	b = app64(b, t.LB)
	b = app64(b, t.Extent)
	for _, n := range []int{len(t.Ints), len(t.Addrs), len(t.Types), 0} {
		b = le.AppendUint32(b, uint32(n))
	}
	b = appendWords(b, t.Ints)
	b = appendWords(b, t.Addrs)
	b = appendWords(b, t.Types)
	return finish(append(b, t.Name...), from)
}

func appendComm(b []byte, c *Comm) ([]byte, error) {
	from := len(b)
	if err := checkComm(c); err != nil {
		return b, err
	}
	b = begin(b, RecordComm, flag(c.Inter, commInter), 0)
	b = app64(b, c.ID)
	for _, n := range []int{c.Rank, c.Size, len(c.Ranks), len(c.Remote)} {
		b = le.AppendUint32(b, uint32(n))
	}
	for _, runs := range [][]RankRun{c.Ranks, c.Remote} {
		for _, r := range runs {
			if !r.valid() {
				return b[:from], fmt.Errorf("communicator %d: impossible run of ranks %v", c.ID, r)
			}
			b = appendWords(b, []int64{r.First, r.Stride, r.Count})
		}
	}
	return finish(b, from)
}

func appendModule(b []byte, m *Module) ([]byte, error) {
	from := len(b)
	id, err := hex.DecodeString(m.BuildID)
	if err != nil || len(id) > math.MaxUint16 {
		return b, fmt.Errorf("module %s: impossible build id %q", m.Path, m.BuildID)
	}
	b = begin(b, RecordModule, 0, uint16(len(id)))
	b = app64(b, m.Start)
	b = app64(b, m.End)
	b = app64(b, m.Bias)
	b = le.AppendUint32(b, uint32(len(m.Path)))
	b = le.AppendUint32(b, 0)
	b = pad(append(b, id...), from)
	return finish(append(b, m.Path...), from)
}

func appendMark(b []byte, seq uint64) ([]byte, error) {
	from := len(b)
	return finish(app64(begin(b, RecordMark, 0, 0), seq), from)
}

func appendClock(b []byte, c Clock) ([]byte, error) {
	from := len(b)
	b = begin(b, RecordClock, 0, 0)
	for _, v := range []uint64{c.Local, c.Reference, c.RoundTrip, 0} {
		b = app64(b, v)
	}
	return finish(b, from)
}

func appendLost(b []byte, l Lost) ([]byte, error) {
	from := len(b)
	b = begin(b, RecordLost, l.Reason, 0)
	return finish(app64(app64(b, l.Calls), l.Accesses), from)
}

func appendEnd(b []byte, e End) ([]byte, error) {
	from := len(b)
	b = begin(b, RecordEnd, 0, 0)
	return finish(app64(app64(app64(b, e.Idle), e.Accesses), e.Units), from)
}

func appendInfo(b []byte, key, value string) ([]byte, error) {
	from := len(b)
	if len(key) > math.MaxUint16 {
		return b, errors.New("the key of an info record is too long")
	}
	if n := len(value); n > 0 && value[n-1] == 0 {
		return b, fmt.Errorf("the value of info %s ends in a zero byte", key)
	}
	b = append(begin(b, RecordInfo, 0, uint16(len(key))), key...)
	return finish(append(b, value...), from)
}

func appendOp(b []byte, id int64, name string) ([]byte, error) {
	from := len(b)
	if id < 0 || id > math.MaxUint32 || len(name) > math.MaxUint16 {
		return b, fmt.Errorf("impossible operation %d, %q", id, name)
	}
	b = begin(b, RecordOp, 0, uint16(len(name)))
	b = le.AppendUint32(b, uint32(id))
	b = le.AppendUint32(b, 0)
	return finish(append(b, name...), from)
}

func appendBlock(b []byte, x *Block) ([]byte, error) {
	from := len(b)
	b = begin(b, RecordBlock, 0, 0)
	for _, v := range []uint64{x.Base, x.Size, x.Seq, uint64(x.Stack)} {
		b = app64(b, v)
	}
	return finish(b, from)
}

func appendSource(b []byte, s *Source) ([]byte, error) {
	from := len(b)
	if len(s.Func) > math.MaxUint16 {
		return b, errors.New("the function name of a source record is too long")
	}
	b = begin(b, RecordSource, 0, uint16(len(s.Func)))
	b = app64(b, s.PC)
	for _, v := range []uint32{s.Line, s.Column, uint32(len(s.File)), uint32(flag(s.Inlined, 1))} {
		b = le.AppendUint32(b, v)
	}
	b = pad(append(b, s.Func...), from)
	return finish(append(b, s.File...), from)
}
