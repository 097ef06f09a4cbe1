package synth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

// Expected says what was generated, and what an analysis must find in it.
type Expected struct {
	Pattern  string `json:"pattern"`
	Dims     int    `json:"dims,omitempty"`
	Sync     string `json:"sync,omitempty"`
	Ranks    int    `json:"ranks"`
	Steps    int64  `json:"steps"`
	Seed     uint64 `json:"seed"`
	Accesses int64  `json:"accesses"` // runs of loads or stores, and one-sided operations
	Totals
	Races []ExpectedRace `json:"races"`
	// Clocks are those of the hosts, where calls have wall-clock times.
	Clocks []ExpectedClock `json:"clocks,omitempty"`
}

// ExpectedClock is what the clock of a host shows: on straight lines between some
// moments.
type ExpectedClock struct {
	Host  string     `json:"host"`
	Shows [][2]int64 `json:"shows"` // true time and that shown, ns
}

// ExpectedRace is a planted race: one finding, of one pair of accesses. Which
// of its sides an analysis names first is not said.
type ExpectedRace struct {
	Rule   string       `json:"rule"`
	First  ExpectedSide `json:"first"`
	Second ExpectedSide `json:"second"`
	Owner  int          `json:"owner"`  // world rank whose memory it is
	Window int64        `json:"window"` // 0 where it is none's
	Lo     uint64       `json:"lo"`     // bytes, half-open, as in a conflicts.Finding
	Hi     uint64       `json:"hi"`
	Step   int64        `json:"step"`
}

// ExpectedSide is one of its accesses.
type ExpectedSide struct {
	Rank   int    `json:"rank"`
	Access string `json:"access"` // "load", "store", "MPI_Put", "MPI_Get"
	File   string `json:"file"`
	Line   int    `json:"line"`
}

func (p *plan) expected(t Totals) *Expected {
	e := &Expected{
		Pattern: p.Pattern, Dims: p.Dims, Sync: p.Sync, Ranks: p.Ranks, Steps: p.Steps,
		Seed: p.Seed, Accesses: p.Accesses, Totals: t, Races: []ExpectedRace{},
	}
	if p.Timing != nil {
		e.Clocks = p.Timing.Drifts
	}
	names := map[string]string{"put": "MPI_Put", "get": "MPI_Get", "load": "load", "store": "store"}
	for k, x := range p.plants.all {
		kind := &plantKinds[x.kind]
		r := ExpectedRace{
			Rule:   kind.rule,
			First:  ExpectedSide{int(x.first), names[kind.first], plantSource, 2*k + 1},
			Second: ExpectedSide{int(x.second), names[kind.second], plantSource, 2*k + 2},
			Owner:  int(x.owner), Window: plantedWindow, Lo: uint64(k) * element, Step: x.step,
		}
		if kind.within && (kind.second == "load" || kind.second == "store") { // at the buffer
			r.Owner, r.Window, r.Lo = int(x.first), 0, plantBuffer+uint64(k)*2*element
		}
		r.Hi = r.Lo + element
		e.Races = append(e.Races, r)
	}
	return e
}

// write writes a file, which appears when it is whole.
func (e *Expected) write(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), unfinished+"*")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for _, err := range []error{e.encode(out), out.Flush(), f.Chmod(0o644), f.Close()} {
		if err != nil {
			os.Remove(f.Name())
			return err
		}
	}
	return os.Rename(f.Name(), path)
}

// encode writes JSON, each race on a line of its own and only one in memory.
func (e *Expected) encode(out *bufio.Writer) error {
	head := *e
	head.Races = []ExpectedRace{}
	b, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(b, []byte("]\n}"))) // the writer keeps errors
	separator := "\n  "
	for i := range e.Races {
		b, err := json.Marshal(&e.Races[i])
		if err != nil {
			return err
		}
		out.WriteString(separator)
		out.Write(b)
		separator = ",\n  "
	}
	if len(e.Races) > 0 {
		out.WriteString("\n ")
	}
	_, err = out.WriteString("]\n}\n")
	return err
}
