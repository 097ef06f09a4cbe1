package mistaken

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "the file is empty",
		" \n":                                   "the file is empty",
		`{"mcchk_baseline": 2, "fin`:            "the file is cut off: it ends after 26 bytes, in the middle",
		"{\n<<<<<<< HEAD\n}":                    "a merge left a conflict in line 2",
		"{\n  \"a\": 1,\n  b\n}":                "it is no JSON: line 3: invalid character 'b' looking for beginning of object key string",
		"app.c:3: error":                        "it is no JSON: line 1: invalid character 'a' looking for beginning of value",
		"[1]":                                   "it is JSON, but no object: array",
		`{"mcchk_baseline": 2, "findings": []}`: "it is a baseline of mcchk",
		`{"version": 1, "verdict": "race", "findings": []}`: "it is a report of mcchk (--format json)",
		`{"$schema": "x", "version": "2.1.0", "runs": []}`:  "it is a report in SARIF (--format sarif)",
		`{"version": 1, "configurations": []}`:              "it is JSON, but of something else",
	} {
		require.Equal(t, want, JSON([]byte(text)), text)
	}
}

func TestConflict(t *testing.T) {
	require.Equal(t, 2, Conflict([]byte("- a\n<<<<<<< HEAD\n- b\n=======\n")))
	require.Zero(t, Conflict([]byte("- a\n- <<<<<<<\n")))
}
