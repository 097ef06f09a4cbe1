package experiments

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Table is figures in rows; each has a value for each column.
type Table struct {
	Name    string // of its file, without an ending
	Columns []string
	Rows    [][]string
}

// Plot is a picture of figures.
type Plot struct {
	Name   string // of its file, without an ending
	Title  string
	X, Y   string // what the axes show
	Series []Series
}

// Series is one line or cloud of points in a plot.
type Series struct {
	Name   string
	Dots   bool // not joined by a line
	Points []Point
}

// Point is a place in a plot.
type Point struct{ X, Y float64 }

func decimal(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// Write stores tables as NAME.csv and plots as NAME.svg in a directory, which it
// makes, and returns their paths. Files of these names are replaced.
func Write(dir string, tables []Table, plots []Plot) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var paths []string
	write := func(name string, to func(io.Writer) error) error {
		path := filepath.Join(dir, name)
		paths = append(paths, path)
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := to(f); err != nil {
			f.Close()
			return fmt.Errorf("%s: %w", path, err)
		}
		return f.Close()
	}
	for _, t := range tables {
		if err := write(t.Name+".csv", t.WriteCSV); err != nil {
			return nil, err
		}
	}
	for _, p := range plots {
		if err := write(p.Name+".svg", p.WriteSVG); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// WriteCSV writes a table as comma-separated values (RFC 4180), the names of
// the columns first.
func (t Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Columns); err != nil {
		return err
	}
	return c.WriteAll(t.Rows)
}

// WriteText writes a table for people.
func (t Table) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for _, cell := range row {
			fmt.Fprintf(tw, "%s\t", cell)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// WriteSVG draws a plot.
func (p Plot) WriteSVG(w io.Writer) error {
	d := plot.New()
	d.Title.Text, d.X.Label.Text, d.Y.Label.Text = p.Title, p.X, p.Y
	d.X.Min, d.Y.Min = 0, 0
	d.Legend.Top, d.Legend.Left = true, true
	d.Add(plotter.NewGrid())
	for i, s := range p.Series {
		if err := s.add(d, i, len(p.Series) > 1); err != nil {
			return err
		}
	}
	canvas := vgsvg.New(16*vg.Centimeter, 11*vg.Centimeter)
	d.Draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

// add draws a series in its colour, with an entry in the legend.
func (s Series) add(d *plot.Plot, i int, legend bool) error {
	points := make(plotter.XYs, len(s.Points))
	for i, p := range s.Points {
		points[i] = plotter.XY{X: p.X, Y: p.Y}
	}
	scatter, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: plotutil.Color(i), Radius: vg.Points(2.5), Shape: plotutil.Shape(i)}
	if s.Dots {
		scatter.Radius, scatter.Shape = vg.Points(0.7), draw.CircleGlyph{}
		d.Add(scatter)
		if legend {
			d.Legend.Add(s.Name, scatter)
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
		d.Legend.Add(s.Name, line, scatter)
	}
	return nil
}
