package synth

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
)

// plantKind is a way in which two accesses race.
type plantKind struct {
	rule          string
	first, second string // a role of a one-sided operation, or "load" or "store"
	within        bool   // both by one process
}

// plantKinds are taken in turn. The first operation of a pair within one process is
// pending when the second access is made; of other pairs the second is by the
// target process itself where it is a load or a store.
var plantKinds = [...]plantKind{
	{conflicts.RuleLocalRemote, "put", "store", false},
	{conflicts.RuleBuffer, "put", "store", true},
	{conflicts.RuleRemoteRemote, "put", "put", false},
	{conflicts.RuleLocalRemote, "put", "load", false},
	{conflicts.RuleSameOrigin, "put", "get", true},
	{conflicts.RuleRemoteRemote, "put", "get", false},
	{conflicts.RuleLocalRemote, "get", "store", false},
	{conflicts.RuleBuffer, "get", "load", true},
}

// plants are the planted races. Number k has element k of the planted window
// of its owner to itself, two elements of the buffers of its processes, and the
// lines 2k+1 and 2k+2 of the planted source file.
type plants struct {
	all    []plant
	sides  []sideOfPlant // by rank, step, plant
	ranges []int32       // where in sides those of a rank begin
}

// plant is one planted race.
type plant struct {
	kind   uint8
	first  int32 // world rank of the first access
	second int32
	owner  int32 // whose planted window it is in
	step   int64
}

// sideOfPlant is one access of a planted race, or, within one process, both.
type sideOfPlant struct {
	rank   int32
	second bool
	plant  int32
	step   int64
}

// newPlants draws the planted races of a plan.
func newPlants(p *plan) *plants {
	ps := &plants{all: make([]plant, p.Races), ranges: make([]int32, p.Ranks+1)}
	n := uint64(p.Ranks)
	for k := range ps.all {
		draw := func(what uint64) uint64 { return mix(p.Seed, uint64(k), what) }
		x := &ps.all[k]
		x.kind = uint8(k % len(plantKinds))
		x.step = int64(draw(1) % uint64(p.Steps))
		first := draw(2) % n
		other := (first + 1 + draw(3)%(n-1)) % n
		x.first, x.second, x.owner = int32(first), int32(other), int32(other)
		switch kind := plantKinds[x.kind]; {
		case kind.within:
			x.second = x.first
		case kind.second != "load" && kind.second != "store":
			x.owner = int32(draw(4) % n) // of two operations the target is anybody
		}
		ps.sides = append(ps.sides, sideOfPlant{rank: x.first, plant: int32(k), step: x.step})
		if x.second != x.first {
			ps.sides = append(ps.sides, sideOfPlant{rank: x.second, second: true, plant: int32(k), step: x.step})
		}
	}
	slices.SortFunc(ps.sides, func(a, b sideOfPlant) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.step, b.step), cmp.Compare(a.plant, b.plant))
	})
	for _, s := range ps.sides {
		ps.ranges[s.rank+1]++
	}
	for r := range p.Ranks {
		ps.ranges[r+1] += ps.ranges[r]
	}
	return ps
}

// of returns the planted accesses of a rank by step.
func (ps *plants) of(rank int) []sideOfPlant {
	return ps.sides[ps.ranges[rank]:ps.ranges[rank+1]]
}

// plantsOf writes the planted accesses of a step, at its beginning: what a
// process did in one step is known to others in the next one at the earliest.
func (p *process) plantsOf(step int64) {
	for len(p.todo) > 0 && p.todo[0].step == step {
		s := p.todo[0]
		p.todo = p.todo[1:]
		x := &p.plants.all[s.plant]
		p.planted(int(s.plant), s.second)
		if plantKinds[x.kind].within {
			p.planted(int(s.plant), true)
		}
		p.flush(place{mainSource, lineKernel}, int(x.owner), plantedWindow)
	}
}

// planted writes one access of planted race k.
func (p *process) planted(k int, second bool) {
	x := &p.plants.all[k]
	kind := &plantKinds[x.kind]
	at, role := place{plantSource, 2*k + 1}, kind.first
	if second {
		at, role = place{plantSource, 2*k + 2}, kind.second
	}
	buffer := plantBuffer + uint64(k)*2*element
	switch role {
	case "load", "store":
		addr := buffer // of the operation that is pending
		if !kind.within {
			addr = plantedBase + uint64(k)*element
		}
		p.run(at, role == "store", addr, 1, 1)
	case "put":
		p.operation(at, "MPI_Put", buffer, int(x.owner), int64(k), 1, doubleType, plantedWindow)
	case "get":
		if second {
			buffer += element // the first operation has the other
		}
		p.operation(at, "MPI_Get", buffer, int(x.owner), int64(k), 1, doubleType, plantedWindow)
	}
}
