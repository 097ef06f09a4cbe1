package shmem

import (
	"iter"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// awaited is one value that a call waits for, or has found.
type awaited struct {
	condition
	addr    uint64
	before  int64 // what was there when the call was made
	result  int64 // what was there when it was over, where it returns that
	returns bool
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

// more reports whether the call has seen something else than what was there when it was made.
func (w awaited) more() bool {
	if w.returns {
		return w.result != lowest(w.before, w.bytes)
	}
	return !w.met(w.before)
}

// enough reports whether a value can be what ended the wait.
func (w awaited) enough(v int64) bool {
	if w.returns {
		return lowest(v, w.bytes) == w.result
	}
	return w.met(v)
}

// The functions that follow return what a call waits for, or has found by a test that
// succeeded; nothing where the test did not.

// one is of a call with one value.
func (c *call) one() []awaited {
	if c.Has(argResult) && c.Int(argResult) == 0 && !c.Has(argSigAddr) {
		return nil
	}
	arg, cmp := argIvar, int64(notEqual)
	if c.Has(argSigAddr) {
		arg = argSigAddr
	}
	if c.Has(argCmp) {
		cmp = c.Int(argCmp)
	}
	w := c.awaited(c.Addr(arg), cmp, c.Int(argCmpValue), 0)
	if c.Has(argResult) && c.Has(argSigAddr) { // of others it says whether a test succeeded
		w.result = lowest(c.Int(argResult), w.bytes)
		w.returns = w.valid() && w.met(w.result)
	}
	return []awaited{w}
}

// all is of a call that has several values, all of which have to be there.
func (c *call) all() []awaited {
	if c.Has(argResult) && c.Int(argResult) == 0 {
		return nil
	}
	return c.elements(func(yield func(int64) bool) {
		for i := range c.Int(argNelems) {
			if !yield(i) {
				return
			}
		}
	})
}

// any is of one that tells which value was there.
func (c *call) any() []awaited { return c.elements(slices.Values([]int64{c.Int(argResult)})) }

// some is of one that tells which values were there.
func (c *call) some() []awaited { return c.elements(slices.Values(c.List(argFound))) }

// elements returns what a call that has several values waits for at some of them, but for
// those that the program had left out.
func (c *call) elements(which iter.Seq[int64]) (list []awaited) {
	for i := range which {
		if i < 0 || i >= c.Int(argNelems) {
			continue
		}
		if left := c.List(argStatus); i < int64(len(left)) && left[i] != 0 {
			continue
		}
		value := int64(0)
		if c.Has(argCmpValue) {
			value = c.Int(argCmpValue)
		} else if values := c.List(argValues); i < int64(len(values)) {
			value = values[i]
		}
		list = append(list, c.awaited(c.Addr(argIvars)+uint64(i*c.Int(argSize)), c.Int(argCmp), value, int(i)))
	}
	return list
}

// waits returns the entry of calls that wait for what a function returns of them.
func waits(of func(*call) []awaited, orders string) *entry {
	return &entry{
		do:      func(p *pe, c *call) { p.await(c, of(c)) },
		foresee: func(p *pe, c *call, f *core.Foresight) { p.foreseeWait(c, of(c), f) },
		results: true, scan: scanWait,
		kind: core.SynchronizingCall, orders: orders,
	}
}

// foreseeWait says what was there when a call that is still to come was begun, and what it waits for.
func (p *pe) foreseeWait(c *call, list []awaited, f *core.Foresight) {
	for _, w := range list {
		if at, _, ok := p.at(w.addr, p.Rank); ok && w.valid() {
			f.Saw(at.word(w.bytes), c.Call.Call, lowest(w.before, w.bytes))
			switch {
			case !w.more():
			case w.returns:
				f.Looked(at.word(w.bytes), c.Call.Call, w.result)
			default:
				f.Waited(at.word(w.bytes), c.Call.Call, w.met)
			}
		}
	}
}

// foreseeLook says what a look at a signal that is still to come finds.
func foreseeLook(p *pe, c *call, f *core.Foresight) {
	if at, _, ok := p.at(c.Addr(argSigAddr), p.Rank); ok {
		f.Looked(at.word(8), c.Call.Call, c.Int(argResult))
	}
}

// signalFetch replays a look at a signal of the PE's own.
func signalFetch(p *pe, c *call) {
	at, _, ok := p.at(c.Addr(argSigAddr), p.Rank)
	if !ok {
		p.notSymmetric(c, argSigAddr, c.Addr(argSigAddr))
		return
	}
	p.fetched(c, p.Look(at.word(8), c.Begin, nil), c.Int(argResult), 8)
}
