package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/trace"
)

type packOptions struct {
	output string
}

func (o *packOptions) addFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "", "file, or directory for several")
}

func newPackCommand(a *app) *cobra.Command {
	var o packOptions
	cmd := &cobra.Command{
		Use:   "pack FILE.jsonl... -o FILE|DIR",
		Short: "Make trace files from JSON Lines",
		Long: `Makes trace files from JSON Lines, printed by 'mcchk dump' or written by hand
(docs/trace-format.md). Each header line begins a new process, so one file may
hold several. In an output directory, files are named after their ranks; "-"
reads standard input.`,
		Example: "  mcchk pack rank0.jsonl rank1.jsonl -o traces",
		Args:    needs(1, -1, "a file of JSON Lines"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.pack(cmd.Context(), args, o) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (a *app) pack(ctx context.Context, inputs []string, o packOptions) error {
	if o.output == "" {
		return usagef("pack needs -o FILE or -o DIR")
	}
	p := &packing{output: o.output, single: filepath.Ext(o.output) == ".mcct", from: map[int]string{}}
	if !p.single {
		if err := os.MkdirAll(o.output, 0o777); err != nil {
			return err
		}
	}
	for _, path := range inputs {
		if err := p.input(ctx, a.in, path); err != nil {
			return err
		}
	}
	return nil
}

// packing is one run of pack.
type packing struct {
	output string
	single bool           // output is a file, not a directory
	from   map[int]string // rank to where its lines came from
}

func (p *packing) input(ctx context.Context, stdin io.Reader, path string) error {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	lines := &processLines{in: bufio.NewReader(in)}
	for {
		rank, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		where := path
		if lines.line > 1 {
			where = fmt.Sprintf("%s, counting from line %d", path, lines.line)
		}
		if err == nil {
			err = p.process(ctx, lines, rank, where)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
}

// process writes one trace file. It appears under its name when it is whole.
func (p *packing) process(ctx context.Context, lines io.Reader, rank int, where string) error {
	if other, ok := p.from[rank]; ok {
		return fmt.Errorf("rank %d is there already, from %s", rank, other)
	}
	if p.single && len(p.from) > 0 {
		return usagef("%s is one file, and there are several processes: give a directory", p.output)
	}
	p.from[rank] = where
	path := p.output
	if !p.single {
		path = filepath.Join(path, fmt.Sprintf("rank-%d.mcct", rank))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(trace.Pack(ctx, lines, f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// processLines hands out JSON Lines process by process: next goes to the next
// header, and Read then ends before the header that follows.
type processLines struct {
	in   *bufio.Reader
	line int    // number of the header's line, from 1
	read int    // lines read so far
	head []byte // a header that was read and not handed out yet
	rest []byte // of a line that Read hands out
}

// next returns the rank of the next process, io.EOF when there is none. What
// is no header is left for the packer to complain about.
func (l *processLines) next() (rank int, err error) {
	for l.head == nil {
		line, err := l.readLine()
		if err != nil {
			return 0, err
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			l.head = line
		}
	}
	l.line = l.read
	rank, _ = headerRank(l.head)
	l.rest, l.head = l.head, nil
	return rank, nil
}

func (l *processLines) Read(p []byte) (int, error) {
	if l.head != nil {
		return 0, io.EOF
	}
	if len(l.rest) == 0 {
		line, err := l.readLine()
		if err != nil {
			return 0, err
		}
		if _, ok := headerRank(line); ok {
			l.head = line
			return 0, io.EOF
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// readLine returns a line with its end, also the last one that has none.
func (l *processLines) readLine() ([]byte, error) {
	line, err := l.in.ReadBytes('\n')
	if len(line) > 0 {
		l.read++
		return line, nil
	}
	return nil, err
}

// headerRank reports whether a line is the header of a process, and its rank.
func headerRank(line []byte) (rank int, ok bool) {
	if !bytes.Contains(line, []byte(`"mcct"`)) {
		return 0, false
	}
	var h struct {
		Format *json.RawMessage `json:"mcct"`
		Rank   int              `json:"rank"`
	}
	if json.Unmarshal(line, &h) != nil || h.Format == nil {
		return 0, false
	}
	return h.Rank, true
}
