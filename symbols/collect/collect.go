// Package collect keeps with a directory of traces what an analysis elsewhere
// would lack: the source places of all program counters, the variables that may lie
// in their frames or in the program's data, and the source text of these places.
//
// It reads the call stacks and the memory map of each trace, asks a
// symbols.Resolver, and stores what that answers as symbols.json beside the
// traces, where the analysis looks first; and what the files of these places have
// there as sources.json.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// Options of Write. The zero value is useful.
type Options struct {
	Resolver *symbols.Resolver // nil: one of its own
	// NoSources: no source text is kept.
	NoSources bool
}

// Write resolves the traces of a directory and stores symbols.json and
// sources.json there, replacing those that lie there. It returns the number of
// source places stored in symbols.json.
func Write(ctx context.Context, dir string, opts Options) (int, error) {
	c := &collection{resolver: opts.Resolver, table: &symbols.Table{}, places: map[sources.Place]bool{}}
	if c.resolver == nil {
		c.resolver = symbols.NewResolver(symbols.Options{})
	}
	if err := c.addTraces(ctx, dir); err != nil {
		return 0, err
	}
	if err := replace(dir, symbols.TableFile, c.table.Write); err != nil {
		return 0, err
	}
	if opts.NoSources {
		return c.table.Len(), nil
	}
	var places []sources.Place
	for p := range c.places {
		places = append(places, p)
	}
	if err := replace(dir, sources.FileName, sources.Keep(places, sources.Disk{}).Write); err != nil {
		return c.table.Len(), fmt.Errorf("their text: %w", err)
	}
	return c.table.Len(), nil
}

// replace writes a file so that it is never there in part.
func replace(dir, name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(dir, ".collect-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}

// collection is what the traces of a directory name.
type collection struct {
	resolver *symbols.Resolver
	table    *symbols.Table
	places   map[sources.Place]bool
}

// addTraces takes all program counters of the stacks in the traces of a
// directory. Damaged traces count as far as they can be read.
func (c *collection) addTraces(ctx context.Context, dir string) error {
	traces, err := trace.OpenDir(dir)
	if err != nil {
		return err
	}
	for _, f := range traces.Files {
		if err := c.addFile(ctx, f.Path); err != nil {
			return err
		}
	}
	return nil
}

func (c *collection) addFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := trace.NewRecordReader(f, path)
	if err != nil {
		return err
	}
	defer r.Close()
	r.PassOverAccesses()
	counters := map[uint64]bool{} // whether frame pointers go with it
	var modules []trace.Module
	var rec trace.Record
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := r.Read(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch rec.Kind {
		case trace.RecordStack:
			for i, pc := range rec.Stack.PCs {
				counters[pc] = counters[pc] || i < len(rec.Stack.Pointers)
			}
		case trace.RecordModule:
			modules = append(modules, rec.Module)
		case trace.RecordSource:
			c.places[sources.Place{File: rec.Source.File, Line: int(rec.Source.Line)}] = true
		}
	}
	for pc, inFrame := range counters {
		c.addCounter(pc, inFrame, modules)
	}
	return nil
}

// addCounter resolves a return address: the instruction before it is meant. With inFrame,
// the variables of the function's frame are wanted too.
func (c *collection) addCounter(pc uint64, inFrame bool, modules []trace.Module) {
	at := pc - 1
	i := slices.IndexFunc(modules, func(m trace.Module) bool { return at >= m.Start && at < m.End })
	if i < 0 {
		return
	}
	m := symbols.Module{Path: modules[i].Path, BuildID: modules[i].BuildID}
	addr := at - modules[i].Bias
	if _, known := c.table.Lookup(m, addr); known {
		return
	}
	frames := c.resolver.Resolve(m, addr)
	c.table.Add(m, addr, frames)
	for _, f := range frames {
		c.places[sources.Place{File: f.File, Line: f.Line}] = true
	}
	if frames[0].File == "" {
		return // no debug information
	}
	if inFrame {
		c.table.AddLocals(m, addr, c.resolver.Locals(m, addr))
	}
	if _, known := c.table.Globals(m); !known && !m.System() {
		c.table.AddGlobals(m, c.resolver.Globals(m))
	}
}
