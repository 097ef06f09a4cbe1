package oracle

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
)

// Shrink returns a smaller program for which fails still holds: it takes out
// calls as long as the rest is the history of a run that could happen. fails
// is asked about normalized programs only, and must hold for p.
func Shrink(p *Program, fails func(*Program) bool) *Program {
	for {
		units := p.unitList()
		before := len(p.Calls)
		for size := len(units); size > 0; size /= 2 {
			for i := 0; i < len(units); i += size {
				q, err := p.drop(units[i:min(i+size, len(units))]...)
				if err == nil && len(q.Calls) < len(p.Calls) && fails(q) {
					p = q
				}
			}
		}
		if len(p.Calls) == before {
			return p
		}
	}
}

// unitList returns the units of the program, in the order of their first calls.
func (p *Program) unitList() []int {
	var out []int
	seen := map[int]bool{}
	for i := range p.Calls {
		if u := p.Calls[i].Unit; !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	return out
}

var errBroken = errors.New("what is left could not happen")

// drop returns the program without the calls of some units, and without what
// depends on them: operations and flushes outside an epoch, calls on a window
// that is never made, waits for requests that are never started.
func (p *Program) drop(units ...int) (*Program, error) {
	gone := map[int]bool{}
	for _, u := range units {
		gone[u] = true
	}
	q := p.clone()
	kept := make([]Call, 0, len(p.Calls))
	started := map[int]bool{}
	for _, c := range p.Calls {
		if gone[c.Unit] {
			continue
		}
		switch {
		case c.family() == requestCall:
			if !c.keepRequests(func(r int) bool { return started[r] }) {
				continue
			}
		case len(c.Reqs) > 0:
			started[c.Reqs[0]] = true
		}
		kept = append(kept, c)
	}
	q.Calls = kept
	s := newSimulation(q)
	q.Calls = make([]Call, 0, len(kept))
	for _, c := range kept {
		if err := s.step(&c); err == nil {
			q.Calls = append(q.Calls, c)
		} else if !c.dispensable(err) {
			return nil, err
		}
	}
	if err := s.finished(); err != nil {
		return nil, err
	}
	if err := q.Normalize(); err != nil {
		return nil, errors.Join(errBroken, err)
	}
	return q, nil
}

// keepRequests takes requests that are not there out of a call, and reports
// whether anything is left of it.
func (c *Call) keepRequests(there func(int) bool) bool {
	var reqs, done []int
	for k, r := range c.Reqs {
		if r >= 0 && !there(r) {
			continue
		}
		if slices.Contains(c.Done, k) {
			done = append(done, len(reqs))
		}
		reqs = append(reqs, r)
	}
	if len(c.Done) > 0 && len(done) == 0 {
		return false
	}
	c.Reqs, c.Done = reqs, done
	return slices.ContainsFunc(reqs, func(r int) bool { return r >= 0 })
}

// dispensable reports whether nothing but its own accesses is lost with a call
// that cannot be made.
func (c *Call) dispensable(err error) bool {
	switch c.Fn {
	case "MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all":
		return true
	case "MPI_Win_test":
		return !c.Flag
	case "MPI_Iprobe", "MPI_Probe":
		return true
	}
	if errors.Is(err, errNoRequest) {
		return true
	}
	return c.isLocal() || c.isOperation() || c.onWindow() && errors.Is(err, errDead)
}

// purge takes out loads, stores, operations and messages that conflict, until
// there is no race left, or now and then a few are.
func purge(p *Program, r *rand.Rand) *Program {
	leave := 0
	if r.Float64() < 0.2 {
		leave = 1 + r.IntN(3)
	}
	for {
		all, err := p.Conflicts()
		if err != nil || len(all) <= leave {
			return p
		}
		n := len(p.Calls)
		if p = p.dropSides(all, leave, r); len(p.Calls) == n {
			return p
		}
	}
}

// dropSides takes one of the two sides of each conflict out, unless another one
// took one of them already, as long as more conflicts are there than are to be
// left.
func (p *Program) dropSides(all []Conflict, leave int, r *rand.Rand) *Program {
	gone := map[int]bool{}
	var units [][2]int // to be dropped, each with the other side's
	has := func(x Conflict) bool { return gone[p.Calls[x.CallA].Unit] || gone[p.Calls[x.CallB].Unit] }
	for left := slices.Clone(all); len(left) > leave; left = slices.DeleteFunc(left, has) {
		x := left[r.IntN(len(left))]
		a, b := p.Calls[x.CallA].Unit, p.Calls[x.CallB].Unit
		if r.IntN(2) == 0 {
			a, b = b, a
		}
		gone[a] = true
		units = append(units, [2]int{a, b})
	}
	if q, err := p.drop(slices.Collect(maps.Keys(gone))...); err == nil {
		return q
	}
	for _, u := range units {
		for _, side := range u {
			if q, err := p.drop(side); err == nil {
				p = q
				break
			}
		}
	}
	return p
}
