package analysis

import (
	"encoding/json"
	"io"
	"slices"
)

// Launch is how a run was started, as far as that is known.
type Launch struct {
	Command []string // that mcchk run was given
	Hosts   []string // of the processes, each once, in the order of ranks
}

// runFile is what mcchk run leaves beside the traces.
const runFile = "run.json"

// launch reads how the run was started. That it cannot be read takes nothing from the
// findings, and is not told.
func (r *run) launch() Launch {
	var l Launch
	record, err := readBeside(r.dir, runFile, func(in io.Reader) (*struct{ Command []string }, error) {
		var content struct{ Command []string }
		return &content, json.NewDecoder(in).Decode(&content)
	})
	if err == nil && record != nil {
		l.Command = record.Command
	}
	for _, f := range r.dir.Files {
		if host := f.Header.Host; host != "" && !slices.Contains(l.Hosts, host) {
			l.Hosts = append(l.Hosts, host)
		}
	}
	return l
}
