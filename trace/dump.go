package trace

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// Error makes a Cut an error for those who need the whole file.
func (c *Cut) Error() string {
	return "the trace is cut at offset " + strconv.FormatInt(c.Offset, 10) + ": " + c.Reason
}

// Dump writes the records of a trace file, plain or compressed with zstd, as
// JSON Lines (docs/trace-format.md, "JSON Lines twin"), in file order. When
// the file is cut or damaged, everything readable is written and the error is
// a *Cut.
func Dump(ctx context.Context, in io.Reader, out io.Writer) error {
	r, err := NewRecordReader(in, streamName(in))
	if err != nil {
		return err
	}
	defer r.Close()
	w := bufio.NewWriterSize(out, 1<<16)
	d := dumper{latest: map[string]uint16{}}
	if _, err := w.Write(d.header(r.Header())); err != nil {
		return err
	}
	var rec Record
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := r.Read(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(d.record(&rec)); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if cut := r.Cut(); cut != nil {
		return cut
	}
	return nil
}

// streamName is how errors name a stream.
func streamName(in any) string {
	if f, ok := in.(interface{ Name() string }); ok {
		return f.Name()
	}
	return "input"
}

// dumper builds lines, each in the same buffer.
type dumper struct {
	b      []byte
	latest map[string]uint16 // the last function defined with a name
}

func (d *dumper) key(name string) {
	if last := d.b[len(d.b)-1]; last != '{' && last != '[' {
		d.b = append(d.b, ',')
	}
	d.b = append(d.b, '"')
	d.b = append(d.b, name...)
	d.b = append(d.b, '"', ':')
}

func (d *dumper) num(name string, v int64) {
	d.key(name)
	d.b = strconv.AppendInt(d.b, v, 10)
}

func (d *dumper) unum(name string, v uint64) {
	d.key(name)
	d.b = strconv.AppendUint(d.b, v, 10)
}

func (d *dumper) addr(name string, v uint64) {
	d.key(name)
	d.b = appendHex(d.b, v)
}

func (d *dumper) text(name, v string) {
	d.key(name)
	d.b = appendText(d.b, v)
}

func (d *dumper) truth(name string, v bool) {
	d.key(name)
	d.b = strconv.AppendBool(d.b, v)
}

func (d *dumper) set(name string, v bool) {
	if v {
		d.truth(name, true)
	}
}

func (d *dumper) list(name string, v []int64) {
	d.key(name)
	d.b = append(d.b, '[')
	for i, n := range v {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = strconv.AppendInt(d.b, n, 10)
	}
	d.b = append(d.b, ']')
}

func (d *dumper) addrs(name string, v []uint64) {
	d.key(name)
	d.b = append(d.b, '[')
	for i, n := range v {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = appendHex(d.b, n)
	}
	d.b = append(d.b, ']')
}

func (d *dumper) open(name string) {
	d.key(name)
	d.b = append(d.b, '{')
}

func (d *dumper) shut() { d.b = append(d.b, '}') }

func appendHex(b []byte, v uint64) []byte {
	return append(strconv.AppendUint(append(b, `"0x`...), v, 16), '"')
}

// appendText appends a JSON string. Text that is not UTF-8, which JSON cannot
// carry, is written as {"bytes":"<hex>"}.
func appendText(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		b = append(b, `{"bytes":"`...)
		b = hex.AppendEncode(b, []byte(s))
		return append(b, `"}`...)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func (d *dumper) header(h Header) []byte {
	d.b = append(d.b[:0], '{')
	d.num("mcct", linesVersion)
	d.text("run", hex.EncodeToString(h.Run[:]))
	d.num("rank", int64(h.Rank))
	d.num("ranks", int64(h.Ranks))
	d.num("pid", int64(h.PID))
	d.unum("monotonic", h.Monotonic)
	d.unum("realtime", h.Realtime)
	d.text("host", h.Host)
	return append(d.b, "}\n"...)
}

// record returns the line of a record.
func (d *dumper) record(r *Record) []byte {
	d.b = append(d.b[:0], '{')
	switch r.Kind {
	case RecordChunk:
		d.chunk(r.Chunk)
	case RecordCall:
		d.call(r)
	case RecordAccess:
		d.access(&r.Access)
	case RecordGrid:
		d.access(&r.Grid.Access)
		d.num("rows", int64(r.Grid.Rows))
		d.num("row_step", r.Grid.RowStep)
		d.num("planes", int64(r.Grid.Planes))
		d.num("plane_step", r.Grid.PlaneStep)
	default:
		d.definition(r)
	}
	if r.Kind != RecordChunk && r.Chunk.Strand != 0 {
		d.num("strand", int64(r.Chunk.Strand))
	}
	return append(d.b, "}\n"...)
}

func (d *dumper) chunk(c Chunk) {
	d.open("chunk")
	d.num("strand", int64(c.Strand))
	d.unum("seq", c.Seq)
	d.num("region", int64(c.Region))
	d.truth("sealed", c.Sealed)
	d.set("accesses", c.Accesses)
	d.shut()
}

func (d *dumper) call(r *Record) {
	c := &r.Call
	if c.Fn == nil {
		d.num("call", int64(r.FnID))
	} else {
		d.text("call", c.Fn.Name)
		if d.latest[c.Fn.Name] != r.FnID {
			d.num("id", int64(r.FnID))
		}
	}
	d.unum("seq", c.Seq)
	d.num("begin", c.Begin)
	d.num("end", c.End)
	d.num("stack", int64(c.Stack))
	d.truth("returned", c.Returned)
	d.set("failed", c.Failed)
	if c.Fn == nil {
		d.list("words", r.Words)
		return
	}
	d.open("args")
	for i, v := range c.Args {
		a := &c.Fn.Args[i]
		d.key("")
		d.b = append(appendText(d.b[:len(d.b)-3], a.Name), ':')
		d.value(a.Kind, v)
	}
	d.shut()
}

// value appends an argument after its key.
func (d *dumper) value(kind ArgKind, v Value) {
	switch kind {
	case ArgAddress:
		d.b = appendHex(d.b, uint64(v.Int))
		return
	case ArgAddresses:
		d.b = append(d.b, '[')
		for i, n := range v.List {
			if i > 0 {
				d.b = append(d.b, ',')
			}
			d.b = appendHex(d.b, uint64(n))
		}
		d.b = append(d.b, ']')
		return
	}
	if !kind.IsList() {
		d.b = strconv.AppendInt(d.b, v.Int, 10)
		return
	}
	d.b = append(d.b, '[')
	for i, n := range v.List {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = strconv.AppendInt(d.b, n, 10)
	}
	d.b = append(d.b, ']')
}

func (d *dumper) access(a *Access) {
	kind := "load"
	if a.Store {
		kind = "store"
	}
	d.text("access", kind)
	d.addr("addr", a.Addr)
	d.num("size", int64(a.Size))
	d.num("stride", a.Stride)
	d.unum("count", a.Count)
	d.num("stack", int64(a.Stack))
	d.set("atomic", a.Atomic)
	d.set("library", a.Library)
}

func (d *dumper) definition(r *Record) {
	switch r.Kind {
	case RecordFn:
		d.latest[r.Fn.Name] = r.Fn.ID
		d.num("fn", int64(r.Fn.ID))
		d.text("name", r.Fn.Name)
		d.text("args", r.Fn.argText())
	case RecordStack:
		d.num("stack", int64(r.Stack.ID))
		d.addrs("pcs", r.Stack.PCs)
		if len(r.Stack.Pointers) > 0 {
			d.addrs("pointers", r.Stack.Pointers)
		}
	case RecordType:
		d.datatype(r.Type)
	case RecordComm:
		d.comm(r.Comm)
	case RecordModule:
		d.text("module", r.Module.Path)
		d.addr("start", r.Module.Start)
		d.addr("end", r.Module.End)
		d.addr("bias", r.Module.Bias)
		d.text("build_id", r.Module.BuildID)
	case RecordMark:
		d.unum("mark", r.Mark)
	case RecordClock:
		d.open("clock")
		d.unum("local", r.Clock.Local)
		d.unum("reference", r.Clock.Reference)
		d.unum("round_trip", r.Clock.RoundTrip)
		d.shut()
	case RecordLost:
		d.open("lost")
		d.num("reason", int64(r.Lost.Reason))
		d.unum("calls", r.Lost.Calls)
		d.unum("accesses", r.Lost.Accesses)
		d.shut()
	case RecordEnd:
		d.open("end")
		d.unum("idle", r.End.Idle)
		d.unum("accesses", r.End.Accesses)
		d.unum("units", r.End.Units)
		d.shut()
	case RecordInfo:
		d.text("info", r.Key)
		d.text("value", r.Value)
	case RecordOp:
		d.num("op", r.Op)
		d.text("name", r.OpName)
	case RecordSource:
		d.source(&r.Source)
	case RecordBlock:
		d.addr("block", r.Block.Base)
		d.unum("size", r.Block.Size)
		d.unum("seq", r.Block.Seq)
		d.num("stack", int64(r.Block.Stack))
	}
}

func (d *dumper) datatype(t *Type) {
	d.num("type", int64(t.ID))
	if name := t.Combiner.String(); name != "" {
		d.text("combiner", name)
	} else {
		d.num("combiner", int64(t.Combiner))
	}
	if t.Name != "" {
		d.text("name", t.Name)
	}
	d.num("size", t.Size)
	d.num("lb", t.LB)
	d.num("extent", t.Extent)
	if len(t.Ints) > 0 {
		d.list("ints", t.Ints)
	}
	if len(t.Addrs) > 0 {
		d.list("addrs", t.Addrs)
	}
	if len(t.Types) > 0 {
		d.list("types", t.Types)
	}
}

func (d *dumper) comm(c *Comm) {
	d.num("comm", c.ID)
	d.num("rank", int64(c.Rank))
	d.runs("ranks", c.Ranks)
	if len(c.Remote) > 0 {
		d.runs("remote", c.Remote)
	}
	if c.Inter != (len(c.Remote) > 0) {
		d.truth("inter", c.Inter)
	}
}

func (d *dumper) runs(name string, runs []RankRun) {
	d.key(name)
	d.b = append(d.b, '[')
	for i, r := range runs {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = append(d.b, '[')
		d.b = strconv.AppendInt(d.b, r.First, 10)
		d.b = strconv.AppendInt(append(d.b, ','), r.Stride, 10)
		d.b = strconv.AppendInt(append(d.b, ','), r.Count, 10)
		d.b = append(d.b, ']')
	}
	d.b = append(d.b, ']')
}

func (d *dumper) source(s *Source) {
	d.addr("pc", s.PC)
	d.text("func", s.Func)
	d.text("file", s.File)
	d.num("line", int64(s.Line))
	if s.Column != 0 {
		d.num("column", int64(s.Column))
	}
	d.set("inlined", s.Inlined)
}

// combinerNames are the names of the combiners 0 to 12.
var combinerNames = [...]string{
	"named", "dup", "contiguous", "vector", "hvector", "indexed", "hindexed",
	"indexed_block", "hindexed_block", "struct", "subarray", "darray", "resized",
}

// String returns the combiner's name in JSON Lines, or "" of an unknown one.
func (c Combiner) String() string {
	switch {
	case int(c) < len(combinerNames):
		return combinerNames[c]
	case c == OtherCombiner:
		return "other"
	}
	return ""
}
