package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManualCommand makes the command that writes the manual pages; make install
// calls it.
func newManualCommand(a *app) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:     "manual -o DIR",
		Short:   "Write the manual pages of all commands",
		Long:    `Writes the manual pages of mcchk and its commands, mcchk.1, mcchk-analyze.1 and so on, into a directory.`,
		Example: "  mcchk manual -o man/man1",
		Args:    needs(0, 0, "nothing"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef("manual: name the directory with -o DIR")
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			root := newRootCommand(a) // as cobra has not yet added anything to it
			// The date is that of SOURCE_DATE_EPOCH, otherwise today's.
			header := &doc.GenManHeader{Section: "1", Source: "mcchk " + currentVersion().Version, Manual: "mcchk"}
			return doc.GenManTree(root, header, dir)
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "directory for the pages")
	return cmd
}
