package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/internal/spelling"
)

// suggestFlag adds the nearest flag to the message of an unknown one.
func suggestFlag(cmd *cobra.Command, err error) error {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if cmd.Name() == "run" && strings.HasPrefix(err.Error(), "unknown ") {
		err = fmt.Errorf("%w; launcher and program come after --, as in: mcchk run -- mpiexec -n 2 ./app", err)
	}
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("%w (did you mean --%s?)", err, near)
	}
	return err
}

// didYouMean is the end of a message about an unknown word, or "".
func didYouMean(word string, words []string) string { return spelling.DidYouMean(word, words) }

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
