package shmem

import "github.com/mcchk/mcchk/core"

// awaited is one value that a call waits for, or has found.
type awaited struct {
	condition
	addr   uint64
	before int64 // what was there when the call was made
}

// awaited returns what a call waits for at an address, and the value that was there when
// it was made.
func (c *call) awaited(addr uint64, cmp, value int64, i int) awaited {
	w := awaited{addr: addr}
	w.condition = condition{cmp: cmp, value: value, bytes: uint64(c.Int(argSize)), signed: c.signed}
	if !c.IsList(argBefore) {
		w.before = c.Int(argBefore)
	} else if list := c.List(argBefore); i < len(list) {
		w.before = list[i]
	}
	return w
}

// waitUntil replays a wait for one value.
func waitUntil(p *pe, c *call) { p.await(c, []awaited{c.one()}) }

// one returns what a call with one value waits for.
func (c *call) one() awaited {
	arg, cmp := argIvar, int64(notEqual)
	if c.Has(argSigAddr) {
		arg = argSigAddr
	}
	if c.Has(argCmp) {
		cmp = c.Int(argCmp)
	}
	return c.awaited(c.Addr(arg), cmp, c.Int(argCmpValue), 0)
}

// foreseeWait says what was there when a wait for one value, or a test, that is still to come
// was begun, as far as it tells.
func foreseeWait(p *pe, c *call, f *core.Foresight) {
	if c.Has(argResult) && c.Int(argResult) == 0 {
		return
	}
	w := c.one()
	if at, _, ok := p.at(w.addr, p.Rank); ok && w.valid() {
		f.Saw(at.word(w.bytes), c.Call.Call, lowest(w.before, w.bytes))
	}
}

// test replays a test for one value: a wait, where it is true.
func test(p *pe, c *call) {
	if c.Int(argResult) != 0 {
		waitUntil(p, c)
	}
}

// elementAt returns what a call that has several values waits for at one of them; false:
// the program had it left out.
func (c *call) elementAt(i int64) (awaited, bool) {
	if left := c.List(argStatus); i < int64(len(left)) && left[i] != 0 {
		return awaited{}, false
	}
	value := int64(0)
	if c.Has(argCmpValue) {
		value = c.Int(argCmpValue)
	} else if list := c.List(argValues); i < int64(len(list)) {
		value = list[i]
	}
	return c.awaited(c.Addr(argIvars)+uint64(i*c.Int(argSize)), c.Int(argCmp), value, int(i)), true
}

// waitAll replays waits for all of several values, and tests that found all.
func waitAll(p *pe, c *call) {
	if c.Has(argResult) && c.Int(argResult) == 0 {
		return
	}
	var list []awaited
	for i := range c.Int(argNelems) {
		if w, wanted := c.elementAt(i); wanted {
			list = append(list, w)
		}
	}
	p.await(c, list)
}

// waitAny replays those that tell which value was there.
func waitAny(p *pe, c *call) {
	i := c.Int(argResult)
	if i < 0 || i >= c.Int(argNelems) {
		return
	}
	if w, wanted := c.elementAt(i); wanted {
		p.await(c, []awaited{w})
	}
}

// waitSome replays those that tell which values were there.
func waitSome(p *pe, c *call) {
	var list []awaited
	for _, i := range c.List(argFound) {
		if i < 0 || i >= c.Int(argNelems) {
			continue
		}
		if w, wanted := c.elementAt(i); wanted {
			list = append(list, w)
		}
	}
	p.await(c, list)
}

// signalFetch replays a look at a signal of the PE's own.
func signalFetch(p *pe, c *call) {
	at, _, ok := p.at(c.Addr(argSigAddr), p.Rank)
	if !ok {
		p.notSymmetric(c, argSigAddr, c.Addr(argSigAddr))
		return
	}
	p.fetched(c, p.Look(at.word(8), c.Begin), c.Int(argResult), 8)
}
