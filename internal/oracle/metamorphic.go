package oracle

import "slices"

// PermuteRanks returns the same program with every process r renamed to
// perm[r]; the ranks in communicators other than MPI_COMM_WORLD stay. Its races
// are those of p with the places renamed by Renamed.
func (p *Program) PermuteRanks(perm []int) *Program {
	q := p.clone()
	for r, n := range perm {
		q.Base[n], q.Size[n] = p.Base[r], p.Size[r]
	}
	rename := func(ranks []int) []int {
		out := make([]int, len(ranks))
		for i, r := range ranks {
			out[i] = perm[r]
		}
		return out
	}
	for i := range q.Comms {
		if i > 0 {
			q.Comms[i].Ranks = rename(p.Comms[i].Ranks)
		}
	}
	for i, w := range p.Wins {
		w.Off, w.Size, w.Unit = slices.Clone(w.Off), slices.Clone(w.Size), slices.Clone(w.Unit)
		for r, n := range perm {
			w.Off[n], w.Size[n], w.Unit[n] = p.Wins[i].Off[r], p.Wins[i].Size[r], p.Wins[i].Unit[r]
		}
		q.Wins[i] = w
	}
	for i := range q.Calls {
		c := &q.Calls[i]
		c.Rank, c.Group = perm[c.Rank], rename(c.Group)
		c.Peer, c.Source = perm[c.Peer], perm[c.Source]
	}
	return q
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
		if c.Fn == "MPI_Put" && c.Origin.Count > 1 && c.Origin.Type < pairs && c.TType < pairs &&
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
