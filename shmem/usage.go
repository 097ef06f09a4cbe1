package shmem

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// notSymmetric reports an address that is not symmetric.
func (p *pe) notSymmetric(c *call, arg core.ArgName, addr uint64) {
	p.m.Misuse(core.Usage{
		Rule: conflicts.RuleNotSymmetric, Call: p.Info(c.Call), Concerned: core.Concerned{Owner: p.Rank},
		Why: fmt.Sprintf("%s is %#x, which lies in no block of the symmetric heap and in no static or global variable of PE %d", arg, addr, p.Rank),
		Fix: "allocate the memory with shmem_malloc, or make it static or global",
	})
}

// afterEnd reports a context that is used after its end.
func (p *pe) afterEnd(c *call, ended *regions.CallInfo) {
	p.m.Misuse(core.Usage{
		Rule: conflicts.RuleContextGone, Call: p.Info(c.Call), Other: ended, Concerned: core.Concerned{Owner: p.Rank},
		Why: fmt.Sprintf("the context was destroyed by %s", ended.Fn),
		Fix: "destroy the context after its last use",
	})
}
