package oracle

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// CompareRecorded compares what was recorded of a real run of the program, by
// rank, with the trace files that the oracle writes for it. It returns the
// differences as text, none when they agree: the same calls with the same
// arguments, identifiers up to their names, addresses up to where the library
// allocates windows; and the same loads and stores between them, as sets of
// bytes for each source line, where they can matter (see required).
//
// The program must come from Realize.
func (p *Program) CompareRecorded(recorded []*Recorded) ([]string, error) {
	files, err := p.Files()
	if err != nil {
		return nil, err
	}
	must, err := p.required()
	if err != nil {
		return nil, err
	}
	m := &matcher{p: p, names: map[nameKey]int64{}, back: map[nameKey]int64{}}
	for rank, b := range files {
		r, err := trace.NewReader(bytes.NewReader(b), "predicted")
		if err != nil {
			return nil, err
		}
		predicted, err := ReadRecorded(r, func(stack uint32) (string, int) {
			line := int(r.Sources(r.Stack(stack)[0])[0].Line)
			if line == 1<<20 {
				return "", 0 // MPI_Init and MPI_Finalize
			}
			return "program", line
		})
		for _, r := range predicted {
			r.events = slices.DeleteFunc(r.events, emptySegment)
		}
		if err != nil {
			return nil, err
		}
		want, got := predicted["program"], recorded[rank]
		if want == nil {
			want = &Recorded{reader: r}
		}
		if got == nil {
			got = &Recorded{}
		}
		got.events = slices.DeleteFunc(got.events, func(e recordedEvent) bool { return e.call != nil && e.call.Fn.Name == valueNote })
		m.process(rank, want, got, must)
	}
	return m.differences, nil
}

// emptySegment reports whether an event tells of the part of a shared window
// that has no bytes: the tracer does not record it.
func emptySegment(e recordedEvent) bool {
	return e.call != nil && e.call.Fn.Name == "mcchk_Shared_segment" && e.call.Args[e.call.Fn.Arg("size")].Int == 0
}

// values are observations of what memory holds, and valueNote is the call that tells
// of it later.
var values = []string{"number", "operand", "operands", "compare"}

const valueNote = "mcchk_Fetched"

// matcher compares one run of a program.
type matcher struct {
	p           *Program
	names       map[nameKey]int64 // recorded identifier of a predicted one
	back        map[nameKey]int64
	differences []string

	// Of the process under way.
	rank      int
	want, got *Recorded
	areas     []area
}

// nameKey is an identifier of one kind; of those that a process numbers for
// itself, with its rank.
type nameKey struct {
	kind trace.ArgKind
	rank int
	id   int64
}

// area is memory that the library allocated.
type area struct {
	win             int64 // as predicted
	real, predicted uint64
	size            int64
}

func (m *matcher) differ(line int, format string, args ...any) {
	m.differences = append(m.differences, Place{m.rank, line}.String()+": "+fmt.Sprintf(format, args...))
}

// process compares what is known of one process.
func (m *matcher) process(rank int, want, got *Recorded, must map[int]map[uint64]bool) {
	m.rank, m.want, m.got, m.areas = rank, want, got, nil
	required := map[int]map[uint64]bool{} // by line
	for i, set := range must {
		if c := &m.p.Calls[i]; c.Rank == rank {
			required[c.Line] = set
		}
	}
	w, g := want.events, got.events
	for {
		var wa, ga []recordedEvent
		wa, w = accessesFirst(w)
		ga, g = accessesFirst(g)
		m.accesses(wa, ga, required)
		switch {
		case len(w) == 0 && len(g) == 0:
			return
		case len(w) == 0:
			m.differ(g[0].line, "%s is not predicted", g[0].call.Fn.Name)
			return
		case len(g) == 0:
			m.differ(w[0].line, "%s is missing", w[0].call.Fn.Name)
			return
		}
		if w[0].line != g[0].line || w[0].call.Fn.Name != g[0].call.Fn.Name {
			m.differ(w[0].line, "%s is predicted, %s at line %d recorded", w[0].call.Fn.Name, g[0].call.Fn.Name, g[0].line)
			return
		}
		m.call(w[0].line, w[0].call, g[0].call)
		w, g = w[1:], g[1:]
	}
}

// accessesFirst cuts the loads and stores at the beginning off.
func accessesFirst(events []recordedEvent) (accesses, rest []recordedEvent) {
	n := slices.IndexFunc(events, func(e recordedEvent) bool { return e.call != nil })
	if n < 0 {
		n = len(events)
	}
	return events[:n], events[n:]
}

// accesses compares the loads and stores between two calls.
func (m *matcher) accesses(want, got []recordedEvent, required map[int]map[uint64]bool) {
	sets := func(events []recordedEvent, address func(uint64) uint64) map[touch]map[uint64]bool {
		out := map[touch]map[uint64]bool{}
		for i := range events {
			a := &events[i].access
			k := touch{events[i].line, a.Store}
			if out[k] == nil {
				out[k] = map[uint64]bool{}
			}
			for n := range int64(a.Count) {
				for b := range uint64(a.Size) {
					out[k][address(a.Addr+uint64(n*a.Stride)+b)] = true
				}
			}
		}
		return out
	}
	w := sets(want, func(a uint64) uint64 { return a })
	g := sets(got, m.predicted)
	for k, bytes := range g {
		if at, ok := first(bytes, w[k]); ok {
			m.differ(k.line, "an access (store %v) to byte %s is recorded and not predicted", k.store, m.offset(at))
		}
	}
	for k := range w {
		if at, ok := first(required[k.line], g[k]); ok {
			m.differ(k.line, "the access (store %v) to byte %s is not recorded", k.store, m.offset(at))
		}
	}
}

// first returns the first address of a set that another lacks.
func first(of, lacking map[uint64]bool) (at uint64, ok bool) {
	for _, a := range slices.Sorted(maps.Keys(of)) {
		if !lacking[a] {
			return a, true
		}
	}
	return 0, false
}

// offset renders an address.
func (m *matcher) offset(addr uint64) string {
	return fmt.Sprintf("+%d", int64(addr-m.p.Base[m.rank]))
}

// predicted returns the address that the oracle has for a recorded one.
func (m *matcher) predicted(addr uint64) uint64 {
	for _, slack := range []int64{0, 256} { // a buffer may begin beside its first byte
		for _, a := range m.areas {
			if d := int64(addr - a.real); d >= -slack && d < a.size+slack {
				return a.predicted + uint64(d)
			}
		}
	}
	return addr
}

// call compares the arguments of two calls of one function.
func (m *matcher) call(line int, want, got *trace.Call) {
	if !got.Returned || got.Failed {
		m.differ(line, "%s: returned %v, failed %v", got.Fn.Name, got.Returned, got.Failed)
	}
	m.windowMemory(want, got)
	var known []string
	noOp := want.Fn.Arg("op") >= 0 && m.value(m.want, trace.ArgOp, want.Args[want.Fn.Arg("op")]) == "MPI_NO_OP"
	for i, a := range want.Fn.Args {
		known = append(known, a.Name)
		if slices.Contains(values, a.Name) {
			continue // the programs do not say what their memory holds
		}
		if noOp && a.Name == "origin_datatype" {
			continue // not significant
		}
		j := got.Fn.Arg(a.Name)
		if j < 0 {
			m.differ(line, "%s: argument %s is not recorded", got.Fn.Name, a.Name)
			continue
		}
		w, g := m.value(m.want, a.Kind, want.Args[i]), m.value(m.got, a.Kind, got.Args[j])
		if a.Kind != got.Fn.Args[j].Kind || !m.same(line, a, want.Args[i], got.Args[j]) {
			m.differ(line, "%s: %s is %s as predicted and %s as recorded", got.Fn.Name, a.Name, w, g)
		}
	}
	for _, a := range got.Fn.Args {
		if !slices.Contains(known, a.Name) && !slices.Contains(observations, a.Name) {
			m.differ(line, "%s: argument %s is not predicted", got.Fn.Name, a.Name)
		}
	}
}

// windowMemory notes where the library allocates a window, and forgets it when
// it is freed.
func (m *matcher) windowMemory(want, got *trace.Call) {
	w, g := want.Fn.Arg("baseptr"), got.Fn.Arg("baseptr")
	win := want.Fn.Arg("win")
	switch {
	case want.Fn.Name == "mcchk_Shared_segment":
		m.areas = append(m.areas, area{
			win: want.Args[win].Int, real: uint64(got.Args[got.Fn.Arg("base")].Int), predicted: uint64(want.Args[want.Fn.Arg("base")].Int),
			size: want.Args[want.Fn.Arg("size")].Int,
		})
	case w >= 0 && g >= 0 && want.Fn.Name != "MPI_Win_shared_query":
		m.areas = append(m.areas, area{
			win: want.Args[win].Int, real: uint64(got.Args[g].Int), predicted: uint64(want.Args[w].Int),
			size: want.Args[want.Fn.Arg("size")].Int,
		})
	case want.Fn.Name == "MPI_Win_free":
		m.areas = slices.DeleteFunc(m.areas, func(a area) bool { return a.win == want.Args[win].Int })
	}
}

// same compares two values of an argument.
func (m *matcher) same(line int, a trace.Arg, want, got trace.Value) bool {
	switch a.Kind {
	case trace.ArgAddress:
		return want.Int == got.Int || uint64(want.Int) == m.predicted(uint64(got.Int))
	case trace.ArgComm, trace.ArgWin:
		return m.rename(nameKey{kind: a.Kind}, want.Int, got.Int)
	case trace.ArgRequest:
		return m.sameRequest(want.Int, got.Int)
	case trace.ArgRequests:
		if len(want.List) != len(got.List) {
			return false
		}
		for i := range want.List {
			if !m.sameRequest(want.List[i], got.List[i]) {
				return false
			}
		}
		return true
	case trace.ArgType, trace.ArgTypes, trace.ArgOp:
		return m.value(m.want, a.Kind, want) == m.value(m.got, a.Kind, got)
	}
	if a.Kind == trace.ArgStatuses {
		return m.sameStatuses(line, want.List, got.List)
	}
	switch a.Name {
	case "index":
		return want.Int == got.Int || want.Int == Undefined && got.Int == trace.Undefined
	case "indices": // what was not written is MPI_UNDEFINED
		n := min(len(want.List), len(got.List))
		rest := slices.DeleteFunc(slices.Clone(got.List[n:]), func(v int64) bool { return v == trace.Undefined })
		return slices.Equal(want.List, got.List[:n]) && len(rest) == 0
	case "handle": // of a matched probe; a library may use it again
		m.names[nameKey{trace.ArgNumber, m.rank, want.Int}] = got.Int
		return want.Int == 0 || got.Int != 0
	case "message":
		return m.names[nameKey{trace.ArgNumber, m.rank, want.Int}] == got.Int
	}
	return want.Int == got.Int && slices.Equal(want.List, got.List)
}

// sameStatuses compares statuses. That of a send, which the oracle writes as an
// empty one, says nothing but whether it was cancelled (MPI standard, 3.7.3);
// that of a probe nothing about that. MPICH 4.0 fills none in for MPI_Isendrecv,
// nor for MPI_Irecv from MPI_PROC_NULL.
func (m *matcher) sameStatuses(line int, want, got []int64) bool {
	if len(want) > len(got) || len(want)%trace.StatusWords != 0 ||
		slices.ContainsFunc(got[len(want):], func(v int64) bool { return v != 0 }) { // those not written are zeros
		return false
	}
	c := m.p.at(Place{m.rank, line})
	for i := 0; i < len(want); i += trace.StatusWords {
		w, g := want[i:i+trace.StatusWords], got[i:i+trace.StatusWords]
		switch {
		case c.family() == probeCall:
			w, g = w[:3], g[:3]
		case w[0] == trace.AnySource && w[1] == trace.AnyTag && w[2] == 0, m.p.waitsForSendrecv(c), w[0] == trace.ProcNull && c.family() == requestCall:
			w, g = w[3:], g[3:]
		}
		if !slices.Equal(w, g) {
			return false
		}
	}
	return true
}

// at returns the call at a place.
func (p *Program) at(at Place) *Call {
	i := slices.IndexFunc(p.Calls, func(c Call) bool { return c.Place() == at })
	if i < 0 {
		return &Call{}
	}
	return &p.Calls[i]
}

// waitsForSendrecv reports whether one of the requests of a call is that of an
// MPI_Isendrecv or MPI_Isendrecv_replace.
func (p *Program) waitsForSendrecv(c *Call) bool {
	return c.family() == requestCall && slices.ContainsFunc(p.Calls, func(d Call) bool {
		return d.Rank == c.Rank && d.form() == nonblocking && d.sends() && d.receives() && slices.Contains(c.Reqs, d.Reqs[0])
	})
}

// sameRequest compares two requests of the process. A library may give one handle to
// several sends that are complete at once, as MPICH does: which of them a call
// completes cannot be told when the program has copied the handles, so there they
// change places.
func (m *matcher) sameRequest(want, got int64) bool {
	k := nameKey{kind: trace.ArgRequest, rank: m.rank}
	if m.rename(k, want, got) {
		return true
	}
	w, g := k, k
	w.id, g.id = want, got
	have, named := m.names[w]
	other, taken := m.back[g]
	if want == 0 || got == 0 || !named || !taken || !m.p.sendsBy(m.rank, want) || !m.p.sendsBy(m.rank, other) {
		return false
	}
	o, h := k, k
	o.id, h.id = other, have
	m.names[w], m.names[o] = got, have
	m.back[g], m.back[h] = want, other
	return true
}

// sendsBy reports whether a request of a process is that of a send.
func (p *Program) sendsBy(rank int, request int64) bool {
	return slices.ContainsFunc(p.Calls, func(d Call) bool {
		return d.Rank == rank && d.form() == nonblocking && d.sends() && !d.receives() && reqID(rank, d.Reqs[0]) == request
	})
}

// rename reports whether two identifiers stand for the same thing: 0 for the
// null handle, each other one for one.
func (m *matcher) rename(k nameKey, want, got int64) bool {
	if want == 0 || got == 0 {
		return want == got
	}
	w, g := k, k
	w.id, g.id = want, got
	have, named := m.names[w]
	_, taken := m.back[g]
	if !named && !taken {
		m.names[w], m.back[g] = got, want
		if k.kind == trace.ArgComm {
			return m.sameMembers(want, got)
		}
		return true
	}
	return named && have == got
}

// sameMembers compares the processes of two communicators.
func (m *matcher) sameMembers(want, got int64) bool {
	w, g := m.want.reader.Comm(want), m.got.reader.Comm(got)
	if w == nil || g == nil {
		return false
	}
	return w.Rank == g.Rank && w.Inter == g.Inter &&
		slices.Equal(worldRanks(w.Ranks), worldRanks(g.Ranks)) && slices.Equal(worldRanks(w.Remote), worldRanks(g.Remote))
}

func worldRanks(runs []trace.RankRun) []int64 {
	var out []int64
	for _, r := range runs {
		for k := range r.Count {
			out = append(out, r.First+k*r.Stride)
		}
	}
	return out
}

// value renders a value for people; of types and operations all that counts.
func (m *matcher) value(r *Recorded, kind trace.ArgKind, v trace.Value) string {
	switch kind {
	case trace.ArgType:
		return describeType(r.reader, v.Int)
	case trace.ArgTypes:
		var parts []string
		for _, t := range v.List {
			parts = append(parts, describeType(r.reader, t))
		}
		return strings.Join(parts, " ")
	case trace.ArgOp:
		return r.reader.Op(v.Int)
	case trace.ArgAddress:
		if v.Int <= 0 {
			return fmt.Sprint(v.Int)
		}
		addr := uint64(v.Int)
		if r == m.got {
			addr = m.predicted(addr)
		}
		return m.offset(addr)
	}
	if kind.IsList() {
		return fmt.Sprint(v.List)
	}
	return fmt.Sprint(v.Int)
}

// describeType writes a datatype out with all that it is made of.
func describeType(r *trace.Reader, id int64) string {
	t := r.Type(id)
	switch {
	case t == nil:
		return fmt.Sprintf("type %d", id)
	case t.Combiner == trace.Named:
		return t.Name
	}
	var olds []string
	seen := map[int64]string{}
	for _, o := range t.Types {
		if seen[o] == "" {
			seen[o] = describeType(r, o)
		}
		olds = append(olds, seen[o])
	}
	bounds := ""
	if !backwards(r, t) {
		bounds = fmt.Sprintf(", from %d, extent %d", t.LB, t.Extent)
	}
	return fmt.Sprintf("%d(%v, %v, %s; %d bytes%s)", t.Combiner, t.Ints, t.Addrs, strings.Join(olds, ", "), t.Size, bounds)
}

// backwards reports whether a type holds a vector whose blocks lie side by side
// from behind: Open MPI 4.1 says that it begins at 0.
func backwards(r *trace.Reader, t *trace.Type) bool {
	if t.Combiner == trace.Vector && t.Ints[2] == -t.Ints[1] {
		return true
	}
	return slices.ContainsFunc(t.Types, func(id int64) bool {
		old := r.Type(id)
		return old != nil && backwards(r, old)
	})
}
