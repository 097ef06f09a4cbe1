package symbols

import (
	"debug/dwarf"
	"iter"
	"regexp"
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

// callOperator is what gcc calls the function of a lambda.
const callOperator = "operator()"

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
	if s, ok := n.known[e.Offset]; ok {
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

// local names what a class that is a function's own does: gcc gives no linkage name to that. A lambda's
// class has no name.
func (n *namer) local(e, function *dwarf.Entry, class string) {
	own := ownName(e, false)
	if ownName(e, true) != "" || own == "" {
		return
	}
	if class == "" && own == callOperator {
		own = lambda
	}
	n.known[e.Offset] = joined(n.name(function), joined(class, own))
}

// joined returns a name with what it lies in.
func joined(in, name string) string {
	if in == "" || name == "" {
		return in + name
	}
	return in + "::" + name
}

func (n *namer) follow(e *dwarf.Entry) string {
	plain := ""
	for e := range references(n.data, e) {
		if s := ownName(e, true); s != "" {
			return s
		}
		if plain == "" {
			plain = ownName(e, false)
		}
	}
	return plain
}

// references are an entry, the one that it completes or is an instance of, and so on.
func references(data *dwarf.Data, e *dwarf.Entry) iter.Seq[*dwarf.Entry] {
	return func(yield func(*dwarf.Entry) bool) {
		r := data.Reader()
		for range maxReferences {
			if !yield(e) {
				return
			}
			at, ok := origin(e)
			if !ok {
				return
			}
			r.Seek(at)
			next, err := r.Next()
			if err != nil || next == nil {
				return
			}
			e = next
		}
	}
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
		if region, ok := outlinedByGcc(s); ok {
			return region
		}
		if linkage, _ := e.Val(dwarf.AttrLinkageName).(string); s == "" && outlinedByClang(linkage) {
			return linkage
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
	d = abiTags.ReplaceAllString(strings.ReplaceAll(d, anonymousNamespace, ""), "")
	d = clangUnnamed.ReplaceAllString(withoutNumbers(d), unnamed)
	return strings.ReplaceAll(d, unnamed+"::operator()", lambda), err == nil
}

// What has no name in the source is numbered by gcc in its function, with the
// parameters of a lambda, and by clang in its file ("$_0"). Names of functions have
// neither, so that they are the same whatever the compiler.
const lambda, unnamed = "{lambda}", "{unnamed}"

var (
	abiTags      = regexp.MustCompile(`\[abi:[^\]]*\]`)
	clangUnnamed = regexp.MustCompile(`\$_\d+`)
)

// withoutNumbers replaces gcc's names of lambdas and unnamed types, such as
// {lambda(int)#1}.
func withoutNumbers(s string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, "{lambda(")
		if u := strings.Index(s, "{unnamed type#"); at < 0 || u >= 0 && u < at {
			at = u
		}
		end := -1
		if at >= 0 {
			end = closing(s[at:])
		}
		if end < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at] + unnamed)
		s = s[at+end+1:]
	}
}

// closing returns the index of the brace that closes the one that s begins with, or -1.
func closing(s string) int {
	depth := 0
	for i, c := range s {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// partSuffix is in the symbol of a part that gcc took out of a function, the rest of which is
// inlined where it is called.
const partSuffix = ".part."

// sourceName turns a name of the symbol table into that of the source: without
// the suffixes of specialised copies, C++ names demangled, and procedures of a
// gfortran module as module::procedure.
func sourceName(s string) string {
	for _, suffix := range []string{".constprop", ".isra", ".part", ".cold", ".lto_priv"} {
		if i := strings.Index(s, suffix); i > 0 {
			s = s[:i]
		}
	}
	if region, ok := outlinedByGcc(s); ok {
		return region
	}
	if outlinedByClang(s) {
		return openMPRegion
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

// codeOfEntries is how gfortran calls the function that has the code of a procedure with ENTRY
// statements.
var codeOfEntries = regexp.MustCompile(`^master\.\d+\.(\w+)$`)

// withEntries returns the name of the procedure of whose entries a function has the code.
func withEntries(function string) (string, bool) {
	m := codeOfEntries.FindStringSubmatch(function)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// procedure is the name of a function in the source.
func procedure(function string) string {
	if name, ok := withEntries(function); ok {
		return name
	}
	return function
}

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
