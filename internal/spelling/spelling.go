// Package spelling finds the word that somebody meant.
package spelling

import (
	"fmt"
	"strings"
)

// maxDistance is how many letters a word may differ from what is suggested.
const maxDistance = 2

// DidYouMean is the end of a message about an unknown word, or "".
func DidYouMean(word string, words []string) string {
	if near := Nearest(word, words); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// Nearest returns the word most like name, or "" when none is like it.
func Nearest(name string, words []string) string {
	best, distance := "", maxDistance+1
	for _, w := range words {
		if d := editDistance(strings.ToLower(name), strings.ToLower(w)); d < distance {
			best, distance = w, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions and replacements that
// turn one word into the other.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
