package symbols

import (
	"debug/dwarf"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxReferences bounds how far a name is followed from entry to entry.
const maxReferences = 16

// attrMIPSLinkageName is what older producers call the linkage name.
const attrMIPSLinkageName dwarf.Attr = 0x2007

// anonymousNamespace is left out of names: of what lies in it gcc writes the
// plain name, and a name should not depend on the compiler.
const anonymousNamespace = "(anonymous namespace)::"

// namer finds the names of functions, following the references from a copy to
// its origin and from a definition to its declaration.
type namer struct {
	data  *dwarf.Data
	known map[dwarf.Offset]string // by the entry that was referred to
}

// name returns the function's name as its source has it: C++ functions with
// their scope and template arguments, without parameters.
func (n *namer) name(e *dwarf.Entry) string {
	if s := ownName(e, true); s != "" {
		return s
	}
	at, ok := origin(e)
	if !ok {
		return ownName(e, false)
	}
	if s, ok := n.known[at]; ok {
		return s
	}
	s := n.follow(e)
	n.known[at] = s
	return s
}

func (n *namer) follow(e *dwarf.Entry) string {
	plain := ""
	r := n.data.Reader()
	for range maxReferences {
		if s := ownName(e, true); s != "" {
			return s
		}
		if plain == "" {
			plain = ownName(e, false)
		}
		at, ok := origin(e)
		if !ok {
			break
		}
		r.Seek(at)
		next, err := r.Next()
		if err != nil || next == nil {
			break
		}
		e = next
	}
	return plain
}

func origin(e *dwarf.Entry) (dwarf.Offset, bool) {
	if at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		return at, true
	}
	at, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
	return at, ok
}

// ownName returns the name that stands in the entry itself: the demangled C++
// name or that of a procedure of a Fortran module, or the plain one. Linkage names
// of other languages are not wanted.
func ownName(e *dwarf.Entry, mangled bool) string {
	if !mangled {
		s, _ := e.Val(dwarf.AttrName).(string)
		if s == fortranMain {
			return "main"
		}
		return s
	}
	for _, a := range []dwarf.Attr{dwarf.AttrLinkageName, attrMIPSLinkageName} {
		if s, ok := e.Val(a).(string); ok {
			if d, ok := demangled(s); ok {
				return d
			}
			if d, ok := moduleProcedure(s); ok {
				return d
			}
		}
	}
	return ""
}

func demangled(s string) (string, bool) {
	if !strings.HasPrefix(s, "_Z") {
		return "", false
	}
	d, err := demangle.ToString(s, demangle.NoParams, demangle.NoClones)
	return strings.ReplaceAll(d, anonymousNamespace, ""), err == nil
}

// sourceName turns a name of the symbol table into that of the source: without
// the suffixes of specialised copies, C++ names demangled, and procedures of a
// gfortran module as module::procedure.
func sourceName(s string) string {
	for _, suffix := range []string{".constprop", ".isra", ".part", ".cold", ".lto_priv"} {
		if i := strings.Index(s, suffix); i > 0 {
			s = s[:i]
		}
	}
	if d, ok := demangled(s); ok {
		return d
	}
	if name, ok := moduleProcedure(s); ok {
		return name
	}
	if s == fortranMain {
		return "main"
	}
	return s
}

// fortranMain is what gfortran calls a main program, unless that has another name
// than main.
const fortranMain = "MAIN__"

// moduleProcedure returns module::procedure for the symbol of a procedure of a
// gfortran module.
func moduleProcedure(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "__")
	if !ok {
		return "", false
	}
	module, procedure, ok := strings.Cut(rest, "_MOD_")
	return module + "::" + procedure, ok && module != "" && procedure != ""
}
