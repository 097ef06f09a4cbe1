package main

import (
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// writeSVG draws a plot.
func (p *picture) writeSVG(w io.Writer) error {
	d := plot.New()
	d.Title.Text, d.X.Label.Text, d.Y.Label.Text = p.title, p.x, p.y
	d.X.Min, d.Y.Min = 0, 0
	d.Legend.Top, d.Legend.Left = true, true
	d.Add(plotter.NewGrid())
	for i, s := range p.series {
		if err := s.add(d, i, len(p.series) > 1); err != nil {
			return err
		}
	}
	canvas := vgsvg.New(16*vg.Centimeter, 11*vg.Centimeter)
	d.Draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

// add draws a series in its colour, with an entry in the legend.
func (s series) add(d *plot.Plot, i int, legend bool) error {
	points := make(plotter.XYs, len(s.points))
	for i, p := range s.points {
		points[i] = plotter.XY{X: p.x, Y: p.y}
	}
	scatter, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: plotutil.Color(i), Radius: vg.Points(2.5), Shape: plotutil.Shape(i)}
	if s.dots {
		scatter.Radius, scatter.Shape = vg.Points(0.7), draw.CircleGlyph{}
		d.Add(scatter)
		if legend {
			d.Legend.Add(s.name, scatter)
		}
		return nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = plotutil.Color(i), vg.Points(1)
	d.Add(line, scatter)
	if legend {
		d.Legend.Add(s.name, line, scatter)
	}
	return nil
}
