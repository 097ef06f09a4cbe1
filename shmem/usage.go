package shmem

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// notSymmetric reports an address that is not symmetric.
func (p *pe) notSymmetric(c *call, arg core.ArgName, addr uint64) {
	u := core.Usage{
		Rule: conflicts.RuleNotSymmetric, Call: p.Info(c.Call), Concerned: core.Concerned{Owner: p.Rank},
		Why: fmt.Sprintf("%s is %#x, which lies in no block of the symmetric heap and in no static or global variable of PE %d", arg, addr, p.Rank),
		Fix: "allocate the memory with shmem_malloc, or make it static or global",
	}
	if x := p.before(addr); x != nil {
		where := "at the end"
		if n := addr - x.hi; n > 0 {
			where = fmt.Sprintf("%d bytes behind the end", n)
		}
		u.Other = x.Created
		u.Why += fmt.Sprintf(": it is %s of the block of %d bytes that %s made", where, x.hi-x.lo, x.Created.Fn)
		u.Fix = "make the block larger, or stay within it"
	}
	p.m.Misuse(u)
}

// closeBytes is how far behind the end of a block an address most likely is meant to lie within it.
const closeBytes = 1 << 12

// before returns the block of the PE's symmetric heap that an address lies close behind; nil: there is none.
func (p *pe) before(addr uint64) (last *part) {
	for i := range p.parts {
		if x := &p.parts[i]; x.hi <= addr && addr-x.hi < closeBytes && x.Created != nil {
			last = x
		}
	}
	return last
}

// afterEnd reports a context that is used after its end.
func (p *pe) afterEnd(c *call, ended *regions.CallInfo) {
	p.m.Misuse(core.Usage{
		Rule: conflicts.RuleContextGone, Call: p.Info(c.Call), Other: ended, Concerned: core.Concerned{Owner: p.Rank},
		Why: fmt.Sprintf("the context was destroyed by %s", ended.Fn),
		Fix: "destroy the context after its last use",
	})
}
