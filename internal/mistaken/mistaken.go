// Package mistaken says what a file holds where another one was asked for.
package mistaken

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Conflict returns the line, from 1, at which a merge left a conflict in a text; 0: there
// is none.
func Conflict(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) {
			return i + 1
		}
	}
	return 0
}

// JSON says of a file that was to hold a JSON object, and does not hold the right one, what
// it is: "the file is empty".
func JSON(data []byte) string {
	if len(bytes.TrimSpace(data)) == 0 {
		return "the file is empty"
	}
	if line := Conflict(data); line > 0 {
		return fmt.Sprintf("a merge left a conflict in line %d", line)
	}
	var object map[string]json.RawMessage
	err := json.NewDecoder(bytes.NewReader(data)).Decode(&object)
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the file is cut off: it ends after %d bytes, in the middle", len(data))
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is no JSON: line %d: %v", 1+bytes.Count(data[:min(syntax.Offset, int64(len(data)))], []byte("\n")), err)
	case errors.As(err, &other):
		return "it is JSON, but no object: " + other.Value
	}
	has := func(keys ...string) bool {
		for _, k := range keys {
			if object[k] == nil {
				return false
			}
		}
		return true
	}
	switch {
	case has("mcchk_baseline"):
		return "it is a baseline of mcchk"
	case has("version", "verdict", "findings"):
		return "it is a report of mcchk (--format json)"
	case has("$schema", "runs"), has("version", "runs"):
		return "it is a report in SARIF (--format sarif)"
	}
	return "it is JSON, but of something else"
}
