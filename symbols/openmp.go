package symbols

import (
	"debug/dwarf"
	"strings"
)

// openMPRegion stands behind the name of a function for the code of its parallel regions and
// tasks, of which compilers make functions of their own. Names have no number that tells one
// region from another, so that they are the same whatever else is in the file.
const openMPRegion = "{OpenMP region}"

// regionOf returns the name of the code of OpenMP regions in a function of the source.
func regionOf(function string) string { return strings.TrimSpace(function + " " + openMPRegion) }

// IsOpenMPRegion reports whether a function is the code of an OpenMP region.
func IsOpenMPRegion(function string) bool { return strings.HasSuffix(function, openMPRegion) }

// outlinedByGcc returns the name of the code of a region that gcc calls function._omp_fn.0,
// where the function may be mangled.
func outlinedByGcc(s string) (string, bool) {
	for _, infix := range []string{"._omp_fn.", "._omp_cpyfn."} {
		if function, _, ok := strings.Cut(s, infix); ok {
			// A procedure that another one contains is numbered.
			if base := strings.TrimRight(function, "0123456789"); strings.HasSuffix(base, ".") {
				function = strings.TrimSuffix(base, ".")
			}
			return regionOf(sourceName(function)), true
		}
	}
	return "", false
}

// outlinedByClang reports whether a symbol is clang's of the code of a region or task. It
// does not say which function that belongs to.
func outlinedByClang(s string) bool { return strings.HasPrefix(s, ".omp") }

// declared is where the source has a function.
type declared struct {
	file int64
	line int64
}

// declarationOf reads where a function, or what it is a copy of, is declared.
func declarationOf(data *dwarf.Data, e *dwarf.Entry) (at declared) {
	for e := range references(data, e) {
		if line, ok := e.Val(dwarf.AttrDeclLine).(int64); ok {
			at.line = line
			at.file, _ = e.Val(dwarf.AttrDeclFile).(int64)
			break
		}
	}
	return at
}

// nameRegions names clang's functions for the code of regions: by the function that begins
// last before the region, of those with code at its line if there are any.
func (u *unit) nameRegions() {
	for _, region := range u.outlined {
		var in, near *scope
		for _, s := range u.scoped {
			if s.at.file != region.at.file || s.at.line > region.at.line || s.at.line == 0 {
				continue
			}
			if near == nil || s.at.line > near.at.line {
				near = s
			}
			if (in == nil || s.at.line > in.at.line) && u.hasLine(s, region.at.line) {
				in = s
			}
		}
		if in == nil {
			in = near
		}
		region.name = openMPRegion
		if in != nil {
			region.name = regionOf(in.name)
		}
	}
	u.outlined, u.scoped = nil, nil
}

// hasLine reports whether code of a function comes from a line of the file that the unit
// begins with, or of another: files are not compared.
func (u *unit) hasLine(s *scope, line int64) bool {
	for _, r := range s.ranges {
		for i := max(0, lastAtOrBelow(u.rows, r[0], func(r row) uint64 { return r.lo })); i < len(u.rows) && u.rows[i].lo < r[1]; i++ {
			if int64(u.rows[i].line) == line {
				return true
			}
		}
	}
	return false
}
