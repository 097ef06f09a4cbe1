package lattice

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteDOT writes the lattice as a directed graph in the language of Graphviz:
// bold edges are program order, all others are direct dependences.
func (l *Lattice) WriteDOT(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph lattice {\n\tlabel=%s\n\tlabelloc=t\n", quote(l.Title()+": "+l.Description()))
	b.WriteString("\tnode [fontname=\"sans-serif\", fontsize=10]\n\tedge [fontname=\"sans-serif\", fontsize=9]\n")
	last := make([]int, len(l.Lines))
	for i := range l.Lines {
		last[i] = -1
		fmt.Fprintf(b, "\tl%d [shape=plaintext, group=l%d, label=%s]\n", i, i, quote(l.Lines[i].Name()))
	}
	marked := l.letters()
	for i := range l.Events {
		e := &l.Events[i]
		if e.Line == NoLine {
			fmt.Fprintf(b, "\te%d [shape=box, style=filled, fillcolor=gray85, height=0.2, label=%s]\n", i, quote(e.Name))
			continue
		}
		label := e.Label()
		if p := e.Place.String(); p != "" {
			label += "\n" + p
		}
		style := ""
		if letter := marked[i]; letter != "" {
			style = fmt.Sprintf(", color=%q, penwidth=2", letterColor[letter])
			label = letter + "\n" + label
		}
		fmt.Fprintf(b, "\te%d [shape=%s, group=l%d, label=%s, tooltip=%s%s]\n", i, dotShape[e.Kind], e.Line, quote(label), quote(l.details(i)), style)
		from := fmt.Sprintf("l%d", e.Line)
		if n := last[e.Line]; n >= 0 {
			from = fmt.Sprintf("e%d", n)
		}
		if gap := e.Gap || last[e.Line] < 0 && l.Lines[e.Line].Before; gap {
			style = ", style=\"bold,dashed\""
		} else {
			style = ", style=bold"
		}
		fmt.Fprintf(b, "\t%s -> e%d [weight=10, arrowhead=none%s]\n", from, i, style)
		last[e.Line] = i
	}
	for _, x := range l.Edges {
		label := ""
		if x.Kind != Collective {
			label = fmt.Sprintf(", label=%s", quote(x.title()))
		}
		fmt.Fprintf(b, "\te%d -> e%d [color=%s%s]\n", x.From, x.To, dotColor[x.Kind], label)
	}
	for _, pair := range l.missing() {
		fmt.Fprintf(b, "\te%d -> e%d [color=red, style=dashed, dir=none, constraint=false, label=\"no order\"]\n", pair[0], pair[1])
	}
	b.WriteString("}\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write DOT: %w", err)
	}
	return nil
}

// letterColor has the colours of the HTML report.
var letterColor = map[string]string{"A": "#a23a00", "B": "#5333a8"}

// letters are those of the events at which accesses begin.
func (l *Lattice) letters() map[int]string {
	out := map[int]string{}
	for _, a := range l.Accesses {
		out[a.Event] = a.Letter
	}
	return out
}

// quote makes a string of the DOT language; line breaks are kept.
func quote(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(l))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

var dotShape = map[Kind]string{Operation: "box", Synchronization: "ellipse", Local: "plaintext", Memory: "diamond", Read: "ellipse"}

var dotColor = map[EdgeKind]string{
	Message: "blue", Collective: "gray40", Exposure: "darkgreen", LockOrder: "purple", Declared: "darkcyan", Value: "orangered3", Thread: "black", Path: "gray60",
}
