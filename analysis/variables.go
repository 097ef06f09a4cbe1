package analysis

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// variableKey is an address of a process, and the stacks in whose frames it may lie.
type variableKey struct {
	Rank    int32
	Address uint64
	Stacks  [3]uint32 // 0: none
}

// named is what memory is named by: a variable, or the block that was allocated. Neither:
// it is not known.
type named struct {
	Variable symbols.Variable
	Block    trace.Block
}

// variableAt is what an address of a key is named by, as it is stored.
type variableAt struct {
	Key      variableKey
	Variable symbols.Variable
	Block    trace.Block
}

// memory returns the variable that the bytes of a group lie in, as far as it can be
// told: a global one, or one in the frame of a function on the stack of an access or of
// the call that made the window; or the block of allocated memory.
func (n *namer) memory(g *conflicts.Group) (symbols.Variable, conflicts.Block) {
	s := &g.Sample
	key := variableKey{Rank: s.Owner, Address: s.Lo}
	for i, c := range []struct {
		rank  int32
		stack uint32
	}{{g.First.Rank, g.First.Stack}, {g.Second.Rank, g.Second.Stack}, madeBy(s)} {
		if c.rank == s.Owner {
			key.Stacks[i] = c.stack
		}
	}
	v, known := n.variables[key]
	if !known && n.readers != nil && n.readers[s.Owner] != nil {
		r := n.readers[s.Owner]
		if n.blocks[key.Rank] == nil {
			n.blocks[key.Rank] = sortedBlocks(r.Blocks())
		}
		v.Block = n.blocks[key.Rank].find(key.Address)
		if v.Block.Size == 0 {
			v.Variable = n.findVariable(r, &key)
		}
		n.variables[key] = v
	}
	b := conflicts.Block{}
	if v.Block.Size > 0 {
		b = conflicts.Block{Size: v.Block.Size, At: s.Lo - v.Block.Base, Stack: n.stack(key.Rank, v.Block.Stack)}
	}
	return v.Variable, b
}

// blocksOf is the blocks of a process by address, and how far those up to each reach.
type blocksOf struct {
	blocks []trace.Block
	reach  []uint64
}

func sortedBlocks(blocks []trace.Block) *blocksOf {
	of := &blocksOf{blocks: slices.Clone(blocks)}
	slices.SortStableFunc(of.blocks, func(a, b trace.Block) int { return cmp.Compare(a.Base, b.Base) })
	reach := uint64(0)
	for _, b := range of.blocks {
		reach = max(reach, b.Base+b.Size)
		of.reach = append(of.reach, reach)
	}
	return of
}

// find returns the allocated memory that holds an address; the zero Block where that is
// not known, or was allocated at several places in the course of the run: what was allocated
// there, or beside it within the same block, when that was no more.
func (of *blocksOf) find(at uint64) trace.Block {
	var found trace.Block
	end := sort.Search(len(of.blocks), func(i int) bool { return of.blocks[i].Base > at })
	for i := end - 1; i >= 0 && of.reach[i] > at; i-- {
		b := of.blocks[i]
		switch {
		case at-b.Base >= b.Size:
		case found.Size == 0:
			found = b
		case found.Stack != b.Stack:
			return trace.Block{}
		case b.Seq > found.Seq:
			found = b
		}
	}
	if of.replaced(found) {
		return trace.Block{}
	}
	return found
}

// replaced reports whether a block was no more when another one was allocated, elsewhere in the program.
func (of *blocksOf) replaced(old trace.Block) bool {
	end := sort.Search(len(of.blocks), func(i int) bool { return of.blocks[i].Base >= old.Base+old.Size })
	for i := end - 1; i >= 0 && of.reach[i] > old.Base; i-- {
		if b := of.blocks[i]; b.Seq > old.Seq && b.Stack != old.Stack && b.Base+b.Size > old.Base {
			return true
		}
	}
	return false
}

// madeBy is the call of the memory's owner that made the window.
func madeBy(s *conflicts.Sample) (of struct {
	rank  int32
	stack uint32
}) {
	of.rank = -1
	for _, made := range []*regions.CallInfo{s.First.Made, s.Second.Made} {
		if made != nil && made.Rank == s.Owner {
			of.rank, of.stack = made.Rank, made.Stack
		}
	}
	return of
}

func (n *namer) findVariable(r *trace.Reader, key *variableKey) symbols.Variable {
	for _, stack := range key.Stacks {
		pcs := r.Stack(stack)
		for i, pointer := range r.FramePointers(stack) {
			at := pcs[i] - 1
			m, bias, ok := moduleOf(r, at)
			if !ok {
				continue
			}
			if v, ok := symbols.Find(n.resolver.Locals(m, at-bias), int64(key.Address-pointer)); ok {
				return v
			}
		}
	}
	// The data of a module lies behind its beginning, before the next one.
	var below *trace.Module
	for i, m := range r.Modules() {
		if m.Bias <= key.Address && (below == nil || m.Bias > below.Bias) {
			below = &r.Modules()[i]
		}
	}
	if below == nil {
		return symbols.Variable{}
	}
	m := symbols.Module{Path: below.Path, BuildID: below.BuildID}
	v, _ := symbols.Find(n.resolver.Globals(m), int64(key.Address-below.Bias))
	return v
}

// moduleOf returns the module that holds the code at an address, and what its addresses
// are higher by than those of its file.
func moduleOf(r *trace.Reader, at uint64) (m symbols.Module, bias uint64, ok bool) {
	for _, m := range r.Modules() {
		if at >= m.Start && at < m.End {
			return symbols.Module{Path: m.Path, BuildID: m.BuildID}, m.Bias, true
		}
	}
	return symbols.Module{}, 0, false
}

// variablesKnown lists the variables that were found, and where there was none.
func variablesKnown(n *namer) []variableAt {
	var out []variableAt
	for _, key := range slices.SortedFunc(maps.Keys(n.variables), func(a, b variableKey) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Address, b.Address), slices.Compare(a.Stacks[:], b.Stacks[:]))
	}) {
		if v := n.variables[key]; v.Variable.Name != "" || v.Block.Size > 0 {
			out = append(out, variableAt{key, v.Variable, v.Block})
		}
	}
	return out
}

// allocations find what a line of C or C++ gives the memory to that it allocates.
var allocations = []*regexp.Regexp{
	regexp.MustCompile(`([A-Za-z_]\w*(?:(?:->|\.|::)\w+|\[[^\]]*\])*)\s*=\s*(?:\([^()]*\)\s*|(?:static|reinterpret)_cast<[^()]*>\(\s*)?(?:std::|::)?(?:new\b|make_unique\b|make_shared\b|\w*[aA]lloc\w*\s*\()`),
	regexp.MustCompile(`posix_memalign\(\s*(?:\([^()]*\)\s*)?&\s*([A-Za-z_]\w*(?:(?:->|\.)\w+)*)`),
	vectorDeclared,
}

var vectorDeclared = regexp.MustCompile(`\b(?:std::)?vector\s*<.*>\s+([A-Za-z_]\w*)\s*[({]`)

// declaresMore reports whether another variable is declared behind one whose initializer goes on
// with that text.
func declaresMore(rest string) bool {
	depth := 1
	for i, c := range rest {
		switch {
		case strings.ContainsRune("({[", c):
			depth++
		case strings.ContainsRune(")}]", c):
			depth--
		}
		if depth == 0 {
			return strings.HasPrefix(strings.TrimSpace(rest[i+1:]), ",")
		}
	}
	return false
}

// allocateStatement finds where the list of a Fortran ALLOCATE statement begins, behind a type.
var allocateStatement = regexp.MustCompile(`(?i)\ballocate\s*\((?:[^!'"]*::)?`)

// allocated is the name of the variable or member that a line assigns the memory to that it
// allocates; "" where it has none, or several.
func allocated(line string) string {
	name := ""
	for _, re := range allocations {
		for _, m := range re.FindAllStringSubmatchIndex(line, -1) {
			found := line[m[2]:m[3]]
			if name != "" && name != found || re == vectorDeclared && declaresMore(line[m[1]:]) {
				return ""
			}
			name = found
		}
	}
	if at := allocateStatement.FindStringIndex(line); at != nil {
		return onlyObject(line[at[1]:])
	}
	return name
}

// onlyObject is the object in the list of an ALLOCATE statement, without its shape, such as
// tree%leaf(2)%b; "" where there are several, or the list does not end in this line.
func onlyObject(list string) string {
	object, item, depth, shape := "", 0, 1, 0
	for i, c := range list {
		switch c {
		case '(':
			if depth++; depth == 2 {
				shape = i
			}
			continue
		case ')':
			depth--
		}
		if depth > 1 || c != ',' && depth > 0 {
			continue
		}
		if text := strings.TrimSpace(list[item:i]); !strings.Contains(text, "=") { // an option
			if object != "" {
				return ""
			}
			if object = text; strings.HasSuffix(text, ")") {
				object = strings.TrimSpace(list[item:shape])
			}
		}
		if item = i + 1; depth == 0 {
			return object
		}
	}
	return ""
}
