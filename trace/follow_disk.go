package trace

import (
	"errors"
	"fmt"
	"os"
)

// What a reader that follows a trace tells the process: how much of the file it has given
// back, how much more the process may take, and that it is there.

// Offsets of what a reader tells the process.
const (
	freedOffset = liveOffset + 64
	grantOffset = liveOffset + 72
	beatOffset  = liveOffset + 80

	giveBackStep = 64 << 10 // bytes that are worth a call
)

// tell stores a word in the first page.
func (f *follower) tell(at int64, v uint64) error {
	out, err := os.OpenFile(f.file.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(le.AppendUint64(nil, v), at)
	return errors.Join(err, out.Close())
}

// giveBack gives back what was read of a file that may take only so much, once the process
// has told so.
func (r *Reader) giveBack() {
	f := r.chunks.follow
	if !f.following() || f.live.Most == 0 || f.fixed != nil {
		return
	}
	all := int64(0)
	for _, h := range f.done {
		all += int64(h.Size)
	}
	if all < giveBackStep && (f.live.Waiting == 0 || all == 0) {
		return
	}
	out, err := os.OpenFile(f.file.path, os.O_RDWR, 0)
	if err == nil {
		for _, h := range f.done {
			err = errors.Join(err, makeHole(out, h.Offset, int64(h.Size)))
		}
		if f.done = f.done[:0]; err == nil {
			f.freed += all
			_, err = out.WriteAt(le.AppendUint64(nil, uint64(f.freed)), freedOffset)
		}
		err = errors.Join(err, out.Close())
	}
	if err != nil { // the program goes on all the same
		f.fixed = fmt.Errorf("%s: what was analysed cannot be given back: %w", f.file.path, err)
		_ = f.tell(grantOffset, 1<<62)
	}
}

// finished notes that a chunk was read to its end.
func (f *follower) finished(h *Chunk) {
	if f.following() && f.live.Most > 0 {
		f.done = append(f.done, *h)
	}
}

// Beat tells the process of a followed trace that somebody reads along. It may be called
// while another goroutine reads, as may Grant.
func (r *Reader) Beat(n uint64) {
	if l := r.Live(); l != nil && l.Most > 0 {
		_ = r.chunks.follow.tell(beatOffset, n) // the process goes on without, in time
	}
}

// Grant lets the process take so many bytes more than it may, all in all.
func (r *Reader) Grant(bytes uint64) error { return r.chunks.follow.tell(grantOffset, bytes) }

// GaveBack returns how much of a followed file was given back, bytes, and why no more could
// be.
func (r *Reader) GaveBack() (int64, error) {
	if r.chunks.follow == nil {
		return 0, nil
	}
	defer r.guard()()
	return r.chunks.follow.freed, r.chunks.follow.fixed
}
