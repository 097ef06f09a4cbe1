package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// argument is an argument of a call: as it is written, and what that says.
type argument struct {
	name  string
	kind  trace.ArgKind // 0: not given
	value string
	words []int64
}

// parseArgs reads "name:kind=value"; without valued the value may be missing.
func parseArgs(words []string, valued bool) ([]argument, error) {
	var out []argument
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if valued && (!ok || value == "") {
			return nil, fmt.Errorf("argument=value is expected in place of %q", w)
		}
		name, kind, typed := strings.Cut(name, ":")
		a := argument{name: name, value: value}
		if name == "" || typed && len(kind) != 1 {
			return nil, fmt.Errorf("argument:kind is expected in place of %q", w)
		}
		if typed {
			a.kind = trace.ArgKind(kind[0])
		}
		out = append(out, a)
	}
	return out, nil
}

// listed returns the elements of a list, or the value that is none.
func listed(text string) []string {
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		return []string{text}
	}
	inner = strings.TrimSuffix(inner, "]")
	if inner == "" {
		return nil
	}
	return strings.Split(inner, ",")
}

// value works out what an argument says, which may refer to others of its call.
func (t *table) value(a *argument, others []argument) error {
	if strings.HasPrefix(a.value, "[") != a.kind.IsList() || strings.HasPrefix(a.value, "[") && !strings.HasSuffix(a.value, "]") {
		if a.kind.IsList() {
			return fmt.Errorf("a list such as [1,2] is expected in place of %s", a.value)
		}
		return fmt.Errorf("one number is expected in place of %s", a.value)
	}
	a.words = nil
	for _, text := range listed(a.value) {
		if ref, ok := strings.CutPrefix(text, "$"); ok {
			text = "0" // what a call leaves out
			for i := range others {
				if others[i].name == ref {
					text = others[i].value
				}
			}
		}
		v, err := t.number(text)
		if err != nil {
			return err
		}
		a.words = append(a.words, v)
	}
	return nil
}

// number reads a number, or names joined by |.
func (t *table) number(text string) (int64, error) {
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return v, nil
	}
	if v, err := strconv.ParseUint(text, 0, 64); err == nil {
		return int64(v), nil
	}
	bits := int64(0)
	for name := range strings.SplitSeq(text, "|") {
		v, ok := t.constant(name)
		if !ok {
			return 0, fmt.Errorf("%q is no number and no name of a constant, a datatype or an operation", name)
		}
		bits |= v
	}
	return bits, nil
}

func (t *table) constant(name string) (int64, bool) {
	for _, prefix := range []string{"", "MPI_", "MPI_MODE_", "MPI_LOCK_"} {
		if v, ok := t.names[prefix+name]; ok {
			return v, true
		}
		if v, ok := trace.Constant(prefix + name); ok {
			return v, true
		}
	}
	return 0, false
}
