package analysis

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trace"
)

// whereFetched reads the calls of all traces, once, to know where operations fetch values
// before any is replayed. It returns nil where it cannot know: while the program runs, or
// where a trace cannot be read.
func (r *run) whereFetched() *models.Fetched {
	if r.live != nil || r.fetched != nil {
		return r.fetched
	}
	readers, err := r.openAgain()
	defer closeAll(readers)
	if err != nil {
		return nil
	}
	scans, failed := scanAll(readers)
	r.vain += r.dir.Bytes()
	if !failed {
		r.fetched = models.FetchedBy(scans)
	}
	return r.fetched
}

// scanAll scans the calls of all processes side by side, by rank, and reports whether that failed.
func scanAll(readers []*trace.Reader) (scans []*models.FetchScan, failed bool) {
	var wg sync.WaitGroup
	var bad atomic.Bool
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	scans = make([]*models.FetchScan, len(readers))
	for rank, reader := range readers {
		if reader == nil {
			continue
		}
		scan := models.NewFetchScan()
		scans[rank] = scan
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if !scanCalls(reader, scan) {
				bad.Store(true)
			}
		})
	}
	wg.Wait()
	return scans, bad.Load()
}

// scanCalls scans the calls of a process and reports whether it could read them: to where a
// trace is cut, as whoever replays it.
func scanCalls(reader *trace.Reader, scan *models.FetchScan) bool {
	reader.Skip(func(uint64, uint64) bool { return true })
	var ev trace.Event
	for !scan.Done() {
		switch err := reader.ReadEvent(&ev); {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			return false
		case ev.Kind == trace.KindCall:
			scan.Call(ev.Call)
		}
	}
	return true
}
