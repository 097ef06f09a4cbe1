package shmem

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// collectiveType is the type of elements that several PEs access for one collective call,
// which are no conflict with one another.
const collectiveType = "collective call"

// syncSize is the size of an element of pSync; all calls use the first (OpenSHMEM 1.4, 9.9).
const syncSize = 8

// collective is a collective call, to which some PEs have come and others have not.
type collective struct {
	number   int64
	elements uint64                  // brought to a collect so far
	idle     int                     // PEs that came and have waited for nobody in this region
	sent     map[int32]*core.Pending // by PE, what a broadcast writes there
	left     int
}

// numbers is how many collective calls are told apart: those of which PEs may be in two
// at once are fewer.
const numbers = 64

// use is what one PE's coming to a collective call does to memory.
//
// From the moment at which the first PE calls it, any byte of dest, pWrk and pSync may be
// accessed in any PE of the group, until that PE returns (OpenSHMEM 1.5, 9.9: they are
// ready "before any PE calls"). source is read from the PE's own call to its return.
type use struct {
	p       *pe
	c       *call
	members []int32
	key     core.MeetKey
	all     *collective
	info    *regions.CallInfo
	elem    *regions.Element
	size    uint64 // of an element
	first   bool   // others that come later tell nothing that it does not
	after   []func()
}

// comes begins a PE's part in a collective call.
func (p *pe) comes(c *call, members []int32) *use {
	u := &use{p: p, c: c, members: members, key: p.key(c, members), info: p.InfoOn(c.Call, core.Exposer{Object: symmetricMemory}, "")}
	if c.Has(argSize) {
		u.size = uint64(c.Int(argSize))
	}
	if u.all = p.m.collectives[u.key]; u.all == nil {
		p.m.numbered = (p.m.numbered + 1) % numbers
		u.all = &collective{number: p.m.numbered, sent: map[int32]*core.Pending{}}
		p.m.collectives[u.key] = u.all
	}
	u.elem = p.m.alike.Element(regions.Element{Type: collectiveType, Size: 1, Op: collectiveType, Promises: u.all.number})
	// Whatever another PE does in this region is unordered with the coming of a PE that
	// has waited for nobody in it: the first two of these stand for all.
	u.first = u.all.idle < 2
	if !p.Threaded() && p.Now().Seg == 0 {
		u.all.idle++
	}
	return u
}

// meet lets the PE wait for those of the call that it has to wait for.
func (u *use) meet(dir core.Direction, root int32, after func()) {
	meeting := core.Meeting{Key: u.key, Group: &core.Group{Local: u.members}, Dir: dir, Root: root}
	u.p.Meet(u.c.Call, meeting, func() {
		if after != nil {
			after()
		}
		for _, do := range u.after {
			do()
		}
		if u.all.left++; u.all.left == u.p.m.Present(u.members) {
			delete(u.p.m.collectives, u.key)
		}
	})
}

// buffer returns the access to a buffer of the call in the memory of a PE; false: there is
// none, or it is not symmetric, which is reported.
func (u *use) buffer(arg core.ArgName, owner int32, n, size, stride uint64, kind regions.Kind, role *regions.Role) (regions.Access, bool) {
	if n == 0 || size == 0 || !u.c.Has(arg) {
		return regions.Access{}, false
	}
	_, base, ok := u.p.at(u.c.Addr(arg), owner)
	if !ok {
		if owner == u.p.Rank {
			u.p.notSymmetric(u.c, arg, u.c.Addr(arg))
		}
		return regions.Access{}, false
	}
	return regions.Access{
		Rank: u.p.Rank, Owner: owner, Kind: kind, Role: role, Base: base,
		Layout: u.p.m.alike.Strided(n, size, stride*size), Call: u.info,
	}, true
}

// reads: source is read until the PE returns.
func (u *use) reads(n, stride uint64) {
	if a, ok := u.buffer(argSource, u.p.Rank, n, u.size, stride, regions.Read, SourceOfAll); ok {
		u.p.Instant(a)
		u.after = append(u.after, func() { u.p.Instant(a) })
	}
}

// writes: dest has been written when the PE returns.
func (u *use) writes(n, stride uint64) {
	if a, ok := u.buffer(argDest, u.p.Rank, n, u.size, stride, regions.Write, DestOfAll); ok {
		u.p.Instant(a)
	}
}

// everywhere: all PEs of the call may be accessed from now on.
func (u *use) everywhere(arg core.ArgName, n, size, stride uint64, role *regions.Role) {
	for _, owner := range u.members {
		if owner != u.p.Rank && !u.first {
			continue
		}
		if a, ok := u.buffer(arg, owner, n, size, stride, regions.AtomicWrite, role); ok {
			a.Elem = u.elem
			u.p.InstantAt(a, owner, 0)
		}
	}
}

// mayWrite: dest may be written from now on, unless it is read as source as well, and so
// not before its PE has come.
func (u *use) mayWrite(n, stride uint64) {
	if u.c.Addr(argDest) != u.c.Addr(argSource) {
		u.everywhere(argDest, n, u.size, stride, DestOfAll)
	}
}

// work: the call has an array of its own from the coming of the first PE on, until the
// PE returns.
func (u *use) work(arg core.ArgName, n, size uint64, role *regions.Role) {
	u.everywhere(arg, n, size, 1, role)
	u.after = append(u.after, func() {
		if a, ok := u.buffer(arg, u.p.Rank, n, size, 1, regions.AtomicWrite, role); ok {
			a.Elem = u.elem
			u.p.Instant(a)
		}
	})
}

// sends: a broadcast may write dest in all other PEs from now on, until they return.
func (u *use) sends(n uint64) {
	for _, owner := range u.members {
		if owner == u.p.Rank {
			continue
		}
		if x, ok := u.buffer(argDest, owner, n, u.size, 1, regions.Write, DestOfAll); ok {
			a := u.p.m.NewAccess()
			*a = x
			u.all.sent[owner] = u.p.Open(a)
		}
	}
}

// received: the PE has what a broadcast sends.
func (u *use) received() {
	if sent := u.all.sent[u.p.Rank]; sent != nil {
		sent.Complete(u.p.Now(), u.info)
		sent.Drop()
	}
}
