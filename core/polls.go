package core

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// A process that polls makes a round of calls again and again: it fetches a word, completes that,
// and finds the same. Between rounds it learns nothing and gives nothing to others, so that what
// is ordered with the first of them is so with the others too; by the times of the calls the last
// one says most of when the word still held that. The rounds between these are passed over.

// mostInRound is how many calls a round has at most.
const mostInRound = 12

// polling is the last calls of a process, as long as it may be polling.
type polling struct {
	last  [2 * mostInRound]trace.Call // copies
	n     int                         // how many there were; the last one has number n-1
	fetch int                         // how many there were with the last that fetches
	room  [mostInRound]*trace.Call

	// What was said of the last round that was asked about, by its calls' numbers.
	from, behind int
	operations   uint64
}

// did notes a call that is replayed; fetches: a round may begin with it.
func (p *polling) did(c *trace.Call, fetches bool) {
	if fetches {
		p.fetch = p.n + 1
	} else if p.n == 0 || p.n-p.fetch >= mostInRound {
		p.stop()
		return
	}
	at := &p.last[p.n%len(p.last)]
	args := slices.Grow(at.Args[:0], len(c.Args))[:len(c.Args)]
	for i := range args {
		args[i].Int, args[i].List = c.Args[i].Int, append(args[i].List[:0], c.Args[i].List...)
	}
	*at = *c
	at.Args = args
	p.n++
}

// round returns the last round of calls that began with one like this, of the function; nil: there is
// none.
func (p *polling) round(f *function, c *trace.Call) []*trace.Call {
	for n := 1; n <= min(p.n, mostInRound); n++ {
		first := &p.last[(p.n-n)%len(p.last)]
		if !f.alike(first, c, f.numberOf(c)-f.numberOf(first)) {
			continue
		}
		round := p.room[:n]
		for i := range round {
			round[i] = &p.last[(p.n-n+i)%len(p.last)]
		}
		return round
	}
	return nil
}

// polls notes a call that is about to be replayed, unless it begins a round that is passed over: then
// it reports true.
func (s *Strand) polls() bool {
	c := s.event.Call
	f := s.m.function(c.Fn)
	fetches := f.meaning != nil && f.meaning.Polls != nil
	if fetches && s.polling == nil {
		s.polling = &polling{}
	}
	if fetches && s.passRound(f, c) {
		return true
	}
	if s.polling != nil {
		s.polling.did(s.event.Call, fetches)
	}
	return false
}

// stopPolling notes that the process does something else than call.
func (s *Strand) stopPolling() {
	if s.polling != nil {
		s.polling.stop()
	}
}

func (p *polling) stop() { p.n, p.behind = 0, 0 }

// Arguments in which the tracer numbers what fetches, and locks.
var (
	argFetch   = NewArgName("number")
	argFetched = NewArgName("numbers")
	argTicket  = NewArgName("ticket")
)

// numberOf returns the number of what a call of the function fetches; 0: it has none.
func (f *function) numberOf(c *trace.Call) int64 {
	if i := f.at[argFetch]; i >= 0 && int(i) < len(c.Args) {
		return c.Args[i].Int
	}
	return 0
}

// alike reports whether two calls, one of the function, are the same but for their times, and numbers
// of the tracer that differ by so many.
func (f *function) alike(a, b *trace.Call, shift int64) bool {
	if a.Fn != b.Fn || a.Stack != b.Stack || a.Returned != b.Returned || a.Failed != b.Failed || len(a.Args) != len(b.Args) {
		return false
	}
	for i := range a.Args {
		x, y := &a.Args[i], &b.Args[i]
		by := int64(0)
		if i == int(f.at[argFetch]) && x.Int != 0 || i == int(f.at[argFetched]) {
			by = shift
		}
		if x.Int+by != y.Int && !f.fn.Args[i].Kind.IsList() && i != int(f.at[argTicket]) || len(x.List) != len(y.List) {
			return false
		}
		for k := range x.List {
			if x.List[k]+by != y.List[k] {
				return false
			}
		}
	}
	return true
}

// passRound passes over the round of polls that begins with the call that was read, where the
// process has just made one that found the same, and makes another one behind it.
func (s *Strand) passRound(f *function, c *trace.Call) bool {
	round := s.polling.round(f, c)
	if round == nil {
		return false
	}
	p := s.polling
	if from := p.n - len(round); p.from != from || p.behind != p.n {
		p.from, p.behind, p.operations = from, p.n, f.meaning.Polls(s, round)
	}
	if p.operations == 0 {
		return false
	}
	c = keep(c)
	s.event.Call = c
	shift := f.numberOf(c) - f.numberOf(round[0])
	for i := 1; i < 2*len(round); i++ {
		ev := s.ahead.peek(i - 1)
		if ev == nil || ev.Kind != trace.KindCall || ev.Strand != s.event.Strand {
			return false
		}
		if i == len(round) { // the one behind
			shift = f.numberOf(ev.Call) - f.numberOf(round[0])
		}
		if x := round[i%len(round)]; !s.m.function(x.Fn).alike(x, ev.Call, shift) {
			return false
		}
	}
	n := len(round)
	for i := 1; i < n; i++ {
		c := s.ahead.peek(i - 1).Call
		if of := s.m.function(c.Fn).meaning; of != nil && of.Passed != nil {
			of.Passed(s, c)
		}
	}
	s.ahead.drop(n - 1)
	s.pos += uint64(n)
	s.callsBefore += uint64(n)
	s.m.stats.Calls += uint64(n)
	s.m.stats.Operations += p.operations
	return true
}
