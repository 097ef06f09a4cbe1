package experiments

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
)

// Table is figures in rows; each has a value for each column.
type Table struct {
	Name    string // of its file, without an ending
	Columns []string
	Rows    [][]string
}

func decimal(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// Write stores tables as NAME.csv in a directory, which it makes, and returns
// their paths. Files of these names are replaced.
func Write(dir string, tables []Table) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var paths []string
	for _, t := range tables {
		path := filepath.Join(dir, t.Name+".csv")
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		if err := t.WriteCSV(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// WriteCSV writes a table as comma-separated values (RFC 4180), the names of
// the columns first.
func (t Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Columns); err != nil {
		return err
	}
	return c.WriteAll(t.Rows)
}

// WriteText writes a table for people.
func (t Table) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for _, cell := range row {
			fmt.Fprintf(tw, "%s\t", cell)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}
