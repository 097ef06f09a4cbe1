package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// TestAgainstGraph: what comes of random programs is what the graph of the program
// says, with each clock, phases of any length, in parts, and whether accesses fit
// into memory or not.
func TestAgainstGraph(t *testing.T) {
	const programs = 2000
	var all tally
	for seed := range uint64(programs) {
		p := generate(seed)
		rng := rand.New(rand.NewPCG(seed, 4))
		p.close(true)
		var whole *checker
		for _, clock := range evc.Names() {
			whole = newChecker(t, p, core.Options{Clock: clock, Phase: phase(rng), Turn: 1 + rng.IntN(20)}, fmt.Sprintf("program %d", seed))
			if rng.IntN(8) == 0 {
				whole.opts.Memory = 1 << 10
			}
			whole.run(rng)
			all.add(whole)
		}
		if seed%2 == 0 {
			checkParts(t, whole, rng)
		} else {
			checkAnyOrder(t, p, rng, seed)
		}
	}
	all.check(t)
}

// phase returns a random length of phases.
func phase(rng *rand.Rand) int { return 1 + rng.IntN(40) }

// tally shows that the programs were worth their time.
type tally struct{ phases, regions, concurrent, ordered, series, cut int }

func (y *tally) add(c *checker) {
	y.phases += c.phases
	y.regions += c.p.regions
	y.concurrent += len(c.found)
	y.ordered += c.ordered
	y.series += c.series
	if c.p.cut {
		y.cut++
	}
}

func (y *tally) check(t *testing.T) {
	t.Logf("%+v", *y)
	require.Greater(t, y.phases, 2*y.regions)
	for _, n := range []int{y.regions, y.concurrent, y.ordered, y.series, y.cut} {
		require.Greater(t, n, 500)
	}
}

// checkParts: all parts count alike, and each finds what is in its memory.
func checkParts(t *testing.T, whole *checker, rng *rand.Rand) {
	n := 2 + rng.IntN(2)
	for i := range n {
		opts := whole.opts
		opts.Part = regions.PartOf(i, n, len(whole.p.traces))
		c := newChecker(t, whole.p, opts, fmt.Sprintf("%s, part %d of %d", whole.what, i, n))
		c.run(rng)
		require.Equal(t, whole.weights, c.weights, c.what)
		require.Equal(t, whole.stats, c.stats, c.what)
	}
}

// checkAnyOrder: without the order of locks, only what they order is concurrent
// beside, and the region knows which that is.
func checkAnyOrder(t *testing.T, p *program, rng *rand.Rand, seed uint64) {
	reach := p.reach
	p.close(false)
	c := newChecker(t, p, core.Options{Clock: evc.Vector, AnyLockOrder: true, Turn: 1 + rng.IntN(20)}, fmt.Sprintf("program %d, locks in any order", seed))
	c.withLocks = reach
	c.run(rng)
	p.reach = reach
}

// TestMissingSignal: a replay in which signals are missing comes to an end, and says
// who waits.
func TestMissingSignal(t *testing.T) {
	missing := 0
	for seed := range uint64(400) {
		p := generate(seed)
		wait, to := p.firstWait()
		if wait == nil {
			continue
		}
		missing++
		from := p.call(wait, "from")
		p.traces[from] = slices.DeleteFunc(p.traces[from], func(ev trace.Event) bool {
			c := ev.Call
			return c != nil && (c.Fn.Name == "toy_signal" || c.Fn.Name == "other_send") && p.call(c, "to") == to &&
				p.call(c, "tag") == p.call(wait, "tag")
		})
		rng := rand.New(rand.NewPCG(seed, 5))
		m, err := core.NewMachine(p.streams(rng, regions.Part{}), core.Options{Clock: evc.Auto, Phase: phase(rng)}, models()...)
		require.NoError(t, err)
		phases := 0
		replay(t, m, func(*regions.Region) { phases++ })
		require.LessOrEqual(t, phases, len(p.before))
		require.True(t, slices.ContainsFunc(m.Problems(), func(problem core.Problem) bool {
			return problem.Kind == core.Unmatched && slices.Contains(problem.Ranks, int(to))
		}), "program %d: %v\n%s", seed, m.Problems(), p)
	}
	require.Greater(t, missing, 200)
}

// firstWait returns the first wait of the first strand that has one, and its rank.
func (p *program) firstWait() (wait *trace.Call, rank int64) {
	for rank, all := range p.traces {
		for _, ev := range all {
			if c := ev.Call; c != nil && c.Fn.Name == "toy_wait" {
				return c, int64(rank)
			}
		}
	}
	return nil, 0
}

// call returns an argument of a call.
func (p *program) call(c *trace.Call, arg string) int64 { return c.Args[c.Fn.Arg(arg)].Int }

// checker compares the regions of one replay with the graph of the program.
type checker struct {
	*testing.T
	p         *program
	opts      core.Options
	what      string
	withLocks []nodeSet // the order of locks included, where the replay leaves it out

	found   map[[2]int]bool // pairs of accesses that were found to be concurrent
	present []bool
	weights []int // of the phases
	stats   core.Stats
	phases  int
	ordered int // pairs
	series  int // with several accesses
}

func newChecker(t *testing.T, p *program, opts core.Options, what string) *checker {
	return &checker{T: t, p: p, opts: opts, what: what, found: map[[2]int]bool{}, present: make([]bool, len(p.accesses))}
}

// run replays the program, and compares.
func (c *checker) run(rng *rand.Rand) {
	c.Helper()
	m, err := core.NewMachine(c.p.streams(rng, c.opts.Part), c.opts, models()...)
	require.NoError(c, err)
	index := 0
	replay(c, m, func(r *regions.Region) {
		c.weights = append(c.weights, r.Weight)
		if c.phases++; r.Index > index {
			index++
		}
		if r.Index != index {
			c.fail("region %d comes after region %d", r.Index, index)
		}
		c.region(r)
	})
	c.stats = m.Stats()
	c.stats.Spilled = regions.SpillStats{}
	c.checkStats(m)
	if index != c.p.regions-1 {
		c.fail("%d regions instead of %d", index+1, c.p.regions)
	}
	c.missing()
}

func (c *checker) checkStats(m *core.Machine) {
	problems := m.Problems()
	if len(problems) > 0 != c.p.cut {
		c.fail("problems: %v", problems)
	}
	for _, problem := range problems {
		if problem.Kind != core.Unmatched {
			c.fail("problem: %v", problem)
		}
	}
	if s := c.stats; s.Calls != c.p.calls || s.Loads != c.p.loads || s.Stores != c.p.stores {
		c.fail("%d calls, %d loads, %d stores instead of %d, %d, %d", s.Calls, s.Loads, s.Stores, c.p.calls, c.p.loads, c.p.stores)
	}
}

func (c *checker) fail(format string, args ...any) {
	c.Helper()
	c.Fatalf("%s with %+v:\n%s\n%s", c.what, c.opts, fmt.Sprintf(format, args...), c.p)
}

// region compares all pairs of accesses that a region has together.
func (c *checker) region(r *regions.Region) {
	all := accesses(c, r)
	numbers := make([]int, len(all))
	for i, a := range all {
		n, ok := c.p.at[place{a.Rank, a.Call.Pos, a.Role, a.Owner, a.Base}]
		if !ok {
			c.fail("there is no such access: %+v", a)
		}
		numbers[i] = n
		c.present[n] = true
		c.compare(a, &c.p.accesses[n])
	}
	for i, a := range all {
		for k, b := range all[:i] {
			c.pair(r, a, b, numbers[i], numbers[k])
		}
	}
	c.checkSeries(r, all)
}

// compare compares an access with what it has to be.
func (c *checker) compare(a *regions.Access, want *access) {
	lo, hi := a.Layout.Bounds(a.Base)
	if wlo, whi, n := want.bounds(); lo != wlo || hi != whi || a.Layout.Bytes() != n {
		c.fail("%s has %d bytes in [%#x, %#x) instead of %d in [%#x, %#x)", want, a.Layout.Bytes(), lo, hi, n, wlo, whi)
	}
	var locks []string
	for _, l := range a.Locks.Held() {
		locks = append(locks, lockName(l.Target, l.Exclusive, l.Void))
	}
	if !slices.Equal(locks, want.locks) && !(want.either && locks == nil) {
		c.fail("%s has locks %v instead of %v", want, locks, want.locks)
	}
}

// pair compares how two accesses are ordered.
func (c *checker) pair(r *regions.Region, a, b *regions.Access, i, k int) {
	if i == k {
		c.fail("phase %d has %s twice", c.phases, &c.p.accesses[i])
	}
	x, y := &c.p.accesses[i], &c.p.accesses[k]
	ab, ba := r.Precedes(a, b), r.Precedes(b, a)
	wantAB, wantBA := c.p.precedes(x, y), c.p.precedes(y, x)
	switch {
	case a.Old && b.Old:
		return // they were compared before
	case x.rank == y.rank && x.pos == y.pos:
		// What a call does before and after it waits is one moment to regions.
		ab, wantAB = ab || ba, wantAB || wantBA
		ba, wantBA = ab, wantAB
	}
	if ab != wantAB || ba != wantBA {
		c.fail("phase %d: %s precedes %s: %t instead of %t; and the other way round: %t instead of %t", c.phases, x, y, ab, wantAB, ba, wantBA)
	}
	if ab || ba {
		c.ordered++
		return
	}
	key := [2]int{min(i, k), max(i, k)}
	if c.found[key] {
		c.fail("phase %d: %s and %s are concurrent once more", c.phases, x, y)
	}
	c.found[key] = true
	if first, then := r.LockOrder(a, b); c.withLocks != nil {
		without := c.p.reach
		c.p.reach = c.withLocks
		want := c.p.precedes(x, y) || c.p.precedes(y, x)
		c.p.reach = without
		if (first != nil) != want || (then != nil) != want {
			c.fail("%s and %s are ordered by locks %v and %v; that they are: %t", x, y, first, then, want)
		}
	}
}

// missing: accesses that are concurrent, and that may share bytes, have to be
// together in some phase. One that says the same as another may be left out for that.
func (c *checker) missing() {
	p := c.p
	part := make([]bool, len(p.accesses))
	told := make([]int, len(p.accesses))
	for i := range p.accesses {
		a := &p.accesses[i]
		part[i] = a.in(c.opts.Part)
		told[i] = i
		if part[i] && !c.present[i] {
			told[i] = slices.IndexFunc(p.accesses[:i], func(b access) bool { return a.repeats(b, p.traces) })
			if told[i] < 0 || !c.present[told[i]] {
				c.fail("%s is missing", a)
				continue
			}
		}
		for k := range i {
			b := &p.accesses[k]
			if part[i] && part[k] && a.near(b) && !p.precedes(a, b) && !p.precedes(b, a) && told[i] != told[k] &&
				!c.found[[2]int{min(told[k], told[i]), max(told[k], told[i])}] {
				c.fail("%s and %s are concurrent, and never together", b, a)
			}
		}
	}
}

// checkSeries: series say the same as their accesses one by one.
func (c *checker) checkSeries(r *regions.Region, all []*regions.Access) {
	var room regions.Scratch
	for owner := range int32(len(r.Segments)) {
		list, err := r.Series(owner, regions.Slice{}, &room)
		require.NoError(c, err)
		for i := range list {
			s := &list[i]
			if s.Len() > 1 {
				c.series++
			}
			for k := range s.Len() {
				b := s.Access(k)
				for _, a := range all {
					lo, hi := s.Concurrent(a, 0)
					if in := lo <= k && k < hi; in != (!r.Precedes(a, b) && !r.Precedes(b, a)) {
						c.fail("access %d of the series of %+v is concurrent with %+v: %t", k, s.Like(), a, in)
					}
				}
			}
		}
	}
}

// stream gives the events of one strand.
type stream struct {
	events
	rng *rand.Rand // nil: accesses come one by one
}

// ReadStretch gives some of the accesses that come next at once.
func (s *stream) ReadStretch() (*trace.Stretch, uint32) {
	var st trace.Stretch
	for s.rng != nil && len(s.events) > 0 && s.events[0].Kind == trace.KindAccess {
		a := &s.events[0].Access
		if n := len(st.Rows); n == 0 || !follows(&st.Rows[n-1], a) {
			st.Rows = append(st.Rows, trace.RowsOf(a, st.Len))
		} else {
			row := &st.Rows[n-1]
			row.Pitch, row.Every = int64(a.Addr-row.Addr)/int64(row.N), 1
			row.N++
		}
		lo, hi := st.Rows[len(st.Rows)-1].Bounds()
		if st.Len == 0 {
			st.Lo = lo
		}
		st.Lo, st.Hi = min(st.Lo, lo), max(st.Hi, hi)
		if a.Store {
			st.Stores += a.Count
		} else {
			st.Loads += a.Count
		}
		st.Len++
		s.events = s.events[1:]
		if s.rng.IntN(5) == 0 {
			break
		}
	}
	if st.Len == 0 {
		return nil, 0
	}
	return &st, 0
}

// follows reports whether an access can be the next of a row.
func follows(r *trace.Rows, a *trace.Access) bool {
	last := r.Access(int(r.N) - 1)
	if last.Stride != a.Stride || last.Count != a.Count || last.Store != a.Store {
		return false
	}
	return r.N == 1 || int64(a.Addr-last.Addr) == r.Pitch
}

// streams returns the traces of a program for a replay: some give several accesses
// at once, some pass over those that a part of memory has nothing of.
func (p *program) streams(rng *rand.Rand, part regions.Part) (all []core.Stream) {
	for rank, events := range p.traces {
		s := &stream{events: slices.Clone(events)}
		if rng.IntN(2) == 0 {
			s.rng = rng
		}
		if !p.aliased[rank] && rng.IntN(2) == 0 {
			s.events = passOver(s.events, int32(rank), part)
		}
		all = append(all, s)
	}
	return all
}

func passOver(all events, rank int32, part regions.Part) (out events) {
	for _, ev := range all {
		a := &ev.Access
		lo, hi := a.Addr, a.Addr+uint64(a.Stride)*(a.Count-1)+uint64(a.Size)
		if ev.Kind != trace.KindAccess || part.Wants(rank, lo, hi) {
			out = append(out, ev)
			continue
		}
		if n := len(out); n == 0 || out[n-1].Kind != trace.KindSkipped {
			out = append(out, trace.Event{Kind: trace.KindSkipped})
		}
		x := &out[len(out)-1].Skipped
		x.Accesses++
		if a.Store {
			x.Stores += a.Count
		} else {
			x.Loads += a.Count
		}
	}
	return out
}
