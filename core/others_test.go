package core_test

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// others is a second model, with calls for the primitives that toy has none for.
// It stands beside toy in one replay: their signals meet on the same channels, and
// its accesses are made as toy makes them.
type others struct {
	*core.Machine
	toy     *toy
	strands []*otherStrand
	guards  map[int64]*core.Guard
}

type otherStrand struct {
	*toyStrand
	others *others
	behind map[int64]*core.Pending  // puts behind guards, by number
	sent   map[int64][]*core.Match  // of which the receipt was not waited for, by tag
	joined map[int64]*joinedMeeting // by id
}

type joinedMeeting struct {
	waits []core.Wait
	done  func()
}

// Arguments that the calls of the toy model do not have.
var (
	argCounter   = core.NewArgName("counter")
	argDirection = core.NewArgName("direction")
	argGuard     = core.NewArgName("guard")
	argHi        = core.NewArgName("hi")
	argID        = core.NewArgName("id")
	argLo        = core.NewArgName("lo")
	argMembers   = core.NewArgName("members")
	argN         = core.NewArgName("n")
	argObject    = core.NewArgName("object")
	argOthers    = core.NewArgName("others")
	argOwner     = core.NewArgName("owner")
	argRoot      = core.NewArgName("root")
	argShift     = core.NewArgName("shift")
	argSide      = core.NewArgName("side")
	argSources   = core.NewArgName("sources")
)

var givenUp = &regions.Role{Name: "memory given up", Class: regions.GivenUp}

// otherRule is what a call means, and the names of its arguments.
type otherRule struct {
	args string
	do   func(*otherStrand, *core.Call)
}

var otherTable = map[string]otherRule{
	// The members of one meeting give the same id; others: the second group.
	"other_meet":   {"id direction root members[] others[] side sources[]", (*otherStrand).meet},
	"other_join":   {"id direction root members[] others[] side sources[]", (*otherStrand).join},
	"other_joined": {"id", (*otherStrand).waitJoined},
	// A signal of which the receipt can be waited for.
	"other_send": {"to tag", (*otherStrand).send},
	"other_sent": {"tag", (*otherStrand).waitSent},
	// Wait for the signal that the next wait will get; get it, and give it back.
	"other_peek": {"from tag", (*otherStrand).peek},
	"other_undo": {"from tag", (*otherStrand).undo},
	// The n-th signal of a counter, from 0; wait for the first n.
	"other_count": {"owner counter n", (*otherStrand).count},
	"other_await": {"owner counter n", (*otherStrand).await},
	// A put that starts no earlier than the guard, which its target passes.
	"other_behind": {"guard target addr size number", (*otherStrand).putBehind},
	"other_pass":   {"guard", (*otherStrand).pass},
	"other_finish": {"number", (*otherStrand).finishBehind},
	// [lo, hi) is memory of another strand, shift bytes above; it is that no more.
	"other_alias":   {"owner lo hi shift object", (*otherStrand).alias},
	"other_unalias": {"object", (*otherStrand).unalias},
	// The memory [lo, hi) is given up.
	"other_give_up": {"lo hi", (*otherStrand).giveUp},
}

func newOthers(t *toy) *others { return &others{toy: t, guards: map[int64]*core.Guard{}} }

func (o *others) Attach(m *core.Machine) {
	o.Machine = m
	for _, s := range o.toy.strands {
		o.strands = append(o.strands, &otherStrand{
			toyStrand: s, others: o, behind: map[int64]*core.Pending{}, sent: map[int64][]*core.Match{},
			joined: map[int64]*joinedMeeting{},
		})
	}
}

func (o *others) Bind(fn *trace.Fn) *core.Meaning {
	rule, ok := otherTable[fn.Name]
	if !ok {
		return nil
	}
	return &core.Meaning{Kind: core.SynchronizingCall, Replay: func(s *core.Strand, c *core.Call) { rule.do(o.strands[s.Rank], c) }}
}

func (o *others) Describe(*core.Strand, *core.Call, *core.ObservedCall) {}
func (o *others) Lost(*core.Strand)                                     {}
func (o *others) Turn(*core.Strand)                                     {}
func (o *others) HeldUntil(*core.Strand, any, regions.Lock) bool        { return false }
func (o *others) BeginRegion()                                          {}
func (o *others) EndPhase(*regions.Region)                              {}
func (o *others) EndRegion(bool)                                        {}
func (o *others) WholeRegions() bool                                    { return false }
func (o *others) Counts() core.Counts                                   { return core.Counts{} }

// meeting is a meeting as the call tells of it.
func (s *otherStrand) meeting(c *core.Call) core.Meeting {
	g := &core.Group{Local: ranks(c, argMembers), Remote: ranks(c, argOthers), Side: uint8(c.Int(argSide))}
	return core.Meeting{
		Key: core.MeetKey{On: c.Int(argID)}, Dir: core.Direction(c.Int(argDirection)), Root: int32(c.Int(argRoot)),
		Group: g, Sources: ranks(c, argSources),
	}
}

func ranks(c *core.Call, list core.ArgName) (all []int32) {
	for _, r := range c.List(list) {
		all = append(all, int32(r))
	}
	return all
}

func (s *otherStrand) meet(c *core.Call) { s.Meet(c, s.meeting(c), nil) }

// join: the strand takes part now, and waits later.
func (s *otherStrand) join(c *core.Call) {
	signals, waits, done := s.Join(c, s.meeting(c))
	s.joined[c.Int(argID)] = &joinedMeeting{waits, done}
	s.Synchronize(c, signals, nil, nil)
}

func (s *otherStrand) waitJoined(c *core.Call) {
	j := s.joined[c.Int(argID)]
	s.Synchronize(c, nil, j.waits, j.done)
}

func (s *otherStrand) send(c *core.Call) {
	match := s.toy.channel(s.Rank, int32(c.Int(argTo)), c.Int(argTag)).Send()
	s.sent[c.Int(argTag)] = append(s.sent[c.Int(argTag)], match)
	s.Synchronize(c, []*core.Signal{&match.Forth}, nil, nil)
}

func (s *otherStrand) waitSent(c *core.Call) {
	sent := s.sent[c.Int(argTag)]
	if len(sent) == 0 {
		s.NotUnderstood(c, "there was no such signal")
		return
	}
	match := sent[0]
	s.sent[c.Int(argTag)] = sent[1:]
	s.Synchronize(c, nil, []core.Wait{{On: &match.Back, Coming: true}}, nil)
}

func (s *otherStrand) peek(c *core.Call) {
	match := s.toy.channel(int32(c.Int(argFrom)), s.Rank, c.Int(argTag)).Peek()
	s.Synchronize(c, nil, []core.Wait{{On: &match.Forth, Coming: true}}, nil)
}

func (s *otherStrand) undo(c *core.Call) {
	if !s.toy.channel(int32(c.Int(argFrom)), s.Rank, c.Int(argTag)).Receive().GiveBack() {
		s.NotUnderstood(c, "others wait behind it")
	}
}

func (s *otherStrand) counter(c *core.Call) *core.Counter {
	return s.toy.Counter(core.CounterKey{Object: toyObject, Owner: int32(c.Int(argOwner)), Number: c.Int(argCounter)})
}

func (s *otherStrand) count(c *core.Call) {
	if !s.Count(c, s.counter(c), c.Int(argN)) {
		s.NotUnderstood(c, "it was counted before")
	}
}

func (s *otherStrand) await(c *core.Call) {
	n := c.Int(argN)
	s.Await(c, s.counter(c), n, func() string { return fmt.Sprintf("for %d signals", n) })
}

func (s *otherStrand) guard(c *core.Call) *core.Guard {
	n := c.Int(argGuard)
	if s.others.guards[n] == nil {
		s.others.guards[n] = &core.Guard{}
	}
	return s.others.guards[n]
}

func (s *otherStrand) putBehind(c *core.Call) {
	a := s.access(c, argAddr, regions.Write, putTarget)
	a.Owner = int32(c.Int(argTarget))
	s.behind[c.Int(argNumber)] = s.OpenBehind(s.toy.room(a), s.guard(c))
}

func (s *otherStrand) pass(c *core.Call) { s.Pass(s.guard(c)) }

func (s *otherStrand) finishBehind(c *core.Call) {
	s.finish(c, s.behind[c.Int(argNumber)])
	delete(s.behind, c.Int(argNumber))
}

func (s *otherStrand) alias(c *core.Call) {
	s.AddAlias(core.Alias{
		Lo: c.Addr(argLo), Hi: c.Addr(argHi), Shift: c.Addr(argShift), Owner: int32(c.Int(argOwner)), Exposer: core.Exposer{Object: c.Int(argObject)},
	})
}

func (s *otherStrand) unalias(c *core.Call) { s.DropAliases(c.Int(argObject)) }

// giveUp: what is pending there is complete only after the call.
func (s *otherStrand) giveUp(c *core.Call) {
	lo, hi := c.Addr(argLo), c.Addr(argHi)
	s.Instant(regions.Access{
		Rank: s.Rank, Kind: regions.Write, Role: givenUp, Base: lo, Layout: s.toy.bytes(int64(hi - lo)), Call: s.Info(c),
	})
	s.GiveUp(lo, hi)
}
