package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// The decoders below take one whole record, as recordLength cut it out, and
// copy what they keep. Their errors say what is wrong, not where.

var errShort = errors.New("a record is shorter than its fields")

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
func i64(b []byte, at int) int64  { return int64(u64(b, at)) }

// recordLength returns the length of the record at the beginning of b, which
// holds the rest of a chunk.
func recordLength(b []byte) (int, error) {
	if len(b) < minRecord {
		return 0, errShort
	}
	n := accessSize
	if RecordKind(b[0]) != RecordAccess {
		n = int(u32(b, 4))
		if n < minRecord || n%8 != 0 {
			return 0, fmt.Errorf("impossible record length %d", n)
		}
	}
	if n > len(b) {
		return 0, fmt.Errorf("a record of %d bytes passes the end of its chunk", n)
	}
	return n, nil
}

// rawAccess decodes an access as it is written.
func rawAccess(b *[accessSize]byte, a *Access) {
	a.Addr = le.Uint64(b[8:])
	a.Stride = int64(le.Uint64(b[16:]))
	a.Count = le.Uint64(b[24:])
	a.Size = uint32(le.Uint16(b[2:]))
	a.Stack = le.Uint32(b[4:])
	flags := b[1]
	a.Store = flags&accessStore != 0
	a.Atomic = flags&accessAtomic != 0
	a.Library = flags&accessLibrary != 0
}

type accessState uint8

const (
	accessOK    accessState = iota
	accessEmpty             // says nothing
	accessBad               // no such range of addresses
)

// normalise makes Stride positive, or 0 with Count 1, without changing the
// bytes that the access stands for. It returns where the last of them ends.
func (a *Access) normalise() (hi uint64, state accessState) {
	if a.Count <= 1 || a.Stride == 0 {
		if a.Count == 0 {
			return 0, accessEmpty
		}
		a.Count, a.Stride = 1, 0
		if a.Size == 0 || a.Addr > math.MaxUint64-uint64(a.Size) {
			return 0, accessBad
		}
		return a.Addr + uint64(a.Size), accessOK
	}
	step := uint64(a.Stride)
	if a.Stride < 0 {
		step = -step
	}
	over, span := bits.Mul64(a.Count-1, step)
	if a.Stride < 0 {
		if a.Stride == math.MinInt64 || over != 0 || span > a.Addr {
			return 0, accessBad
		}
		a.Addr -= span
		a.Stride = -a.Stride
	}
	last, carry := bits.Add64(a.Addr, span, 0)
	hi, past := bits.Add64(last, uint64(a.Size), 0)
	if over|carry|past != 0 || a.Size == 0 {
		return 0, accessBad
	}
	return hi, accessOK
}

// decodeCall decodes a call into c, with its lists in c's own store, words.
func decodeCall(b []byte, fn *Fn, c *Call, words []int64) ([]int64, error) {
	if err := decodeCallHead(b, c); err != nil {
		return words, err
	}
	c.Fn = fn
	c.Args = c.Args[:0]
	if n := len(b) / 8; cap(words) < n {
		words = make([]int64, 0, max(n, 64))
	}
	words = words[:0]
	at := callSize
	for i := range fn.Args {
		if at+8 > len(b) {
			return words, fmt.Errorf("a call of %s lacks argument %s", fn.Name, fn.Args[i].Name)
		}
		v := i64(b, at)
		at += 8
		if !fn.Args[i].Kind.IsList() {
			c.Args = append(c.Args, Value{Int: v})
			continue
		}
		if v < 0 || v > int64(len(b)-at)/8 || (fn.Args[i].Kind == ArgStatuses && v%StatusWords != 0) {
			return words, fmt.Errorf("impossible length %d of argument %s of %s", v, fn.Args[i].Name, fn.Name)
		}
		var list []int64
		words, list = takeWords(words, b[at:at+8*int(v)])
		at += 8 * int(v)
		c.Args = append(c.Args, Value{List: list})
	}
	if at != len(b) {
		return words, fmt.Errorf("a call of %s is longer than its arguments", fn.Name)
	}
	return words, nil
}

func decodeCallHead(b []byte, c *Call) error {
	if len(b) < callSize {
		return errShort
	}
	c.Fn = nil
	c.Returned = b[1]&callReturned != 0
	c.Failed = b[1]&callFailed != 0
	c.Seq = u64(b, 8)
	c.Begin = i64(b, 16)
	c.End = i64(b, 24)
	c.Stack = u32(b, 32)
	if c.Seq == 0 {
		return errors.New("a call without a sequence number")
	}
	return nil
}

// takeWords appends the words of b to the store, and returns them.
func takeWords(store []int64, b []byte) (all, list []int64) {
	if len(b) == 0 {
		return store, nil
	}
	from := len(store)
	for at := 0; at+8 <= len(b); at += 8 {
		store = append(store, i64(b, at))
	}
	return store, store[from:len(store):len(store)]
}

func trimZeros(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

func decodeFn(b []byte) (*Fn, error) {
	text := trimZeros(b[8:])
	name, args, _ := strings.Cut(text, " ")
	f := &Fn{ID: u16(b, 2), Name: name}
	if name == "" || strings.Contains(text, "\x00") {
		return nil, errors.New("a function definition without a name, or with a zero byte inside")
	}
	var err error
	if f.Args, err = parseArgs(args); err != nil {
		return nil, fmt.Errorf("definition of %s: %w", name, err)
	}
	return f, nil
}

// parseArgs reads a list such as "win:w,ticket:i".
func parseArgs(text string) ([]Arg, error) {
	if text == "" {
		return nil, nil
	}
	args := make([]Arg, 0, 1+strings.Count(text, ","))
	for part := range strings.SplitSeq(text, ",") {
		name, kind, ok := strings.Cut(part, ":")
		if !ok || name == "" || !utf8.ValidString(name) || !validKind(kind) {
			return nil, fmt.Errorf("argument %q is not name:kind", part)
		}
		args = append(args, Arg{Name: name, Kind: ArgKind(kind[0])})
	}
	sorted := slices.Clone(args)
	slices.SortFunc(sorted, func(a, b Arg) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(sorted); i++ {
		if name := sorted[i].Name; name == sorted[i-1].Name {
			return nil, fmt.Errorf("argument %s twice", name)
		}
	}
	return args, nil
}

// validKind accepts any letter: a kind this program does not know is still a
// word or a list.
func validKind(kind string) bool {
	return len(kind) == 1 && (kind[0] >= 'a' && kind[0] <= 'z' || kind[0] >= 'A' && kind[0] <= 'Z')
}

func (f *Fn) argText() string {
	var t strings.Builder
	for i, a := range f.Args {
		if i > 0 {
			t.WriteByte(',')
		}
		t.WriteString(a.Name)
		t.WriteByte(':')
		t.WriteByte(byte(a.Kind))
	}
	return t.String()
}

func decodeStack(b []byte) (*Stack, error) {
	if len(b) < 16 {
		return nil, errShort
	}
	n, pointers := int64(u32(b, 12)), int64(u16(b, 2))
	if n+pointers > int64(len(b)-16)/8 || pointers > n {
		return nil, fmt.Errorf("a stack of %d frames and %d frame pointers in %d bytes", n, pointers, len(b))
	}
	words := make([]uint64, n+pointers)
	for i := range words {
		words[i] = u64(b, 16+8*i)
	}
	return &Stack{ID: u32(b, 8), PCs: words[:n:n], Pointers: words[n:]}, nil
}

func decodeType(b []byte) (*Type, error) {
	if len(b) < 56 {
		return nil, errShort
	}
	t := &Type{
		ID:       u32(b, 8),
		Combiner: Combiner(u16(b, 2)),
		Size:     i64(b, 16),
		LB:       i64(b, 24),
		Extent:   i64(b, 32),
	}
	ints, addrs, types := int64(u32(b, 40)), int64(u32(b, 44)), int64(u32(b, 48))
	name := int64(u32(b, 12))
	if 56+8*(ints+addrs+types)+name > int64(len(b)) {
		return nil, fmt.Errorf("the definition of datatype %d is shorter than its contents", t.ID)
	}
	at := 56
	t.Ints, at = copyWords(b, at, ints)
	t.Addrs, at = copyWords(b, at, addrs)
	t.Types, at = copyWords(b, at, types)
	t.Name = string(b[at : at+int(name)])
	return t, nil
}

func copyWords(b []byte, at int, n int64) ([]int64, int) {
	if n == 0 {
		return nil, at
	}
	end := at + 8*int(n)
	_, list := takeWords(make([]int64, 0, n), b[at:end])
	return list, end
}

func decodeComm(b []byte) (*Comm, error) {
	if len(b) < 32 {
		return nil, errShort
	}
	c := &Comm{
		ID:    i64(b, 8),
		Rank:  int(u32(b, 16)),
		Size:  int(u32(b, 20)),
		Inter: b[1]&commInter != 0,
	}
	local, remote := int64(u32(b, 24)), int64(u32(b, 28))
	if 32+24*(local+remote) > int64(len(b)) {
		return nil, fmt.Errorf("the definition of communicator %d is shorter than its runs", c.ID)
	}
	var err error
	if c.Ranks, err = decodeRuns(b[32:], int(local)); err != nil {
		return nil, fmt.Errorf("definition of communicator %d: %w", c.ID, err)
	}
	if c.Remote, err = decodeRuns(b[32+24*local:], int(remote)); err != nil {
		return nil, fmt.Errorf("definition of communicator %d: %w", c.ID, err)
	}
	return c, checkComm(c)
}

func decodeRuns(b []byte, n int) ([]RankRun, error) {
	if n == 0 {
		return nil, nil
	}
	runs := make([]RankRun, n)
	for i := range runs {
		at := 24 * i
		runs[i] = RankRun{First: i64(b, at), Stride: i64(b, at+8), Count: i64(b, at+16)}
		if !runs[i].valid() {
			return nil, fmt.Errorf("impossible run of ranks %v", runs[i])
		}
	}
	return runs, nil
}

// outside stands for the rank of a process of another world: MPI_UNDEFINED.
const outside = -4

// valid reports whether all ranks of the run are possible world ranks, or outside.
func (r RankRun) valid() bool {
	if r.First == outside && (r.Stride == 0 || r.Count == 1) {
		return r.Count >= 1 && r.Count <= maxRanks
	}
	if r.Count < 1 || r.Count > maxRanks || r.First < 0 || r.First >= maxRanks ||
		r.Stride <= -maxRanks || r.Stride >= maxRanks {
		return false
	}
	last := r.First + (r.Count-1)*r.Stride
	return last >= 0 && last < maxRanks
}

func checkComm(c *Comm) error {
	size := int64(0)
	for _, r := range c.Ranks {
		size += r.Count
	}
	if size != int64(c.Size) || c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("communicator %d: rank %d of %d does not agree with its runs, which are %d ranks", c.ID, c.Rank, c.Size, size)
	}
	return nil
}

func decodeModule(b []byte) (Module, error) {
	if len(b) < 40 {
		return Module{}, errShort
	}
	id, path := int(u16(b, 2)), int64(u32(b, 32))
	pathAt := 40 + padded(id)
	if int64(pathAt)+path > int64(len(b)) {
		return Module{}, errors.New("a module definition is shorter than its texts")
	}
	return Module{
		Path:    string(b[pathAt : pathAt+int(path)]),
		BuildID: hex.EncodeToString(b[40 : 40+id]),
		Start:   u64(b, 8),
		End:     u64(b, 16),
		Bias:    u64(b, 24),
	}, nil
}

func decodeMark(b []byte) (uint64, error) {
	if len(b) < 16 {
		return 0, errShort
	}
	return u64(b, 8), nil
}

func decodeClock(b []byte) (Clock, error) {
	if len(b) < 40 {
		return Clock{}, errShort
	}
	return Clock{Local: u64(b, 8), Reference: u64(b, 16), RoundTrip: u64(b, 24)}, nil
}

func decodeLost(b []byte) (Lost, error) {
	if len(b) < 24 {
		return Lost{}, errShort
	}
	return Lost{Reason: b[1], Calls: u64(b, 8), Accesses: u64(b, 16)}, nil
}

func decodeEnd(b []byte) (End, error) {
	if len(b) < 32 {
		return End{}, errShort
	}
	return End{Idle: u64(b, 8), Accesses: u64(b, 16), Units: u64(b, 24)}, nil
}

func decodeInfo(b []byte) (key, value string, err error) {
	n := 8 + int(u16(b, 2))
	if n > len(b) {
		return "", "", errShort
	}
	return string(b[8:n]), trimZeros(b[n:]), nil
}

func decodeOp(b []byte) (int64, string, error) {
	if len(b) < 16 || 16+int(u16(b, 2)) > len(b) {
		return 0, "", errShort
	}
	return int64(u32(b, 8)), string(b[16 : 16+int(u16(b, 2))]), nil
}

func decodeBlock(b []byte) (Block, error) {
	if len(b) < 40 {
		return Block{}, errShort
	}
	return Block{Base: u64(b, 8), Size: u64(b, 16), Seq: u64(b, 24), Stack: u32(b, 32)}, nil
}

func decodeSource(b []byte) (Source, error) {
	if len(b) < 32 {
		return Source{}, errShort
	}
	fn, file := int(u16(b, 2)), int64(u32(b, 24))
	fileAt := 32 + padded(fn)
	if int64(fileAt)+file > int64(len(b)) {
		return Source{}, errors.New("a source definition is shorter than its texts")
	}
	return Source{
		PC:      u64(b, 8),
		Func:    string(b[32 : 32+fn]),
		File:    string(b[fileAt : fileAt+int(file)]),
		Line:    u32(b, 16),
		Column:  u32(b, 20),
		Inlined: u32(b, 28) != 0,
	}, nil
}
