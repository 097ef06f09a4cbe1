package trace

import "io"

const (
	liveOffset = 128
	liveSize   = 128
	livePlaces = 480 // threads that can tell what they write no more, behind it
	liveMagic  = "MCCHKLV2"
)

// Live is what a process and a reader tell one another in the file's first page.
type Live struct {
	// Bound is a place in the order of the process, in which call n stands at 2n and what
	// follows it at 2n + 1: all that comes before it is in the file, and stays as it is.
	Bound          uint64
	Ended, Stopped bool // nothing in the file changes; nothing is recorded any more
	Waiting        uint64
	Most           uint64
	Freed, Grant   uint64
	Beat           uint64
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

// readLive reads the first page: what threads tell after the last call begun, behind which
// threads begin and go on that tell nothing yet.
func readLive(in io.ReaderAt) (l Live, ok bool) {
	var b [liveSize]byte
	if _, err := in.ReadAt(b[:], liveOffset); err != nil || string(b[:8]) != liveMagic {
		return Live{}, false
	}
	word := func(i int) uint64 { return le.Uint64(b[8*i:]) }
	l = Live{
		Bound: 2*word(1) + 1, Ended: word(2) != 0, Stopped: word(3) != 0, Waiting: word(4), Most: word(5),
		Freed: word(7), Grant: word(8), Beat: word(9),
	}
	var places [8 * livePlaces]byte
	if _, err := in.ReadAt(places[:], liveOffset+liveSize); err != nil {
		return Live{}, false
	}
	for p := places[:]; len(p) > 0; p = p[8:] {
		if place := le.Uint64(p); place != 0 {
			l.Bound = min(l.Bound, place)
		}
	}
	return l, true
}
