package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// curve is a panel of a picture.
type curve struct {
	title  string
	figure func(liveMoment) float64
	limit  float64 // drawn as a line; 0: none
}

// draw draws what a run took over time.
func (r *endlessRun) draw(out io.Writer) error {
	const width, height, left, top, gap = 720, 110, 70, 26, 44
	curves := []curve{
		{"traces written, GiB", func(m liveMoment) float64 { return m.written / 1024 }, 0},
		{"traces on disk, MiB (the line: --max-disk)", func(m liveMoment) float64 { return m.disk }, 256},
		{"memory of the analysis, MiB", func(m liveMoment) float64 { return m.memory }, 0},
		{"behind the program, s", func(m liveMoment) float64 { return m.behind }, 0},
	}
	w := bufio.NewWriter(out)
	all := len(curves)*(height+gap) + top + 10
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n", left+width+30, all)
	fmt.Fprintf(w, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", left+width+30, all)
	end := 1.0
	for _, m := range r.moments {
		end = max(end, m.at)
	}
	for i, c := range curves {
		y0, most := top+i*(height+gap), c.limit*1.05
		for _, m := range r.moments {
			most = max(most, c.figure(m))
		}
		most = niceAbove(most)
		x := func(v float64) float64 { return left + v/end*width }
		y := func(v float64) float64 { return float64(y0+height) - v/most*height }
		fmt.Fprintf(w, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", left, y0-8, c.title)
		for k := range 3 {
			v := most * float64(k) / 2
			fmt.Fprintf(w, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#555">%.4g</text>`+"\n", left, y(v), width, left-6, y(v)+4, v)
		}
		step := niceAbove(end / 8)
		for v := 0.0; v <= end; v += step {
			fmt.Fprintf(w, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%g s</text>`+"\n", x(v), y0+height+16, v)
		}
		if c.limit > 0 {
			fmt.Fprintf(w, `<path d="M%d %.1fh%d" stroke="#b00" stroke-dasharray="4 3"/>`+"\n", left, y(c.limit), width)
		}
		fmt.Fprint(w, `<path fill="none" stroke="#05a" stroke-width="1.2" d="`)
		for k, m := range r.thinned(c.figure, 2*width) {
			letter := "L"
			if k == 0 {
				letter = "M"
			}
			fmt.Fprintf(w, "%s%.1f %.1f", letter, x(m.at), y(c.figure(m)))
		}
		fmt.Fprintln(w, `"/>`)
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// thinned returns at most so many moments, of those beside one another the one with the
// highest figure.
func (r *endlessRun) thinned(figure func(liveMoment) float64, most int) []liveMoment {
	each := (len(r.moments) + most - 1) / most
	if each <= 1 {
		return r.moments
	}
	var out []liveMoment
	for i := 0; i < len(r.moments); i += each {
		best := r.moments[i]
		for _, m := range r.moments[i:min(i+each, len(r.moments))] {
			if figure(m) > figure(best) {
				best = m
			}
		}
		out = append(out, best)
	}
	return out
}

// niceAbove returns a number that is easy to read, at least v.
func niceAbove(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, k := range []float64{1, 2, 3, 4, 5, 6, 8, 10} {
		if k*unit >= v {
			return k * unit
		}
	}
	return 10 * unit
}
