package lattice

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

// Title says what the lattice shows.
func (l *Lattice) Title() string {
	if l.Heading != "" {
		return l.Heading
	}
	text := "Event lattice"
	if n := len(l.Events); n > 0 {
		first, last := l.Events[0].Region, l.Events[0].Region
		for _, e := range l.Events {
			first, last = min(first, e.Region), max(last, e.Region)
		}
		if text += fmt.Sprintf(" of concurrent region %d", first); first != last {
			text = fmt.Sprintf("Event lattice of concurrent regions %d to %d", first, last)
		}
	}
	return text
}

// Description says in a sentence or two what is in the lattice.
func (l *Lattice) Description() string {
	text := l.counts()
	for i := range l.Accesses {
		text += " " + l.access(&l.Accesses[i]) + "."
	}
	return text
}

// access says what an access of a finding is.
func (l *Lattice) access(a *Access) string {
	e := &l.Events[a.Event]
	text := fmt.Sprintf("%s: %s of %s%s", l.letter(a), a.Name, l.Lines[e.Line].Name(), e.Place.at())
	if a.Done >= 0 {
		d := &l.Events[a.Done]
		text += fmt.Sprintf(", pending until %s%s", d.Name, d.Place.at())
	}
	return text
}

// letter is that of an access, with the number of its finding where there are several.
func (l *Lattice) letter(a *Access) string {
	if l.Accesses[0].Finding == l.Accesses[len(l.Accesses)-1].Finding {
		return a.Letter
	}
	return fmt.Sprintf("%s of finding %d", a.Letter, a.Finding+1)
}

// missing returns the pairs of accesses of a finding, as indices of events, that lie on two
// lines: the order that they should have is missing.
func (l *Lattice) missing() (pairs [][2]int) {
	for i := range l.Accesses {
		if i == 0 || l.Accesses[i].Finding != l.Accesses[i-1].Finding {
			continue
		}
		a, b := l.Accesses[i-1].Event, l.Accesses[i].Event
		if l.Events[a].Line != l.Events[b].Line {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}

func (l *Lattice) counts() string {
	events := 0
	for i := range l.Events {
		if l.Events[i].Line != NoLine {
			events++
		}
	}
	text := fmt.Sprintf("%s, %s, %s between them.", count(len(l.Lines), "process line"), count(events, "event"), count(len(l.Edges), "direct dependence"))
	if l.Truncated {
		text += " There are more events."
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Name is "rank 3", or "rank 3, thread 1".
func (l *Line) Name() string {
	if l.Strand == 0 {
		return fmt.Sprintf("rank %d", l.Rank)
	}
	return fmt.Sprintf("rank %d, thread %d", l.Rank, l.Strand)
}

// String is "a.c:12", or "" when unknown.
func (p Place) String() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}

func (p Place) at() string {
	if s := p.String(); s != "" {
		return " at " + s
	}
	return ""
}

// Label names the event: "MPI_Get → 1", "MPI_Barrier (return)".
func (e *Event) Label() string {
	text := e.Name
	if e.Target >= 0 {
		text += fmt.Sprintf(" → %d", e.Target)
	}
	if e.Part != Whole {
		text += fmt.Sprintf(" (%s)", e.Part)
	}
	return text
}

// title says what an edge is.
func (e *Edge) title() string {
	if e.Found != nil {
		return "value " + e.Found.String()
	}
	return string(e.Kind)
}

// details says all that is known of an event of a lattice.
func (l *Lattice) details(i int) string {
	e := &l.Events[i]
	if e.Line == NoLine {
		return e.Name + ": all have arrived"
	}
	text := fmt.Sprintf("%s of %s%s", e.Label(), l.Lines[e.Line].Name(), e.Place.at())
	if e.Epoch != "" {
		text += ", " + e.Epoch + " epoch"
	}
	for _, a := range l.Accesses {
		switch i {
		case a.Event:
			text += fmt.Sprintf("; %s begins", l.letter(&a))
		case a.Done:
			text += fmt.Sprintf("; %s is complete", l.letter(&a))
		}
	}
	return text
}

// printable replaces what cannot be shown, such as what a damaged file name holds.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}
