package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// record is something that processes record: a call, a run of loads or stores,
// or another one; or something about their files.
type record struct {
	ranks  []int // nil: all processes
	thread int
	stack  []trace.Source

	call            string
	args            []argument
	pending, failed bool

	access *trace.Access
	comm   *comm
	other  *object
	json   string // a line as it was given

	end    map[string]int64 // numbers of the summary
	killed bool             // no MPI_Finalize and no summary follow
	absent bool             // there is no file
	cut    int              // bytes that the file has lost
}

// comm is a communicator: world ranks in its order.
type comm struct {
	id            int64
	ranks, remote []int64
}

func (r *record) of(rank int) bool { return r.ranks == nil || slices.Contains(r.ranks, rank) }

// line returns the record as a line of JSON Lines, "" for none.
func (r *record) line(rank int) string {
	var o object
	switch {
	case r.json != "":
		return r.json
	case r.call != "":
		o.text("call", r.call)
		if r.pending {
			o.raw("returned", "false")
		}
		if r.failed {
			o.raw("failed", "true")
		}
		o.stack(r.stack)
		var args object
		for i := range r.args {
			a := &r.args[i]
			args.raw(a.name+":"+string(a.kind), a.json())
		}
		o.raw("args", args.String())
	case r.access != nil:
		o.access(r.access)
		o.stack(r.stack)
	case r.comm != nil:
		own := slices.Index(r.comm.ranks, int64(rank))
		if own < 0 {
			return ""
		}
		o = r.comm.object(own)
	case r.other != nil:
		o = slices.Clone(*r.other)
	default:
		return ""
	}
	if r.thread != 0 {
		o.number("strand", int64(r.thread))
	}
	return o.String()
}

func (a *argument) json() string {
	if a.kind.IsList() {
		return list(a.words)
	}
	if a.kind == trace.ArgAddress && a.words[0] >= 0 {
		return fmt.Sprintf(`"%#x"`, a.words[0])
	}
	return fmt.Sprint(a.words[0])
}

// head returns the lines with which the trace of a process begins.
func head(run string, rank, ranks int) []string {
	var header, intType, sum object
	header.number("mcct", 1)
	if run != "" {
		header.text("run", run)
	}
	header.number("rank", int64(rank))
	header.number("ranks", int64(ranks))
	all := comm{id: trace.CommWorld}
	for i := range ranks {
		all.ranks = append(all.ranks, int64(i))
	}
	world := all.object(rank)
	intType = *typeObject(&trace.Type{ID: 1, Name: "MPI_INT", Size: 4, Extent: 4})
	sum.number("op", 1)
	sum.text("name", "MPI_SUM")
	return []string{header.String(), world.String(), intType.String(), sum.String()}
}

func (c *comm) object(own int) object {
	var o object
	o.number("comm", c.id)
	o.number("rank", int64(own))
	o.raw("ranks", runs(c.ranks))
	if len(c.remote) > 0 {
		o.raw("remote", runs(c.remote))
	}
	return o
}

// runs writes ranks as [first, stride, count], one for those that follow one
// another.
func runs(ranks []int64) string {
	var texts []string
	for i := 0; i < len(ranks); {
		n := i + 1
		for n < len(ranks) && ranks[n] == ranks[n-1]+1 {
			n++
		}
		texts = append(texts, list([]int64{ranks[i], 1, int64(n - i)}))
		i = n
	}
	return "[" + strings.Join(texts, ",") + "]"
}

func typeObject(d *trace.Type) *object {
	var o object
	o.number("type", int64(d.ID))
	o.text("combiner", d.Combiner.String())
	if d.Name != "" {
		o.text("name", d.Name)
	}
	o.number("size", d.Size)
	o.number("lb", d.LB)
	o.number("extent", d.Extent)
	o.raw("ints", list(d.Ints))
	o.raw("addrs", list(d.Addrs))
	o.raw("types", list(d.Types))
	return &o
}

// endNumbers are those of the summary at the end of a trace.
var endNumbers = []string{"idle", "accesses", "units"}

func endLine(numbers map[string]int64) string {
	var in, o object
	for _, key := range endNumbers {
		in.number(key, numbers[key])
	}
	o.raw("end", in.String())
	return o.String()
}

// object is a JSON object: its members in order, "key":value.
type object []string

func (o *object) raw(key, value string) { *o = append(*o, quoted(key)+":"+value) }

func (o *object) text(key, value string) { o.raw(key, quoted(value)) }

func (o *object) number(key string, v int64) { o.raw(key, fmt.Sprint(v)) }

func (o *object) access(a *trace.Access) {
	kind := "load"
	if a.Store {
		kind = "store"
	}
	o.text("access", kind)
	o.text("addr", fmt.Sprintf("%#x", a.Addr))
	o.number("size", int64(a.Size))
	if a.Count != 1 {
		o.number("stride", a.Stride)
		o.raw("count", fmt.Sprint(a.Count))
	}
	if a.Atomic {
		o.raw("atomic", "true")
	}
	if a.Library {
		o.raw("library", "true")
	}
}

func (o *object) stack(frames []trace.Source) {
	if frames == nil {
		return
	}
	texts := make([]string, len(frames))
	for i, f := range frames {
		var in object
		in.text("func", f.Func)
		in.text("file", f.File)
		in.number("line", int64(f.Line))
		texts[i] = in.String()
	}
	o.raw("stack", "["+strings.Join(texts, ",")+"]")
}

func (o object) String() string { return "{" + strings.Join(o, ",") + "}" }

func list(words []int64) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = fmt.Sprint(w)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always has a form
	return string(b)
}
