package tracer

import (
	"fmt"
	"slices"
	"strings"
)

// generateFortran makes the C source of the wrappers of MPI's Fortran procedures
// (fortran_wrappers.c) from the table of prototypes. All arguments of a Fortran
// call are addresses. Where the Fortran procedure of the MPI library calls the
// function in C by its public name, whose wrapper then records the call, the
// wrapper only passes it on; otherwise it records the call itself, like a wrapper
// in C, with what it has converted the arguments to, and calls the library's
// procedure with the program's own.
func generateFortran(funcs []tableFunc, ids map[string]int) []byte {
	w := &cWriter{}
	w.line("/* Generated from %s. Do not edit. */", prototypes)
	w.line(`#include "fortran.h"`)
	for i := range funcs {
		if f := &funcs[i]; !f.Custom {
			w.guard(f.Version, func() { generateProcedure(w, f, ids[f.definition()]) })
		}
	}
	return w.text
}

// generateProcedure writes the wrappers of all Fortran names of a function. Those
// of mpif.h and the module mpi, and in Open MPI those of mpi_f08, have the same
// arguments. MPICH's mpi_f08 passes buffers as descriptors, to procedures with
// f08ts in their names, and has large-count forms.
func generateProcedure(w *cWriter, f *tableFunc, id int) {
	lower := strings.ToLower(f.Name)
	small := strings.NewReplacer("COUNT", "int", "DISPL", "int", "AINT", "MPI_Aint")
	large := strings.NewReplacer("COUNT", "MPI_Count", "DISPL", "MPI_Aint", "AINT", "MPI_Count")
	record := func(types *strings.Replacer, suffix string) string {
		name := "fortran_" + f.Name + suffix
		form{cWriter: w, f: f, id: id, types: types, fortran: true}.procedure(name)
		return name
	}
	if f.buffers() {
		w.line("")
		w.line("#ifdef OPEN_MPI")
		name := record(small, "")
		w.entry(f, lower+"_", "p"+lower+"_", name)
		w.entry(f, lower+"_f08_", "p"+lower+"_f08_", name)
		w.line("#else")
		w.entry(f, lower+"_", "p"+lower+"_", "")
		w.entry(f, lower+"_f08ts_", "pmpir"+lower[3:]+"_f08ts_", "")
		if f.large() {
			w.entry(f, lower+"_f08ts_large_", "pmpir"+lower[3:]+"_f08ts_large_", "")
		}
		w.line("#endif")
		return
	}
	name := record(small, "")
	w.line("#ifdef OPEN_MPI")
	w.entry(f, lower+"_", "p"+lower+"_", name)
	w.entry(f, lower+"_f08_", "p"+lower+"_f08_", name)
	if f.pointer() {
		w.entry(f, lower+"_cptr_", "p"+lower+"_cptr_", name)
	}
	w.line("#else")
	w.entry(f, lower+"_", "p"+lower+"_", "")
	if f.pointer() {
		w.entry(f, lower+"_cptr_", "p"+lower+"_cptr_", "")
	}
	w.entry(f, lower+"_f08_", "pmpir"+lower[3:]+"_f08_", name)
	if f.large() {
		w.entry(f, lower+"_f08_large_", "pmpir"+lower[3:]+"_f08_large_", record(large, "_large"))
	}
	w.line("#endif")
}

// pointer reports whether the function returns where memory lies. The module mpi has a
// second specific procedure for these, whose argument is a TYPE(C_PTR) (MPI 4.0, 19.1.5).
func (f *tableFunc) pointer() bool {
	return slices.ContainsFunc(f.Args, func(a tableArg) bool { return a.Name == "baseptr" })
}

// buffers reports whether the function has arguments of any type, which are passed
// by address: its buffers, not pointers that it returns.
func (f *tableFunc) buffers() bool {
	for i := range f.Args {
		if f.Args[i].choice() {
			return true
		}
	}
	return false
}

func (a *tableArg) choice() bool {
	return a.Kind == 'p' && !a.Out && !a.observed() && a.Type != "const char *"
}

// text reports whether an argument is characters, whose length is passed behind
// all arguments.
func (a *tableArg) text() bool { return strings.Contains(a.Type, "char *") }

// parameters are those of the Fortran procedure, with types in C and without.
func (f *tableFunc) parameters() (declared, names string) {
	var types, args, lengths []string
	for i := range f.Args {
		a := &f.Args[i]
		if a.observed() {
			continue
		}
		types = append(types, "void *f_"+a.Name)
		args = append(args, "f_"+a.Name)
		if a.text() {
			types, lengths = append(types, ""), append(lengths, "l_"+a.Name)
		}
	}
	types = append(types, "MPI_Fint *f_ierror")
	args = append(args, "f_ierror")
	var list []string
	for _, t := range types {
		if t != "" {
			list = append(list, t)
		}
	}
	for _, l := range lengths {
		list = append(list, "size_t "+l)
		args = append(args, l)
	}
	return strings.Join(list, ", "), strings.Join(args, ", ")
}

// entry writes the procedure that the program calls. It records the call by the
// given function, or ("") leaves that to the wrapper in C.
func (w *cWriter) entry(f *tableFunc, name, real, record string) {
	declared, args := f.parameters()
	w.line("extern void %s() __attribute__((weak));", real)
	if record != "" {
		w.line("void %s(%s) { %s(MCCHK_FRAME, %s, %s); }", name, declared, record, real, args)
		return
	}
	w.line("void %s(%s)", name, declared)
	w.line("{")
	w.line("\tvoid *_outer = mcchk_through(MCCHK_FRAME);")
	var sections []string
	if strings.Contains(name, "f08ts") {
		for i := range f.Args {
			if f.Args[i].choice() {
				sections = append(sections, "mcchk_is_section(f_"+f.Args[i].Name+")")
			}
		}
		w.line("\tmcchk_types_lent(%s);", strings.Join(sections, " || "))
	}
	w.line("\t%s(%s);", real, args)
	if sections != nil {
		w.line("\tmcchk_types_lent(0);")
	}
	w.line("\tmcchk_self.through = _outer;")
	w.line("}")
}

// procedure writes the function that records a call.
func (g form) procedure(name string) {
	declared, args := g.f.parameters()
	var own []string
	for _, a := range strings.Split(args, ", ") {
		own = append(own, a)
		for i := range g.f.Args {
			if g.f.Args[i].Kind == 'S' && a == "f_"+g.f.Args[i].Name {
				own[len(own)-1] = "_" + a
			}
		}
		if a == "f_ierror" {
			own[len(own)-1] = "&_ierror"
		}
	}
	g.line("")
	g.line("static void %s(void *_frame, void (*_real)(), %s)", name, declared)
	g.line("{")
	g.line("\tif (!mcchk_enter(_frame)) {")
	g.line("\t\t_real(%s);", args)
	g.line("\t\treturn;")
	g.line("\t}")
	for i := range g.f.Args {
		g.convert(&g.f.Args[i])
	}
	g.prepare()
	g.buffers()
	g.hook("define")
	g.begin()
	g.hook("begun")
	g.line("\tMPI_Fint _ierror = MPI_SUCCESS;")
	g.line("\t_real(%s);", strings.Join(own, ", "))
	g.line("\tint _rc = _ierror;")
	g.line("\tif (f_ierror)")
	g.line("\t\t*f_ierror = _ierror;")
	g.line("\tuint64_t _end = mcchk_now();")
	for i := range g.f.Args {
		g.convertResult(&g.f.Args[i])
	}
	g.finish()
	g.line("\tmcchk_leave();")
	g.line("}")
}

// handleTypes are the names that MPI's conversions from Fortran have for handles.
var handleTypes = map[string]string{
	"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Group": "Group", "MPI_Info": "Info", "MPI_Op": "Op",
	"MPI_Request": "Request", "MPI_Win": "Win", "MPI_File": "File", "MPI_Message": "Message",
}

// handle is the handle that an argument is or points to, "" for none.
func (a *tableArg) handle() string {
	t := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(a.Type, "const "), "*"))
	if handleTypes[t] == "" {
		return ""
	}
	return t
}

// fromFortran is a C expression for a handle that an INTEGER stands for.
func fromFortran(handle, integer string) string {
	return fmt.Sprintf("PMPI_%s_f2c(%s)", handleTypes[handle], integer)
}

// convert declares, under its own name, what an argument is in C before the call.
// Lists of handles come later, when their lengths are known.
func (g form) convert(a *tableArg) {
	handle, name := a.handle(), a.Name
	switch {
	case a.text() && a.Kind != '-':
		g.line("\tchar *%s = mcchk_f_text(f_%s, l_%s);", name, name, name)
	case a.observed() || a.Kind == 'S' || g.converted(a) || a.text():
	case handle != "" && !a.pointer():
		g.line("\t%s %s = %s;", handle, name, fromFortran(handle, "*(MPI_Fint *)f_"+name))
	case handle == "MPI_Info" || strings.Contains(a.Type, "function") || a.Type == "MPI_Session *" || a.Type == "MPI_Errhandler":
	case handle == "MPI_Comm" && a.Kind == '-':
		g.line("\tvoid *%s = f_%s;", name, name)
	case handle != "" && (a.Out || a.Kind == '-'):
		g.line("\t%s _c_%s, *%s = &_c_%s;", handle, name, name, name)
	case handle != "":
		g.line("\t%s _c_%s = %s, *%s = &_c_%s;", handle, name, fromFortran(handle, "*(MPI_Fint *)f_"+name), name, name)
	case a.choice():
		g.line("\tconst void *%s = mcchk_f_address(f_%s);", name, name)
	case a.Type == "void *" && name == "buffer_addr": // mpif.h has no place for it
		g.line("\tvoid *_c_%s = NULL, *%s = &_c_%s;", name, name, name)
	case a.index():
		g.line("\tint _c_%s, *%s = &_c_%s;", name, name, name)
	case a.pointer():
		g.line("\t%s%s = f_%s;", g.types.Replace(a.Type), name, name)
	default:
		g.line("\t%s %s = *(%s *)f_%s;", g.types.Replace(a.Type), name, g.types.Replace(a.Type), name)
	}
}

// index reports whether the call returns the number of an element, which Fortran
// counts from 1.
func (a *tableArg) index() bool { return a.Name == "index" && a.Kind == 'i' && a.Out }

// converted reports whether an argument is a copy in allocated memory.
func (g form) converted(a *tableArg) bool {
	return a.Kind == 'Q' || a.Kind == 'T' || a.Kind == 'S' || a.Kind == 'I' && (a.Out || a.text())
}

// convertList makes the copy of a list.
func (g form) convertList(a *tableArg) {
	switch {
	case a.Kind == 'I' && a.Out:
		g.line("\tint *%s = mcchk_f_copy((int)_n_%s, sizeof *%s);", a.Name, a.Name, a.Name)
	case a.Kind == 'Q' || a.Kind == 'T':
		g.line("\t%s *%s = mcchk_f_copy((int)_n_%s, sizeof *%s);", a.handle(), a.Name, a.Name, a.Name)
		g.line("\tfor (int64_t _k = 0; _k < _n_%s; _k++)", a.Name)
		g.line("\t\t%s[_k] = %s;", a.Name, fromFortran(a.handle(), fmt.Sprintf("((MPI_Fint *)f_%s)[_k]", a.Name)))
	}
}

// convertResult gives an argument in C the value that the call has returned.
func (g form) convertResult(a *tableArg) {
	handle, name := a.handle(), a.Name
	switch {
	case a.observed():
	case a.Kind == 'S':
		g.line("\tMPI_Status *_%s = mcchk_f_statuses_read(_f_%s, (int)_n_%s);", name, name, name)
	case a.index():
		g.line("\t_c_%s = mcchk_f_index(*(MPI_Fint *)f_%s);", name, name)
	case a.Kind == 'I' && a.Out:
		g.line("\tfor (int64_t _k = 0; _k < _n_%s; _k++)", name)
		g.line("\t\t%s[_k] = mcchk_f_index(((MPI_Fint *)f_%s)[_k]);", name, name)
	case handle != "" && a.pointer() && !a.isList() && handle != "MPI_Info" && (handle != "MPI_Comm" || a.Kind != '-'):
		g.line("\t_c_%s = %s;", name, fromFortran(handle, "*(MPI_Fint *)f_"+name))
	}
}
