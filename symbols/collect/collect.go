// Package collect resolves every program counter of a directory of traces, so
// that the traces can be analysed on a machine without the program's files.
//
// It reads the call stacks and the memory map of each trace, asks a
// symbols.Resolver, and stores what that answers as symbols.json beside the
// traces, where the analysis looks first.
package collect

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// Write resolves the traces of a directory and stores symbols.json there,
// replacing one that lies there. It returns the number of places stored.
func Write(ctx context.Context, dir string, resolver *symbols.Resolver) (int, error) {
	table, err := Table(ctx, dir, resolver)
	if err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(dir, ".symbols-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(table.Write(f), f.Chmod(0o644), f.Close()); err != nil {
		return 0, err
	}
	return table.Len(), os.Rename(f.Name(), filepath.Join(dir, symbols.TableFile))
}

// Table resolves all program counters of the stacks in the traces of a
// directory. Damaged traces count as far as they can be read.
func Table(ctx context.Context, dir string, resolver *symbols.Resolver) (*symbols.Table, error) {
	traces, err := trace.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	table := &symbols.Table{}
	for _, f := range traces.Files {
		if err := addFile(ctx, f.Path, resolver, table); err != nil {
			return nil, err
		}
	}
	return table, nil
}

func addFile(ctx context.Context, path string, resolver *symbols.Resolver, table *symbols.Table) error {
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
	counters := map[uint64]bool{}
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
			for _, pc := range rec.PCs {
				counters[pc] = true
			}
		case trace.RecordModule:
			modules = append(modules, rec.Module)
		}
	}
	for pc := range counters {
		addCounter(pc, modules, resolver, table)
	}
	return nil
}

// addCounter resolves a return address: the instruction before it is meant.
func addCounter(pc uint64, modules []trace.Module, resolver *symbols.Resolver, table *symbols.Table) {
	at := pc - 1
	i := slices.IndexFunc(modules, func(m trace.Module) bool { return at >= m.Start && at < m.End })
	if i < 0 {
		return
	}
	m := symbols.Module{Path: modules[i].Path, BuildID: modules[i].BuildID}
	addr := at - modules[i].Bias
	if _, known := table.Lookup(m, addr); !known {
		table.Add(m, addr, resolver.Resolve(m, addr))
	}
}
