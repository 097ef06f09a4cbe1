package tracer

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// instrumentation is what an object shows of how it was compiled.
type instrumentation uint8

const (
	instrNoCode instrumentation = iota // nothing that runs
	instrNone                          // code, but no call-back
	instrSome                          // instrumented, but without loads or stores
	instrCall
	instrInline
)

// Call-backs by which instrumented code is known. In mode "inline" only the
// outlined rest of a test is left of the accesses, slowPrefix or, by a plug-in,
// missPrefix, loopFunction or nestFunction of those of a loop, and inlinedUnit of the constructor
// of each object.
const (
	callbackPrefix = "__tsan_"
	slowPrefix     = "mcchk_slow_"
	missPrefix     = "mcchk_miss_"
	loopFunction   = "mcchk_loop"
	nestFunction   = "mcchk_nest"
	inlinedUnit    = "mcchk_inlined_unit"
)

// objectFacts is what a look into an object file or shared library tells.
type objectFacts struct {
	state    instrumentation
	plugin   bool       // compiled with a plug-in
	slow     bool       // calls what only clang compiles
	bypassed []string   // functions that it calls in a way that the run-time may not record
	fortran  []string   // functions of gfortran's library whose accesses can be told
	coarrays []string   // functions of a coarray library that get a stub
	openmp   []string   // functions of an OpenMP library that it calls
	gaspi    bool       // it calls GASPI
	shmem    []string   // functions of OpenSHMEM that it calls
	own      []string   // functions of OpenSHMEM and GASPI that it defines
	build    *BuildInfo // of a shared library made by mcchk
}

// inspectObject reads the symbols of an ELF object or shared library.
func inspectObject(r io.ReaderAt) (objectFacts, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return objectFacts{}, err
	}
	defer f.Close()
	var facts objectFacts
	if !hasCode(f) {
		return facts, nil
	}
	symbols, err := readSymbols(f)
	if err != nil {
		return facts, err
	}
	names := undefined(symbols)
	facts.state = instrumentationOf(names)
	facts.plugin = slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, missPrefix) || name == loopFunction || name == nestFunction
	})
	facts.slow = slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, slowPrefix) })
	for _, name := range names {
		facts.gaspi = facts.gaspi || strings.HasPrefix(strings.TrimPrefix(name, "p"), gaspiPrefix)
		if strings.HasPrefix(name, "PMPI_") || isFortranName(name) || ofOtherModel(name) || isExtension(name) {
			facts.bypassed = append(facts.bypassed, name)
		}
		if isOpenMPName(name) {
			facts.openmp = append(facts.openmp, name)
		}
		if coarrayUnknown(name) {
			facts.bypassed = append(facts.bypassed, name)
		}
		if f.Type == elf.ET_REL && coarrayKind(name) != 0 {
			facts.coarrays = append(facts.coarrays, name)
		}
		if f.Type == elf.ET_REL && libgfortranReads(name) != "" {
			facts.fortran = append(facts.fortran, name)
		}
	}
	switch f.Type {
	case elf.ET_REL:
		facts.shmem, facts.own = calledShmem(symbols), definedOfOthers(symbols)
	case elf.ET_DYN:
		if facts.build, err = buildInfoOf(f); facts.build != nil {
			facts.own = definedOfOthers(symbols)
		}
	}
	return facts, err
}

func instrumentationOf(undefined []string) instrumentation {
	state := instrNone
	for _, name := range undefined {
		switch {
		case strings.HasPrefix(name, slowPrefix), strings.HasPrefix(name, missPrefix), name == loopFunction, name == nestFunction, name == inlinedUnit:
			return instrInline
		case isAccessCallback(name):
			state = instrCall
		case strings.HasPrefix(name, callbackPrefix) && state == instrNone:
			state = instrSome
		}
	}
	return state
}

// isAccessCallback tells the call-backs of loads and stores from the others.
// Atomic ones are calls in both modes, so they tell nothing.
func isAccessCallback(name string) bool {
	for _, p := range []string{"read", "write", "unaligned_"} {
		if strings.HasPrefix(name, callbackPrefix+p) {
			return true
		}
	}
	return false
}

// hasCode reports whether an object holds machine code, or (for link-time
// optimization) what becomes code later.
func hasCode(f *elf.File) bool {
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".gnu.lto_") {
			return true
		}
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Size == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		switch s.Name {
		case ".init", ".fini", ".plt", ".plt.got", ".plt.sec":
		default:
			return true
		}
	}
	return false
}

// readSymbols reads the symbols of an object, or the dynamic ones of a shared library.
func readSymbols(f *elf.File) ([]elf.Symbol, error) {
	read := f.Symbols
	if f.Type == elf.ET_DYN {
		read = f.DynamicSymbols
	}
	symbols, err := read()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil
	}
	return symbols, err
}

func undefined(symbols []elf.Symbol) []string {
	var names []string
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	return names
}

// definedSymbols lists the global symbols that an object defines.
func definedSymbols(r io.ReaderAt) ([]string, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := readSymbols(f)
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_LOCAL && elf.ST_VISIBILITY(s.Other) == elf.STV_DEFAULT {
			names = append(names, s.Name)
		}
	}
	return names, err
}

// inspection gathers what the inputs of a link are.
type inspection struct {
	objects        []string
	uninstrumented []string
	slow           []string // objects that need a run-time compiled by clang
	bypassed       map[string]bool
	fortran        map[string]bool // functions of gfortran's library, called by objects
	coarrays       map[string]bool // functions of a coarray library, called by objects
	openmp         map[string]bool // functions of an OpenMP library that parts call
	shmem          map[string]bool // functions of OpenSHMEM, called by objects that are linked in any case
	own            map[string]bool // functions of OpenSHMEM and GASPI that the program has of its own
	call, inline   bool
	some           bool
	plugin         bool
	gaspi          bool // some part calls GASPI
}

// add inspects one input of a link; shown is the name to report it by. Inputs
// that are no ELF files or archives (linker scripts, …) are passed over.
func (n *inspection) add(path, shown string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the linker says it better
	}
	defer f.Close()
	magic := make([]byte, 8)
	k, err := io.ReadFull(f, magic)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	magic = magic[:k]
	switch {
	case bytes.HasPrefix(magic, []byte(elf.ELFMAG)):
		facts, err := inspectObject(f)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		n.note(shown, facts)
		addAll(&n.shmem, facts.shmem)
	case bytes.HasPrefix(magic, []byte("BC\xc0\xde")):
		n.note(shown, objectFacts{state: instrNone})
	case string(magic) == archiveMagic, string(magic) == thinArchiveMagic:
		return eachMember(path, func(m archiveMember) error {
			return n.member(m, shown+"("+m.name+")")
		})
	}
	return nil
}

func (n *inspection) member(m archiveMember, shown string) error {
	magic := make([]byte, 4)
	if _, err := m.data.ReadAt(magic, 0); err != nil {
		return nil // too short to be an object
	}
	switch string(magic) {
	case elf.ELFMAG:
		facts, err := inspectObject(m.data)
		if err != nil {
			return fmt.Errorf("%s: %w", shown, err)
		}
		n.note(shown, facts)
	case "BC\xc0\xde":
		n.note(shown, objectFacts{state: instrNone})
	}
	return nil
}

func (n *inspection) note(shown string, facts objectFacts) {
	n.objects = append(n.objects, shown)
	n.plugin = n.plugin || facts.plugin
	n.gaspi = n.gaspi || facts.gaspi
	if facts.slow {
		n.slow = append(n.slow, shown)
	}
	addAll(&n.bypassed, facts.bypassed)
	addAll(&n.fortran, facts.fortran)
	addAll(&n.coarrays, facts.coarrays)
	addAll(&n.openmp, facts.openmp)
	addAll(&n.own, facts.own)
	switch facts.state {
	case instrNone:
		n.without(shown)
	case instrSome:
		n.some = true
	case instrCall:
		n.call = true
	case instrInline:
		n.inline = true
	}
	if facts.build != nil {
		for _, u := range facts.build.Uninstrumented {
			if !sharedLibrary.MatchString(u) { // which is no part of who links it
				u = shown + "(" + u + ")"
			}
			n.without(u)
		}
	}
}

var sharedLibrary = regexp.MustCompile(`\.so(\.[0-9.]+)?$`)

// without notes a part that is not instrumented, once.
func (n *inspection) without(name string) {
	if !slices.Contains(n.uninstrumented, name) {
		n.uninstrumented = append(n.uninstrumented, name)
	}
}

func addAll(set *map[string]bool, names []string) {
	for _, name := range names {
		if *set == nil {
			*set = map[string]bool{}
		}
		(*set)[name] = true
	}
}

// unseen returns the functions that the program calls past the run-time of a toolchain, of those
// that a run-time would record.
func (n *inspection) unseen(tc *Toolchain) ([]string, error) {
	if len(n.bypassed) == 0 {
		return nil, nil
	}
	functions, err := Functions()
	if err != nil {
		return nil, err
	}
	var list []string
	observed := map[string]bool{}
	for _, f := range functions {
		observed[strings.ToLower(f.Name)] = f.Unobserved == "" && !f.Pseudo()
		for _, name := range []string{"P" + f.Name, "P" + f.Name + "_c"} {
			if f.Unobserved == "" && n.bypassed[name] {
				list = append(list, name)
			}
		}
	}
	others, err := n.unseenOfOthers(tc)
	if err != nil {
		return nil, err
	}
	list = append(list, others...)
	for _, name := range slices.Sorted(maps.Keys(n.bypassed)) {
		if coarrayUnknown(name) || isExtension(name) && !n.own[name] {
			list = append(list, name)
		}
		if m := reFortranName.FindStringSubmatch(name); m != nil && observed["mpi_"+strings.ToLower(m[2])] && !(m[1] == "mpi_" && m[4] == "_") {
			list = append(list, name)
		}
	}
	return list, nil
}

// reFortranName fits the names that Fortran compilers and MPI libraries give to MPI's
// procedures: those of the profiling interface too, and of other ways of writing
// names than the wrappers have (gfortran's own: small letters and one underscore).
var reFortranName = regexp.MustCompile(`^(mpi_|pmpir?_|MPI_|PMPI_)([A-Za-z_0-9]*[A-Za-z0-9])??(_f08(?:ts)?(?:_large)?|_cptr)?(_{0,2})$`)

// isFortranName tells such a name from one in C, which has a small letter behind its first.
func isFortranName(name string) bool {
	return reFortranName.MatchString(name) && (name == strings.ToLower(name) || name == strings.ToUpper(name))
}

// mode is that of all inputs together; own is the mode of the toolchain that
// links, used when no input tells.
func (n *inspection) mode(own string) string {
	switch {
	case n.call && n.inline:
		return ModeMixed
	case n.call:
		return ModeCall
	case n.inline:
		return ModeInline
	case n.some:
		return own
	}
	return ModeNone
}

// gaspiLibrary reports whether an input of a link is the GASPI library, which users
// name themselves, and whose code is none of the program's.
func gaspiLibrary(path string) bool {
	defines := func(r io.ReaderAt) bool {
		f, err := elf.NewFile(r)
		if err != nil {
			return false
		}
		defer f.Close()
		symbols, err := readSymbols(f)
		return err == nil && slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
			return s.Name == "gaspi_proc_init" && s.Section != elf.SHN_UNDEF
		})
	}
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		if defines(f) {
			return true
		}
	}
	found := false
	err := eachMember(path, func(m archiveMember) error {
		found = found || defines(m.data)
		return nil
	})
	return err == nil && found
}

// systemFile reports whether a library belongs to the system or to the MPI
// library rather than to the program. Such code is not instrumented, and what
// it reads and writes is for the wrappers to say.
func systemFile(path string, mpiDirs []string) bool {
	clean, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for _, dir := range append([]string{"/usr", "/lib", "/lib32", "/lib64"}, mpiDirs...) {
		if strings.HasPrefix(clean, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}
