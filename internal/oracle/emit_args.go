package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// observations are arguments of recorded calls that are the tracer's own.
var observations = []string{"ticket", "model", "handle", "done", "accumulate_ops", "accumulate_ordering", "number", "operand", "operands", "compare"}

// before lists C parameters that traces leave out, by the recorded argument
// that they stand before.
var before = map[string]string{
	"requests": "count", "indices": "outcount", "array_of_partitions": "length",
}

// whole gives the C parameters of functions with others that are left out.
var whole = map[string]string{
	"MPI_Win_create":                 "base size disp_unit info comm win",
	"MPI_Win_allocate":               "size disp_unit info comm baseptr win",
	"MPI_Win_allocate_shared":        "size disp_unit info comm baseptr win",
	"MPI_Win_create_dynamic":         "info comm win",
	"MPI_Comm_idup":                  "comm newcomm request",
	"MPI_Mprobe":                     "source tag comm message status",
	"MPI_Improbe":                    "source tag comm flag message status",
	"MPI_Dist_graph_create_adjacent": "comm indegree sources weights outdegree destinations weights info reorder newcomm",
}

// byValue are the functions that take a request itself, not its address.
var byValue = []string{"MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived", "MPI_Request_get_status"}

// shape returns the names of a function's C parameters.
func shape(c *Call, signature []arg) []string {
	if names, ok := whole[c.Fn]; ok {
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
		if a.Name == "request" && c.form() == persistent && (c.isCollective() || c.Partitions > 0) {
			out = append(out, "info")
		}
		out = append(out, a.Name)
	}
	return out
}

// argument returns one argument in C.
func (e *emitter) argument(c *Call, name string, signature []arg) (string, error) {
	i := slices.IndexFunc(signature, func(a arg) bool { return a.Name == name })
	if i < 0 {
		return e.unrecorded(c, name)
	}
	a := signature[i]
	v := a.value.Int
	switch a.Kind {
	case trace.ArgAddress:
		return e.addressArgument(c, a), nil
	case trace.ArgNumber:
		return e.number(c, name, v), nil
	case trace.ArgRank:
		return special(v, map[int64]string{trace.AnySource: "MPI_ANY_SOURCE", trace.ProcNull: "MPI_PROC_NULL", trace.RootRank: "MPI_ROOT"}), nil
	case trace.ArgTag:
		return special(v, map[int64]string{trace.AnyTag: "MPI_ANY_TAG"}), nil
	case trace.ArgComm:
		return e.communicator(c, name), nil
	case trace.ArgWin:
		if c.makesWindow() || c.Fn == "MPI_Win_free" {
			return fmt.Sprintf("&win[%d]", c.Win), nil
		}
		return fmt.Sprintf("win[%d]", c.Win), nil
	case trace.ArgType:
		if v == 0 {
			return "MPI_BYTE", nil // not significant
		}
		return fmt.Sprintf("type[%d]", typeIndex(c.Rank, v)), nil
	case trace.ArgOp:
		return c.Op, nil
	case trace.ArgAssert:
		return assertions(v), nil
	case trace.ArgLock:
		return special(v, map[int64]string{trace.LockShared: "MPI_LOCK_SHARED", trace.LockExclusive: "MPI_LOCK_EXCLUSIVE"}), nil
	case trace.ArgRequest:
		return e.request(c), nil
	case trace.ArgStatuses:
		return "status", nil
	}
	return e.listArgument(c, a)
}

func special(v int64, names map[int64]string) string {
	if s, ok := names[v]; ok {
		return s
	}
	return fmt.Sprint(v)
}

func (e *emitter) listArgument(c *Call, a arg) (string, error) {
	switch a.Kind {
	case trace.ArgGroup:
		return group(a.value.List), nil
	case trace.ArgRequests:
		return e.requestArray(c), nil
	case trace.ArgNumbers:
		switch {
		case a.Name == "indices":
			return "indices", nil
		case c.does() == "MPI_Neighbor_alltoallw" && strings.HasSuffix(a.Name, "displs"):
			return array("MPI_Aint", a.value.List), nil
		}
		return named("int", a.value.List, func(v int64) string {
			return special(v, map[int64]string{trace.ProcNull: "MPI_PROC_NULL"})
		}), nil
	case trace.ArgTypes:
		return named("MPI_Datatype", a.value.List, func(id int64) string { return fmt.Sprintf("type[%d]", typeIndex(c.Rank, id)) }), nil
	}
	return "", fmt.Errorf("no way to write argument %s:%c", a.Name, a.Kind)
}

func (e *emitter) number(c *Call, name string, v int64) string {
	switch {
	case name == "flag":
		return "&flag"
	case name == "index":
		return "&idx"
	case name == "message":
		return fmt.Sprintf("&message[%d]", c.Msg)
	case name == "color" && v == Undefined:
		return "MPI_UNDEFINED"
	}
	return fmt.Sprint(v)
}

func (e *emitter) communicator(c *Call, name string) string {
	switch {
	case name == "peer_comm":
		return "comm[0]" // significant at the leader
	case strings.HasPrefix(name, "new") && c.New < 0:
		return "&no_comm"
	case strings.HasPrefix(name, "new"):
		return fmt.Sprintf("&comm[%d]", c.New)
	case c.Fn == "MPI_Comm_free":
		return fmt.Sprintf("&comm[%d]", c.Comm)
	}
	return fmt.Sprintf("comm[%d]", e.p.commOf(c))
}

// request returns the one request of a call.
func (e *emitter) request(c *Call) string {
	switch {
	case c.Reqs[0] < 0:
		return "&no_request"
	case slices.Contains(byValue, c.Fn):
		return fmt.Sprintf("req[%d]", e.slots[requestKey{c.Rank, c.Reqs[0]}])
	}
	return fmt.Sprintf("&req[%d]", e.slots[requestKey{c.Rank, c.Reqs[0]}])
}

// requestArray returns the requests of a call: where they lie, when that is
// side by side, or else a copy, which statement puts back.
func (e *emitter) requestArray(c *Call) string {
	if e.sideBySide(c) {
		return fmt.Sprintf("&req[%d]", e.slots[requestKey{c.Rank, c.Reqs[0]}])
	}
	return "copies"
}

func (e *emitter) sideBySide(c *Call) bool {
	for k, r := range c.Reqs {
		if r < 0 || e.slots[requestKey{c.Rank, r}] != e.slots[requestKey{c.Rank, c.Reqs[0]}]+k {
			return false
		}
	}
	return true
}

// copied wraps a call that gets its requests in an array of their own.
func (e *emitter) copied(c *Call, call string) string {
	if len(c.Reqs) < 2 || e.sideBySide(c) {
		return call
	}
	to, from := "", ""
	for k, r := range c.Reqs {
		if r < 0 {
			to += fmt.Sprintf("copies[%d] = MPI_REQUEST_NULL; ", k)
			continue
		}
		slot := e.slots[requestKey{c.Rank, r}]
		to += fmt.Sprintf("copies[%d] = req[%d]; ", k, slot)
		from += fmt.Sprintf(" req[%d] = copies[%d];", slot, k)
	}
	return to + call + from
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
		return e.address(c, a.Name, int(uint64(v)-e.p.Base[c.Rank]))
	}
}

// unrecorded returns a parameter that traces leave out.
func (e *emitter) unrecorded(c *Call, name string) (string, error) {
	switch name {
	case "info":
		if c.makesWindow() {
			return windowInfo(&e.p.Wins[c.Win]), nil
		}
		return "MPI_INFO_NULL", nil
	case "count":
		return fmt.Sprint(len(c.Reqs)), nil
	case "outcount":
		return "&count", nil
	case "length":
		return fmt.Sprint(len(c.Ready)), nil
	case "newcomm":
		return e.communicator(c, name), nil
	case "message":
		return e.number(c, name, 0), nil
	case "weights":
		return "MPI_UNWEIGHTED", nil
	}
	return "", fmt.Errorf("no value for parameter %s", name)
}

// windowInfo returns the info argument of a window.
func windowInfo(w *Window) string {
	if !w.SameOp && w.Unorder == 0 {
		return "MPI_INFO_NULL"
	}
	ops := "same_op_no_op"
	if w.SameOp {
		ops = "same_op"
	}
	var order []string
	for k, name := range []string{"rar", "raw", "war", "waw"} {
		if w.Unorder&(1<<k) == 0 {
			order = append(order, name)
		}
	}
	if len(order) == 0 {
		order = []string{"none"}
	}
	return fmt.Sprintf("window_info(%q, %q)", ops, strings.Join(order, ","))
}
