package analysis

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// namer gives source places to the stacks of the traces.
type namer struct {
	readers  []*trace.Reader // by rank; none where all stacks are known
	resolver *symbols.Resolver
	stacks   map[stackKey][]symbols.Frame
	unknown  []string // functions called that may order processes in ways not known
	weakened uint64   // findings that are warnings on account of them
}

type stackKey struct {
	rank  int32
	stack uint32
}

// newNamer returns a namer that knows the places that were stored with the
// traces. The error says why it does not, where they are there and cannot be
// read: then the places are taken from the program, as far as that is there.
func newNamer(dir *trace.Dir, readers []*trace.Reader) (*namer, error) {
	table, err := readBeside(dir, symbols.TableFile, symbols.ReadTable)
	if err != nil {
		err = fmt.Errorf("the stored source places cannot be read, and are taken from the program where it is still there: %w", err)
	}
	resolver := symbols.NewResolver(symbols.Options{Table: table})
	return &namer{readers: readers, resolver: resolver, stacks: map[stackKey][]symbols.Frame{}}, err
}

// readBeside reads a file that lies beside the traces; nil where there is none.
func readBeside[T any](dir *trace.Dir, name string, read func(io.Reader) (*T, error)) (*T, error) {
	f, err := dir.OpenBeside(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return content, nil
}

// stack returns the frames of a recorded stack, innermost first.
func (n *namer) stack(rank int32, id uint32) []symbols.Frame {
	key := stackKey{rank, id}
	if frames, ok := n.stacks[key]; ok {
		return frames
	}
	var frames []symbols.Frame
	if id != 0 && n.readers != nil && n.readers[rank] != nil {
		reader := n.readers[rank]
		for _, pc := range reader.Stack(id) {
			frames = append(frames, n.frames(reader, pc)...)
		}
	}
	n.stacks[key] = frames
	return frames
}

// frames returns the place of one program counter, with what is inlined there.
func (n *namer) frames(reader *trace.Reader, pc uint64) []symbols.Frame {
	if sources := reader.Sources(pc); len(sources) > 0 {
		frames := make([]symbols.Frame, len(sources))
		for i, s := range sources {
			frames[i] = symbols.Frame{Func: s.Func, File: s.File, Line: int(s.Line), Column: int(s.Column), Inlined: s.Inlined}
		}
		return frames
	}
	at := pc - 1 // counters are return addresses
	for _, m := range reader.Modules() {
		if at >= m.Start && at < m.End {
			return n.resolver.Resolve(symbols.Module{Path: m.Path, BuildID: m.BuildID}, at-m.Bias)
		}
	}
	return []symbols.Frame{{Offset: pc, Reason: "the address lies in no module of the recorded memory map"}}
}

// where names the place of a call: " at a.c:12", or nothing.
func (n *namer) where(c *regions.CallInfo) string {
	if place := n.place(c); place != "" {
		return " at " + place
	}
	return ""
}

// place returns "a.c:12" for a call, or "".
func (n *namer) place(c *regions.CallInfo) string {
	if f, ok := symbols.Here(n.stack(c.Rank, c.Stack)); ok && f.File != "" {
		return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
	}
	return ""
}
