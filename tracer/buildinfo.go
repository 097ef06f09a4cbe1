package tracer

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// buildSection is the ELF section that holds the build information.
const buildSection = ".mcchk_build"

// BuildInfo is what Compile writes into every executable and shared library:
// how its parts were made. The run-time copies it into the trace (info
// "build").
type BuildInfo struct {
	Compiler       string   `json:"compiler"`         // "gcc 12.2.0"
	Mode           string   `json:"mode"`             // one of the Mode constants
	Plugin         bool     `json:"plugin,omitempty"` // some objects were compiled with a plug-in of the compiler
	MPI            string   `json:"mpi"`              // "MPICH 4.0.2"
	Objects        []string `json:"objects"`          // object files, archive members as "libx.a(y.o)", shared libraries
	Uninstrumented []string `json:"uninstrumented"`
	// Fortran without the plug-in: the packages that bring it. What gfortran then copies and
	// fills by itself, small arrays and structures, is not seen.
	CopiesUnseen string `json:"copies_unseen,omitempty"`
	// Functions that the program calls by their profiling names, such as
	// PMPI_Send: the run-time does not see such calls.
	Bypassed []string `json:"bypassed,omitempty"`
}

// ErrNoBuildInfo says that a binary was not linked by mcchk.
var ErrNoBuildInfo = errors.New("not linked by mcchk cc or mcchk cxx")

// ReadBuildInfo reads the build information of an executable or shared
// library. The error is ErrNoBuildInfo when there is none.
func ReadBuildInfo(path string) (*BuildInfo, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	info, err := buildInfoOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrNoBuildInfo)
	}
	return info, nil
}

// buildInfoOf returns nil when there is none.
func buildInfoOf(f *elf.File) (*BuildInfo, error) {
	s := f.Section(buildSection)
	if s == nil {
		return nil, nil
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", buildSection, err)
	}
	data, _, _ = bytes.Cut(data, []byte{0})
	info := new(BuildInfo)
	if err := json.Unmarshal(data, info); err != nil {
		return nil, fmt.Errorf("section %s: %w", buildSection, err)
	}
	return info, nil
}

// source is a C file that defines the build information. In an executable it
// is the symbol that the run-time refers to; shared libraries keep it local, so
// that several do not meet.
func (b *BuildInfo) source(shared bool) (string, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	linkage := ""
	if shared {
		linkage = "static "
	}
	var text strings.Builder
	for _, c := range data {
		fmt.Fprintf(&text, "\\%03o", c)
	}
	return fmt.Sprintf("%sconst char mcchk_build_info[] __attribute__((used, section(%q))) =\n\t\"%s\";\n",
		linkage, buildSection, text.String()), nil
}
