package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// readHeader reads and checks the head of a file, and skips what follows the
// fields it knows. It returns the number of bytes taken.
func readHeader(in io.Reader) (Header, int64, error) {
	var b [headerSize]byte
	n, err := io.ReadFull(in, b[:])
	switch {
	case errors.Is(err, io.EOF):
		return Header{}, 0, errors.New("the file is empty (the process was killed before it recorded anything, or the disk was full then)")
	case errors.Is(err, io.ErrUnexpectedEOF):
		if k := min(n, len(headerMagic)); string(b[:k]) != headerMagic[:k] {
			return Header{}, 0, errors.New("not a trace file (no MCCHKTR1 at its beginning)")
		}
		return Header{}, int64(n), fmt.Errorf("the file ends in its header, which has %d bytes", headerSize)
	case err != nil:
		return Header{}, int64(n), err
	}
	h, size, at, err := parseHeader(&b)
	if err != nil {
		return Header{}, at, err
	}
	rest := make([]byte, min(size-headerSize, liveSize))
	if _, err := io.ReadFull(in, rest); err != nil {
		return Header{}, headerSize, fmt.Errorf("the file ends in its header, which has %d bytes", size)
	}
	if len(rest) == liveSize && string(rest[:8]) == liveMagic {
		h.GivenBack = le.Uint64(rest[freedOffset-liveOffset:]) > 0
	}
	if _, err := io.CopyN(io.Discard, in, int64(size)-headerSize-int64(len(rest))); err != nil {
		return Header{}, headerSize, fmt.Errorf("the file ends in its header, which has %d bytes", size)
	}
	return h, int64(size), nil
}

// parseHeader returns the header, its length in the file, and the offset of
// the offending field with an error.
func parseHeader(b *[headerSize]byte) (h Header, size uint32, at int64, err error) {
	if string(b[:8]) != headerMagic {
		return h, 0, 0, errors.New("not a trace file (no MCCHKTR1 at its beginning)")
	}
	version := le.Uint32(b[8:])
	if version < 1 || version > formatVersion {
		return h, 0, 8, fmt.Errorf("version %d of the trace format; this program reads versions 1 to %d", version, formatVersion)
	}
	if sum := checksum(b[:headerCRC]); sum != le.Uint32(b[headerCRC:]) {
		return h, 0, headerCRC, errors.New("the checksum of the file header is wrong")
	}
	size = le.Uint32(b[12:])
	if size < headerSize || size > maxHeaderSize {
		return h, 0, 12, fmt.Errorf("impossible length %d of the file header", size)
	}
	rank, ranks := le.Uint32(b[32:]), le.Uint32(b[36:])
	if ranks == 0 || ranks > maxRanks || rank >= ranks {
		return h, 0, 32, fmt.Errorf("impossible rank %d of %d processes", rank, ranks)
	}
	host, _, _ := bytes.Cut(b[hostOffset:hostOffset+hostSize], []byte{0})
	h = Header{
		Version:   version,
		Rank:      int(rank),
		Ranks:     int(ranks),
		PID:       int(le.Uint32(b[40:])),
		Monotonic: le.Uint64(b[48:]),
		Realtime:  le.Uint64(b[56:]),
		Host:      string(host),
	}
	copy(h.Run[:], b[16:32])
	return h, size, 0, nil
}

// encodeHeader is the inverse of parseHeader. It reports values that the file
// cannot hold.
func encodeHeader(h Header) ([]byte, error) {
	if h.Version > formatVersion {
		return nil, fmt.Errorf("version %d of the trace format cannot be written", h.Version)
	}
	if h.Ranks < 1 || h.Ranks > maxRanks || h.Rank < 0 || h.Rank >= h.Ranks {
		return nil, fmt.Errorf("impossible rank %d of %d processes", h.Rank, h.Ranks)
	}
	if h.PID < 0 || int64(h.PID) > 1<<32-1 {
		return nil, fmt.Errorf("impossible process id %d", h.PID)
	}
	if len(h.Host) > hostSize || bytes.IndexByte([]byte(h.Host), 0) >= 0 {
		return nil, fmt.Errorf("host name %q is longer than %d bytes or holds a zero", h.Host, hostSize)
	}
	b := make([]byte, headerSize)
	copy(b, headerMagic)
	le.PutUint32(b[8:], formatVersion)
	le.PutUint32(b[12:], headerSize)
	copy(b[16:32], h.Run[:])
	le.PutUint32(b[32:], uint32(h.Rank))
	le.PutUint32(b[36:], uint32(h.Ranks))
	le.PutUint32(b[40:], uint32(h.PID))
	le.PutUint64(b[48:], h.Monotonic)
	le.PutUint64(b[56:], h.Realtime)
	copy(b[hostOffset:hostOffset+hostSize], h.Host)
	le.PutUint32(b[headerCRC:], checksum(b[:headerCRC]))
	return b, nil
}
