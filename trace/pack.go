package trace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// maxLine bounds a line of JSON Lines, bytes.
const maxLine = 256 << 20

// Pack writes the trace file that the JSON Lines of in describe
// (docs/trace-format.md, "JSON Lines twin"): those of Dump, or ones written by
// hand. Errors name the line and the column or the field.
func Pack(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var p *packer
	n := 0
	for lines.Scan() {
		n++
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := bytes.TrimLeft(lines.Bytes(), " \t\r\ufeff")
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		o, err := parseObject(text, n, 1+len(lines.Bytes())-len(text))
		if err != nil {
			return err
		}
		if p == nil {
			p, err = newPacker(o, out)
		} else {
			err = p.record(o)
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	if p == nil {
		return errors.New(`no line: the first is the header, {"mcct":1,"rank":0,"ranks":2}`)
	}
	return p.w.Close()
}

// packer turns lines into records.
type packer struct {
	w      *Writer
	chunks bool           // a chunk line has come: strands follow it
	fns    map[string]*Fn // by name, from fn lines
	ids    map[uint16]*Fn
}

func newPacker(o *object, out io.Writer) (*packer, error) {
	o.need("mcct", "rank", "ranks")
	version := o.upTo("mcct", math.MaxUint32, 0)
	h := Header{
		Rank:      int(o.u32("rank")),
		Ranks:     int(o.u32("ranks")),
		PID:       int(o.u32("pid")),
		Monotonic: o.u64("monotonic"),
		Realtime:  o.u64("realtime"),
		Host:      o.text("host"),
	}
	if f := o.get("run"); f != nil {
		text, err := parseText(f.raw)
		run, hexErr := hex.DecodeString(text)
		if err != nil || hexErr != nil || len(run) != len(h.Run) {
			o.fail(f, errors.New("32 hexadecimal digits are expected"))
		}
		copy(h.Run[:], run)
	}
	if err := o.done(); err != nil {
		return nil, err
	}
	if version != linesVersion {
		return nil, o.at(0, fmt.Sprintf("version %d of the lines; this program knows version %d", version, linesVersion))
	}
	w, err := NewWriter(out, h)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", o.line, err)
	}
	return &packer{w: w, fns: map[string]*Fn{}, ids: map[uint16]*Fn{}}, nil
}

// kinds are the fields that tell what a line is, in the order in which they
// decide.
var kinds = []struct {
	key   string
	write func(*packer, *object) error
}{
	{"chunk", (*packer).chunk},
	{"call", (*packer).call},
	{"access", (*packer).access},
	{"fn", (*packer).fn},
	{"type", (*packer).datatype},
	{"comm", (*packer).comm},
	{"module", (*packer).module},
	{"block", (*packer).block},
	{"stack", (*packer).stack},
	{"mark", (*packer).mark},
	{"clock", (*packer).clock},
	{"lost", (*packer).lost},
	{"info", (*packer).info},
	{"op", (*packer).op},
	{"pc", (*packer).source},
	{"end", (*packer).end},
}

func (p *packer) record(o *object) error {
	for _, k := range kinds {
		if !o.has(k.key) {
			continue
		}
		if k.key != "chunk" {
			if err := p.strand(o); err != nil {
				return err
			}
		}
		err := k.write(p, o)
		if err == nil || err == o.err {
			return err
		}
		return fmt.Errorf("line %d, field %q: %w", o.line, k.key, err)
	}
	return o.at(0, "no field tells what the line is (call, access, fn, stack, type, comm, module, mark, clock, lost, end, info, op, pc, chunk)")
}

// strand switches to the strand of the line.
func (p *packer) strand(o *object) error {
	def := uint64(0)
	if p.chunks {
		def = uint64(p.w.chunk.Strand)
	}
	if err := p.w.Strand(uint32(o.upTo("strand", math.MaxUint32, def))); err != nil {
		return err
	}
	return o.err
}

func (p *packer) chunk(o *object) error {
	in := o.object("chunk")
	c := Chunk{
		Strand: in.u32("strand"),
		Seq:    in.u64("seq"),
		Region: in.u32("region"),
		Sealed: in.truth("sealed", true),

		Accesses: in.truth("accesses", false),
	}
	o.check(in)
	if err := o.done(); err != nil {
		return err
	}
	p.chunks = true
	return p.w.BeginChunk(c)
}

func (p *packer) access(o *object) error {
	kind := o.text("access")
	a := Access{
		Store:   kind == "store",
		Addr:    o.u64("addr"),
		Size:    uint32(o.upTo("size", math.MaxUint16, 0)),
		Stride:  o.word("stride", 0),
		Count:   o.upTo("count", math.MaxUint64, 1),
		Stack:   p.stackOf(o),
		Atomic:  o.truth("atomic", false),
		Library: o.truth("library", false),
	}
	g := gridOf(o)
	o.need("addr", "size")
	if kind != "load" && kind != "store" && o.err == nil {
		o.fail(o.get("access"), errors.New(`"load" or "store" is expected`))
	}
	if err := o.done(); err != nil {
		return err
	}
	if a.Stride == 0 && a.Count > 1 && !o.has("stride") {
		a.Stride = int64(a.Size)
	}
	if g != nil {
		g.Access = a
		return p.w.Grid(g)
	}
	return p.w.Access(&a)
}

// gridOf reads the fields that only a grid has; nil of an access by itself.
func gridOf(o *object) *Grid {
	if !o.has("rows") && !o.has("planes") {
		return nil
	}
	return &Grid{
		Rows: uint16(o.upTo("rows", math.MaxUint16, 1)), RowStep: o.word("row_step", 0),
		Planes: uint16(o.upTo("planes", math.MaxUint16, 1)), PlaneStep: o.word("plane_step", 0),
	}
}

// stackOf returns the stack of a call or access: an identifier, or a list of
// source places to which it gives one.
func (p *packer) stackOf(o *object) uint32 {
	f := o.get("stack")
	if f == nil || f.raw[0] != '[' {
		return o.u32("stack")
	}
	list, err := parseRaw(f.raw)
	if err != nil {
		o.fail(f, err)
		return 0
	}
	var places []Source
	for _, raw := range list {
		in, err := parseObject(raw, o.line, f.col)
		if err != nil {
			o.fail(f, err)
			return 0
		}
		places = append(places, place(in))
		o.check(in)
	}
	if o.err != nil || len(places) == 0 {
		return 0
	}
	id, err := p.w.StackAt(places...)
	if err != nil {
		o.fail(f, err)
	}
	return id
}

// place reads the fields of a source place.
func place(o *object) Source {
	return Source{
		Func:    o.text("func"),
		File:    o.text("file"),
		Line:    o.u32("line"),
		Column:  o.u32("column"),
		Inlined: o.truth("inlined", false),
	}
}

func (p *packer) fn(o *object) error {
	f := &Fn{ID: uint16(o.upTo("fn", math.MaxUint16, 0)), Name: o.text("name")}
	if a := o.get("args"); a != nil {
		text, err := parseText(a.raw)
		if err == nil {
			f.Args, err = parseArgs(text)
		}
		if err != nil {
			o.fail(a, err)
		}
	}
	o.need("name")
	if err := o.done(); err != nil {
		return err
	}
	if err := p.w.Fn(f); err != nil {
		return err
	}
	p.fns[f.Name], p.ids[f.ID] = f, f
	return nil
}

func (p *packer) stack(o *object) error {
	s := Stack{ID: o.u32("stack"), PCs: unsigned(o.words("pcs")), Pointers: unsigned(o.words("pointers"))}
	o.need("pcs")
	if err := o.done(); err != nil {
		return err
	}
	return p.w.StackWith(&s)
}

func unsigned(words []int64) []uint64 {
	out := make([]uint64, len(words))
	for i, v := range words {
		out[i] = uint64(v)
	}
	return out
}

func (p *packer) datatype(o *object) error {
	t := &Type{
		ID:       o.u32("type"),
		Combiner: combinerOf(o),
		Name:     o.text("name"),
		Size:     o.word("size", 0),
		LB:       o.word("lb", 0),
		Ints:     o.words("ints"),
		Addrs:    o.words("addrs"),
		Types:    o.words("types"),
	}
	t.Extent = o.word("extent", t.Size)
	o.need("size")
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Type(t)
}

func combinerOf(o *object) Combiner {
	f := o.get("combiner")
	if f == nil {
		return Named
	}
	if f.raw[0] != '"' {
		return Combiner(o.upTo("combiner", math.MaxUint16, 0))
	}
	name, err := parseText(f.raw)
	if i := slices.Index(combinerNames[:], name); i >= 0 {
		return Combiner(i)
	}
	if name != "other" || err != nil {
		o.fail(f, fmt.Errorf("one of %s, other is expected", strings.Join(combinerNames[:], ", ")))
	}
	return OtherCombiner
}

func (p *packer) comm(o *object) error {
	c := &Comm{
		ID:     o.word("comm", 0),
		Rank:   int(o.u32("rank")),
		Ranks:  runsOf(o, "ranks"),
		Remote: runsOf(o, "remote"),
	}
	c.Inter = o.truth("inter", len(c.Remote) > 0)
	o.need("ranks")
	if err := o.done(); err != nil {
		return err
	}
	for _, r := range c.Ranks {
		c.Size += int(r.Count)
	}
	return p.w.Comm(c)
}

func runsOf(o *object, key string) []RankRun {
	f := o.get(key)
	if f == nil {
		return nil
	}
	list, err := parseRaw(f.raw)
	if err != nil {
		o.fail(f, err)
	}
	var runs []RankRun
	for i, raw := range list {
		w, err := parseWords(raw)
		if err == nil && len(w) != 3 {
			err = errors.New("[first rank, stride, count] is expected")
		}
		if err != nil {
			o.fail(f, fmt.Errorf("run %d: %w", i, err))
			return nil
		}
		r := RankRun{First: w[0], Stride: w[1], Count: w[2]}
		if !r.valid() {
			o.fail(f, fmt.Errorf("run %d: impossible ranks", i))
			return nil
		}
		runs = append(runs, r)
	}
	return runs
}

func (p *packer) module(o *object) error {
	m := &Module{
		Path:    o.text("module"),
		Start:   o.u64("start"),
		End:     o.u64("end"),
		Bias:    o.u64("bias"),
		BuildID: o.text("build_id"),
	}
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Module(m)
}

func (p *packer) mark(o *object) error {
	seq := o.u64("mark")
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Mark(seq)
}

func (p *packer) clock(o *object) error {
	in := o.object("clock")
	c := Clock{Local: in.u64("local"), Reference: in.u64("reference"), RoundTrip: in.u64("round_trip")}
	o.check(in)
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Clock(c)
}

func (p *packer) lost(o *object) error {
	in := o.object("lost")
	l := Lost{
		Reason:   uint8(in.upTo("reason", math.MaxUint8, 3)),
		Calls:    in.u64("calls"),
		Accesses: in.u64("accesses"),
	}
	o.check(in)
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Lost(l)
}

func (p *packer) end(o *object) error {
	in := o.object("end")
	e := End{Idle: in.u64("idle"), Accesses: in.u64("accesses"), Units: in.u64("units")}
	o.check(in)
	if err := o.done(); err != nil {
		return err
	}
	return p.w.End(e)
}

func (p *packer) info(o *object) error {
	key, value := o.text("info"), o.text("value")
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Info(key, value)
}

func (p *packer) op(o *object) error {
	id, name := o.upTo("op", math.MaxUint32, 0), o.text("name")
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Op(int64(id), name)
}

func (p *packer) block(o *object) error {
	x := Block{Base: o.u64("block"), Size: o.u64("size"), Seq: o.u64("seq"), Stack: p.stackOf(o)}
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Block(&x)
}

func (p *packer) source(o *object) error {
	s := place(o)
	s.PC = o.u64("pc")
	if err := o.done(); err != nil {
		return err
	}
	return p.w.Source(&s)
}
