package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
)

// debugInfo is the DWARF data of one file. Units are decoded when an address
// of theirs is first asked for. It is not safe for concurrent use.
type debugInfo struct {
	data      *dwarf.Data
	units     []*unit
	spans     []unitSpan // by lo
	size      uint64     // of .debug_info, bytes
	addresses []byte     // .debug_addr
	pointers  bool       // whether locations by frame pointer are understood: on x86-64
}

// unitSpan is a range [lo, hi) of addresses that a unit covers.
type unitSpan struct {
	lo, hi uint64
	unit   *unit
}

// unit is one compilation unit.
type unit struct {
	entry     *dwarf.Entry
	dir, name string // the compiler's working directory, and the source given to it
	decoded   bool
	rows      []row // by lo
	functions []functionSpan
	// While functions are read: those that have names in the source, and those that clang
	// made of regions of OpenMP.
	scoped, outlined []*scope
}

// row says that the code of [lo, hi) comes from a line. line 0: from none.
type row struct {
	lo, hi       uint64
	file         *dwarf.LineFile
	line, column int
}

// functionSpan is a range [lo, hi) of a function that is not inlined.
type functionSpan struct {
	lo, hi uint64
	scope  *scope
}

// scope is a function, or one inlined copy of a function.
type scope struct {
	ranges [][2]uint64
	name   string
	call   row      // where it is inlined: file, line and column
	inner  []*scope // the functions inlined into it
	base   base     // of the function that is not inlined
	locals []local
	at     declared
}

func (s *scope) contains(addr uint64) bool {
	return inAny(s.ranges, addr)
}

// discarded is the highest start address of code that the linker threw away:
// linkers resolve it to 0 or 1.
const discarded = 1

// newDebugInfo indexes the units of a file; nil when it has no DWARF data.
func newDebugInfo(f *elf.File) (*debugInfo, error) {
	if !hasDebugInfo(f) {
		return nil, nil
	}
	data, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	d := &debugInfo{
		data: data, size: f.Section(infoSection(f)).Size, addresses: sectionData(f, ".debug_addr"), pointers: f.Machine == elf.EM_X86_64,
	}
	r := entryReader{Reader: data.Reader()}
	for ; ; r.SkipChildren() {
		e, err := r.next()
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		if e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit {
			continue
		}
		u := &unit{entry: e}
		u.dir, _ = e.Val(dwarf.AttrCompDir).(string)
		u.name, _ = e.Val(dwarf.AttrName).(string)
		d.units = append(d.units, u)
		ranges, err := data.Ranges(e)
		if err != nil {
			continue // this unit is unreadable, others need not be
		}
		for _, rg := range ranges {
			if rg[0] > discarded && rg[1] > rg[0] {
				d.spans = append(d.spans, unitSpan{rg[0], rg[1], u})
			}
		}
	}
	slices.SortStableFunc(d.spans, func(a, b unitSpan) int { return cmp.Compare(a.lo, b.lo) })
	return d, nil
}

// entryReader reads entries forward. In damaged data references to siblings can
// lead back, and debug/dwarf reads an unfinished number as an end of siblings,
// over and over; the reader stops at both.
type entryReader struct {
	*dwarf.Reader
	last dwarf.Offset
	ends int // ends of siblings in a row
}

// maxEnds is more than any nesting of entries.
const maxEnds = 1 << 16

var errDamaged = errors.New("its entries are damaged")

// next returns nil at the end.
func (r *entryReader) next() (*dwarf.Entry, error) {
	e, err := r.Next()
	if err != nil || e == nil {
		return nil, err
	}
	if e.Offset == 0 { // the end of siblings, which debug/dwarf gives no offset
		if r.ends++; r.ends > maxEnds {
			return nil, errDamaged
		}
		return e, nil
	}
	if e.Offset <= r.last {
		return nil, errDamaged
	}
	r.last, r.ends = e.Offset, 0
	return e, nil
}

// frames resolves an address; none when no line is known for it. covered
// reports whether a unit speaks of the address at all.
func (d *debugInfo) frames(addr uint64) (frames []Frame, covered bool) {
	i := lastAtOrBelow(d.spans, addr, func(s unitSpan) uint64 { return s.lo })
	if i < 0 || addr >= d.spans[i].hi {
		return nil, false
	}
	u := d.spans[i].unit
	d.decode(u)
	place, ok := u.row(addr)
	if !ok {
		return nil, true
	}
	chain := u.scopes(addr)
	if len(chain) == 0 {
		return []Frame{u.frame(place, "")}, true
	}
	for i := len(chain) - 1; i >= 0; i-- {
		f := u.frame(place, chain[i].name)
		f.Inlined = i > 0
		frames = append(frames, f)
		place = chain[i].call
	}
	return frames, true
}

func (u *unit) frame(r row, function string) Frame {
	f := Frame{Func: function, Line: r.line, Column: r.column}
	if r.file != nil {
		f.File = u.fullPath(r.file.Name)
	}
	if f.File == "" || f.Line == 0 {
		return Frame{Func: function, Reason: reasonNoLine}
	}
	return f
}

// row returns the line of an address. Code that belongs to no line counts to
// the line before it.
func (u *unit) row(addr uint64) (row, bool) {
	i := lastAtOrBelow(u.rows, addr, func(r row) uint64 { return r.lo })
	if i < 0 || addr >= u.rows[i].hi {
		return row{}, false
	}
	for i > 0 && u.rows[i].line == 0 && u.rows[i-1].hi == u.rows[i].lo {
		i--
	}
	return u.rows[i], u.rows[i].line != 0 && u.rows[i].file != nil
}

// scopes returns the function that holds an address and what is inlined
// there, outermost first.
func (u *unit) scopes(addr uint64) []*scope {
	i := lastAtOrBelow(u.functions, addr, func(f functionSpan) uint64 { return f.lo })
	if i < 0 || addr >= u.functions[i].hi {
		return nil
	}
	var chain []*scope
	for s := u.functions[i].scope; s != nil; {
		chain = append(chain, s)
		next := slices.IndexFunc(s.inner, func(in *scope) bool { return in.contains(addr) })
		if next < 0 {
			break
		}
		s = s.inner[next]
	}
	return chain
}

// decode reads a unit's lines and functions once. What cannot be read is left
// out: the addresses concerned then have no line or name.
func (d *debugInfo) decode(u *unit) {
	if u.decoded {
		return
	}
	u.decoded = true
	files := u.readRows(d.data)
	u.readFunctions(d, files)
}

// readRows reads the line table, and returns its file names by their number.
func (u *unit) readRows(data *dwarf.Data) []*dwarf.LineFile {
	lines, err := data.LineReader(u.entry)
	if err != nil || lines == nil {
		return nil
	}
	var prev dwarf.LineEntry
	open, dead := false, false
	for {
		var e dwarf.LineEntry
		if lines.Next(&e) != nil {
			break // io.EOF, or a damaged table
		}
		if !open {
			dead = e.Address <= discarded
		} else if !dead && e.Address > prev.Address {
			u.rows = append(u.rows, row{prev.Address, e.Address, prev.File, prev.Line, prev.Column})
		}
		open, prev = !e.EndSequence, e
	}
	slices.SortStableFunc(u.rows, func(a, b row) int { return cmp.Compare(a.lo, b.lo) })
	return lines.Files()
}

// within is what an open entry lies in or is: a function, and in it a block.
type within struct {
	scope    *scope
	block    [][2]uint64  // nil: all of the function
	function *dwarf.Entry // the innermost, which need not have code itself; nil: none
	member   bool         // of a class of that function's own,
	class    string       // with this name; "": that of a lambda
}

// readFunctions walks the unit's tree of entries for functions with code, and their
// local variables.
func (u *unit) readFunctions(d *debugInfo, files []*dwarf.LineFile) {
	r := entryReader{Reader: d.data.Reader()}
	r.Seek(u.entry.Offset)
	names := namer{data: d.data, known: map[dwarf.Offset]string{}}
	var enclosing []within
	var lambdas []func() // name instances of what may be that of one which comes later
	for {
		e, err := r.next()
		if err != nil || e == nil {
			break
		}
		if e.Tag == 0 {
			if len(enclosing) > 0 {
				enclosing = enclosing[:len(enclosing)-1]
			}
			if len(enclosing) == 0 {
				break
			}
			continue
		}
		var in within
		if len(enclosing) > 0 {
			in = enclosing[len(enclosing)-1]
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			if in.member {
				names.local(e, in.function, in.class)
			}
			in = within{scope: u.addScope(d.data, &names, files, in.scope, e), function: e}
			if s := in.scope; s != nil && s.name == callOperator {
				lambdas = append(lambdas, func() { s.name = names.name(e) })
			}
		case dwarf.TagLexDwarfBlock:
			if ranges, err := d.data.Ranges(e); err == nil && len(ranges) > 0 {
				in.block = ranges
			}
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			d.addLocal(in, files, e)
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			if in.function == nil {
				r.SkipChildren() // declarations only
				continue
			}
			// What a lambda does, and functions of a function's own classes, gcc puts here.
			in = within{function: in.function, member: true, class: joined(in.class, ownName(e, false))}
		case dwarf.TagEnumerationType, dwarf.TagSubroutineType:
			r.SkipChildren()
			continue
		}
		if e.Children {
			enclosing = append(enclosing, in)
		} else if len(enclosing) == 0 {
			break // a unit without anything inside
		}
	}
	for _, name := range lambdas {
		name()
	}
	slices.SortStableFunc(u.functions, func(a, b functionSpan) int { return cmp.Compare(a.lo, b.lo) })
	u.nameRegions()
}

// addScope takes in a function, or an inlined copy, that has code. It returns
// the scope that the entry's children lie in.
func (u *unit) addScope(data *dwarf.Data, names *namer, files []*dwarf.LineFile, outer *scope, e *dwarf.Entry) *scope {
	ranges, err := data.Ranges(e)
	if err != nil || len(ranges) == 0 {
		if e.Tag == dwarf.TagSubprogram {
			return nil
		}
		return outer
	}
	s := &scope{ranges: ranges, name: names.name(e), base: frameBase(e), at: declarationOf(data, e)}
	if outlinedByClang(s.name) {
		u.outlined = append(u.outlined, s)
	} else {
		u.scoped = append(u.scoped, s)
	}
	if e.Tag == dwarf.TagInlinedSubroutine && outer != nil {
		s.call, s.base = callSite(e, files), outer.base
		outer.inner = append(outer.inner, s)
		return s
	}
	for _, r := range ranges {
		if r[0] > discarded && r[1] > r[0] {
			u.functions = append(u.functions, functionSpan{r[0], r[1], s})
		}
	}
	return s
}

// callSite reads where an inlined copy was called.
func callSite(e *dwarf.Entry, files []*dwarf.LineFile) row {
	number := func(a dwarf.Attr) int {
		n, _ := e.Val(a).(int64)
		return int(n)
	}
	r := row{line: number(dwarf.AttrCallLine), column: number(dwarf.AttrCallColumn)}
	if i := number(dwarf.AttrCallFile); i >= 0 && i < len(files) {
		r.file = files[i]
	}
	return r
}

// lastAtOrBelow returns the index of the last element that starts at or below
// addr in a slice sorted by start, or -1.
func lastAtOrBelow[T any](s []T, addr uint64, start func(T) uint64) int {
	i, _ := slices.BinarySearchFunc(s, addr, func(e T, a uint64) int {
		if start(e) <= a {
			return -1
		}
		return 1
	})
	return i - 1
}

// fullPath completes a file name of the line table. Of DWARF 5, debug/dwarf
// leaves names in relative directories relative. And where clang gives the
// source's absolute name in the compiler's directory, it joins the two.
func (u *unit) fullPath(name string) string {
	switch {
	case u.dir == "" || name == "":
	case path.IsAbs(u.name) && name == path.Join(u.dir, u.name):
		name = u.name
	case !path.IsAbs(name):
		name = u.dir + "/" + name
	}
	return withoutParents(cleanPath(name))
}

// withoutParents takes ".." out of the path of a file, which builds in a directory of their own
// leave there, where that is known to name the same file: behind a symbolic link it means another
// directory.
func withoutParents(p string) string {
	if !strings.Contains(p, "/../") {
		return p
	}
	short := path.Clean(p)
	was, err := os.Stat(p)
	if err != nil {
		return p
	}
	if is, err := os.Stat(short); err != nil || !os.SameFile(was, is) {
		return p
	}
	return short
}

// cleanPath removes what the joining of the compiler's directory and file name
// leaves behind ("/src/./a.c").
func cleanPath(p string) string {
	p = strings.ReplaceAll(p, "\\", "/")
	for strings.Contains(p, "/./") {
		p = strings.ReplaceAll(p, "/./", "/")
	}
	for len(p) > 1 && strings.Contains(p[1:], "//") {
		p = p[:1] + strings.ReplaceAll(p[1:], "//", "/")
	}
	return strings.TrimPrefix(p, "./")
}
