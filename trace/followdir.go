package trace

import (
	"context"
	"errors"
	"time"
)

// deadOften is how many looks, ever further apart, find no process of a run alive before
// it counts as over.
const deadOften = 10

// Following says how the traces of a run are followed.
type Following struct {
	// Over reports whether the program has ended, so that no process writes any
	// more; nil: that is found out for each process.
	Over func() bool
	// Patience is how long FollowDir waits for the first process; 0: as long as it takes.
	Patience time.Duration
	ctx      context.Context
}

// FollowDir waits until all processes of a run have begun to write their traces into a
// directory, or it is over, and returns the directory. What Open and OpenAll give
// follows these traces. A run of which some processes have begun and ended, and others never
// begun, is over: all have to be there in MPI_Init. Errors are those of OpenDir, and the
// context's.
func FollowDir(ctx context.Context, path string, how Following) (*Dir, error) {
	how.ctx = ctx
	began, dead := time.Now(), 0
	for pause := 10 * time.Millisecond; ; pause = min(pause*3/2, time.Second) {
		over := how.Over != nil && how.Over()
		d, err := OpenDir(path)
		if err == nil && len(d.Bad) == 0 && len(d.Missing) == 0 || over || errors.Is(err, ErrMixedRuns) {
			if err == nil && !over {
				d.follow = &how
			}
			return d, err
		}
		switch {
		case err != nil && how.Patience > 0 && time.Since(began) > how.Patience:
			return nil, err
		case err == nil && len(d.Files) > 0 && !d.anyAlive():
			if dead++; dead > deadOften {
				return d, nil
			}
		default:
			dead = 0
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// Until ends the following of traces that are opened from now on, with an error, when the
// context is done.
func (d *Dir) Until(ctx context.Context) {
	if d.follow != nil {
		d.follow.ctx = ctx
	}
}

// Unfollow has what is opened from now on read as it is.
func (d *Dir) Unfollow() { d.follow = nil }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
