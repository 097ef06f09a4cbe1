package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcchk/mcchk/internal/mapping"
)

// readFile reads a settings file, which messages call name.
func (c *Config) readFile(path, name string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return mapping.Located(name, c.parse(data, filepath.Dir(name), name))
}

// parse reads the text of a settings file in a folder. Errors begin with the line.
func (c *Config) parse(data []byte, dir, name string) error {
	root, err := mapping.Parse(data)
	if err != nil || root == nil {
		return err
	}
	byName := map[string]*Setting{}
	var names []string
	for i := range c.settings {
		byName[c.settings[i].Name] = &c.settings[i]
		names = append(names, c.settings[i].Name)
	}
	entries, err := mapping.Entries(root, names)
	errs := []error{err}
	for _, e := range entries {
		s := byName[e.Key]
		values, err := s.fromYAML(e.Value, dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(values) > 0 {
			c.values[s.Name] = Value{values, FromFile, fmt.Sprintf("%s:%d", name, e.Line)}
		}
	}
	return errors.Join(errs...)
}

// fromYAML returns the values that a node of a file in a folder has; none for
// null, which leaves the default.
func (s *Setting) fromYAML(n *yaml.Node, dir string) ([]string, error) {
	items := []*yaml.Node{n}
	if s.List() && n.Kind == yaml.SequenceNode {
		list, err := mapping.Items(n)
		if err != nil {
			return nil, err
		}
		items = list
	}
	var out []string
	for _, item := range items {
		text, err := s.text(item)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, s.Name)
		}
		if text == "" {
			continue
		}
		if err := s.Check(text); err != nil {
			return nil, mapping.Errorf(item, "%s: %w", s.Name, err)
		}
		out = append(out, s.below(dir, text))
	}
	return out, nil
}

// text returns the value that an item of a list, or the only one, has.
func (s *Setting) text(item *yaml.Node) (string, error) {
	if s.Kind != Parts || item.Kind != yaml.MappingNode {
		return mapping.Text(item)
	}
	entries, err := mapping.Entries(item, []string{"part", "reason"})
	if err != nil {
		return "", err
	}
	values := map[string]string{}
	for _, e := range entries {
		if values[e.Key], err = mapping.Text(e.Value); err != nil {
			return "", err
		}
	}
	return values["part"] + "=" + values["reason"], nil
}

// below makes the file that a value names one of the settings file's folder.
func (s *Setting) below(dir, value string) string {
	switch s.Kind {
	case Path:
		return join(dir, value)
	case Formats:
		if format, file, hasFile := strings.Cut(value, "="); hasFile {
			return format + "=" + join(dir, file)
		}
	}
	return value
}

func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
