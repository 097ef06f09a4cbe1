package oracle

import "slices"

// Predicted returns the pairs of places that would race as errors had locks
// been granted in another order, without those that do so anyway, sorted:
// the order of locks is left out of the graph, and everything else stays.
// Errors are those of Races.
func (p *Program) Predicted() ([]Pair, error) {
	races, err := p.Races()
	if err != nil {
		return nil, err
	}
	o, err := buildOrder(p, false)
	if err != nil {
		return nil, err
	}
	out := []Pair{}
	for _, q := range o.conflicts() {
		if q.Kind == Error && !slices.Contains(races, q.Pair) && !slices.Contains(out, q.Pair) {
			out = append(out, q.Pair)
		}
	}
	slices.SortFunc(out, comparePairs)
	return out, nil
}
