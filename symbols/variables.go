package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Variable is a variable of a program.
type Variable struct {
	Name string // as its source has it, with namespace or module
	Func string // the function that it is seen in; "" of a global one
	// Static: it is seen in Func, and lies in the data of the program.
	Static bool
	File   string // where it is declared; "" and 0 where that is not known
	Line   int
}

// Placed is a variable in memory: [From, From+Size) are virtual addresses of a
// module's file, or, of a local variable, relative to a frame pointer.
type Placed struct {
	Variable
	From int64
	Size uint64
}

// Find returns the variable of a list that holds an address, given as From is.
func Find(variables []Placed, at int64) (Variable, bool) {
	for _, v := range variables {
		if at >= v.From && uint64(at-v.From) < v.Size {
			return v.Variable, true
		}
	}
	return Variable{}, false
}

// base is what the locations of a function's variables are relative to.
type base uint8

const (
	noBase       base = iota // not understood
	framePointer             // the frame pointer
	frameAddress             // what the stack pointer was before the call
)

// frameAddressAbove is how far the frame address lies above the frame pointer, on
// x86-64: the return address and the caller's frame pointer lie between.
const frameAddressAbove = 16

// Operations of DWARF locations.
const (
	opAddr         = 0x03
	opRBP          = 0x56 // DW_OP_reg6
	opAtRBP        = 0x76 // DW_OP_breg6
	opFrameBase    = 0x91 // DW_OP_fbreg
	opFrameAddress = 0x9c // DW_OP_call_frame_cfa
	opAddrX        = 0xa1
)

func frameBase(e *dwarf.Entry) base {
	location, _ := e.Val(dwarf.AttrFrameBase).([]byte)
	switch {
	case len(location) == 1 && location[0] == opRBP:
		return framePointer
	case len(location) == 1 && location[0] == opFrameAddress:
		return frameAddress
	}
	return noBase
}

// local is a variable of a function, or of a block in it.
type local struct {
	Placed
	block [][2]uint64 // nil: all of the function
}

func (l *local) seenAt(addr uint64) bool {
	return l.block == nil || inAny(l.block, addr)
}

func inAny(ranges [][2]uint64, addr uint64) bool {
	return slices.ContainsFunc(ranges, func(r [2]uint64) bool { return addr >= r[0] && addr < r[1] })
}

// addLocal takes in a variable that lies at a fixed place of its function's frame.
func (d *debugInfo) addLocal(in within, files []*dwarf.LineFile, e *dwarf.Entry) {
	location, ok := e.Val(dwarf.AttrLocation).([]byte)
	if in.scope == nil || !ok || !d.pointers {
		return
	}
	from, ok := fromPointer(location, in.scope.base)
	if !ok {
		return
	}
	v, ok := d.variable(e, files)
	if ok {
		v.From, v.Func = from, procedure(in.scope.name)
		in.scope.locals = append(in.scope.locals, local{v, in.block})
	}
}

// fromPointer returns where a variable lies from the frame pointer on; false where
// its location is another than that.
func fromPointer(location []byte, b base) (int64, bool) {
	if len(location) < 2 {
		return 0, false
	}
	n, size := signed(location[1:])
	switch {
	case size != len(location)-1:
		return 0, false
	case location[0] == opAtRBP, location[0] == opFrameBase && b == framePointer:
		return n, true
	case location[0] == opFrameBase && b == frameAddress:
		return n + frameAddressAbove, true
	}
	return 0, false
}

// signed reads a signed LEB128 number and tells how long it is; 0 of none.
func signed(b []byte) (n int64, size int) {
	for i, x := range b {
		if i == binary.MaxVarintLen64 {
			break
		}
		n |= int64(x&0x7f) << (7 * i)
		if x&0x80 == 0 {
			if shift := 7 * (i + 1); x&0x40 != 0 && shift < 64 {
				n |= -1 << shift
			}
			return n, i + 1
		}
	}
	return 0, 0
}

// variable reads what an entry says of a variable, but for where it lies; false
// where that is not enough.
func (d *debugInfo) variable(e *dwarf.Entry, files []*dwarf.LineFile) (Placed, bool) {
	n := namer{data: d.data, known: map[dwarf.Offset]string{}}
	v := Placed{Variable: Variable{Name: n.name(e)}}
	for e := range references(d.data, e) {
		if line, ok := e.Val(dwarf.AttrDeclLine).(int64); ok { // of a class's variable that in the class
			file, _ := e.Val(dwarf.AttrDeclFile).(int64)
			if file >= 0 && file < int64(len(files)) && files[file] != nil {
				v.File, v.Line = files[file].Name, int(line)
			}
		}
		if at, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok && v.Size == 0 {
			v.Size = d.sizeOf(at)
		}
	}
	return v, v.Name != "" && v.Size > 0
}

// sizeOf returns the bytes that a type takes; 0 where that is not fixed.
func (d *debugInfo) sizeOf(at dwarf.Offset) uint64 {
	r := d.data.Reader()
	elements := uint64(1)
	for range maxReferences {
		r.Seek(at)
		e, err := r.Next()
		if err != nil || e == nil {
			return 0
		}
		if n, ok := e.Val(dwarf.AttrByteSize).(int64); ok {
			return elements * uint64(max(n, 0))
		}
		if e.Tag == dwarf.TagArrayType {
			elements *= elementsOf(r, e, d.firstIndex(at))
		}
		next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return 0
		}
		at = next
	}
	return 0
}

// Languages whose arrays begin with element 1 (DWARF 5, 5.13 and table 7.17).
var fortran = []int64{0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d} // DW_LANG_Fortran77, 90, 95, 03, 08, 18

// firstIndex is the lower bound of an array, at a place in the debug information, that states
// none.
func (d *debugInfo) firstIndex(at dwarf.Offset) int64 {
	i := lastAtOrBelow(d.units, uint64(at), func(u *unit) uint64 { return uint64(u.entry.Offset) })
	if i < 0 {
		return 0
	}
	if language, _ := d.units[i].entry.Val(dwarf.AttrLanguage).(int64); slices.Contains(fortran, language) {
		return 1
	}
	return 0
}

// elementsOf multiplies the dimensions of an array, whose entry was read last; 0
// where one is not fixed. first is the lower bound of one that states none.
func elementsOf(r *dwarf.Reader, array *dwarf.Entry, first int64) uint64 {
	n := uint64(1)
	for array.Children {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return n
		}
		if e.Tag != dwarf.TagSubrangeType {
			r.SkipChildren()
			continue
		}
		lower, ok := e.Val(dwarf.AttrLowerBound).(int64)
		if !ok {
			lower = first
		}
		upper, bounded := e.Val(dwarf.AttrUpperBound).(int64)
		count, counted := e.Val(dwarf.AttrCount).(int64)
		if bounded {
			count = upper - lower + 1
		}
		if !bounded && !counted || count <= 0 {
			return 0
		}
		n *= uint64(count)
	}
	return 0
}

// locals returns the variables that lie in the frame of the function that holds an
// address, those of inner blocks first, as far as they are seen there.
func (d *debugInfo) locals(addr uint64) []Placed {
	i := lastAtOrBelow(d.spans, addr, func(s unitSpan) uint64 { return s.lo })
	if i < 0 || addr >= d.spans[i].hi {
		return nil
	}
	u := d.spans[i].unit
	d.decode(u)
	var out []Placed
	chain := u.scopes(addr)
	for _, s := range slices.Backward(chain) {
		for j := len(s.locals) - 1; j >= 0; j-- {
			if l := s.locals[j]; l.seenAt(addr) {
				l.File = u.fullPath(l.File)
				out = append(out, l.Placed)
			}
		}
	}
	return out
}

// mostInfo is how much debug information is read for its global variables, bytes. In
// larger programs the symbol table tells them, without their lines.
const mostInfo = 64 << 20

// globals returns the global and static variables of a file, by address.
func (img *image) globals() []Placed {
	img.once.Do(func() {
		all := img.objects
		if img.info != nil && img.info.size <= mostInfo {
			all = append(img.info.globals(), all...)
		}
		all = slices.DeleteFunc(all, func(v Placed) bool { return !inAny(img.writable, uint64(v.From)) })
		slices.SortStableFunc(all, func(a, b Placed) int { return cmp.Compare(a.From, b.From) })
		img.variables = slices.CompactFunc(all, func(a, b Placed) bool { return a.From == b.From })
	})
	return img.variables
}

func (d *debugInfo) globals() []Placed {
	var out []Placed
	for _, u := range d.units {
		var files []*dwarf.LineFile
		if lines, err := d.data.LineReader(u.entry); err == nil && lines != nil {
			files = lines.Files()
		}
		out = append(out, d.globalsOf(u, files)...)
	}
	return out
}

func (d *debugInfo) globalsOf(u *unit, files []*dwarf.LineFile) []Placed {
	var out []Placed
	r := entryReader{Reader: d.data.Reader()}
	r.Seek(u.entry.Offset)
	names := namer{data: d.data, known: map[dwarf.Offset]string{}}
	addresses, _ := u.entry.Val(dwarf.AttrAddrBase).(int64)
	var functions []*dwarf.Entry // that each open entry lies in or is; nil: none
	nameOf := func() string {    // of the innermost: few of them have variables of the program's life
		name := ""
		for i, f := range functions {
			if f == nil || i > 0 && f == functions[i-1] {
				continue
			}
			if own := names.name(f); own == callOperator { // of a lambda
				name = joined(name, lambda)
			} else {
				name = own
			}
		}
		return name
	}
	for {
		e, err := r.next()
		if err != nil || e == nil || e.Tag == 0 && len(functions) <= 1 {
			return out
		}
		if e.Tag == 0 {
			functions = functions[:len(functions)-1]
			continue
		}
		var function *dwarf.Entry
		if len(functions) > 0 {
			function = functions[len(functions)-1]
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			function = e
		case dwarf.TagVariable:
			location, _ := e.Val(dwarf.AttrLocation).([]byte)
			if at, ok := d.address(location, addresses); ok && at > discarded {
				if v, ok := d.variable(e, files); ok {
					within := nameOf()
					v.From, v.Func, v.Static, v.File = int64(at), procedure(within), within != "", u.fullPath(v.File)
					out = append(out, v)
				}
			}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			if function == nil { // declarations only; in a function, those of lambdas have their functions
				r.SkipChildren()
				continue
			}
		case dwarf.TagEnumerationType, dwarf.TagSubroutineType:
			r.SkipChildren()
			continue
		}
		if e.Children {
			functions = append(functions, function)
		} else if len(functions) == 0 {
			return out
		}
	}
}

// address reads a location that is an address; false where it is another.
func (d *debugInfo) address(location []byte, from int64) (uint64, bool) {
	if len(location) == 9 && location[0] == opAddr {
		return binary.LittleEndian.Uint64(location[1:]), true
	}
	if len(location) < 2 || location[0] != opAddrX || from < 0 {
		return 0, false
	}
	i, size := binary.Uvarint(location[1:])
	at := uint64(from) + 8*i
	if size != len(location)-1 || i > uint64(len(d.addresses)) || at+8 > uint64(len(d.addresses)) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(d.addresses[at:]), true
}

// writableParts returns the addresses of a file's data that a program may write.
func writableParts(f *elf.File) [][2]uint64 {
	var out [][2]uint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 {
			out = append(out, [2]uint64{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return out
}

// dataSymbols returns the variables of the symbol table.
func dataSymbols(f *elf.File) []Placed {
	table, err := f.Symbols()
	if err != nil {
		if table, err = f.DynamicSymbols(); err != nil {
			return nil
		}
	}
	var out []Placed
	for _, s := range table {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Size > 0 && s.Section != elf.SHN_UNDEF {
			out = append(out, Placed{Variable: Variable{Name: sourceName(s.Name)}, From: int64(s.Value), Size: s.Size})
		}
	}
	return out
}
