package core_test

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// This is a programming model of eight calls, as an example for those who add one
// (docs/design.md, "How to add a programming model"). It has signals, puts into
// the memory of others that are pending until something completes them, and locks.
// All memory is exposed at all times. Calls for the other primitives, those of a
// second model, stand in others_test.go.

// toy is the model in one replay.
type toy struct {
	*core.Machine
	strands []*toyStrand // by rank
	layouts map[int64]*intervals.Layout
	issued  uint64 // puts
}

// toyStrand is what the model knows of one strand.
type toyStrand struct {
	*core.Strand
	toy   *toy
	puts  map[int64][]toyPut // pending, by the number of what completes them
	locks map[int64]toyLock  // held, by whose memory they are of
}

// toyPut is a put that is pending: what it reads, and what it writes.
type toyPut struct{ source, target *core.Pending }

type toyLock struct {
	hold  *core.Hold
	grant *core.Grant // nil of a lock that excludes nobody
}

// toyObject stands for all memory; toySignals tells the model's channels apart.
const (
	toyObject  = 1
	toySignals = 's'
)

// Arguments of the calls.
var (
	argAddr   = core.NewArgName("addr")
	argFrom   = core.NewArgName("from")
	argKind   = core.NewArgName("kind")
	argNumber = core.NewArgName("number")
	argSize   = core.NewArgName("size")
	argSource = core.NewArgName("source")
	argTag    = core.NewArgName("tag")
	argTarget = core.NewArgName("target")
	argTicket = core.NewArgName("ticket")
	argTo     = core.NewArgName("to")
)

// Kinds of locks, as toy_lock has them.
const (
	sharedLock = iota
	exclusiveLock
	voidLock // excludes nobody
)

// Roles of the accesses that the calls make.
var (
	putSource = &regions.Role{Name: "source of a put", Class: regions.OwnBuffer, Order: 0}
	putTarget = &regions.Role{Name: "put", Class: regions.Target, Order: 1}
	loadCall  = &regions.Role{Name: "load of a call", Class: regions.CallBuffer, Order: 0}
	storeCall = &regions.Role{Name: "store of a call", Class: regions.CallBuffer, Order: 1}
)

// toyRule is what a call means, and the names of its arguments; those with "[]" are
// lists.
type toyRule struct {
	args string
	kind core.CallKind
	do   func(*toyStrand, *core.Call)
}

// toyTable says what each call means.
var toyTable = map[string]toyRule{
	// number: the puts of which the sources are complete now, and the targets where
	// the signal was waited for; 0: none.
	"toy_signal": {"to tag number", core.SynchronizingCall, (*toyStrand).signal},
	"toy_wait":   {"from tag", core.SynchronizingCall, (*toyStrand).wait},
	// Reads at source, writes at addr of the target; number: of what completes it.
	"toy_put":      {"target addr size source number", core.OperationCall, (*toyStrand).put},
	"toy_complete": {"number", core.SynchronizingCall, (*toyStrand).complete},
	"toy_load":     {"addr size", core.OtherCall, (*toyStrand).load},
	"toy_store":    {"addr size", core.OtherCall, (*toyStrand).store},
	"toy_lock":     {"target kind ticket", core.SynchronizingCall, (*toyStrand).lock},
	"toy_unlock":   {"target", core.SynchronizingCall, (*toyStrand).unlock},
}

func newToy() *toy { return &toy{layouts: map[int64]*intervals.Layout{}} }

// Attach is that of core.Model: the model makes its part of each strand.
func (t *toy) Attach(m *core.Machine) {
	t.Machine = m
	for rank := range m.Strands() {
		t.strands = append(t.strands, &toyStrand{
			Strand: m.Strand(int32(rank)), toy: t, puts: map[int64][]toyPut{}, locks: map[int64]toyLock{},
		})
	}
}

// Bind is that of core.Model: it looks the function up.
func (t *toy) Bind(fn *trace.Fn) *core.Meaning {
	return bind(toyTable, t.strands, fn)
}

func bind(table map[string]toyRule, of []*toyStrand, fn *trace.Fn) *core.Meaning {
	rule, ok := table[fn.Name]
	if !ok {
		return nil
	}
	return &core.Meaning{Kind: rule.kind, Replay: func(s *core.Strand, c *core.Call) { rule.do(of[s.Rank], c) }}
}

// HeldUntil is that of core.Model: what comes first, the call that completes the
// sources of puts with that number, or the one that gives up the lock?
func (t *toy) HeldUntil(s *core.Strand, of any, l regions.Lock) bool {
	number, mine := of.(int64)
	if !mine { // an operation of another model, or nothing will complete it
		return false
	}
	ahead := s.Ahead()
	for next := ahead.Call(); next != nil; next = ahead.Call() {
		switch c := core.NewCall(next); {
		case c.Has(argNumber) && c.Fn.Name != "toy_put" && c.Int(argNumber) == number:
			return true
		case c.Fn.Name == "toy_unlock" && c.Int(argTarget) == int64(l.Target):
			return false
		}
	}
	return true
}

// Describe is that of core.Model.
func (t *toy) Describe(_ *core.Strand, c *core.Call, o *core.ObservedCall) {
	if c.Has(argTarget) {
		o.Object, o.Target = toyObject, int32(c.Int(argTarget))
	}
}

// The rest of core.Model: nothing that the model keeps depends on regions, and
// none of its own checks is to be prepared.
func (t *toy) Lost(*core.Strand)        {}
func (t *toy) Turn(s *core.Strand)      { t.strands[s.Rank].Strand = s }
func (t *toy) BeginRegion()             {}
func (t *toy) EndPhase(*regions.Region) {}
func (t *toy) EndRegion(bool)           {}
func (t *toy) WholeRegions() bool       { return false }
func (t *toy) Counts() core.Counts {
	return core.Counts{Model: "toy", Operations: t.issued, Objects: 1}
}

// channel is that of the signals between two strands.
func (t *toy) channel(from, to int32, tag int64) *core.Channel {
	return t.Channel(core.ChannelKey{Kind: toySignals, From: from, To: to, Tag: tag})
}

// signal: the n-th signal to a strand goes to its n-th wait.
func (s *toyStrand) signal(c *core.Call) {
	match := s.toy.channel(s.Rank, int32(c.Int(argTo)), c.Int(argTag)).Send()
	for _, put := range s.taken(c) {
		s.finish(c, put.source)
		match.Carry(put.target)
	}
	s.Synchronize(c, []*core.Signal{&match.Forth}, nil, nil)
}

func (s *toyStrand) wait(c *core.Call) {
	from := int32(c.Int(argFrom))
	match := s.toy.channel(from, s.Rank, c.Int(argTag)).Receive()
	what := func() string { return fmt.Sprintf("for rank %d to call toy_signal", from) }
	s.Synchronize(c, []*core.Signal{&match.Back}, []core.Wait{{On: &match.Forth, Coming: true, What: what}}, func() {
		match.Finish(s.Strand, s.Synchronizing())
	})
}

// put begins two accesses, which are complete together. A lock on the target
// protects the one there.
func (s *toyStrand) put(c *core.Call) {
	s.toy.issued++
	from, to := s.access(c, argSource, regions.Read, putSource), s.access(c, argAddr, regions.Write, putTarget)
	to.Owner = int32(c.Int(argTarget))
	if l, held := s.locks[c.Int(argTarget)]; held {
		to.Locks = l.hold.Locks(s.Strand)
	}
	put := toyPut{s.OpenBuffer(s.toy.room(from)), s.Open(s.toy.room(to))}
	n := c.Int(argNumber)
	put.source.Of = n
	s.puts[n] = append(s.puts[n], put)
}

// taken returns the puts with the number that the call has, and forgets them.
func (s *toyStrand) taken(c *core.Call) []toyPut {
	puts := s.puts[c.Int(argNumber)]
	delete(s.puts, c.Int(argNumber))
	return puts
}

func (s *toyStrand) complete(c *core.Call) {
	for _, put := range s.taken(c) {
		s.finish(c, put.source)
		s.finish(c, put.target)
	}
}

// finish completes an access now.
func (s *toyStrand) finish(c *core.Call, p *core.Pending) {
	p.Complete(s.Now(), s.Info(c))
	p.Drop()
}

func (s *toyStrand) load(c *core.Call)  { s.Instant(s.access(c, argAddr, regions.Read, loadCall)) }
func (s *toyStrand) store(c *core.Call) { s.Instant(s.access(c, argAddr, regions.Write, storeCall)) }

// access returns what a call does at the address that an argument names.
func (s *toyStrand) access(c *core.Call, addr core.ArgName, kind regions.Kind, role *regions.Role) regions.Access {
	s.Info(c).Object = toyObject
	return regions.Access{
		Rank: s.Rank, Owner: s.Rank, Kind: kind, Role: role,
		Base: c.Addr(addr), Layout: s.toy.bytes(c.Int(argSize)), Call: s.Info(c),
	}
}

// bytes returns the layout of that many bytes, always the same one: accesses with
// one layout are kept together.
func (t *toy) bytes(n int64) *intervals.Layout {
	if t.layouts[n] == nil {
		t.layouts[n] = intervals.NewLayout([]intervals.Run{intervals.Solid(0, uint64(n))})
	}
	return t.layouts[n]
}

// room puts an access where the Machine keeps those that are pending.
func (t *toy) room(a regions.Access) *regions.Access {
	room := t.NewAccess()
	*room = a
	return room
}

// lock: locks were granted in the order of their tickets.
func (s *toyStrand) lock(c *core.Call) {
	target, kind, ticket := c.Int(argTarget), c.Int(argKind), c.Int(argTicket)
	order := s.toy.LockOrder(core.LockKey{Object: toyObject, Target: int32(target)})
	l := toyLock{hold: s.Hold(regions.Lock{Object: toyObject, Target: int32(target), Exclusive: kind == exclusiveLock, Void: kind == voidLock})}
	if kind == voidLock {
		s.toy.Skip(order, ticket)
	} else {
		l.grant = s.Grant(c, order, ticket, kind == exclusiveLock, s.Info(c), nil)
	}
	s.locks[target] = l
}

func (s *toyStrand) unlock(c *core.Call) {
	l := s.locks[c.Int(argTarget)]
	delete(s.locks, c.Int(argTarget))
	s.Release(l.hold)
	if l.grant == nil {
		return
	}
	if released := s.Released(l.grant); released != nil {
		s.Synchronize(c, []*core.Signal{released}, nil, nil)
	}
}
