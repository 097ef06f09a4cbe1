package analysis

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
)

// Shard names one of several parts of an analysis. Each replays what orders
// processes, and searches a part of the memory; what all have found is joined by
// MergePartials.
type Shard struct {
	Index int // from 1
	Of    int
}

// ErrShard is the error of a part that does not exist.
var ErrShard = errors.New("no such part")

// maxShards bounds how many parts there are.
const maxShards = 1 << 20

// ParseShard reads "2/8".
func ParseShard(text string) (Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	s := Shard{index, of}
	if !ok || err1 != nil || err2 != nil || !s.valid() {
		return Shard{}, fmt.Errorf("%w: %q; it is I/N, I from 1 to N", ErrShard, text)
	}
	return s, nil
}

func (s Shard) valid() bool { return s.Of >= 1 && s.Of <= maxShards && s.Index >= 1 && s.Index <= s.Of }

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// RunShard analyses one part. Errors are those of Run, ErrShard, and the
// context's: a part that was interrupted is of no use.
func RunShard(ctx context.Context, dir string, s Shard, opts Options) (*Partial, error) {
	if !s.valid() {
		return nil, fmt.Errorf("%w: %s", ErrShard, s)
	}
	r, err := start(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.opts.part = regions.PartOf(s.Index-1, s.Of, r.dir.Ranks)
	return r.partial(s)
}

func (r *run) partial(s Shard) (*Partial, error) {
	e, err := r.gather()
	if err != nil {
		return nil, err
	}
	if r.stopped != nil {
		return nil, r.stopped
	}
	n, err := r.newNamer()
	if err != nil {
		e.Warnings = append(e.Warnings, err.Error())
	}
	var kept *sources.Stored
	if s.Index == 1 {
		kept = r.keptText(e)
	}
	p := newPartial(s, r.opts, hex.EncodeToString(r.dir.Run[:]), e)
	p.Sources = kept
	e.conclude(n) // the places that it names are the ones that the merge will
	p.Places, p.Variables = placesOfStacks(n), variablesKnown(n)
	return p, nil
}
