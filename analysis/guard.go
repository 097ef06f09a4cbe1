package analysis

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcchk/mcchk/core"
)

// What cannot be written to files grows all the same: pending operations,
// timestamps, findings. So a guard watches what the program has in use. It first ends
// the replay, so that what was replayed is searched, and where that takes too much as
// well, the analysis.

const (
	guardEvery = 5 * time.Millisecond
	// replayShare and heapShare are which part of the memory that a program may take
	// its heap may have in use while it replays, and at all, in percent. The rest is
	// garbage, the stacks, and the program.
	replayShare, heapShare = 70, 85
	// fewBytes is which part of the heap what grows must take to be most of it.
	fewBytes = 4
	// searchBytes is about what the search of an access takes that is held one by one.
	searchBytes = 1 << 10
	// findingBytes is about what a finding takes that is yet to be named, explained
	// and reported.
	findingBytes = 12 << 10
)

// guarded is what a guard and the analysis that it watches tell one another.
type guarded struct {
	unguard func()        // ends the guard
	end     func(error)   // ends the analysis; nil without a guard
	enough  atomic.Bool   // the replay is to end: little memory is left
	found   atomic.Int64  // findings of the search under way that are yet to be named
	held    core.Holdings // when the replay was stopped
}

// memoryError is the error of an analysis that needs more memory than it may take.
type memoryError struct{ limit int64 }

func (e *memoryError) Error() string {
	return fmt.Sprintf("the analysis needs more memory than the %d MiB that it may take", e.limit>>20)
}

// guard returns a context that is done when the program has more memory in use
// than Options.Heap allows, and what ends the watch. Before that, r.enough is set.
func (r *run) guard(ctx context.Context) (context.Context, func()) {
	limit := r.opts.Heap
	if limit == 0 {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	r.end = end
	var watch sync.WaitGroup
	watch.Go(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		tick := time.NewTicker(guardEvery)
		defer tick.Stop()
		for {
			metrics.Read(live)
			inUse := int64(live[0].Value.Uint64()) + r.found.Load()*findingBytes
			if inUse > limit/100*replayShare {
				r.enough.Store(true)
			}
			if inUse > limit/100*heapShare {
				end(&memoryError{r.allowed()})
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return ctx, func() {
		end(nil)
		watch.Wait()
	}
}

// hadEnough is asked after each turn of a replay: whether it is known what comes of it, or little
// memory is left. Once little memory is left, it keeps
// what is held; and where that is so much that a search of it would not fit, it ends the
// analysis.
func (r *run) hadEnough(m *core.Machine) bool {
	if r.enoughOf != nil && r.enoughOf(m) {
		return true
	}
	if r.stopped != nil || !r.enough.Load() {
		return r.stopped != nil
	}
	r.stopped, r.held = &memoryError{r.allowed()}, m.Holdings()
	if r.end != nil && r.held.Apart*searchBytes > r.opts.Heap/100*(heapShare-replayShare) {
		r.end(r.stopped)
	}
	return true
}

// room reports whether there is memory for so many bytes more, while the replay goes on.
func (r *run) room(bytes int64) bool {
	if r.opts.Heap == 0 || bytes < r.opts.Heap/32 { // the guard sees to what is little
		return true
	}
	most := r.opts.Heap / 100 * replayShare
	inUse := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(inUse); int64(inUse[0].Value.Uint64())+bytes < most {
		return true
	}
	runtime.GC() // some of it is garbage
	metrics.Read(inUse)
	return int64(inUse[0].Value.Uint64())+bytes < most
}

// allowed is the limit as whoever set it knows it, bytes.
func (r *run) allowed() int64 { return cmp.Or(r.opts.MaxMemory, r.opts.Heap) }

// held is what an analysis holds of one kind.
type held struct {
	n, each   int64 // each: about what one takes, bytes
	one, many string
	advice    string
}

// tooLarge says what took the memory of an analysis that needs more than it may.
func (r *run) tooLarge(h core.Holdings) Caveat {
	kinds := []held{
		{
			h.Pending, h.OpenBytes / max(1, h.Pending), "pending access of an operation", "pending accesses of operations",
			"complete operations more often in the program, analyse with more memory (--max-memory) or in parts (--shard)",
		},
		{
			h.Separate, 150 + h.StampBytes, "separate region with its timestamp", "separate regions with their timestamps",
			"let all processes synchronize more often in the program, run it with fewer processes or steps, or analyse with more memory (--max-memory)",
		},
		{
			h.Landmarks, 48, "call that locks, flushes or completes", "calls that lock, flush or complete",
			"let all processes synchronize more often in the program, run it with fewer steps, or analyse with more memory (--max-memory)",
		},
		{
			h.Accesses, 300, "access", "accesses",
			"let all processes synchronize more often in the program, analyse with more memory (--max-memory) or in parts (--shard)",
		},
		{
			r.found.Load(), findingBytes, "finding", "findings",
			"fix what is reported and run the program again, or analyse with more memory (--max-memory) or in parts (--shard)",
		},
	}
	most := slices.MaxFunc(kinds, func(a, b held) int { return cmp.Compare(a.n*a.each, b.n*b.each) })
	why := "most of it is for"
	if bytes := most.n * most.each; bytes < r.opts.Heap/fewBytes {
		why = fmt.Sprintf("most of it is for reading, replaying and searching, and of what grows most (%d MiB) for", (bytes+1<<20-1)>>20)
	}
	return Caveat{
		Kind: TooLarge, Count: uint64(most.n),
		Text: fmt.Sprintf("the analysis ended after %s, because it needs more than the %d MiB of memory that it may take: %s %s. The rest was not analysed; %s",
			r.howFar(), r.allowed()>>20, why, plural(uint64(most.n), most.one, most.many), most.advice),
	}
}
