// Package timeline writes a run as trace events, the JSON that the viewers of
// Chrome and Perfetto open: a process for each rank, a thread for each of its
// threads, calls as slices, epochs as nestable asynchronous slices, messages and
// other order between processes as flows, accesses of findings as instants.
//
// A Writer watches a replay (core.Observer) and writes as it goes: it holds
// the call under way of each process, and no more. Events are not sorted by
// time; viewers do that.
package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/mcchk/mcchk/core"
)

// Moment is a time in nanoseconds.
type Moment int64

// Source says of a run what a Writer needs beside the replay.
type Source struct {
	Ranks int
	// Time turns a time of a process's own clock, ns, into that of the whole
	// run; nil: the trace has no wall-clock times, and logical ones are used.
	Time func(rank int, local int64) Moment
	// Place tells where a recorded stack of a process is: "a.c:12", "" if unknown.
	Place func(rank int, stack uint32) string
	// Info stands in the metadata of the file.
	Info map[string]string
}

// Mark is an access of a finding.
type Mark struct {
	Finding int    // from 1
	Side    int    // 1 or 2
	Letter  string // what drawings call the access: "A" or "B"
	Rank    int
	Strand  uint32
	Pos     uint64 // number of the event in the trace of the process
	Rule    string
	Name    string // what the access is: "MPI_Put", "load"
	Place   string
}

// step is the length of a call in logical time, ns, a message apart.
const step = 1000

// Writer writes a timeline.
type Writer struct {
	w       *bufio.Writer
	from    Source
	any     bool // an event was written
	procs   []process
	flows   uint64
	epochs  uint64
	failure error
}

// process is one process under way.
type process struct {
	marks   []Mark // to come, by Pos
	call    slice
	open    bool // call is under way
	clock   Moment
	strands []strand
	arrows  []arrow // that end in the call under way, or in the next
	changes []change
	epochs  map[epochKey]epoch
}

// strand is one thread.
type strand struct {
	id  uint32
	end Moment // of its last slice
}

// slice is a call.
type slice struct {
	begin, end     Moment
	strand         uint32
	pos            uint64
	name, category string
	place, epoch   string
	window         int
	target         int32
	returned       bool
}

// arrow is a flow to the call under way.
type arrow struct {
	from  source
	early bool // it ends where the call begins
}

// source is where a flow comes from.
type source struct {
	rank   int
	strand uint32
	at     Moment
	name   string
}

// meeting is a collective call: who came last.
type meeting struct{ last source }

type epochKey struct {
	kind   string // of the object
	number int    // of the object
	target int32
	family int
}

type epoch struct {
	id   uint64
	name string
}

// change is an epoch that the call under way opens or closes.
type change struct {
	epoch  epoch
	strand uint32
	opens  bool
}

var _ core.Observer = (*Writer)(nil)

// NewWriter begins a timeline. Marks are the accesses of findings.
func NewWriter(w io.Writer, from Source, marks []Mark) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 1<<16), from: from, procs: make([]process, from.Ranks)}
	for _, m := range marks {
		p := &t.procs[m.Rank]
		p.marks = append(p.marks, m)
	}
	info := map[string]string{"time": "wall-clock"}
	if from.Time == nil {
		info["time"] = "logical: a call takes 1 µs, and what it waits for comes before its end"
	}
	for k, v := range from.Info {
		info[k] = v
	}
	t.text(`{"displayTimeUnit":"ns","otherData":`)
	t.value(info)
	t.text(`,"traceEvents":[`)
	for rank := range t.procs {
		p := &t.procs[rank]
		p.epochs = map[epochKey]epoch{}
		slices.SortStableFunc(p.marks, func(a, b Mark) int {
			switch {
			case a.Pos < b.Pos:
				return -1
			case a.Pos > b.Pos:
				return 1
			}
			return 0
		})
		t.event(event{Phase: "M", Name: "process_name", PID: rank, Args: map[string]any{"name": fmt.Sprintf("rank %d", rank)}})
		t.event(event{Phase: "M", Name: "process_sort_index", PID: rank, Args: map[string]any{"sort_index": rank}})
	}
	return t
}

// event is one trace event (Trace Event Format).
type event struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	PID      int            `json:"pid"`
	TID      uint32         `json:"tid"`
	Time     *micros        `json:"ts,omitempty"`
	Duration *micros        `json:"dur,omitempty"`
	ID       string         `json:"id,omitempty"`
	Local    *localID       `json:"id2,omitempty"`
	Bind     string         `json:"bp,omitempty"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

type localID struct {
	Local string `json:"local"`
}

// micros is a time in nanoseconds that is written in microseconds, exactly.
type micros Moment

// MarshalJSON is that of json.Marshaler.
func (m micros) MarshalJSON() ([]byte, error) {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, n/1000, n%1000), nil
}

func at(m Moment) *micros { return (*micros)(&m) }

func (t *Writer) event(e event) {
	if t.any {
		t.text(",\n")
	} else {
		t.text("\n")
	}
	t.any = true
	t.value(e)
}

func (t *Writer) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && t.failure == nil {
		t.failure = err
	}
	if _, err := t.w.Write(b); err != nil && t.failure == nil {
		t.failure = err
	}
}

func (t *Writer) text(s string) {
	if _, err := t.w.WriteString(s); err != nil && t.failure == nil {
		t.failure = err
	}
}

// Failed returns the first error of writing: the replay need not go on.
func (t *Writer) Failed() error { return t.failure }

// Close ends the timeline, when the replay is over. It returns the first error
// of writing.
func (t *Writer) Close() error {
	for rank := range t.procs {
		p := &t.procs[rank]
		t.finish(rank)
		t.instants(rank, ^uint64(0))
		t.closeEpochs(rank, p)
	}
	t.text("\n]}\n")
	if err := t.w.Flush(); err != nil && t.failure == nil {
		t.failure = err
	}
	if t.failure != nil {
		return fmt.Errorf("write timeline: %w", t.failure)
	}
	return nil
}

// closeEpochs ends the epochs that the program left open.
func (t *Writer) closeEpochs(rank int, p *process) {
	open := make([]epoch, 0, len(p.epochs))
	for _, e := range p.epochs {
		open = append(open, e)
	}
	slices.SortFunc(open, func(a, b epoch) int { return int(a.id) - int(b.id) })
	end := Moment(0)
	for _, s := range p.strands {
		end = max(end, s.end)
	}
	for _, e := range open {
		t.epochEvent("e", rank, p.call.strand, e, end)
	}
}

func (t *Writer) epochEvent(phase string, rank int, strand uint32, e epoch, when Moment) {
	t.event(event{Phase: phase, Name: e.name, Category: "epoch", PID: rank, TID: strand, Time: at(when), Local: &localID{"0x" + strconv.FormatUint(e.id, 16)}})
}
