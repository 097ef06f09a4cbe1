package shmem

import (
	"cmp"
	"slices"
	"strings"
)

// Description is what the table says of one family of calls, in words. An empty field
// says: nothing.
type Description struct {
	Family    string
	Orders    string // whom
	Completes string // what
	Memory    string // that it reads and writes
	Note      string
}

// Meanings returns what the table says of each family, by name. Calls that it does not
// list are not understood.
func Meanings() []Description {
	var out []Description
	for family, e := range table {
		if !strings.HasPrefix(family, "mcchk_") {
			out = append(out, Description{family, e.orders, e.completes, e.memory, e.note})
		}
	}
	slices.SortFunc(out, func(a, b Description) int { return cmp.Compare(a.Family, b.Family) })
	return out
}

// Family returns the family of a function; "": it is not understood.
func Family(fn string) string {
	_, f := lookup(fn)
	return f.family
}
