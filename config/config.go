// Package config finds out which settings are in force, and where each comes
// from: the command line, the environment (MCCHK_NAME), the nearest .mcchk.yaml
// above the working directory, or its default, in this order.
//
// A Setting says what there is to set; the caller has the list. Load reads file
// and environment, and checks every value, so that a mistake is told with the
// place where it stands. It knows nothing of what the settings do.
package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcchk/mcchk/internal/spelling"
)

// FileName is the name of the settings file.
const FileName = ".mcchk.yaml"

// Prefix is what the names of environment variables begin with.
const Prefix = "MCCHK_"

// Kind says what values a setting takes.
type Kind int

// Kinds of settings.
const (
	Text     Kind = iota // any text, or one of Choices
	Path                 // a file or folder; in a settings file relative to it
	Bool                 // true or false
	Count                // a whole number from 0
	Duration             // such as 10m
	Bytes                // such as 512MiB; 0; or the default, which may be a word
	Patterns             // a list of patterns of paths
	Parts                // a list of NAME=REASON; in a settings file also of part: and reason:
	Formats              // a list of FORMAT or FORMAT=FILE, FORMAT of Choices
)

// Setting is one thing that can be set.
type Setting struct {
	Name    string // as in the file, and behind -- on the command line
	Kind    Kind
	Default string
	Choices []string                 // of Text and Formats; empty: any
	Valid   func(value string) error // of Patterns and Parts; nil: all are
	Usage   string                   // what it does, a phrase
}

// List reports whether the setting takes any number of values.
func (s *Setting) List() bool { return s.Kind == Formats || s.Kind == Patterns || s.Kind == Parts }

// Env is the environment variable of a setting.
func (s *Setting) Env() string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Check returns what is wrong with a value, as "..." of a sentence that begins
// with the place where it stands.
func (s *Setting) Check(value string) error {
	switch s.Kind {
	case Bool:
		if value != "true" && value != "false" {
			return fmt.Errorf("%q is none of true, false", value)
		}
	case Count:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("%q is no number from 0 on", value)
		}
	case Duration:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Errorf("%q is no length of time, such as 90s or 10m", value)
		}
	case Bytes:
		if value == s.Default {
			return nil
		}
		_, err := ParseBytes(value)
		return err
	case Formats:
		name, file, hasFile := strings.Cut(value, "=")
		if hasFile && file == "" {
			return fmt.Errorf("%s: the file is missing", value)
		}
		return s.choose(name)
	case Patterns, Parts:
		if s.Valid != nil {
			return s.Valid(value)
		}
	case Text:
		return s.choose(value)
	}
	return nil
}

func (s *Setting) choose(value string) error {
	if len(s.Choices) == 0 || slices.Contains(s.Choices, value) {
		return nil
	}
	return fmt.Errorf("%q is none of %s%s", value, strings.Join(s.Choices, ", "), spelling.DidYouMean(value, s.Choices))
}

// Source is where a value comes from.
type Source string

// Sources, from the strongest.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "environment"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is what a setting has.
type Value struct {
	Values []string // one, but any number of a list
	From   Source
	Where  string // "--fail-on", "MCCHK_FAIL_ON", ".mcchk.yaml:3"; "" of a default
}

// String joins the values.
func (v Value) String() string { return strings.Join(v.Values, " ") }

// Config is what file and environment set.
type Config struct {
	File     string // path of the settings file, "" when there is none
	settings []Setting
	values   map[string]Value
}

// Load reads the settings file nearest to a folder, and the environment.
// Errors name each mistake with its file and line, or its variable.
func Load(settings []Setting, dir string, getenv func(string) string) (*Config, error) {
	c := &Config{settings: settings, values: map[string]Value{}}
	path, err := find(dir)
	if err != nil {
		return nil, err
	}
	if path != "" {
		c.File = path
		if err := c.readFile(path, shown(path, dir)); err != nil {
			return nil, err
		}
	}
	for i := range settings {
		if err := c.readEnv(&settings[i], getenv); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Of returns the value of a setting without regard to the command line.
func (c *Config) Of(name string) Value {
	if v, ok := c.values[name]; ok {
		return v
	}
	for i := range c.settings {
		if s := &c.settings[i]; s.Name == name && s.Default != "" {
			return Value{Values: []string{s.Default}, From: FromDefault}
		}
	}
	return Value{From: FromDefault}
}

// find returns the path of the nearest settings file in a folder or above; ""
// when there is none. Folders that everybody may write, such as /tmp, are passed
// over: a settings file names compilers that will be run.
func find(dir string) (string, error) {
	for {
		path := filepath.Join(dir, FileName)
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir() && !open(dir):
			return path, nil
		case err != nil && !os.IsNotExist(err) && !os.IsPermission(err):
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// open reports whether everybody may write a folder.
func open(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o002 != 0
}

// shown is a path as messages name it: relative when it lies in the folder or above.
func shown(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return rel
	}
	return path
}

func (c *Config) readEnv(s *Setting, getenv func(string) string) error {
	text := getenv(s.Env())
	if text == "" {
		return nil
	}
	values := []string{text}
	switch {
	case s.Kind == Parts: // reasons have blanks
		values = strings.Split(text, ";")
	case s.List():
		values = strings.Fields(text)
	}
	for _, v := range values {
		if err := s.Check(v); err != nil {
			return fmt.Errorf("%s: %w", s.Env(), err)
		}
	}
	c.values[s.Name] = Value{values, FromEnv, s.Env()}
	return nil
}

// UnknownVariables returns those of an environment (NAME=VALUE) that begin like
// ours and that nobody reads; others names further ones that are known.
func UnknownVariables(settings []Setting, environ, others []string) []string {
	known := slices.Clone(others)
	for i := range settings {
		known = append(known, settings[i].Env())
	}
	var out []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, Prefix) && !slices.Contains(known, name) {
			out = append(out, name+spelling.DidYouMean(name, known))
		}
	}
	slices.Sort(out)
	return out
}
