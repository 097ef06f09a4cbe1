// Package mapping reads YAML mappings strictly: a key that nobody knows or
// that stands twice is an error, with its line and the key that was meant.
package mapping

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/mcchk/mcchk/internal/mistaken"
	"github.com/mcchk/mcchk/internal/spelling"
)

// Entry is a key with its value.
type Entry struct {
	Key   string
	Line  int // of the key, from 1
	Value *yaml.Node
}

// Parse reads a YAML document; nil for an empty one. Errors begin with "line N".
func Parse(data []byte) (*yaml.Node, error) {
	if line := mistaken.Conflict(data); line > 0 {
		return nil, fmt.Errorf("line %d: a merge left a conflict there", line)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return resolve(doc.Content[0]), nil
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// Entries returns those of a mapping in their order. Keys must be known ones.
func Entries(n *yaml.Node, known []string) ([]Entry, error) {
	if n.Kind != yaml.MappingNode {
		return nil, Errorf(n, "not of the form 'key: value'")
	}
	isKnown := map[string]bool{}
	for _, k := range known {
		isKnown[k] = true
	}
	var out []Entry
	var errs []error
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch at, twice := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode || !isKnown[key.Value]:
			errs = append(errs, Errorf(key, "unknown key %q%s", key.Value, spelling.DidYouMean(key.Value, known)))
		case twice:
			errs = append(errs, Errorf(key, "%s stands in line %d already", key.Value, at))
		default:
			out = append(out, Entry{key.Value, key.Line, resolve(n.Content[i+1])})
		}
		lines[key.Value] = key.Line
	}
	return out, errors.Join(errs...)
}

// Items returns those of a list.
func Items(n *yaml.Node) ([]*yaml.Node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, Errorf(n, "not a list ('- ...')")
	}
	var out []*yaml.Node
	for _, item := range n.Content {
		out = append(out, resolve(item))
	}
	return out, nil
}

// Text returns a single value as it is written; "" for null.
func Text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", Errorf(n, "not a single value")
	}
	if n.Tag == "!!null" {
		return "", nil
	}
	return n.Value, nil
}

// Errorf makes an error that begins with the line of a node.
func Errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...))
}

// Located puts a file's name before each of several joined errors, a line each.
func Located(name string, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", name, err)
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, Located(name, e))
	}
	return errors.Join(out...)
}
