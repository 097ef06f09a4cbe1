package mpi

import (
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// side is the data that an operation names at one side: so many elements of a
// datatype in a buffer.
type side struct {
	name  string // "origin buffer"
	count int64
	id    int64 // of the datatype
}

// checkData says whether the data that a one-sided operation names at its origin
// and at its target fit each other: what is sent has to fit into where it goes,
// and to be of the same basic types (MPI 4.1, 3.3.1 and 12.3); those of an
// accumulate have to be of one basic type (12.3.4); and where data arrive, no two elements may
// lie in one place (4.1.11 and 12.3).
func (b *opBuilder) checkData(role operationRole) {
	if b.single { // one datatype for all
		return
	}
	of := func(name string, at bufferArgs) side {
		count, id := b.elements(at)
		return side{name, count, id}
	}
	origin, target := of("origin buffer", originArgs), of("target", targetArgs)
	atomic := role.kind == regions.AtomicWrite
	var why string
	switch {
	case role.role == GetTarget:
		why = b.unfit(target, origin, atomic)
	case role.role != FetchTarget:
		why = b.unfit(origin, target, atomic)
	default:
		if b.operationName() != noOp {
			why = b.unfit(origin, target, atomic)
		}
		if why == "" {
			why = b.unfit(target, of("result buffer", resultArgs), atomic)
		}
	}
	fix := "give counts and datatypes that describe the same data at both sides"
	if why == "" {
		fix = "use a datatype in which each element has a place of its own"
		switch {
		case role.role == GetTarget:
			why = b.p.overlapping(origin)
		case role.kind == regions.AtomicWrite || role.role != FetchTarget:
			why = b.p.overlapping(target)
		}
		if why == "" && role.role == FetchTarget {
			why = b.p.overlapping(of("result buffer", resultArgs))
		}
	}
	if why == "" || !b.p.knows(b.e) {
		return
	}
	b.m.Misuse(core.Usage{
		Rule: conflicts.RuleData, Call: b.op.call, Last: b.e.last, As: role.role.Name, Writes: role.role != GetTarget,
		Concerned: core.Concerned{Owner: b.e.win.members[b.op.target], Object: &b.e.win.Object},
		Why:       why, Fix: fix,
	})
}

// unfit says why data of one side cannot go to another; "" where they can, or that
// is not known. atomic: they are combined there.
func (b *opBuilder) unfit(from, to side, atomic bool) string {
	if from.id == to.id && from.count == to.count && !atomic {
		return ""
	}
	n := b.p.dataBytes(from)
	if n == 0 {
		return ""
	}
	t, err := b.p.typeOf(from.id)
	if err != nil {
		return ""
	}
	u, err := b.p.typeOf(to.id)
	if err != nil {
		return ""
	}
	switch room := b.p.dataBytes(to); {
	case n > room:
		return fmt.Sprintf("the data of the %s are %d bytes, and the %s takes %d", from.name, n, to.name, room)
	case atomic && t.basic == "":
		return fmt.Sprintf("the datatype of the %s has several basic types", from.name)
	case atomic && u.basic == "":
		return fmt.Sprintf("the datatype of the %s has several basic types", to.name)
	case !alike(t, u, atomic):
		return fmt.Sprintf("the data of the %s are %s, and those of the %s %s", from.name, t.basic, to.name, u.basic)
	}
	return ""
}

// overlapping says that elements of some data that arrive lie in one place; "" where they do not,
// or that is not known.
func (p *process) overlapping(s side) string {
	b, err := p.bufferOf(s.count, s.id)
	if err != nil {
		return ""
	}
	if !b.compared {
		b.compared, b.overlaps = true, b.layout.Overlaps(uint64(p.dataBytes(s)))
	}
	if !b.overlaps {
		return ""
	}
	return fmt.Sprintf("elements of the datatype of the %s lie in the same place", s.name)
}

// dataBytes returns the bytes of data in a buffer, without holes.
func (p *process) dataBytes(s side) int64 {
	if def := p.defs.Type(s.id); def != nil && s.count > 0 {
		return s.count * def.Size
	}
	return 0
}

// alike reports whether data of two datatypes may be the same: of basic types that
// have one size, and are numbers of one kind. Bytes may be anything but the
// operands of an accumulate. Of datatypes with several basic types it is not known.
func alike(t, u *datatype, atomic bool) bool {
	x, sizeX, y, sizeY := t.basic, t.size, u.basic, u.size
	if !atomic {
		x, sizeX = unpaired(t)
		y, sizeY = unpaired(u)
	}
	switch {
	case x == y || x == "" || y == "":
		return true
	case !atomic && (sizeX == 1 || sizeY == 1):
		return true
	}
	return sizeX == sizeY && numberKind(x) == numberKind(y)
}

// unpaired returns the basic type, and its bytes, of the numbers of a datatype that may be one of
// the pairs for MPI_MINLOC: MPI_2INT is as if it were two MPI_INT (MPI 4.1, 6.9.4). It is "" where
// they have several.
func unpaired(t *datatype) (basic string, size uint64) {
	switch t.basic {
	case "MPI_FLOAT_INT", "MPI_DOUBLE_INT", "MPI_LONG_INT", "MPI_SHORT_INT", "MPI_LONG_DOUBLE_INT":
		return "", 0
	}
	if of, ok := strings.CutPrefix(t.basic, "MPI_2"); ok {
		return "MPI_" + of, t.size / 2
	}
	return t.basic, t.size
}

// numberKind tells basic types of numbers apart, by their names in C and Fortran.
func numberKind(basic string) string {
	switch {
	case strings.Contains(basic, "COMPLEX"):
		return "complex"
	case strings.Contains(basic, "FLOAT"), strings.Contains(basic, "DOUBLE"), strings.Contains(basic, "REAL"):
		return "real"
	}
	return "integer"
}
