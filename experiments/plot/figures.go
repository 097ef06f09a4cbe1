package main

import "fmt"

// figure is a plot and the table that it is drawn from.
type figure struct {
	name  string // of the plot's file, without an ending
	table string
	plot  func(*table) (*picture, error)
}

// picture is a plot of figures.
type picture struct {
	title  string
	x, y   string // what the axes show
	series []series
}

// series is one line or cloud of points in a plot.
type series struct {
	name   string
	dots   bool // not joined by a line
	points []point
}

// point is a place in a plot.
type point struct{ x, y float64 }

func figures() []figure {
	out := []figure{
		{"growth-figure3", "growth-figure3", overflow},
		{"growth-figure7", "growth-figure7", overflowByShare},
		{"scale-time", "scale", scaled("wall_s", "Time of an analysis", "seconds")},
		{"scale-cpu", "scale", scaled("cpu_s", "Processor time of an analysis", "seconds, all threads")},
		{"scale-memory", "scale", scaled("peak_mib", "Memory of an analysis", "MiB, peak")},
	}
	for n := 4; n <= 6; n++ {
		name := fmt.Sprintf("growth-figure%d", n)
		out = append(out, figure{name, name, sizes})
	}
	return out
}

const overflowTitle = "Events until an encoded clock has 32n bits"

// overflow is figure 3: events by number of processes.
func overflow(t *table) (*picture, error) {
	all, err := t.series("", "processes", "events", 1)
	if err != nil {
		return nil, err
	}
	return &picture{title: overflowTitle, x: "processes n", y: "events", series: all}, nil
}

// overflowByShare is figure 7: events by share of internal events, a line for each
// number of processes.
func overflowByShare(t *table) (*picture, error) {
	all, err := t.series("processes", "internal_share", "events", 100)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].name = "n = " + all[i].name
	}
	return &picture{title: overflowTitle, x: "internal events, % of all", y: "events", series: all}, nil
}

// sizes is one of figures 4 to 6: sizes of timestamps in the order of events.
func sizes(t *table) (*picture, error) {
	all, err := t.series("processes", "event", "bits", 1)
	if err != nil {
		return nil, err
	}
	n := all[0].name
	for i := range all {
		all[i].dots = true
	}
	return &picture{title: "Size of encoded clocks, n = " + n, x: "events", y: "bits", series: all}, nil
}

// scaled is what an analysis takes by number of processes, a line for each clock.
func scaled(column, title, y string) func(*table) (*picture, error) {
	return func(t *table) (*picture, error) {
		all, err := t.series("clock", "processes", column, 1)
		if err != nil {
			return nil, err
		}
		patterns, err := t.texts("pattern")
		if err != nil {
			return nil, err
		}
		return &picture{title: title + ", pattern " + patterns[0], x: "processes", y: y, series: all}, nil
	}
}

// series returns a line for each text of a column, in the order in which they
// come first, or one line where the column is "". Values of x are multiplied.
func (t *table) series(by, x, y string, times float64) ([]series, error) {
	names := make([]string, len(t.rows))
	if by != "" {
		var err error
		if names, err = t.texts(by); err != nil {
			return nil, err
		}
	}
	xs, err := t.numbers(x)
	if err != nil {
		return nil, err
	}
	ys, err := t.numbers(y)
	if err != nil {
		return nil, err
	}
	var out []series
	at := map[string]int{}
	for i, name := range names {
		k, ok := at[name]
		if !ok {
			k = len(out)
			at[name] = k
			out = append(out, series{name: name})
		}
		out[k].points = append(out[k].points, point{times * xs[i], ys[i]})
	}
	return out, nil
}
