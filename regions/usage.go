package regions

import (
	"cmp"
	"maps"
	"slices"
)

// UsageKind names a usage error: a call that MPI forbids where it stands, so
// that what comes of it is not defined.
type UsageKind uint8

// Kinds of usage errors (MPI 4.1, 12.5 and 6.14).
const (
	OutsideEpoch  UsageKind = iota // a one-sided call to a target that no access epoch covers
	OutsideWindow                  // a target range that is not in the window
	NotOpened                      // what ends or needs an epoch, without the call that begins it
	MixedEpochs                    // an epoch that overlaps another one in a way that is forbidden
	NeverClosed                    // an epoch that nothing ended
	FreedPending                   // a window freed with operations pending
	UsedAfterFree                  // an operation on window memory that was freed
	CallOrder                      // collective calls in different order
)

// Usage is a usage error; equal ones, from the same source places, are one with
// a count.
type Usage struct {
	Kind   UsageKind
	Call   *CallInfo // the call that is wrong
	Other  *CallInfo // the second call that is involved; nil where there is none
	Via    *CallInfo // an operation that makes it an error; nil where none does
	Last   *CallInfo // the caller's last synchronization of the window before; nil where there was none
	As     string    // the role of the access that Call makes, where it is a one-sided operation; otherwise ""
	Writes bool      // that access writes
	Owner  int32     // world rank whose memory or window it is
	Object *Object   // window; nil for a communicator's calls
	Lo, Hi uint64    // OutsideWindow, UsedAfterFree: bytes concerned, addresses of Owner; half-open
	Base   uint64    // address of the object's first byte at Owner
	Why    string    // what is wrong, one sentence without a full stop
	Mend   string    // what would be right
	Region int       // the concurrent region of the first
	Count  uint64
	order  int
}

// usages gathers usage errors.
type usages struct {
	byKey map[usageKey]*Usage
}

// usageKey is the places of a usage error, in the terms of the traces.
type usageKey struct {
	kind       UsageKind
	rank       int32
	fn         string
	stack      uint32
	otherRank  int32
	otherFn    string
	otherStack uint32
}

func (m *Machine) misuse(u Usage) {
	key := usageKey{kind: u.Kind, rank: u.Call.Rank, fn: u.Call.Fn, stack: u.Call.Stack}
	if u.Other != nil {
		key.otherRank, key.otherFn, key.otherStack = u.Other.Rank, u.Other.Fn, u.Other.Stack
	}
	if old := m.usages.byKey[key]; old != nil {
		old.Count++
		return
	}
	if m.usages.byKey == nil {
		m.usages.byKey = map[usageKey]*Usage{}
	}
	u.Count, u.Region, u.order = 1, m.index, len(m.usages.byKey)
	m.usages.byKey[key] = &u
}

// Usages returns the usage errors met so far, in the order of the replay.
func (m *Machine) Usages() []Usage {
	var out []Usage
	for _, u := range slices.SortedFunc(maps.Values(m.usages.byKey), func(a, b *Usage) int { return cmp.Compare(a.order, b.order) }) {
		out = append(out, *u)
	}
	return out
}

// certain returns the epochs of the process on the window that a call names, or
// nil when they are not known for sure: calls were lost, or returned an error.
func (m *Machine) certain(p *proc, c *call) *epochs {
	if p.unsure || !c.has("win") {
		return nil
	}
	if e := p.window(c.num("win")); e != nil && p.knows(e) {
		return e
	}
	return nil
}

// knows reports whether the epochs of the process on a window are known for sure.
func (p *proc) knows(e *epochs) bool { return !p.unsure && !e.unsure }

// failed takes a call that returned an error. It counts as not made; what is
// wrong with its use is said all the same, since that may be why.
func (m *Machine) failed(p *proc, c *call, r *rule) {
	if r.check != nil {
		r.check(m, p, c)
	}
	if r.op != (operationRole{}) {
		m.oneSided(p, c, r.op)
	}
	if r.order != noOrder {
		p.disorder = true
	}
	switch {
	case !c.has("win"):
		p.disorder = p.disorder || c.has("comm")
	case p.wins[c.num("win")] != nil:
		p.wins[c.num("win")].unsure = true
	}
}
