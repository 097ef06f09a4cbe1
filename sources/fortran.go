package sources

import (
	"path/filepath"
	"strings"
)

// Form is the form of source text in Fortran.
type Form int

// Forms of source text.
const (
	NotFortran Form = iota
	FixedForm
	FreeForm
)

// FormOf tells the form of a file by its name.
func FormOf(file string) Form {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".f90", ".f95", ".f03", ".f08", ".f18", ".fpp":
		return FreeForm
	case ".f", ".for", ".ftn", ".f77":
		return FixedForm
	}
	return NotFortran
}
