package core

import (
	"errors"
	"fmt"
	"io"

	"github.com/mcchk/mcchk/trace"
)

// Process is a process of the replay: what its strands have in common.
type Process struct {
	Rank int32 // world rank

	m *Machine
	reading
	calls   calls
	memory  memory
	words   places  // in its memory
	hidden  hidden  // what was written to them
	atomics bool    // atomic stores of the language are told
	taken   int     // loads and stores of the phase that are new in it, those of other parts included
	first   *Strand // of the thread that its trace begins with
	current *Strand // of which models were told last
	team    *team   // nil as long as there is one strand
}

// reading is the trace of a process, as far as it was read.
type reading struct {
	stream  Stream
	ahead   ahead
	event   trace.Event
	polling *polling        // of a process with one strand; nil: it has not fetched yet
	threads map[uint32]bool // beside the first, of which the strand is not known
	done    bool            // it is complete
}

func newProcess(m *Machine, rank int, stream Stream) *Process {
	p := &Process{
		Rank: int32(rank), m: m,
		reading: reading{stream: stream, ahead: ahead{stream: stream}, threads: map[uint32]bool{}},
	}
	p.ahead.of = p
	p.ahead.many, _ = stream.(accessStream)
	p.first = p.newStrand()
	p.first.line, p.first.path = p.Rank, &path{}
	p.current = p.first
	if stream == nil {
		p.first.state = ended
	}
	return p
}

func (p *Process) newStrand() *Strand {
	return &Strand{Process: p, line: noLine, sync: synchronization{buffer: make([]Wait, 0, 4)}}
}

// events returns how many events of its trace were read, those ahead of the replay left out.
func (p *Process) events() uint64 {
	if p.team != nil {
		return p.team.read
	}
	return p.first.pos
}

// Threaded reports whether the process has had more than one strand.
func (p *Process) Threaded() bool { return p.team != nil }

// Threaded reports whether any process has had more than one strand.
func (m *Machine) Threaded() bool { return m.threaded }

// Stream returns the trace of the process.
func (p *Process) Stream() Stream { return p.stream }

// unreadable reports an error with which a trace ends, unless that is its end.
func (p *Process) unreadable(err error) {
	if !errors.Is(err, io.EOF) {
		p.m.Report(Problem{Kind: Damaged, Rank: p.Rank, Text: fmt.Sprintf("rank %d: %v", p.Rank, err)})
	}
}

// turn tells the models whose calls follow.
func (s *Strand) turn() {
	if s.current == s {
		return
	}
	s.current = s
	for _, model := range s.m.models {
		model.Turn(s)
	}
}

// name is the strand as a user knows it.
func (s *Strand) name() string {
	if s == s.first {
		return fmt.Sprintf("rank %d", s.Rank)
	}
	return fmt.Sprintf("thread %d of rank %d", s.thread, s.Rank)
}

// all visits the strands of all processes, but for those that ended before their process.
func (m *Machine) all(yield func(*Strand) bool) {
	for _, p := range m.processes {
		if !yield(p.first) {
			return
		}
		if p.team == nil {
			continue
		}
		for _, s := range p.team.others {
			if !yield(s) {
				return
			}
		}
	}
}
