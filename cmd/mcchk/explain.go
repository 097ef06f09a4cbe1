package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/models"
)

func newExplainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [RULE]",
		Short:   "Say what a rule means, with an example and how to fix it",
		Long:    "Says what a rule means, with an example and how to fix it. Without a rule, lists all.",
		Example: "  mcchk explain MC103",
		Args:    needs(0, 1, "one rule or none"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return ruleIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(a.out)
			}
			return explainRule(a.out, args[0])
		},
	}
}

func ruleIDs() []string {
	var ids []string
	for _, r := range models.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

func listRules(w io.Writer) error {
	for _, r := range models.Rules() {
		if _, err := fmt.Fprintf(w, "%s  %-7s  %s\n", r.ID, r.Severity, r.Title); err != nil {
			return err
		}
	}
	return nil
}

func explainRule(w io.Writer, id string) error {
	r, ok := models.Lookup(id)
	if !ok {
		return usagef("there is no rule %q%s; 'mcchk explain' lists all", id, didYouMean(id, ruleIDs()))
	}
	_, err := fmt.Fprintf(w, "%s (%s): %s\n\n%s\n\nWrong:\n\n%s\n\nRight:\n\n%s\n\nHow to fix it:\n\n%s\n",
		r.ID, r.Severity, r.Title, wrap(r.Text, textWidth), indent(r.Wrong), indent(r.Right), wrap(r.Fix, textWidth))
	return err
}

// textWidth is the width of running text, in characters.
const textWidth = 80

// wrap breaks the lines of paragraphs at blanks.
func wrap(text string, width int) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
