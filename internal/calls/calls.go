// Package calls replays lists of calls, as tests of models write them, without a trace.
package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Of returns a call with arguments of these names and values, which are ints, or lists
// ([]int64).
func Of(name string, values ...any) *trace.Call {
	c := &trace.Call{Fn: &trace.Fn{Name: name}, Returned: true}
	for i := 0; i < len(values); i += 2 {
		c.Fn.Args = append(c.Fn.Args, trace.Arg{Name: values[i].(string)})
		switch v := values[i+1].(type) {
		case int:
			c.Args = append(c.Args, trace.Value{Int: int64(v)})
		case []int64:
			c.Fn.Args[i/2].Kind = trace.ArgNumbers
			c.Args = append(c.Args, trace.Value{List: v})
		}
	}
	return c
}

// Maker makes calls as traces have them: those of one name are of one function.
type Maker map[string]*trace.Fn

// Call returns a call with a stack, which 0 is for none.
func (m Maker) Call(stack uint32, name string, values ...any) *trace.Call {
	c := Of(name, values...)
	if m[name] == nil {
		m[name] = c.Fn
	}
	c.Fn, c.Stack = m[name], stack
	return c
}

// Stream is the stream of a process that makes these calls.
type Stream struct {
	List     []*trace.Call
	Datatype *trace.Type // all datatypes
}

// ReadEvent is that of core.Stream.
func (s *Stream) ReadEvent(ev *trace.Event) error {
	if len(s.List) == 0 {
		return io.EOF
	}
	*ev = trace.Event{Kind: trace.KindCall, Call: s.List[0]}
	s.List = s.List[1:]
	return nil
}

// Type is that of core.Stream.
func (s *Stream) Type(int64) *trace.Type { return s.Datatype }

// Comm is that of core.Stream.
func (*Stream) Comm(int64) *trace.Comm { return nil }

// Op is that of core.Stream.
func (*Stream) Op(int64) string { return "" }

// Search replays the calls of all processes, and returns how many pairs of each rule and two
// call sites conflict, and what was counted. each is called for the regions; it may be nil.
func Search(streams []core.Stream, opts core.Options, model core.Model, judge conflicts.Judge, each func(*regions.Region)) (pairs map[string]uint64, stats core.Stats, err error) {
	m, err := core.NewMachine(streams, opts, model)
	if err != nil {
		return nil, stats, err
	}
	checker := conflicts.NewChecker(context.Background(), 1, judge, opts.Part, opts.Memory, false, nil)
	for {
		r, err := m.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, stats, err
		}
		if each != nil {
			each(r)
		}
		checker.Add(r)
	}
	groups, err := checker.Close()
	pairs = map[string]uint64{}
	for _, g := range groups {
		sites := []string{fmt.Sprint(g.First), fmt.Sprint(g.Second)} // in an order that is that of the first pair found
		slices.Sort(sites)
		pairs[fmt.Sprint(g.Rule, sites, g.Owners)] += g.Count
	}
	stats = m.Stats()
	stats.Spilled = regions.SpillStats{} // which depends on time
	if err == nil && len(m.Problems()) > 0 {
		err = fmt.Errorf("problems: %v", m.Problems())
	}
	return pairs, stats, err
}
