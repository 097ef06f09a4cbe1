package trace

import "io"

const (
	liveOffset = 128
	liveSize   = 96
	liveMagic  = "MCCHKLV1"
)

// Live is what a process and a reader tell one another in the file's first page.
type Live struct {
	Complete, Seq  uint64
	Several, Ended bool
	Waiting        uint64
	Most           uint64
	Freed, Grant   uint64
	Beat           uint64
	Stopped        bool // it records nothing any more
}

// Live returns what the process of a followed trace told last; nil when it told nothing.
// It may be called while another goroutine reads.
func (r *Reader) Live() *Live {
	if r.chunks.follow == nil {
		return nil
	}
	return r.chunks.follow.given.Load()
}

// Ask reads anew what the process of a followed trace tells. It may be called while another
// goroutine reads.
func (r *Reader) Ask() (Live, bool) {
	return liveOf(r.chunks.name)
}

// readLive reads the first page.
func readLive(in io.ReaderAt) (l Live, ok bool) {
	var b [liveSize]byte
	if _, err := in.ReadAt(b[:], liveOffset); err != nil || string(b[:8]) != liveMagic {
		return Live{}, false
	}
	word := func(i int) uint64 { return le.Uint64(b[8*i:]) }
	return Live{
		Complete: word(1), Seq: word(2), Several: word(3) != 0, Ended: word(4) != 0,
		Waiting: word(5), Most: word(6), Freed: word(8), Grant: word(9), Beat: word(10), Stopped: word(11) != 0,
	}, true
}
