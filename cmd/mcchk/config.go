package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcchk/mcchk/config"
)

// settingInForce is one line of mcchk config.
type settingInForce struct {
	Name   string        `json:"name"`
	Values []string      `json:"values"`
	From   config.Source `json:"from"`
	Where  string        `json:"where,omitempty"`
	Means  string        `json:"means,omitempty"` // here, of a value that depends on the machine
	Usage  string        `json:"usage"`
}

func newConfigCommand(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings in force, and where each comes from",
		Long: `Prints every setting with its value and its source. In order of precedence: the
command line (this command accepts the flags of analyze, run and doctor), the
environment (MCCHK_NAME), the nearest ` + config.FileName + ` in the working directory or
above it, and the default.`,
		Example: "  mcchk config\n  mcchk config --fail-on warning --json",
		Args:    needs(0, 0, "nothing"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.loadSettings()
			if err != nil {
				return err
			}
			list, err := inForce(c, cmd.Flags(), a.getenv)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(a.out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(struct {
					File     string           `json:"file,omitempty"`
					Settings []settingInForce `json:"settings"`
				}{c.File, list})
			}
			return a.printSettings(c, list)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	for _, s := range settings() {
		switch {
		case s.Name == "color": // all commands have it
		case s.Kind == config.Bool:
			f.Bool(s.Name, false, s.Usage)
		case s.List():
			f.StringArray(s.Name, nil, s.Usage)
		default:
			f.String(s.Name, s.Default, s.Usage)
		}
	}
	return cmd
}

// inForce lists all settings, those on the command line first of all.
func inForce(c *config.Config, flags *pflag.FlagSet, getenv func(string) string) ([]settingInForce, error) {
	var list []settingInForce
	for _, s := range settings() {
		v := c.Of(s.Name)
		if f := flags.Lookup(s.Name); f != nil && f.Changed {
			v = config.Value{Values: []string{f.Value.String()}, From: config.FromFlag, Where: "--" + s.Name}
			if many, ok := f.Value.(pflag.SliceValue); ok {
				v.Values = many.GetSlice()
			}
			for _, text := range v.Values {
				if err := s.Check(text); err != nil {
					return nil, usagef("--%s: %w", s.Name, err)
				}
			}
		}
		list = append(list, settingInForce{s.Name, append([]string{}, v.Values...), v.From, v.Where, meaning(s, v, getenv), s.Usage})
	}
	return list, nil
}

// meaning says what a value means on this machine; "" where it is the same anywhere.
func meaning(s config.Setting, v config.Value, getenv func(string) string) string {
	if s.Kind != config.Bytes || v.String() != memoryAuto {
		return ""
	}
	return sizeText(halfOfMemory(getenv))
}

func (a *app) printSettings(c *config.Config, list []settingInForce) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		value := config.Value{Values: s.Values}.String()
		if value == "" {
			value = "-"
		}
		if s.Means != "" {
			value += " (" + s.Means + ")"
		}
		from := string(s.From)
		if s.Where != "" {
			from += " " + s.Where
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, value, from)
	}
	if c.File == "" {
		fmt.Fprintf(w, "\nno %s here or above\n", config.FileName)
	}
	return w.Flush()
}
