package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// observations are arguments of recorded calls that are the tracer's own.
var observations = []string{"ticket", "model", "handle", "done", "accumulate_ops", "accumulate_ordering"}

// before lists C parameters that traces leave out, by the recorded argument
// that they stand before.
var before = map[string]string{"requests": "count"}

// whole gives the C parameters of functions with others that are left out.
var whole = map[string]string{
	"MPI_Win_create":   "base size disp_unit info comm win",
	"MPI_Win_allocate": "size disp_unit info comm baseptr win",
}

// shape returns the names of a function's C parameters.
func shape(fn string, signature []arg) []string {
	if names, ok := whole[fn]; ok {
		return strings.Fields(names)
	}
	var out []string
	for _, a := range signature {
		if slices.Contains(observations, a.Name) {
			continue
		}
		if left, ok := before[a.Name]; ok {
			out = append(out, left)
		}
		out = append(out, a.Name)
	}
	return out
}

// argument returns one argument in C.
func (e *emitter) argument(c *Call, name string, signature []arg) (string, error) {
	i := slices.IndexFunc(signature, func(a arg) bool { return a.Name == name })
	if i < 0 {
		return e.unrecorded(c, name, signature)
	}
	a := signature[i]
	v := a.value.Int
	switch a.Kind {
	case trace.ArgAddress:
		return e.addressArgument(c, a), nil
	case trace.ArgNumber:
		switch name {
		case "flag":
			return "&flag", nil
		case "index":
			return "&idx", nil
		}
		return fmt.Sprint(v), nil
	case trace.ArgRank:
		if s, ok := specialRanks[v]; ok {
			return s, nil
		}
		return fmt.Sprint(v), nil
	case trace.ArgTag:
		if v == trace.AnyTag {
			return "MPI_ANY_TAG", nil
		}
		return fmt.Sprint(v), nil
	case trace.ArgComm:
		return fmt.Sprintf("comm[%d]", e.p.commOf(c)), nil
	case trace.ArgWin:
		if c.Fn == "MPI_Win_create" || c.Fn == "MPI_Win_allocate" || c.Fn == "MPI_Win_free" {
			return fmt.Sprintf("&win[%d]", c.Win), nil
		}
		return fmt.Sprintf("win[%d]", c.Win), nil
	case trace.ArgType:
		return fmt.Sprintf("type[%d]", typeIndex(c.Rank, v)), nil
	case trace.ArgOp:
		return c.Op, nil
	case trace.ArgAssert:
		return assertions(v), nil
	case trace.ArgLock:
		if v == trace.LockExclusive {
			return "MPI_LOCK_EXCLUSIVE", nil
		}
		return "MPI_LOCK_SHARED", nil
	case trace.ArgGroup:
		return group(a.value.List), nil
	case trace.ArgRequest, trace.ArgRequests:
		return fmt.Sprintf("&req[%d]", e.slots[requestKey{c.Rank, c.Reqs[0]}]), nil
	case trace.ArgStatuses:
		return "status", nil
	}
	return "", fmt.Errorf("no way to write argument %s:%c", name, a.Kind)
}

func (e *emitter) addressArgument(c *Call, a arg) string {
	switch v := a.value.Int; {
	case a.Name == "baseptr":
		return fmt.Sprintf("&base[%d]", c.Win)
	case v == 0:
		return "NULL"
	case v == trace.InPlace:
		return "MPI_IN_PLACE"
	default:
		return e.address(c, int(uint64(v)-e.p.Base[c.Rank]))
	}
}

// unrecorded returns a parameter that traces leave out.
func (e *emitter) unrecorded(c *Call, name string, _ []arg) (string, error) {
	switch name {
	case "info":
		return "MPI_INFO_NULL", nil
	case "count":
		return fmt.Sprint(len(c.Reqs)), nil
	}
	return "", fmt.Errorf("no value for parameter %s", name)
}
