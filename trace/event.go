// Package trace is the event model and the file format of mcchk: what one
// process of a parallel program recorded, as a stream.
//
// A file holds calls (a name and typed arguments), runs of loads and stores,
// and definitions of what the identifiers in them stand for. The package
// knows nothing of what calls mean: models decide that (packages core and mpi).
//
// Data flows from a RecordReader (the records of a file in file order) through
// a Reader (the events of one process in program order, definitions applied).
// Both stream: neither holds more than a few chunks of the file. The format is
// described in docs/trace-format.md.
package trace

import "strings"

// ArgKind says what an argument of a call holds. The values are the letters
// of the file format (docs/trace-format.md, "call").
type ArgKind byte

// Kinds of arguments. Lower-case kinds are one word, upper-case ones lists.
const (
	ArgNumber    ArgKind = 'i' // an int, count, displacement or flag
	ArgAddress   ArgKind = 'p' // a memory address; InPlace for MPI_IN_PLACE
	ArgRank      ArgKind = 'r' // a rank; AnySource, ProcNull, RootRank, Undefined
	ArgTag       ArgKind = 'g' // a tag; AnyTag
	ArgComm      ArgKind = 'c' // a communicator identifier
	ArgWin       ArgKind = 'w' // a window identifier
	ArgRequest   ArgKind = 'q' // a request identifier
	ArgType      ArgKind = 't' // a datatype identifier
	ArgOp        ArgKind = 'o' // an operation identifier
	ArgAssert    ArgKind = 'a' // assertion bits
	ArgLock      ArgKind = 'l' // LockShared and so on
	ArgGroup     ArgKind = 'G' // world ranks
	ArgNumbers   ArgKind = 'I' // an array of numbers
	ArgAddresses ArgKind = 'P' // an array of addresses
	ArgTypes     ArgKind = 'T' // an array of datatype identifiers
	ArgRequests  ArgKind = 'Q' // an array of request identifiers
	ArgStatuses  ArgKind = 'S' // four words a status: source, tag, bytes, cancelled
)

// IsList reports whether arguments of this kind are lists of words.
func (k ArgKind) IsList() bool { return k >= 'A' && k <= 'Z' }

// Special values of arguments, the same for every MPI library.
const (
	InPlace   int64 = -1
	AnySource int64 = -1
	ProcNull  int64 = -2
	RootRank  int64 = -3
	Undefined int64 = -4
	AnyTag    int64 = -1

	AssertNoCheck   int64 = 1
	AssertNoStore   int64 = 2
	AssertNoPut     int64 = 4
	AssertNoPrecede int64 = 8
	AssertNoSucceed int64 = 16

	LockShared    int64 = 1
	LockExclusive int64 = 2
	LockTransfer  int64 = 3 // by a coarray library, for one transfer: it orders and excludes nobody

	// Bits of accumulate_ordering: what an accumulate comes after.
	OrderRAR int64 = 1 // a read after reads
	OrderRAW int64 = 2 // a read after writes
	OrderWAR int64 = 4 // a write after reads
	OrderWAW int64 = 8 // a write after writes
	OrderAll       = OrderRAR | OrderRAW | OrderWAR | OrderWAW

	CommWorld int64 = 1
)

// StatusWords is the number of words that one status takes in an argument of
// kind ArgStatuses: source, tag, received bytes, cancelled.
const StatusWords = 4

// Arg names one argument of a function.
type Arg struct {
	Name string
	Kind ArgKind
}

// Fn describes a function whose calls a file holds. Within one reader there is
// one Fn per identifier, so a consumer may key tables by the pointer; readers of one Dir
// share those that are the same.
type Fn struct {
	ID   uint16
	Name string
	Args []Arg
}

// IsNote reports whether a recorded call is the tracer's own, and none of the
// program, which declares order by calls in small letters.
func IsNote(fn string) bool {
	name, ok := strings.CutPrefix(fn, "mcchk_")
	return ok && name != "" && name[0] >= 'A' && name[0] <= 'Z'
}

// AtomicNote is the tracer's note of an atomic operation of the language.
const AtomicNote = "mcchk_Atomic"

// Language says what an operation of the language is called of which the tracer has made a
// note, as nothing of its program has that name; "" for other functions.
func Language(fn string) string {
	switch fn {
	case AtomicNote:
		return "atomic operation"
	case AtomicNote + "_fence":
		return "atomic fence"
	}
	return ""
}

// Arg returns the index of the argument of that name, or -1.
func (f *Fn) Arg(name string) int {
	for i := range f.Args {
		if f.Args[i].Name == name {
			return i
		}
	}
	return -1
}

// Arg returns the argument of that name. It is false where the call, which may be nil, has
// none.
func (c *Call) Arg(name string) (Value, bool) {
	if c == nil {
		return Value{}, false
	}
	i := c.Fn.Arg(name)
	if i < 0 || i >= len(c.Args) {
		return Value{}, false
	}
	return c.Args[i], true
}

// Value is one argument of a call: Int for scalar kinds, List for the others.
type Value struct {
	Int  int64
	List []int64
}

// Call is one recorded call.
type Call struct {
	Fn       *Fn
	Seq      uint64 // 1 for the first call of the process
	Begin    int64  // ns of the process's monotonic clock
	End      int64  // ns; 0 when the call did not return
	Returned bool   // false: the process died or was cut inside the call
	Failed   bool   // the call returned an error
	Stack    uint32
	Args     []Value // parallel to Fn.Args
}

// Access is a run of loads or stores of one source place within one span
// between calls: the union over k in [0, Count) of
// [Addr+k·Stride, Addr+k·Stride+Size). Readers deliver it normalised:
// Stride > 0, or Stride == 0 and Count == 1.
type Access struct {
	Addr    uint64
	Stride  int64
	Count   uint64
	Size    uint32 // bytes of one element
	Stack   uint32
	Store   bool
	Atomic  bool // by C11 or C++11 atomics
	Library bool // by a library function such as memcpy
}

// Kind tells what an Event holds.
type Kind uint8

// Kinds of events that a Reader delivers.
const (
	KindCall    Kind = iota + 1 // Event.Call
	KindAccess                  // Event.Access
	KindLost                    // Event.Lost
	KindEnd                     // Event.End: the process passed its finalize call
	KindSkipped                 // Event.Skipped: accesses that were passed over, or elements that are coming
)

// Event is one event of one process. Strand is the thread, 0 for the one that
// initialised. The pointers stay valid until the next event is read.
type Event struct {
	Kind    Kind
	Strand  uint32
	Access  Access
	Call    *Call
	Lost    Lost
	End     End
	Skipped Skipped
	// Counted says of an access that its elements were told with
	// those of its chunk (see Reader.Skip).
	Counted bool
}

// Lost counts what a tracer could not record.
type Lost struct {
	Reason   uint8 // 1 disk full, 2 memory limit, 3 other, 4 limit of the size of traces
	Calls    uint64
	Accesses uint64 // may be a lower bound
}

// End is a tracer's closing summary.
type End struct {
	Idle     uint64 // call-backs that recorded nothing; 0 if not counted
	Accesses uint64 // elements recorded
	Units    uint64 // instrumented translation units; 0: nothing was instrumented
}

// Header is the head of a file.
type Header struct {
	Version   uint32
	Run       [16]byte
	Rank      int
	Ranks     int
	PID       int
	Monotonic uint64 // ns
	Realtime  uint64 // ns since 1970, at the same moment
	// GivenBack: what the process recorded first is not in the file any more.
	GivenBack bool
	Host      string
}

// Combiner says how a datatype was made.
type Combiner uint16

// Combiners, numbered as in the file.
const (
	Named         Combiner = 0
	Dup           Combiner = 1
	Contiguous    Combiner = 2
	Vector        Combiner = 3
	Hvector       Combiner = 4
	Indexed       Combiner = 5
	Hindexed      Combiner = 6
	IndexedBlock  Combiner = 7
	HindexedBlock Combiner = 8
	Struct        Combiner = 9
	Subarray      Combiner = 10
	Darray        Combiner = 11
	Resized       Combiner = 12
	OtherCombiner Combiner = 255
)

// Type defines a datatype by its constructor: the integers, addresses and
// types are those of MPI_Type_get_contents.
type Type struct {
	ID       uint32
	Combiner Combiner
	Name     string // of a predefined type
	Size     int64  // bytes of data
	LB       int64  // lower bound
	Extent   int64
	Ints     []int64
	Addrs    []int64
	Types    []int64
}

// RankRun stands for the ranks First, First+Stride, …, Count of them.
type RankRun struct{ First, Stride, Count int64 }

// Comm defines a communicator: which world ranks its ranks are.
type Comm struct {
	ID     int64
	Rank   int // of this process
	Size   int // of the local group
	Inter  bool
	Ranks  []RankRun // local group
	Remote []RankRun // remote group of an intercommunicator
}

// WorldRank returns the world rank of a rank of the local group, or -1.
func (c *Comm) WorldRank(rank int) int { return runAt(c.Ranks, rank) }

func runAt(runs []RankRun, rank int) int {
	if rank < 0 {
		return -1
	}
	n := int64(rank)
	for _, r := range runs {
		if n < r.Count {
			return int(r.First + n*r.Stride)
		}
		n -= r.Count
	}
	return -1
}

// Module is a part of the program's memory map: code of [Start, End).
type Module struct {
	Path    string
	BuildID string // hexadecimal
	Start   uint64
	End     uint64
	Bias    uint64 // subtract from an address to get the file's virtual address
}

// Clock relates the clock of a process to that of world rank 0.
type Clock struct{ Local, Reference, RoundTrip uint64 }

// Stack is a call stack, innermost first: return addresses, and of the innermost
// of these functions, as far as they are known, the frame pointers.
type Stack struct {
	ID       uint32
	PCs      []uint64
	Pointers []uint64 // at most as many as PCs
}

// Block is a block of memory that the program allocated, told where a call first names
// memory in it.
type Block struct {
	Base, Size uint64
	Seq        uint64 // the last call begun before
	Stack      uint32 // where it was allocated
}

// Source is one frame of a program counter's source place.
type Source struct {
	PC      uint64
	Func    string
	File    string
	Line    uint32
	Column  uint32
	Inlined bool
}
