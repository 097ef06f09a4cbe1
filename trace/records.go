package trace

import (
	"io"
)

// Record is one record of a file, or the beginning of a chunk. Kind tells
// which of the fields below it is set; the others hold what they held before.
// Slices and pointers stay valid until the next record is read, except those
// of definitions (Fn, Stack, Type, Comm), which stay valid for good.
type Record struct {
	Kind   RecordKind
	Offset int64 // in the uncompressed file, bytes; of a packed record that holds it
	Chunk  Chunk // the chunk it lies in; RecordChunk: which begins

	Access Access  // as written, not normalised
	Grid   Grid    // the same
	Call   Call    // Fn and Args are nil when no definition of the function came before
	FnID   uint16  // RecordCall: the function's identifier
	Words  []int64 // RecordCall with Call.Fn == nil: the arguments as words

	Fn     *Fn
	Stack  *Stack
	Type   *Type
	Comm   *Comm
	Module Module
	Mark   uint64
	Clock  Clock
	Lost   Lost
	End    End
	Key    string // RecordInfo
	Value  string // RecordInfo
	Op     int64  // RecordOp: identifier of the operation OpName
	OpName string
	Source Source
	Block  Block
}

// RecordReader reads the records of a file in file order. It is the view for
// dumping and repairing; Reader is the one for analysing.
type RecordReader struct {
	chunks *chunkReader
	chunk  Chunk
	at     reading // the chunk's
	fns    []*Fn
	words  []int64
	ended  bool
	passes bool // see PassOverAccesses
	stop   bool // a damaged record: nothing more is read
}

// NewRecordReader reads the header of the file, which may be compressed with
// zstd. The name stands in errors.
func NewRecordReader(r io.Reader, name string) (*RecordReader, error) {
	c, err := newChunkReader(r, name)
	if err != nil {
		return nil, err
	}
	return &RecordReader{chunks: c}, nil
}

// Header returns the head of the file.
func (r *RecordReader) Header() Header { return r.chunks.header }

// PassOverAccesses lets the reader leave out the accesses that are written compactly, and the grids
// and marks among them, without expanding them: they are most of what a trace holds, and few who read
// records want them.
func (r *RecordReader) PassOverAccesses() { r.passes = true }

// Cut tells, after Read returned io.EOF, where and why the file stops before
// its process did. It is nil when the file is complete.
func (r *RecordReader) Cut() *Cut { return r.chunks.cut }

// Close frees what decompressing took. It does not close the input.
func (r *RecordReader) Close() { r.chunks.close() }

// Read reads the next record. It returns io.EOF at the end of the file and
// where the file is cut or damaged (see Cut), other errors only when the input
// cannot be read. Records of unknown types are skipped.
func (r *RecordReader) Read(rec *Record) error {
	for !r.stop {
		if !r.at.leave() {
			if !r.nextChunk() {
				break
			}
			rec.Kind, rec.Offset, rec.Chunk = RecordChunk, r.chunk.Offset, r.chunk
			return nil
		}
		known, err := r.decode(rec)
		if err != nil {
			r.chunks.stop(r.position(), err.Error())
			r.stop = true
			break
		}
		if known {
			return nil
		}
	}
	r.chunks.finish(r.ended)
	if r.chunks.err != nil {
		return r.chunks.err
	}
	return io.EOF
}

func (r *RecordReader) position() int64 {
	return r.chunk.Offset + chunkHeaderSize + int64(r.at.offset())
}

func (r *RecordReader) nextChunk() bool {
	head := r.chunks.peek()
	if head == nil {
		return false
	}
	r.chunk = *head
	r.chunks.release(r.at.storage())
	buf, ok := r.chunks.read()
	r.at.begin(trimTorn(buf, &r.chunk), r.chunk.Seq)
	return ok
}

// trimTorn cuts off the record that the end of a cut file leaves unfinished.
// Damage in what is there is found when it is decoded.
func trimTorn(buf []byte, head *Chunk) []byte {
	if len(buf) == int(head.Used) {
		return buf
	}
	at := 0
	for at < len(buf) {
		n, err := recordLength(buf[at:])
		if err != nil {
			break
		}
		at += n
	}
	return buf[:at]
}

// decode reads the record at pos and passes it. It reports false for a record
// of an unknown type.
func (r *RecordReader) decode(rec *Record) (bool, error) {
	n, err := recordLength(r.at.buf[r.at.pos:])
	if err != nil {
		return false, err
	}
	b := r.at.buf[r.at.pos : r.at.pos+n]
	kind := RecordKind(b[0])
	if kind == RecordCompactAccesses && r.passes {
		r.at.pos += n
		return false, nil
	}
	if kind == RecordCompactCalls || kind == RecordCompactAccesses {
		return false, r.at.enter(b)
	}
	if kind < RecordCall || kind > RecordGrid || kind.packing() {
		r.at.pos += n
		return false, nil
	}
	rec.Kind, rec.Offset, rec.Chunk = kind, r.position(), r.chunk
	if err := r.fields(rec, b); err != nil {
		return false, err
	}
	r.at.pos += n
	return true, nil
}

func (r *RecordReader) fields(rec *Record, b []byte) (err error) {
	switch rec.Kind {
	case RecordCall:
		err = r.call(rec, b)
	case RecordAccess:
		rawAccess((*[accessSize]byte)(b), &rec.Access)
		a := rec.Access
		if _, state := a.normalise(); state == accessBad {
			err = errAccess
		}
	case RecordGrid:
		if err = decodeGrid(b, &rec.Grid); err == nil {
			g := rec.Grid
			if _, _, state := g.normalise(); state == accessBad {
				err = errAccess
			}
		}
	case RecordFn:
		if rec.Fn, err = decodeFn(b); err == nil {
			r.fns, err = defineFn(r.fns, rec.Fn)
		}
	case RecordStack:
		rec.Stack, err = decodeStack(b)
	case RecordType:
		rec.Type, err = decodeType(b)
	case RecordComm:
		rec.Comm, err = decodeComm(b)
	case RecordModule:
		rec.Module, err = decodeModule(b)
	case RecordMark:
		rec.Mark, err = decodeMark(b)
	case RecordClock:
		rec.Clock, err = decodeClock(b)
	case RecordLost:
		rec.Lost, err = decodeLost(b)
	case RecordEnd:
		rec.End, err = decodeEnd(b)
		r.ended = r.ended || err == nil
	case RecordInfo:
		rec.Key, rec.Value, err = decodeInfo(b)
	case RecordOp:
		rec.Op, rec.OpName, err = decodeOp(b)
	case RecordSource:
		rec.Source, err = decodeSource(b)
	case RecordBlock:
		rec.Block, err = decodeBlock(b)
	}
	return err
}

func (r *RecordReader) call(rec *Record, b []byte) (err error) {
	rec.FnID = u16(b, 2)
	rec.Words = nil
	if fn := fnAt(r.fns, rec.FnID); fn != nil {
		r.words, err = decodeCall(b, fn, &rec.Call, r.words)
		return err
	}
	if err := decodeCallHead(b, &rec.Call); err != nil {
		return err
	}
	rec.Call.Args = nil
	_, rec.Words = takeWords(nil, b[callSize:])
	return nil
}

// fnAt returns the function of that identifier, or nil.
func fnAt(fns []*Fn, id uint16) *Fn {
	if int(id) < len(fns) {
		return fns[id]
	}
	return nil
}

// defineFn enters a definition in the table. The same one may come again, as
// every strand may write it.
func defineFn(fns []*Fn, f *Fn) ([]*Fn, error) {
	if old := fnAt(fns, f.ID); old != nil {
		if old.Name != f.Name || old.argText() != f.argText() {
			return fns, errRedefined(old, f)
		}
		return fns, nil
	}
	if n := int(f.ID) + 1 - len(fns); n > 0 {
		fns = append(fns, make([]*Fn, n)...)
	}
	fns[f.ID] = f
	return fns, nil
}
