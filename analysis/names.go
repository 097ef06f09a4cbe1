package analysis

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// namer gives source places to the stacks of the traces.
type namer struct {
	readers   []*trace.Reader // by rank; none where all stacks are known
	resolver  *symbols.Resolver
	layers    symbols.Layers
	sources   *sources.Reader // nil: explanations do without
	stacks    map[stackKey][]symbols.Frame
	variables map[variableKey]named
	blocks    map[int32]*blocksOf
	paths     map[*symbols.Frame]string // by the innermost frame of a stack
	depends   uint64                    // conflicts that there are in some orders of updates only
	unknown   []string                  // functions called that may order processes in ways not known
	firm      map[findingKey]found      // findings whatever those have ordered
	weakened  uint64                    // findings that are warnings on account of them
	ofThreads bool                      // of these, some are of threads of one process
	ofOne     bool                      // and some of operations of one
	unordered map[int]bool              // ranks of which the order of threads and tasks is not recorded in full
	strangers map[int]bool              // those of them with threads of which it is not known when they began
	strands   uint64                    // findings that are warnings on account of that
}

type stackKey struct {
	rank  int32
	stack uint32
}

// newNamer returns a namer that knows the places that were stored with the
// traces. The error says why it does not, where they are there and cannot be
// read: then the places are taken from the program, as far as that is there.
func (r *run) newNamer() (*namer, error) {
	table, err := readBeside(r.dir, symbols.TableFile, symbols.ReadTable)
	if err != nil {
		err = fmt.Errorf("the stored source places cannot be read, and are taken from the program where it is still there: %w", err)
	}
	resolver := symbols.NewResolver(symbols.Options{Table: table})
	return &namer{readers: r.readers, resolver: resolver, layers: r.opts.Layers,
		stacks: map[stackKey][]symbols.Frame{}, variables: map[variableKey]named{}, blocks: map[int32]*blocksOf{}}, err
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
			frames = symbols.Append(frames, n.frames(reader, pc))
		}
	}
	n.layers.Mark(frames)
	n.stacks[key] = frames
	return frames
}

// path returns symbols.Path of a stack that the namer made as a text, the same
// for the same path; "" of none.
func (n *namer) path(stack []symbols.Frame) string {
	if len(stack) == 0 {
		return ""
	}
	if text, ok := n.paths[&stack[0]]; ok {
		return text
	}
	var b strings.Builder
	for i, f := range symbols.Path(stack) {
		fmt.Fprintf(&b, "%s\x00%s\x00%d", f.Func, f.File, f.Line)
		if f.File == "" && (i == 0 || f.Func == "") {
			fmt.Fprintf(&b, "\x00%s\x00%x", f.Module, f.Offset)
		}
		b.WriteByte('\n')
	}
	if n.paths == nil {
		n.paths = map[*symbols.Frame]string{}
	}
	n.paths[&stack[0]] = b.String()
	return b.String()
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
	if m, bias, ok := moduleOf(reader, at); ok {
		return n.resolver.Resolve(m, at-bias)
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

// place returns "a.c:12" for a call, "a.c:12, in f at line 3" where it is made in f called
// there, or "".
func (n *namer) place(c *regions.CallInfo) string {
	f, within, ok := symbols.Site(n.stack(c.Rank, c.Stack))
	switch {
	case !ok || f.File == "":
		return ""
	case within != "":
		return fmt.Sprintf("%s:%d, in %s", filepath.Base(f.File), f.Line, within)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}
