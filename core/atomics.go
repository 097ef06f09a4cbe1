package core

import (
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// Atomic loads and stores of a language, in memory that processes share. They take
// effect where they stand, and order as C11 says: who reads with acquire order comes
// after the store with release order that it read, and after those that have updated it
// since, and after nothing that other stores published. Fences make relaxed ones order.

// Atomic is such an operation.
type Atomic struct {
	Addr, Bytes      uint64 // as its strand has them
	Update           Update // nil: a load
	Fetches          bool   // it is no mere store
	Found            int64
	Acquire, Release bool
}

// order is what an operation orders where that is not all before it, as with those of
// one-sided communication.
type order struct {
	language, store, acquire bool
	published                *Signal // nil: nothing
}

// fences is what fences of a strand have to do with its relaxed operations.
type fences struct {
	region int
	read   evc.Time // what relaxed loads have read since the last
	any    bool     // there is something
	last   *Signal  // that the last gave
}

func (s *Strand) fences() *fences {
	if s.fenced.region != s.m.index {
		s.fenced = fences{region: s.m.index}
	}
	return &s.fenced
}

// Atomic performs an operation of the call under way.
func (s *Strand) Atomic(c *Call, a Atomic) {
	m := s.m
	if m.opts.IgnoreValues || !c.Returned {
		return
	}
	op := s.visit(m.word(s.wordOf(a)), c.Call, c.Begin, a.Update, false)
	op.fetches = a.Fetches
	op.order = order{language: true, store: !a.Fetches, acquire: a.Acquire}
	if a.Update != nil {
		op.issued = s.publish()
		op.order.published = op.issued
		if !a.Release {
			op.order.published = s.fences().last
		}
		op.Complete(s.Now())
	}
	if a.Fetches {
		s.Fetch(c, []Fetched{{Op: op, Bits: a.Found}}, c.End)
		if a.Update == nil && s.team == nil {
			s.reread.begin(s.spanNow())
		}
	}
}

// wordOf returns the word of an atomic operation of the strand.
func (s *Strand) wordOf(a Atomic) WordKey {
	k := WordKey{Owner: s.Rank, Addr: a.Addr, Bytes: a.Bytes}
	if first := s.memory.aliases.Overlapping(a.Addr, a.Addr+1); len(first) > 0 {
		k.Owner, k.Addr = first[0].Value.Owner, a.Addr+first[0].Value.Shift
	}
	return k
}

// Fence makes the relaxed atomic loads that came before acquire, and the stores that
// come behind it release; or the one or the other.
func (s *Strand) Fence(c *Call, acquire, release bool) {
	f := s.fences()
	after := func() {
		if release {
			s.fences().last = s.publish()
		}
	}
	if !acquire || !f.any {
		after()
		return
	}
	g := &Signal{}
	s.m.give(g, f.read)
	f.read, f.any = evc.Time{}, false
	s.Synchronize(c, nil, []Wait{{On: g}}, after)
}

// learns returns what the strand of an operation learns from the version that it fetched.
func (op *WordOp) learns(v *version) evc.Time {
	if !op.order.language {
		return v.before.time
	}
	if op.order.acquire {
		return v.published
	}
	if f := op.strand.fences(); v.publishes {
		f.read, f.any = op.word.m.clock.Join(f.read, v.published), true
	}
	return evc.Time{}
}

// head is what a strand has released with the operation that a release sequence begins with: what
// others read and write goes on with it, and what the strand itself stores (C11 to C23, 5.1.2.4;
// C++ up to 17). Of several, the last one counts.
type head struct {
	by       *Strand // nil: there is none
	released evc.Time
}

// publish says what who reads a version learns, which an operation has made of the one
// before.
func (v *version) publish(op *WordOp, last *version) {
	clock := op.word.m.clock
	add := func(g *Signal) {
		if g == nil {
			return
		}
		if v.publishes {
			v.published = clock.Join(v.published, g.time)
		} else {
			v.published, v.publishes = g.time, true
		}
	}
	if op.order.language {
		switch {
		case !op.order.store:
			v.published, v.publishes, v.head = last.published, last.publishes, last.head
		case last.head.by == op.strand: // whose own stores go on with its release sequence
			v.published, v.publishes, v.head = last.head.released, true, last.head
		}
		if g := op.order.published; g != nil {
			add(g)
			if v.head.by == op.strand { // of a relaxed operation it may be an old fence
				v.head.released = clock.Join(v.head.released, g.time)
			} else {
				v.head = head{op.strand, g.time}
			}
		}
		return
	}
	v.published, v.publishes = v.before.time, true
}

// mostWeak is of how many operations a phase notes that they order nothing: explanations name them.
const mostWeak = 1 << 12

// noteWeak notes that the strand of an operation has read what a relaxed one left, or reads with
// a relaxed one.
func (op *WordOp) noteWeak(s *Strand) {
	m, by := s.m, op.saw.by
	if !op.order.language || by == nil || !by.order.language || by.strand == s || !by.complete || len(m.weak) == mostWeak {
		return
	}
	x := &regions.Weak{From: by.completed, To: s.Now(), RelaxedWrite: by.order.published != by.issued, RelaxedRead: !op.order.acquire}
	if !x.RelaxedWrite && !x.RelaxedRead {
		return
	}
	at := func(op *WordOp) *regions.CallInfo {
		return regions.NewCallInfo(regions.CallSite{Fn: op.fn, Rank: op.strand.Rank, Thread: op.strand.thread, Stack: op.stack}, 0)
	}
	x.Wrote, x.Read = at(by), at(op)
	m.weak = append(m.weak, x)
}
