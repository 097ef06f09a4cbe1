package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxDistance is how many letters a word may differ from what is suggested.
const maxDistance = 2

// suggestFlag adds the nearest flag to the message of an unknown one.
func suggestFlag(cmd *cobra.Command, err error) error {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest(name, names); near != "" {
		return fmt.Errorf("%w (did you mean --%s?)", err, near)
	}
	return err
}

// didYouMean is the end of a message about an unknown word, or "".
func didYouMean(word string, words []string) string {
	if near := nearest(word, words); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// needs checks the number of a command's arguments (high -1: any number from
// low, which is 0 or 1, on), and says what they are.
func needs(low, high int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < low:
			return fmt.Errorf("%s is missing", what)
		case high >= 0 && len(args) > high:
			return fmt.Errorf("unexpected %q: wanted is %s", args[high], what)
		}
		return nil
	}
}

// nearest returns the word most like name, or "" when none is like it.
func nearest(name string, words []string) string {
	best, distance := "", maxDistance+1
	for _, w := range words {
		if d := editDistance(strings.ToLower(name), strings.ToLower(w)); d < distance {
			best, distance = w, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions and replacements that
// turn one word into the other.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
