package trace

import "hash/crc32"

// Layout of the file; docs/trace-format.md is the reference.
const (
	headerMagic   = "MCCHKTR1"
	formatVersion = 5
	linesVersion  = 1 // of the JSON Lines twin
	headerSize    = 128
	maxHeaderSize = 1 << 16
	hostOffset    = 64
	hostSize      = 60
	headerCRC     = 124
	maxRanks      = 1 << 24 // more processes than any machine starts; bounds what a damaged header can ask for

	chunkMagic      = "CHNK"
	chunkHeaderSize = 40
	maxChunkSize    = 1 << 30

	chunkOpen   = 0
	chunkSealed = 1

	chunkAny      = 0 // kinds; more is the place of an index in a chunk of accesses
	chunkAccesses = 1

	accessSize = 32
	gridSize   = 56
	callSize   = 40 // without arguments
	minRecord  = 8
)

// Flags of access and call records, and of communicator definitions.
const (
	accessStore   = 1
	accessAtomic  = 2
	accessLibrary = 4

	callReturned = 1
	callFailed   = 2

	commInter = 1
)

// RecordKind is the type of a record, numbered as in the file. RecordChunk,
// which is no record of the file, stands for the beginning of a chunk.
type RecordKind uint8

// Kinds of records.
const (
	RecordChunk  RecordKind = 0
	RecordCall   RecordKind = 1
	RecordAccess RecordKind = 2
	RecordFn     RecordKind = 3
	RecordStack  RecordKind = 4
	RecordType   RecordKind = 5
	RecordComm   RecordKind = 6
	RecordModule RecordKind = 7
	RecordMark   RecordKind = 8
	RecordClock  RecordKind = 9
	RecordLost   RecordKind = 10
	RecordEnd    RecordKind = 11
	RecordInfo   RecordKind = 12
	RecordOp     RecordKind = 13
	RecordSource RecordKind = 14
	RecordIndex  RecordKind = 15

	RecordCompactCalls    RecordKind = 16
	RecordCompactAccesses RecordKind = 17
	RecordRoom            RecordKind = 18 // says nothing

	RecordBlock RecordKind = 19
	RecordGrid  RecordKind = 20
)

// packing reports whether records of this kind say how others are packed, and are passed by
// who reads records. They cannot be within a compact one.
func (k RecordKind) packing() bool { return k >= RecordIndex && k <= RecordRoom }

// saysNothing reports whether a record is passed over wherever it stands.
func saysNothing(b []byte) bool {
	switch RecordKind(b[0]) {
	case RecordRoom, RecordIndex:
		return true
	case RecordAccess, RecordGrid:
		return len(b) >= accessSize && u64(b, 24) == 0
	}
	return false
}

// amongAccesses reports whether records of this kind may stand in a chunk of accesses alone.
func (k RecordKind) amongAccesses() bool {
	switch k {
	case RecordAccess, RecordGrid, RecordMark, RecordIndex, RecordCompactAccesses, RecordRoom:
		return true
	}
	return false
}

// Chunk is the header of a chunk.
type Chunk struct {
	Offset int64  // of its header in the (uncompressed) file
	Size   uint32 // bytes with the header
	Used   uint32 // bytes of records
	Strand uint32
	Seq    uint64 // the last call that the process had begun when the chunk was
	Region uint32 // synchronizations over all processes passed by then
	Sealed bool   // false: the process died before the chunk was full
	// Accesses says that the chunk holds nothing but accesses and marks.
	Accesses bool
	index    uint32 // where its index begins, bytes from the header on; 0: it has none
}

// Cut says where a file stops before its process did, and why. Records before
// Offset were delivered.
type Cut struct {
	Offset int64 // in the uncompressed file, bytes
	Reason string
}

// crcTable is that of CRC-32C (Castagnoli), which processors compute.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crcTable) }

// padded rounds n up to a multiple of 8.
func padded(n int) int { return (n + 7) &^ 7 }
