package oracle

import "slices"

// PermuteRanks returns the same program with every process r renamed to
// perm[r]. What was on MPI_COMM_WORLD is on a communicator with the same
// processes in the same order, so that all ranks in communicators stay. Its
// races are those of p with the places renamed by Renamed.
func (p *Program) PermuteRanks(perm []int) *Program {
	q := p.clone()
	for r, n := range perm {
		q.Base[n], q.Size[n] = p.Base[r], p.Size[r]
	}
	rename := func(r int) int {
		if r < 0 {
			return r
		}
		return perm[r]
	}
	all := func(ranks []int) []int {
		if ranks == nil {
			return nil
		}
		out := make([]int, len(ranks))
		for i, r := range ranks {
			out[i] = rename(r)
		}
		return out
	}
	each := func(lists [][]int) [][]int {
		out := make([][]int, len(lists))
		for i, l := range lists {
			out[i] = all(l)
		}
		return out
	}
	for i := 1; i < len(q.Comms); i++ {
		c := &q.Comms[i]
		c.Ranks, c.Remote = all(c.Ranks), all(c.Remote)
		if c.Sources != nil {
			c.Sources, c.Dests = each(c.Sources), each(c.Dests)
		}
	}
	world := len(q.Comms)
	q.Comms = append(q.Comms, Comm{Ranks: all(p.Comms[0].Ranks)})
	for i := range p.Wins {
		if q.Wins[i] = p.Wins[i].renamed(perm); q.Wins[i].Comm == 0 {
			q.Wins[i].Comm = world
		}
	}
	of := func(o int) int {
		if o == 0 {
			return 0
		}
		return perm[o-1] + 1
	}
	for i := range q.Calls {
		c := &q.Calls[i]
		if c.Comm == 0 {
			c.Comm = world
		}
		c.Rank, c.Group = perm[c.Rank], all(c.Group)
		c.Peer, c.Source = rename(c.Peer), rename(c.Source)
		c.Of, c.Origin.Of, c.Result.Of, c.Compare.Of = of(c.Of), of(c.Origin.Of), of(c.Result.Of), of(c.Compare.Of)
	}
	return q
}

// renamed returns a window with its processes renamed.
func (w Window) renamed(perm []int) Window {
	out := w
	out.Off, out.Size, out.Unit = slices.Clone(w.Off), slices.Clone(w.Size), slices.Clone(w.Unit)
	if w.At != nil {
		out.At = make([][]int, len(perm))
	}
	for r, n := range perm {
		out.Off[n], out.Size[n], out.Unit[n] = w.Off[r], w.Size[r], w.Unit[r]
		if w.At == nil {
			continue
		}
		out.At[n] = make([]int, len(perm))
		for s, m := range perm {
			out.At[n][m] = w.At[r][s]
		}
	}
	return out
}

// Renamed returns pairs with the processes of their places renamed as
// PermuteRanks does, sorted as Races sorts them.
func Renamed(pairs []Pair, perm []int) []Pair {
	out := make([]Pair, len(pairs))
	for i, q := range pairs {
		q.A.Rank, q.B.Rank = perm[q.A.Rank], perm[q.B.Rank]
		if comparePlaces(q.A, q.B) > 0 {
			q.A, q.B = q.B, q.A
		}
		out[i] = q
	}
	slices.SortFunc(out, comparePairs)
	return out
}

// MoveMemory returns the same program with the memory of each process at
// another address. Its races are those of p.
func (p *Program) MoveMemory(base []uint64) *Program {
	q := p.clone()
	q.Base = slices.Clone(base)
	return q
}

// Splittable returns the indices of the calls that SplitPut takes.
func (p *Program) Splittable() []int {
	var out []int
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.Fn == "MPI_Put" && c.Peer != ProcNull && c.Origin.Count > 1 && c.Origin.Type < pairs && c.TType < pairs &&
			p.Types[c.TType].Bytes%p.Wins[c.Win].Unit[c.Peer] == 0 {
			out = append(out, i)
		}
	}
	return out
}

// SplitPut returns the same program with the put of that index in
// Program.Calls, one of Splittable, made in two parts at the same source place.
// Its races are those of p.
func (p *Program) SplitPut(i int) *Program {
	q := p.clone()
	a, b := p.Calls[i], p.Calls[i]
	size := p.Types[a.TType].Bytes
	a.Origin.Count, a.TCount = 1, 1
	b.Origin.Count, b.TCount = b.Origin.Count-1, b.TCount-1
	b.Origin.Off += size
	b.Disp += size / p.Wins[a.Win].Unit[a.Peer]
	q.Calls = slices.Replace(q.Calls, i, i+1, a, b)
	return q
}

// SplitRun returns the same program with the load or store of that index in
// Program.Calls made one element at a time, at the same source place and in the
// opposite order. Its races are those of p.
func (p *Program) SplitRun(i int) *Program {
	q := p.clone()
	var parts []Call
	for k := p.Calls[i].Count - 1; k >= 0; k-- {
		c := p.Calls[i]
		c.Off, c.Count, c.Stride = c.Off+k*c.Stride, 1, 0
		parts = append(parts, c)
	}
	q.Calls = slices.Replace(q.Calls, i, i+1, parts...)
	return q
}

// BarriersAsMessages returns the same program with every MPI_Barrier of an
// intracommunicator made of messages: everybody sends to the first process, and
// gets an answer once all have done so. Its races are those of p.
func (p *Program) BarriersAsMessages() *Program {
	type meeting struct{ comm, n int }
	var seen []map[int]int
	for range p.Ranks {
		seen = append(seen, map[int]int{})
	}
	waiting := map[meeting][]Call{}
	q := p.clone()
	q.Calls = nil
	for _, c := range p.Calls {
		ranks := p.Comms[c.Comm].Ranks
		if c.Fn != "MPI_Barrier" || p.Comms[c.Comm].Remote != nil {
			q.Calls = append(q.Calls, c)
			continue
		}
		at := meeting{c.Comm, seen[c.Rank][c.Comm]}
		seen[c.Rank][c.Comm]++
		waiting[at] = append(waiting[at], c)
		if c.Rank != ranks[0] {
			q.Calls = append(q.Calls, c.word("MPI_Send", ranks[0]), c.word("MPI_Recv", ranks[0]))
		}
		if len(waiting[at]) < len(ranks) {
			continue
		}
		// The last has come: the first process goes through all that it does.
		for _, fn := range []string{"MPI_Recv", "MPI_Send"} {
			for _, d := range waiting[at] {
				if d.Rank == ranks[0] {
					for _, r := range ranks[1:] {
						q.Calls = append(q.Calls, d.word(fn, r))
					}
				}
			}
		}
	}
	return q
}

// word is an empty message to or from another process, in the place of a
// barrier.
func (c Call) word(fn string, other int) Call {
	const tag = 1 << 10
	return Call{Rank: c.Rank, Line: c.Line, Fn: fn, Unit: c.Unit, Comm: c.Comm, Peer: other, Source: other, Tag: tag, Strand: c.Strand}
}
