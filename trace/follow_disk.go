package trace

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// What a reader that follows a trace tells the process: how much of the file it has given
// back, how much more the process may take, and that it is there.

// Offsets of what a reader tells the process.
const (
	leftOffset  = liveOffset + 48
	freedOffset = liveOffset + 56
	grantOffset = liveOffset + 64
	beatOffset  = liveOffset + 72

	giveBackStep = 64 << 10 // bytes that are worth a call
)

// tell stores a word in the first page.
func (f *follower) tell(at int64, v uint64) error { return tellFile(f.file.path, at, v) }

func tellFile(path string, at int64, v uint64) error {
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
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
		if f.freed == 0 { // nobody may take a hole for the file as it was, also if this is not come back to
			_, err = out.WriteAt(le.AppendUint64(nil, 1), freedOffset)
		}
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

// ErrReadAlong is the error of Dismiss while somebody reads.
var ErrReadAlong = errors.New("another analysis reads along")

// signsFor is how long somebody who reads along may be silent.
const signsFor = 3 * time.Second

// Dismiss tells the processes of a run, of whose traces some were given back, that nobody
// reads along any more: none waits for it.
func (d *Dir) Dismiss() error {
	before := map[string]uint64{}
	for _, f := range d.Files {
		l, ok := liveOf(f.Path)
		if ok && l.Most > 0 && !l.Ended {
			before[f.Path] = l.Beat
		}
	}
	if len(before) == 0 {
		return nil
	}
	time.Sleep(signsFor)
	var errs []error
	for path, beat := range before {
		if l, ok := liveOf(path); ok && l.Beat != beat {
			return fmt.Errorf("%s: %w", path, ErrReadAlong)
		}
	}
	for path := range before {
		errs = append(errs, tellFile(path, leftOffset, 1))
	}
	return errors.Join(errs...)
}

func liveOf(path string) (Live, bool) {
	in, err := os.Open(path)
	if err != nil {
		return Live{}, false
	}
	defer in.Close()
	return readLive(in)
}

// Dismiss tells the process of a followed trace not to wait for room, now or later. It may be
// called while another goroutine reads.
func (r *Reader) Dismiss() error { return r.chunks.follow.tell(leftOffset, 1) }

// GaveBack returns how much of a followed file was given back, bytes, and why no more could
// be.
func (r *Reader) GaveBack() (int64, error) {
	if r.chunks.follow == nil {
		return 0, nil
	}
	defer r.guard()()
	return r.chunks.follow.freed, r.chunks.follow.fixed
}
