package values

import "slices"

// condition is what a wait waits for.
func condition(cmp, v int64) func(int64) bool {
	return func(a int64) bool {
		switch cmp {
		case 1:
			return a == v
		case 2:
			return a != v
		case 3:
			return a > v
		}
		return a >= v
	}
}

// waited decides on a wait for what is there.
func (s *shmem) waited(x *step, c *cell, choice int) (cmp, v, before, since int64) {
	before, since = c.since(s.lastOf(x.pe), x.pick(2, 7))
	switch cmp, v = 1, c.value; {
	case choice%3 == 0 && before != c.value:
		cmp, v = 2, before
	case choice%3 == 1:
		cmp = 4
	}
	return cmp, v, before, since
}

// wait is a wait for one value, or a test that succeeds.
func (s *shmem) wait(x *step) {
	w := x.pick(0, 5)
	if s.p.real {
		w %= 3
	}
	at, name := int64(shmemWords+8*w), "shmem_long_wait_until"
	var args []arg
	if w > 2 {
		at, name = int64(shmemSignals+8*(w-3)), "shmem_signal_wait_until"
		args = []arg{addr("sig_addr", at)}
	} else {
		args = []arg{addr("ivar", at)}
	}
	c := s.cell(x.pe, at)
	cmp, v, before, since := s.waited(x, c, x.pick(1, 6))
	test, early := w <= 2 && x.pick(3, 3) == 0, false
	if s.p.real {
		early, before = !test && x.pick(4, 2) == 0, c.value
		if there, ok := s.p.seen[len(s.p.events)]; ok {
			before = there
		}
	}
	meets := condition(cmp, v)
	args = append(args, num("cmp", cmp), num("cmp_value", v), num("size", 8), num("before", before))
	if test {
		name = "shmem_long_test"
		args = append(args, num("result", 1))
	}
	tells := w > 2
	if tells {
		args = append(args, num("result", c.value))
	}
	e := s.event(x.pe, name, args...)
	e.early, e.begin = early, max(since, s.lastBut(e)+1)
	if tells {
		c.returned(e, before)
		return
	}
	c.await(e, before, meets)
}

// returned adds what a wait does that returns what is there when it is over.
func (c *cell) returned(e *event, before int64) {
	there := &op{by: e, exact: true, look: true, found: before, done: []int{e.leave()}}
	c.ops = append(c.ops, there, &op{by: e, exact: true, look: true, found: c.value, behind: there, done: []int{e.leave()}})
}

// await adds what a wait or a test that succeeds does to a word: it finds what was there
// when it was called, and waits where that is not enough.
func (c *cell) await(e *event, before int64, meets func(int64) bool) {
	there := &op{by: e, exact: true, look: true, found: before, done: []int{e.leave()}}
	if c.ops = append(c.ops, there); !meets(before) {
		c.ops = append(c.ops, &op{by: e, meets: meets, look: true, behind: there, done: []int{e.leave()}})
	}
}

// lastBut returns when the process's event before the last was over.
func (s *shmem) lastBut(e *event) int64 {
	for _, x := range slices.Backward(s.p.events[:e.index]) {
		if x.pe == e.pe && x.strand == e.strand {
			return x.end
		}
	}
	return 0
}

// waitSome waits for two words.
func (s *shmem) waitSome(x *step) {
	if s.p.real {
		return
	}
	const n = 2
	var before, values []int64
	since := int64(0)
	for i := range n {
		c := s.cell(x.pe, int64(shmemWords+8*i))
		_, _, b, t := s.waited(x, c, 2)
		before, values, since = append(before, b), append(values, c.value), max(since, t)
	}
	for i := range n { // as they were at one time
		c := s.cell(x.pe, int64(shmemWords+8*i))
		for _, h := range c.history {
			if h.since <= since {
				before[i] = h.value
			}
		}
	}
	name, more, which := "shmem_long_wait_until_all_vector", []arg{}, []int{0, 1}
	switch x.pick(3, 3) {
	case 0:
		which = []int{x.pick(1, 2)}
		name, more = "shmem_long_wait_until_any_vector", []arg{num("result", int64(which[0]))}
	case 1:
		which = []int{x.pick(1, 2)}
		name, more = "shmem_long_wait_until_some_vector", []arg{nums("found", []int64{int64(which[0]), -1}), num("result", 1)}
	}
	args := append([]arg{addr("ivars", shmemWords), num("nelems", n), nums("status", nil), num("cmp", 1), nums("values", values),
		num("size", 8), nums("before", before)}, more...)
	e := s.event(x.pe, name, args...)
	e.begin = max(since, s.lastBut(e)+1)
	for _, i := range which {
		s.cell(x.pe, int64(shmemWords+8*i)).await(e, before[i], condition(1, values[i]))
	}
}

func (s *shmem) signalFetch(x *step) {
	if s.p.real {
		return
	}
	at := int64(shmemSignals + 8*x.pick(0, 2))
	c := s.cell(x.pe, at)
	e := s.event(x.pe, "shmem_signal_fetch", addr("sig_addr", at), num("result", c.value))
	c.ops = append(c.ops, &op{by: e, exact: true, look: true, found: c.value, done: []int{e.leave()}})
}
