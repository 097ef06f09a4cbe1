// Command plot draws the figures that 'mcchk experiment' wrote as CSV files into a
// directory, as SVG files beside them. It is started in a checkout of mcchk:
//
//	mcchk experiment growth -o DIR
//	go run ./experiments/plot DIR
//
// It is no part of mcchk, so that mcchk needs nothing that draws.
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./experiments/plot DIR, where 'mcchk experiment -o DIR' wrote")
		os.Exit(2)
	}
	paths, err := drawAll(os.Args[1])
	for _, path := range paths {
		fmt.Println(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// drawAll draws what there are tables of in a directory, and returns the paths of
// the plots. It is an error when there are none.
func drawAll(dir string) (paths []string, err error) {
	for _, f := range figures() {
		t, err := readTable(filepath.Join(dir, f.table+".csv"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return paths, err
		}
		p, err := f.plot(t)
		if err != nil {
			return paths, fmt.Errorf("%s: %w", t.path, err)
		}
		path := filepath.Join(dir, f.name+".svg")
		if err := writeFile(path, p.writeSVG); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s holds no table of an experiment: mcchk experiment growth -o %s writes some", dir, dir)
	}
	return paths, nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

// table is a CSV file with the names of its columns in the first row.
type table struct {
	path    string
	columns []string
	rows    [][]string
}

func readTable(path string) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s: there are no rows below the names of the columns", path)
	}
	return &table{path, rows[0], rows[1:]}, nil
}

// texts returns a column.
func (t *table) texts(column string) ([]string, error) {
	i := slices.Index(t.columns, column)
	if i < 0 {
		return nil, fmt.Errorf("there is no column %s; was it written by another version of mcchk?", column)
	}
	out := make([]string, len(t.rows))
	for k, row := range t.rows {
		out[k] = row[i]
	}
	return out, nil
}

// numbers returns a column of numbers.
func (t *table) numbers(column string) ([]float64, error) {
	texts, err := t.texts(column)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(texts))
	for k, text := range texts {
		if out[k], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("row %d: %s: %q is not a number", k+1, column, text)
		}
	}
	return out, nil
}
