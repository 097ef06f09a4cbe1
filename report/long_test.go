package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteLong: a document whose lists are written element by element is the same
// bytes as one that is written at once.
func TestWriteLong(t *testing.T) {
	type inner struct {
		Name string   `json:"name"`
		List []string `json:"list"`
	}
	type document struct {
		Text   string `json:"text"`
		Within []struct {
			First []inner `json:"first"`
			After int     `json:"after"`
		} `json:"within"`
		Second []int `json:"second"`
	}
	for n := range 4 {
		var doc document
		doc.Text = `"first": [] and <&>`
		doc.Within = append(doc.Within, struct {
			First []inner `json:"first"`
			After int     `json:"after"`
		}{[]inner{}, 7})
		doc.Second = []int{}
		elements := []inner{{"a", []string{`"second": []`}}, {"b", []string{}}, {"c", nil}}[:n]
		var got, want bytes.Buffer
		require.NoError(t, writeLong(&got, doc,
			longList{"first", n, func(i int) any { return elements[i] }}, longList{"second", 2 * n, func(i int) any { return i }}))
		doc.Within[0].First = append(doc.Within[0].First, elements...)
		for i := range 2 * n {
			doc.Second = append(doc.Second, i)
		}
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(doc))
		require.Equal(t, want.String(), got.String())
	}
	for n, lines := range map[int]int{mostIndented: 4 * mostIndented, mostIndented + 1: mostIndented + 1} {
		var b bytes.Buffer
		require.NoError(t, writeLong(&b, []inner{{List: []string{}}}, longList{"list", n, func(i int) any { return inner{"a", nil} }}))
		require.True(t, json.Valid(b.Bytes()))
		require.Equal(t, lines+7, bytes.Count(b.Bytes(), []byte("\n")), n)
	}
	require.ErrorContains(t, writeLong(&bytes.Buffer{}, 1, longList{key: "x"}), "no empty list x")
}
