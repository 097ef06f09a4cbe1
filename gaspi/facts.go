package gaspi

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// Facts is what explanations have to know of a call by its name. The zero value is
// that of a call that is none of GASPI's.
type Facts struct {
	Known     bool
	Operation bool // a one-sided operation
	Completes bool // it completes operations
	Only      bool // and is called for nothing else
	Waits     bool // programs order ranks with it
	Notifies  bool // a write that posts a notification behind its data
}

// FactsOf returns the facts of a call, as the table says them.
func FactsOf(fn string) Facts {
	e := table[fn]
	if e == nil {
		return Facts{}
	}
	return Facts{
		Known: true, Operation: e.kind == core.OperationCall, Completes: e.completes != "", Only: completesOnly(fn),
		Waits:    e.kind == core.SynchronizingCall && e.orders != "",
		Notifies: e.memory == untilSeen && e.orders != "",
	}
}

// completesOnly reports whether a function completes operations, and does nothing else.
func completesOnly(fn string) bool { return fn == "gaspi_wait" }

// Description is what the table says of a call, in words. An empty field says:
// nothing.
type Description struct {
	Call      string
	Orders    string // whom
	Completes string // what
	Memory    string // that it reads and writes
	Note      string
}

// Meanings returns what the table says of each call, by name. Calls that it does not
// list are not understood.
func Meanings() []Description {
	var out []Description
	for call, e := range table {
		out = append(out, Description{call, e.orders, e.completes, e.memory, e.note})
	}
	slices.SortFunc(out, func(a, b Description) int { return cmp.Compare(a.Call, b.Call) })
	return out
}
