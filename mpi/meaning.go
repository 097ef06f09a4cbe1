package mpi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// Description is what the table says of one MPI call, in words. An empty field
// says: nothing.
type Description struct {
	Call      string
	Signals   string // which processes are ordered after the call
	Waits     string // after which it is ordered
	Completes string // which operations
	Memory    string // which memory it reads and writes
	Note      string
}

// Meanings returns what the table says of each MPI call, by name. Calls that it
// does not list are not understood.
func Meanings() []Description {
	var out []Description
	for name, r := range table {
		if isProgramCall(name) {
			out = append(out, r.meaning(name))
		}
	}
	slices.SortFunc(out, func(a, b Description) int { return cmp.Compare(a.Call, b.Call) })
	return out
}

// Understands reports whether the table has a call.
func Understands(call string) bool { return table[call] != nil }

func (r *entry) meaning(name string) Description {
	w := Description{Call: name, Signals: r.signals, Waits: r.waits, Completes: r.completes, Memory: r.memory, Note: r.note}
	if r.order != core.NoOrder {
		w.Signals, w.Waits = words(r.order)
		if r.form != blocking {
			w.Signals, w.Waits = during("when started", w.Signals), during("when completed", w.Waits)
		}
	}
	if len(r.touches) > 0 {
		w.Memory = touchWords(r.touches)
		if r.form != blocking {
			w.Memory += ", from its start until its request is complete"
		}
	}
	if (r.op != operationRole{}) {
		w.Memory = r.op.words()
	}
	return w
}

func during(when, what string) string {
	if what == "" {
		return ""
	}
	return when + ": " + what
}

// words says whom a process that calls signals, and for whom it waits.
func words(d core.Direction) (signals, waits string) {
	switch d {
	case core.AllToAll, core.Everybody:
		return "all processes of the call", "all processes of the call"
	case core.OneToAll:
		return "the root: all others", "the others: the root"
	case core.AllToOne:
		return "the others: the root", "the root: all others"
	case core.Prefix:
		return "higher ranks", "lower ranks"
	case core.Neighbours:
		return "its destinations", "its sources"
	}
	return "", ""
}

func touchWords(touches []touch) string {
	var reads, writes []string
	for _, t := range touches {
		if t.then == onlyThen || t.then == ownOnly {
			continue // what MPI_IN_PLACE changes goes without saying
		}
		what := t.buf.String()
		if t.bytes {
			what = "the packed data"
		}
		switch t.at {
		case atRoot:
			what += " (the root)"
		case others:
			what += " (the others)"
		case notFirst:
			what += " (not rank 0)"
		}
		if t.write {
			writes = append(writes, what)
		} else {
			reads = append(reads, what)
		}
	}
	var words []string
	if len(reads) > 0 {
		words = append(words, "reads "+strings.Join(reads, ", "))
	}
	if len(writes) > 0 {
		words = append(words, "writes "+strings.Join(writes, ", "))
	}
	return strings.Join(words, ", ")
}

// words says what a one-sided operation does, until it is complete.
func (o operationRole) words() string {
	buffers := "reads origin_addr"
	switch o.role {
	case GetTarget:
		buffers = "writes origin_addr"
	case FetchTarget:
		buffers = "reads origin_addr (not with MPI_NO_OP), writes result_addr"
	case SwapTarget:
		buffers = "reads origin_addr and compare_addr, writes result_addr"
	}
	target := "writes the target"
	switch {
	case o.kind == regions.Read:
		target = "reads the target"
	case o.kind == regions.AtomicWrite && o.role == FetchTarget:
		target = "updates the target atomically (reads it with MPI_NO_OP)"
	case o.kind == regions.AtomicWrite:
		target = "updates the target atomically"
	}
	return buffers + ", " + target + ", from the call until completed"
}
