package lattice

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"
	"unicode/utf8"
)

// Measures of a drawing, in units of SVG's (pixels).
const (
	margin     = 16
	header     = 74 // title, description and the names of lines
	textRow    = 17 // of an access above the names
	row        = 30 // height of a layer
	tightRow   = 20
	charWidth  = 7 // of a label, about
	titleWidth = 9
	widest     = 420
	narrowest  = 110
	tight      = 34 // width of a column without labels
	labelled   = 12 // lines, up to which events have labels

	fewAccesses = 4 // that are named above the drawing
	legendRow   = 18
)

// WriteSVG draws the lattice: a column for each line, time from top to bottom,
// each event as far down as its Layer. Of more than a dozen lines the events
// have no labels but tooltips. The same lattice gives the same bytes.
func (l *Lattice) WriteSVG(w io.Writer) error {
	d := newDrawing(l)
	b := bufio.NewWriter(w)
	d.w = b
	d.begin()
	d.lanes()
	d.pending()
	d.edges()
	d.missing()
	d.events()
	d.legend()
	b.WriteString("</svg>\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	return nil
}

// drawing is a picture under way.
type drawing struct {
	*Lattice
	w             *bufio.Writer
	labels        bool
	column        []int // left edges of the columns, and the right edge of the last
	row           int   // height of a layer
	first, last   []int // by line: layers of its first and last event
	kinds         []EdgeKind
	letters       map[int]string // by event: that of the access that begins there
	width, height int
	top           int // where the lines begin
}

func newDrawing(l *Lattice) *drawing {
	d := &drawing{Lattice: l, labels: len(l.Lines) <= labelled, row: row, letters: l.letters()}
	if !d.labels {
		d.row = tightRow
	}
	d.first, d.last = make([]int, len(l.Lines)), make([]int, len(l.Lines))
	wide, layers := make([]int, len(l.Lines)), 0
	for i := range l.Lines {
		d.first[i] = -1
		wide[i] = narrowest
	}
	for i := range l.Events {
		e := &l.Events[i]
		layers = max(layers, e.Layer+1)
		if e.Line == NoLine {
			continue
		}
		if d.first[e.Line] < 0 {
			d.first[e.Line] = e.Layer
		}
		d.last[e.Line] = e.Layer
		wide[e.Line] = max(wide[e.Line], min(widest, 36+charWidth*utf8.RuneCountInString(d.label(e))))
	}
	x := margin
	for i := range l.Lines {
		d.column = append(d.column, x)
		if d.labels {
			x += wide[i]
		} else {
			x += tight
		}
	}
	d.column = append(d.column, x)
	for _, k := range []EdgeKind{Message, Collective, Exposure, LockOrder, Declared, Value, Thread, Path} {
		if slices.ContainsFunc(l.Edges, func(e Edge) bool { return e.Kind == k }) {
			d.kinds = append(d.kinds, k)
		}
	}
	d.top = header + textRow*min(len(l.Accesses), fewAccesses)
	d.width = max(x+margin, 640, 2*margin+titleWidth*utf8.RuneCountInString(l.Title()))
	d.height = d.top + (layers+1)*d.row + legendRow*2 + margin
	return d
}

func (d *drawing) x(line int) int  { return d.column[line] + 14 }
func (d *drawing) y(layer int) int { return d.top + d.row + layer*d.row }

func (d *drawing) label(e *Event) string {
	text := e.Label()
	if p := e.Place.String(); p != "" && e.Part != Return {
		text += "  " + p
	}
	return text
}

// name is what stands beside an event, with the letter of the access that begins there.
func (d *drawing) name(i int) string {
	text := d.Events[i].Label()
	if letter := d.letters[i]; letter != "" {
		text = letter + ": " + text
	}
	return text
}

func (d *drawing) begin() {
	fmt.Fprintf(d.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="lattice-title lattice-desc">`+"\n",
		d.width, d.height, d.width, d.height)
	fmt.Fprintf(d.w, "<title id=\"lattice-title\">%s</title>\n<desc id=\"lattice-desc\">%s</desc>\n", escape(d.Title()), escape(d.Description()))
	fmt.Fprintf(d.w, "<style>%s</style>\n", svgStyle)
	d.w.WriteString("<defs>")
	for _, k := range d.kinds {
		fmt.Fprintf(d.w, `<marker id="to-%s" viewBox="0 0 8 8" refX="13" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="head %s" d="M0,0L8,4L0,8z"/></marker>`, k, k)
	}
	fmt.Fprintf(d.w, "</defs>\n<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", d.width, d.height)
	fmt.Fprintf(d.w, `<text class="title" x="%d" y="24">%s</text>`+"\n", margin, escape(d.Title()))
	fmt.Fprintf(d.w, `<text class="sub" x="%d" y="42">%s</text>`+"\n", margin, escape(d.counts()))
	for i, a := range d.Accesses[:min(len(d.Accesses), fewAccesses)] {
		y := 42 + (i+1)*textRow
		fmt.Fprintf(d.w, `<g class="access%s"><rect x="%d" y="%d" width="10" height="10"/></g><text class="sub" x="%d" y="%d">%s</text>`+"\n",
			a.Letter, margin, y-9, margin+16, y, escape(d.access(&a)))
	}
}

// lanes draws the lines of the processes, dashed where events are left out.
func (d *drawing) lanes() {
	last := make([]int, len(d.Lines)) // layer of the event before
	for i := range d.Lines {
		l := &d.Lines[i]
		name := l.Name()
		if !d.labels {
			name = fmt.Sprint(l.Rank)
			if l.Strand > 0 {
				name += fmt.Sprintf(".%d", l.Strand)
			}
		}
		fmt.Fprintf(d.w, `<text class="name" x="%d" y="%d">%s</text>`+"\n", d.x(i)-6, d.top-8, escape(name))
		if l.Before {
			d.lane(i, d.top, d.y(d.first[i]), true)
		}
		if l.After {
			d.lane(i, d.y(d.last[i]), d.y(d.last[i])+d.row*3/4, true)
		}
		last[i] = -1
	}
	for i := range d.Events {
		e := &d.Events[i]
		if e.Line == NoLine {
			continue
		}
		if n := last[e.Line]; n >= 0 {
			d.lane(e.Line, d.y(n), d.y(e.Layer), e.Gap)
		}
		last[e.Line] = e.Layer
	}
}

func (d *drawing) lane(line, from, to int, dashed bool) {
	class := "lane"
	if dashed {
		class += " gap"
	}
	fmt.Fprintf(d.w, `<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", class, d.x(line), from, d.x(line), to)
}

// pending draws how long the accesses of the findings last.
func (d *drawing) pending() {
	for _, a := range d.Accesses {
		if a.Done < 0 {
			continue
		}
		from, to := &d.Events[a.Event], &d.Events[a.Done]
		if from.Line == to.Line {
			fmt.Fprintf(d.w, `<rect class="pending access%s" x="%d" y="%d" width="14" height="%d" rx="7"><title>%s is pending</title></rect>`+"\n",
				a.Letter, d.x(from.Line)-7, d.y(from.Layer)-7, d.y(to.Layer)-d.y(from.Layer)+14, escape(a.Name))
		}
	}
}

// edges draws the dependences; a join is a bar across the lines that it joins.
func (d *drawing) edges() {
	left, right := map[int]int{}, map[int]int{}
	span := func(join, x int) {
		if _, ok := left[join]; !ok {
			left[join], right[join] = x, x
		}
		left[join], right[join] = min(left[join], x), max(right[join], x)
	}
	for _, x := range d.Edges {
		from, to := &d.Events[x.From], &d.Events[x.To]
		switch {
		case to.Line == NoLine:
			span(x.To, d.x(from.Line))
			fmt.Fprintf(d.w, `<line class="edge %s" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", x.Kind, d.x(from.Line), d.y(from.Layer), d.x(from.Line), d.y(to.Layer))
		case from.Line == NoLine:
			span(x.From, d.x(to.Line))
			fmt.Fprintf(d.w, `<line class="edge %s" x1="%d" y1="%d" x2="%d" y2="%d" marker-end="url(#to-%s)"/>`+"\n", x.Kind, d.x(to.Line), d.y(from.Layer), d.x(to.Line), d.y(to.Layer), x.Kind)
		default:
			fmt.Fprintf(d.w, `<path class="edge %s" d="%s" marker-end="url(#to-%s)"><title>%s</title></path>`+"\n", x.Kind, d.way(from, to), x.Kind, escape(x.title()))
		}
	}
	for i := range d.Events {
		if e := &d.Events[i]; e.Line == NoLine {
			fmt.Fprintf(d.w, `<line class="join" x1="%d" y1="%d" x2="%d" y2="%d"><title>%s</title></line>`+"\n",
				left[i]-6, d.y(e.Layer), right[i]+6, d.y(e.Layer), escape(d.details(i)))
		}
	}
}

// missing draws the order that the accesses of a finding lack.
func (d *drawing) missing() {
	for _, pair := range d.Lattice.missing() {
		from, to := &d.Events[pair[0]], &d.Events[pair[1]]
		fmt.Fprintf(d.w, `<path class="missing" d="%s"><title>the order of A and B that is missing</title></path>`+"\n", d.way(from, to))
	}
}

// way leads from an event to one of another line: straight to the next line, and
// past the events of the lines between, at a height of its own, to those further
// away.
func (d *drawing) way(from, to *Event) string {
	x1, y1, x2, y2 := d.x(from.Line), d.y(from.Layer), d.x(to.Line), d.y(to.Layer)
	side := 1
	switch n := to.Line - from.Line; {
	case n == 1 || n == -1 || n == 0:
		return fmt.Sprintf("M%d,%dL%d,%d", x1, y1, x2, y2)
	case n < 0:
		side = -1
	}
	const heights, apart, bend = 5, 2, 14
	height := y1 + d.row/2 + (from.Line%heights-heights/2)*apart
	return fmt.Sprintf("M%d,%dL%d,%dL%d,%dL%d,%dL%d,%d", x1, y1, x1+side*bend, height, x2-side*bend, height, x2-side*bend, max(height, y2-d.row/2), x2, y2)
}

// events draws the events and their labels.
func (d *drawing) events() {
	for i := range d.Events {
		e := &d.Events[i]
		if e.Line == NoLine {
			continue
		}
		x, y := d.x(e.Line), d.y(e.Layer)
		class := "event " + string(e.Kind)
		letter := d.letters[i]
		if letter != "" {
			class += " access" + letter
		}
		fmt.Fprintf(d.w, `<g class="%s"><title>%s</title>`, class, escape(d.details(i)))
		switch e.Kind {
		case Operation:
			fmt.Fprintf(d.w, `<rect x="%d" y="%d" width="10" height="10"/>`, x-5, y-5)
		case Memory:
			fmt.Fprintf(d.w, `<path d="M%d,%dl6,6l-6,6l-6,-6z"/>`, x, y-6)
		case Local:
			fmt.Fprintf(d.w, `<circle cx="%d" cy="%d" r="3"/>`, x, y)
		default:
			fmt.Fprintf(d.w, `<circle cx="%d" cy="%d" r="5"/>`, x, y)
		}
		if d.labels {
			fmt.Fprintf(d.w, `<text x="%d" y="%d">%s`, x+12, y+4, escape(d.name(i)))
			if p := e.Place.String(); p != "" && e.Part != Return {
				fmt.Fprintf(d.w, ` <tspan class="place">%s</tspan>`, escape(p))
			}
			d.w.WriteString("</text>")
		}
		d.w.WriteString("</g>\n")
	}
}

// escape makes text fit for XML, which some characters are not in any form.
func escape(text string) string { return html.EscapeString(printable(text)) }

var kindNames = []struct {
	kind EdgeKind
	text string
}{
	{Message, "message"}, {Collective, "collective call"}, {Exposure, "post, complete"}, {LockOrder, "unlock, then lock"},
	{Declared, "declared by the program"}, {Value, "value found, and who left it"}, {Thread, "threads of a process"}, {Path, "through what is not shown"},
}

// legend explains the kinds of edges that there are, and dashes.
func (d *drawing) legend() {
	x, y := margin, d.height-margin-4
	for _, k := range kindNames {
		if !slices.Contains(d.kinds, k.kind) {
			continue
		}
		fmt.Fprintf(d.w, `<line class="edge %s" x1="%d" y1="%d" x2="%d" y2="%d"/><text class="sub" x="%d" y="%d">%s</text>`+"\n", k.kind, x, y-4, x+24, y-4, x+30, y, k.text)
		x += 46 + charWidth*len(k.text)
	}
	dashed := func(l Line) bool { return l.Before || l.After }
	if slices.ContainsFunc(d.Lines, dashed) || slices.ContainsFunc(d.Events, func(e Event) bool { return e.Gap }) {
		fmt.Fprintf(d.w, `<line class="lane gap" x1="%d" y1="%d" x2="%d" y2="%d"/><text class="sub" x="%d" y="%d">events left out</text>`+"\n", x, y-4, x+24, y-4, x+30, y)
		x += 46 + charWidth*len("events left out")
	}
	if len(d.Lattice.missing()) > 0 {
		fmt.Fprintf(d.w, `<line class="missing" x1="%d" y1="%d" x2="%d" y2="%d"/><text class="sub" x="%d" y="%d">order that is missing</text>`+"\n", x, y-4, x+24, y-4, x+30, y)
	}
}

const svgStyle = `text{font:12px sans-serif;fill:#1b1f24}.title{font-weight:bold;font-size:15px}.sub{font-size:11px;fill:#59636e}.name{font-weight:bold}
.ground{fill:#fff}.lane{stroke:#8c959f;stroke-width:2}.gap{stroke-dasharray:3 4}.join{stroke:#59636e;stroke-width:5;stroke-linecap:round}
.edge{stroke-width:1.5;fill:none;stroke-linejoin:round}.message{stroke:#0969da}.collective{stroke:#59636e}.exposure{stroke:#1a7f37;stroke-dasharray:8 3}.lock{stroke:#8250df;stroke-dasharray:8 3 2 3}.declared{stroke:#0a7e8c;stroke-dasharray:12 2}.value{stroke:#bc4c00;stroke-dasharray:6 2}.thread{stroke:#1b1f24}.path{stroke:#6e7781;stroke-dasharray:2 3}
.head{stroke:none}.head.message{fill:#0969da}.head.collective{fill:#59636e}.head.exposure{fill:#1a7f37}.head.lock{fill:#8250df}.head.declared{fill:#0a7e8c}.head.value{fill:#bc4c00}.head.thread{fill:#1b1f24}.head.path{fill:#6e7781}
.event text{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}.event .place{fill:#59636e}
.synchronization circle{fill:#57606a}.found circle{fill:#bc4c00}.operation rect{fill:#0969da}.call circle{fill:#fff;stroke:#57606a;stroke-width:1.5}.access path{fill:#57606a}
.accessA circle,.accessA rect,.accessA path{fill:#a23a00;stroke:#a23a00;stroke-width:1.5}.accessB circle,.accessB rect,.accessB path{fill:#5333a8;stroke:#5333a8;stroke-width:1.5}.accessA text,.accessB text{font-weight:bold}
.pending{stroke:none;opacity:.35}.pending.accessA{fill:#a23a00}.pending.accessB{fill:#5333a8}.missing{stroke:#cf222e;stroke-width:2;stroke-dasharray:4 4;fill:none}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.sub,.event .place{fill:#9198a1}.ground{fill:#0d1117}.event text{stroke:#0d1117}.call circle{fill:#0d1117;stroke:#9198a1}.synchronization circle,.access path{fill:#9198a1}.value{stroke:#f0883e}.head.value,.found circle{fill:#f0883e}.thread{stroke:#e6edf3}.head.thread{fill:#e6edf3}.message{stroke:#4493f8}.head.message,.operation rect{fill:#4493f8}.exposure{stroke:#3fb950}.head.exposure{fill:#3fb950}.lock{stroke:#ab7df8}.head.lock{fill:#ab7df8}.accessA circle,.accessA rect,.accessA path{fill:#ffa566;stroke:#ffa566}.accessB circle,.accessB rect,.accessB path{fill:#bfa6ff;stroke:#bfa6ff}.pending.accessA{fill:#ffa566}.pending.accessB{fill:#bfa6ff}.missing{stroke:#ff7b72}}`
