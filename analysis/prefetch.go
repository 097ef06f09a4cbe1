package analysis

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

const (
	// batchEvents is how many events of a process are decoded at once, and
	// allBatches how many of all processes.
	batchEvents, allBatches = 1 << 10, 1 << 14
	// leastBatch is what is worth starting a goroutine for.
	leastBatch = 16
)

// prefetch is the stream of one process, decoded ahead of the replay by other
// goroutines: one batch is replayed while the next is read. What the trace
// defines comes with the events, so that nothing is shared with the reader.
//
// How far a trace is read depends on what was replayed, and never on time.
type prefetch struct {
	reader  *trace.Reader
	size    int               // events of a batch
	ready   chan *trace.Batch // the next batch
	batch   *trace.Batch      // under way
	items   []trace.Item      // of it, yet to come
	single  []trace.Access    // of the last item taken, which are given one by one, yet to come
	strand  uint32            // theirs
	counted bool              // their elements are
	over    bool              // all was given
	types   map[int64]*trace.Type
	comms   map[int64]*trace.Comm
	ops     map[int64]string
	info    map[string][]string
	idle    func(<-chan *trace.Batch) *trace.Batch // waits for the next batch of a run that goes on, and gives nil where others are to go on meanwhile; nil: of one that is over
}

// newPrefetch begins to read.
func newPrefetch(r *trace.Reader, ranks int) *prefetch {
	s := &prefetch{
		reader: r, size: min(max(leastBatch, allBatches/ranks), batchEvents), ready: make(chan *trace.Batch, 1),
		types: map[int64]*trace.Type{}, comms: map[int64]*trace.Comm{}, ops: map[int64]string{}, info: map[string][]string{},
	}
	s.fill(&trace.Batch{})
	return s
}

// prefetched is the streams of all processes, by rank; nil where there is no
// trace.
type prefetched []*prefetch

// prefetchAll begins to read the traces of all processes.
func prefetchAll(readers []*trace.Reader) prefetched {
	return prefetchPart(readers, regions.Part{})
}

// prefetchPart begins to read the traces of all processes, and passes over
// accesses that lie in other parts of the memory of the process that makes them.
func prefetchPart(readers []*trace.Reader, part regions.Part) prefetched {
	all := make(prefetched, len(readers))
	for i, r := range readers {
		if r != nil {
			var skip func(lo, hi uint64) bool
			if !part.Whole() {
				skip = func(lo, hi uint64) bool { return !part.Wants(int32(i), lo, hi) }
			}
			r.Skip(skip)
			all[i] = newPrefetch(r, len(readers))
		}
	}
	return all
}

func (all prefetched) streams() []core.Stream {
	streams := make([]core.Stream, len(all))
	for i, s := range all {
		if s != nil {
			streams[i] = s
		}
	}
	return streams
}

// stop waits until nothing is read any more: then the readers are free.
func (all prefetched) stop() {
	for _, s := range all {
		if s != nil {
			s.stop()
		}
	}
}

// over reports whether the replay came to the end of a trace.
func (all prefetched) over(rank int) bool { return all[rank] != nil && all[rank].over }

func (s *prefetch) fill(b *trace.Batch) {
	go func() {
		s.reader.ReadBatch(b, s.size)
		s.ready <- b
	}()
}

// next makes the next batch the one under way, and lets the one after it be
// read, in the storage of the last. The error is that of the end of the trace.
func (s *prefetch) next() error {
	old := s.batch
	if old != nil && old.Err != nil {
		s.over = true
		return old.Err
	}
	if s.idle != nil {
		b := s.idle(s.ready)
		if b == nil {
			return trace.ErrNotYet
		}
		s.batch = b
	} else {
		s.batch = <-s.ready
	}
	s.items = s.batch.Items
	switch {
	case s.batch.Err != nil:
	case old == nil:
		s.fill(&trace.Batch{})
	default:
		s.fill(old)
	}
	return nil
}

// stop waits until nothing is read any more. Nothing may be read afterwards.
func (s *prefetch) stop() {
	if s.batch == nil || s.batch.Err == nil {
		<-s.ready
	}
}

// more waits until another item is read. The error is that of the end of the trace, or
// trace.ErrNotYet.
func (s *prefetch) more() error {
	for len(s.items) == 0 {
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// item takes the next item. The error is that of the end of the trace.
func (s *prefetch) item() (*trace.Item, error) {
	if err := s.more(); err != nil {
		return nil, err
	}
	item := &s.items[0]
	s.items = s.items[1:]
	for _, d := range item.Defines {
		switch {
		case d.Type != nil:
			s.types[int64(d.Type.ID)] = d.Type
		case d.Comm != nil:
			s.comms[d.Comm.ID] = d.Comm
		case d.Key != "":
			s.info[d.Key] = append(s.info[d.Key], d.Value)
		default:
			s.ops[d.Op] = d.Name
		}
	}
	return item, nil
}

// ReadEvent is that of trace.Reader.
func (s *prefetch) ReadEvent(ev *trace.Event) error {
	if len(s.single) == 0 {
		item, err := s.item()
		if err != nil {
			return err
		}
		switch {
		case item.Other != nil:
			*ev = *item.Other
			return nil
		case item.Kind == trace.KindCall:
			ev.Kind, ev.Strand, ev.Call = trace.KindCall, item.Strand, item.Call
			return nil
		}
		s.single, s.strand = slices.AppendSeq(s.single[:0], trace.InOrder(item.Stretch.Rows)), item.Strand
		s.counted = item.Stretch.Counted
	}
	ev.Kind, ev.Strand, ev.Access, ev.Counted = trace.KindAccess, s.strand, s.single[0], s.counted
	s.single = s.single[1:]
	return nil
}

// ReadStretch returns the accesses of one strand that come next, and the strand;
// nil where something else comes, or some of them were given.
func (s *prefetch) ReadStretch() (st *trace.Stretch, strand uint32) {
	if len(s.single) > 0 || s.more() != nil || s.items[0].Kind != trace.KindAccess {
		return nil, 0
	}
	item, err := s.item()
	if err != nil {
		return nil, 0
	}
	return &item.Stretch, item.Strand
}

func (s *prefetch) Type(id int64) *trace.Type { return s.types[id] }
func (s *prefetch) Comm(id int64) *trace.Comm { return s.comms[id] }
func (s *prefetch) Op(id int64) string        { return s.ops[id] }

// Info returns what was told of the process by now.
func (s *prefetch) Info(key string) []string { return s.info[key] }
