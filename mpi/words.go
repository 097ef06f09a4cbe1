package mpi

import (
	"maps"
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Order through memory (detection model, "Values"): atomic operations on one word or some, of
// which the trace has the operands, and what they fetched.

// onWords notes what an operation does to the words that it accesses, if it does.
func (b *opBuilder) onWords(a *regions.Access, t *datatype) {
	key, n := wordsOf(a, t)
	if a.Kind == regions.Write {
		own := a.Owner == b.p.Rank // as who puts himself into the queue of a lock does
		for i := range min(n, mostOverwritten) {
			k := nth(key, i)
			b.writes(b.p.Overwrite(k, b.c.Begin, own && b.m.fetches(b.e.win, b.op.target, k)))
		}
		return
	}
	if a.Elem == nil || n == 0 {
		return
	}
	if n != b.values() {
		if n == 1 {
			b.p.Cross(key)
		}
		return
	}
	fetches := b.c.Has(argResultAddr)
	if !fetches && !b.m.fetchesAny(b.e.win, b.op.target, key, n) {
		return
	}
	a.Words = n > 1
	for i := range n {
		b.onWord(a, nth(key, i), i, fetches)
	}
}

// onWord notes what an operation does to the word that is element i of it.
func (b *opBuilder) onWord(a *regions.Access, key core.WordKey, i int, fetches bool) {
	op := b.p.Issue(key, b.c.Begin, b.update(a, i), fetches)
	if op == nil {
		return
	}
	if arithmetic(a.Elem) != nil {
		op.Commutes(a.Elem.Op)
	}
	if a.Kind == regions.AtomicWrite {
		op.Does(a.Elem.Op)
	}
	if !fetches {
		b.writes(op)
		return
	}
	f := &fetch{number: b.c.Int(argNumber) + int64(i), into: b.into(key, i), op: op, issued: b.op.issued}
	b.p.fetching[f.number] = f
	b.p.fetchesInto(f.into, f.number)
	if b.p.Threaded() {
		b.op.fetches = append(b.op.fetches, f)
	}
}

// into is where what is fetched of element i goes.
func (b *opBuilder) into(key core.WordKey, i int) uint64 {
	return b.c.Addr(argResultAddr) + uint64(i)*key.Bytes
}

// mostValueBytes is the size of the largest word of which traces have values, and mostWords how many
// elements an operation has at most of which they have.
const mostValueBytes, mostWords = 8, 64

// mostOverwritten is how many elements MPI_Put writes at most that may be words.
const mostOverwritten = 8

// wordsOf returns the first of the words that an access is of, one behind the other, and how many they
// are; 0: it is of something else.
func wordsOf(a *regions.Access, t *datatype) (first core.WordKey, n int) {
	if t.basic == "" || t.size == 0 || t.size > mostValueBytes {
		return first, 0
	}
	lo, hi := a.Layout.Bounds(a.Base)
	if hi-lo != a.Layout.Bytes() || (hi-lo)%t.size != 0 || (hi-lo)/t.size > mostWords {
		return first, 0
	}
	return core.WordKey{Owner: a.Owner, Addr: lo, Bytes: t.size}, int((hi - lo) / t.size)
}

// nth returns word i of some that lie one behind the other.
func nth(first core.WordKey, i int) core.WordKey {
	first.Addr += uint64(i) * first.Bytes
	return first
}

// values is of how many words the trace has values of an atomic operation.
func (b *opBuilder) values() int {
	switch {
	case !b.hasValues():
		return 0
	case b.c.Has(argResultCount):
		return int(b.c.Int(argResultCount))
	case b.c.Has(argOperands):
		return max(1, len(b.c.List(argOperands)))
	}
	return 1
}

// operand is what the origin buffer of an atomic operation held as element i.
func (b *opBuilder) operand(i int) int64 {
	if b.c.Has(argOperands) {
		if all := b.c.List(argOperands); i < len(all) {
			return all[i]
		}
	}
	return b.c.Int(argOperand)
}

// hasValues reports whether the trace has values of an atomic operation.
func (b *opBuilder) hasValues() bool { return b.c.Has(argNumber) && b.c.Int(argNumber) != 0 }

// foreseeOperation says what an operation that is still to come will do to a word.
func foreseeOperation(m *Model, p *process, c *core.Call, r *entry, f *core.Foresight) {
	b, ok := p.onTarget(m, c, r)
	if !ok || r.op.kind != regions.AtomicWrite {
		return
	}
	e, target := b.e, b.op.target
	a, t, err := b.access(r.op)
	if err != nil {
		return
	}
	key, n := wordsOf(&a, t)
	fetches := c.Has(argResultAddr)
	if n == 0 || n != b.values() || !fetches && !m.fetchesAny(e.win, target, key, n) {
		return
	}
	for i := range n {
		number := int64(0)
		if fetches {
			number = c.Int(argNumber) + int64(i)
			into := b.into(key, i)
			if before, ok := p.foreseen[into]; ok && before < number {
				f.Forget(before)
			}
			p.foreseen[into] = number
		}
		f.Issue(nth(key, i), c.Call, b.update(&a, i), number, wordAt{e.win.ID, target})
	}
}

// onTarget begins an operation with values, that is not replayed. It is false where its target is
// not known.
func (p *process) onTarget(m *Model, c *core.Call, r *entry) (b opBuilder, ok bool) {
	e, rank := p.window(c.Int(argWin)), c.Int(argTargetRank)
	if e == nil || rank == trace.ProcNull {
		return b, false
	}
	target := e.win.target(rank)
	if target < 0 || !e.win.known[target] {
		return b, false
	}
	b = opBuilder{m: m, p: p, c: c, e: e, op: &operation{target: target}, single: r.op.single(c)}
	return b, b.hasValues()
}

// wordAt says what completes an operation on a word (core.Foresight.Complete).
type wordAt struct {
	win    int64
	target int32
}

// foreseeCompletion is of a call that is still to come.
func foreseeCompletion(_ *Model, _ *process, c *core.Call, r *entry, f *core.Foresight) {
	which, win := covered(c), c.Int(argWin)
	if which.none || r.part == buffers {
		return
	}
	f.Complete(c.Call, func(of any) bool {
		at, ok := of.(wordAt)
		return ok && at.win == win && (which.target == anyTarget || which.target == at.target)
	})
}

// foreseeFetched is of a note that is still to come.
func foreseeFetched(_ *Model, _ *process, c *core.Call, _ *entry, f *core.Foresight) {
	numbers, values := c.List(argNumbers), c.List(argValues)
	for i := range min(len(numbers), len(values)) {
		f.Fetched(numbers[i], values[i], c.Begin)
	}
}

// writes notes a write of a word that the operation completes.
func (b *opBuilder) writes(w *core.WordOp) {
	if w != nil {
		w.CompletedBy(wordAt{b.e.win.ID, b.op.target})
		b.op.words = append(b.op.words, w)
	}
}

// update returns what an atomic operation makes of the value of its element i; nil: it writes nothing.
func (b *opBuilder) update(a *regions.Access, i int) core.Update {
	if a.Kind == regions.AtomicRead {
		return nil
	}
	e := a.Elem
	operand := b.operand(i)
	after := core.Value{Bits: operand, Known: true}
	switch e.Op {
	case "MPI_REPLACE":
		return func(core.Value) (core.Value, bool) { return after, true }
	case CompareAndSwap:
		return core.CompareAndSwap(b.c.Int(argCompare), operand)
	}
	f, shift := arithmetic(e), 64-8*e.Size
	if f != nil && e.Op == "MPI_SUM" && operand == 0 && b.c.Has(argResultAddr) {
		return nil // as good as MPI_NO_OP: nobody can tell that it was there
	}
	return func(v core.Value) (core.Value, bool) {
		if f == nil || !v.Known {
			return core.Value{}, true
		}
		return core.Value{Bits: f(v.Bits, operand) << shift >> shift, Known: true}, true
	}
}

// arithmetic returns what an operation computes of values of an integer type, which
// are given with their sign; nil: it is not followed.
func arithmetic(e *regions.Element) func(a, b int64) int64 {
	switch name := strings.TrimPrefix(e.Type, "MPI_"); {
	case signedIntegers[name]:
		switch e.Op {
		case "MPI_MAX":
			return func(a, b int64) int64 { return max(a, b) }
		case "MPI_MIN":
			return func(a, b int64) int64 { return min(a, b) }
		}
	case unsignedIntegers[name]:
		switch e.Op { // the order of the values is that of their extensions
		case "MPI_MAX":
			return func(a, b int64) int64 { return int64(max(uint64(a), uint64(b))) }
		case "MPI_MIN":
			return func(a, b int64) int64 { return int64(min(uint64(a), uint64(b))) }
		}
	default:
		return nil
	}
	return integerOps[e.Op]
}

var integerOps = map[string]func(a, b int64) int64{
	"MPI_SUM":  func(a, b int64) int64 { return a + b },
	"MPI_PROD": func(a, b int64) int64 { return a * b },
	"MPI_BAND": func(a, b int64) int64 { return a & b },
	"MPI_BOR":  func(a, b int64) int64 { return a | b },
	"MPI_BXOR": func(a, b int64) int64 { return a ^ b },
	"MPI_LAND": func(a, b int64) int64 { return truth(a != 0 && b != 0) },
	"MPI_LOR":  func(a, b int64) int64 { return truth(a != 0 || b != 0) },
	"MPI_LXOR": func(a, b int64) int64 { return truth((a != 0) != (b != 0)) },
}

func truth(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// Names of integer types without "MPI_" (MPI 4.1, 3.2.2 and 6.9.2).
var (
	signedIntegers   = set("INT LONG SHORT SIGNED_CHAR LONG_LONG LONG_LONG_INT INT8_T INT16_T INT32_T INT64_T AINT OFFSET COUNT INTEGER INTEGER1 INTEGER2 INTEGER4 INTEGER8")
	unsignedIntegers = set("UNSIGNED UNSIGNED_LONG UNSIGNED_SHORT UNSIGNED_CHAR UNSIGNED_LONG_LONG UINT8_T UINT16_T UINT32_T UINT64_T BYTE")
)

func set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// fetch is an operation that fetches a word.
type fetch struct {
	number int64 // the tracer's
	into   uint64
	op     *core.WordOp
	issued moment
	shared bool // several strands may complete it

	// What its result buffer held when it was complete, and when that was, ns.
	told        bool
	bits, ended int64
	overwritten bool // meanwhile by another operation that fetches: what it fetched is not known
}

// known reports whether the trace has said what the operation fetched.
func (f *fetch) known() bool { return f.told && !f.overwritten }

// fetchesInto notes where an operation puts what it fetches. Another one that is on its way
// there had its own value there before, if at all, and the trace only has that of the last.
func (p *process) fetchesInto(addr uint64, number int64) {
	if f := p.fetching[p.results[addr]]; f != nil && !f.told {
		f.overwritten = true
	}
	p.results[addr] = number
}

// fetchedBy adds what operations have fetched, as far as the trace has said so.
func fetchedBy(told []core.Fetched, all []*fetch) []core.Fetched {
	for _, f := range all {
		if f.known() {
			told = append(told, core.Fetched{Op: f.op, Bits: f.bits, Before: f.ended})
		}
	}
	return told
}

// doFetched: the tracer's note of what operations have fetched that the call before
// it completed: also what another strand issued, which the present one need not know of.
func doFetched(m *Model, p *process, c *core.Call, _ *entry) {
	numbers, values := c.List(argNumbers), c.List(argValues)
	if len(numbers) != len(values) {
		c.SetBad()
		return
	}
	var all []*fetch
	for i, n := range numbers {
		f := p.fetching[n]
		if f == nil {
			continue
		}
		if !f.told {
			f.told, f.bits, f.ended = true, values[i], c.Begin
		}
		f.ended = min(f.ended, c.Begin)
		if !m.isPast(f.issued, p) {
			continue
		}
		if f.overwritten {
			f.op.Complete(p.Now())
		}
		if all = append(all, f); !f.shared {
			p.forgetFetch(f)
		}
	}
	p.Fetch(c, fetchedBy(nil, all), c.Begin)
}

// forgetFetch forgets an operation of which all is known.
func (p *process) forgetFetch(f *fetch) {
	delete(p.fetching, f.number)
	if p.results[f.into] == f.number {
		delete(p.results, f.into)
	}
}

// forgetFetches forgets, where a region begins, what was fetched before: it orders nothing
// any more.
func (p *process) forgetFetches() {
	maps.DeleteFunc(p.fetching, func(_ int64, f *fetch) bool {
		f.shared = false
		return f.told
	})
	maps.DeleteFunc(p.results, func(_ uint64, number int64) bool { return p.fetching[number] == nil })
	clear(p.foreseen)
}

// How an atomic operation of the language changes a value, as the trace has it.
var languageOps = []func(v, operand int64) int64{
	languageStore:    func(_, operand int64) int64 { return operand },
	languageExchange: func(_, operand int64) int64 { return operand },
	3:                func(v, operand int64) int64 { return v + operand },
	4:                func(v, operand int64) int64 { return v - operand },
	5:                func(v, operand int64) int64 { return v & operand },
	6:                func(v, operand int64) int64 { return v | operand },
	7:                func(v, operand int64) int64 { return v ^ operand },
	8:                func(v, operand int64) int64 { return ^(v & operand) },
}

// wide are the bytes of the largest atomic operations, whose values are folded into eight bytes,
// so that those which compute have none.
const wide = 16

// What atomic operations of the language do that compute nothing.
const (
	languageLoad = iota
	languageStore
	languageExchange
)

// Memory orders, as the compilers number them.
const (
	orderConsume = 1 + iota
	orderAcquire
	orderRelease
	orderBoth
	_ // sequentially consistent
)

func acquires(order int64) bool {
	return order == orderConsume || order == orderAcquire || order >= orderBoth
}
func releases(order int64) bool { return order >= orderRelease }

// doAtomic: the tracer's note of an atomic operation of the language.
func doAtomic(_ *Model, p *process, c *core.Call, _ *entry) {
	if a, ok := atomicOf(c); ok {
		p.Atomic(c, a)
	} else {
		c.SetBad()
	}
}

// doAtomicFence: the tracer's note of a fence of the language.
func doAtomicFence(_ *Model, p *process, c *core.Call, _ *entry) {
	order := c.Int(argOrder)
	p.Fence(c, acquires(order), releases(order))
}

func foreseeAtomic(_ *Model, _ *process, c *core.Call, _ *entry, f *core.Foresight) {
	if a, ok := atomicOf(c); ok {
		f.Atomic(c, a)
	}
}

// atomicOf returns the operation of such a note, unless it is damaged.
func atomicOf(c *core.Call) (core.Atomic, bool) {
	how, size, operand, order := c.Int(argHow), c.Int(argSize), c.Int(argOperand), c.Int(argOrder)
	if how < 0 || how >= int64(len(languageOps)) || size < 1 || size > 8 && (size != wide || how > languageExchange) {
		return core.Atomic{}, false
	}
	a := core.Atomic{
		Addr: c.Addr(argAddr), Bytes: uint64(size), Fetches: how != languageStore, Found: c.Int(argFound),
		Acquire: acquires(order), Release: releases(order),
	}
	if f, shift := languageOps[how], 64-8*min(size, 8); f != nil {
		fixed := how <= languageExchange
		a.Update = func(v core.Value) (core.Value, bool) {
			if !v.Known && !fixed {
				return v, true
			}
			return core.Value{Bits: f(v.Bits, operand) << shift >> shift, Known: true}, true
		}
	}
	return a, true
}
