package tracer

import (
	"fmt"
	"strings"
)

// generateWrappers makes the C source of the MPI wrappers (wrappers.c) from their
// functions: one for each, and one more for its large-count form. Every wrapper
// does the same: it steps aside for calls that the program does not make itself,
// defines what the arguments refer to, writes the call's record, calls the MPI
// library, and completes the record in place.
func generateWrappers(funcs []tableFunc, ids map[string]int) []byte {
	w := &cWriter{}
	w.line("/* Generated from %s. Do not edit. */", prototypes)
	w.line(`#include "wrap.h"`)
	w.line("")
	w.line("#define FORTRAN 0")
	fillBuffers(funcs)
	for i := range funcs {
		if f := &funcs[i]; !f.Custom {
			generateFunc(w, f, ids[f.definition()])
		}
	}
	return w.text
}

func generateFunc(w *cWriter, f *tableFunc, id int) {
	version := f.Version
	types := strings.NewReplacer("COUNT", "int", "DISPL", "int", "AINT", "MPI_Aint")
	w.guard(version, func() { generateForm(w, f, id, f.Name, types) })
	if f.large() {
		types = strings.NewReplacer("COUNT", "MPI_Count", "DISPL", "MPI_Aint", "AINT", "MPI_Count")
		w.guard(max(version, 4), func() { generateForm(w, f, id, f.Name+"_c", types) })
	}
}

// form is one wrapper being written.
type form struct {
	*cWriter
	f     *tableFunc
	id    int
	types *strings.Replacer // of the names for types of the table
	// fortran: the arguments of the Fortran call are f_NAME, and each NAME in C
	// is made of them.
	fortran bool
}

func generateForm(w *cWriter, f *tableFunc, id int, name string, types *strings.Replacer) {
	g := form{cWriter: w, f: f, id: id, types: types}
	var params, args, own []string
	for i := range f.Args {
		a := &f.Args[i]
		if a.observed() {
			continue
		}
		params = append(params, strings.TrimSuffix(types.Replace(a.Type), " ")+" "+a.Name)
		args = append(args, a.Name)
		if a.Kind == 'S' {
			own = append(own, "_"+a.Name)
		} else {
			own = append(own, a.Name)
		}
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	// An assembler name: MPI libraries differ in the const of their prototypes.
	w.line("")
	w.line("int wrap_%s(%s) __asm__(\"%s\");", name, strings.Join(params, ", "), name)
	w.line("int wrap_%s(%s)", name, strings.Join(params, ", "))
	w.line("{")
	w.line("\tvoid *_frame = mcchk_caller(MCCHK_FRAME);")
	w.line("\tif (!mcchk_enter(_frame))")
	w.line("\t\treturn P%s(%s);", name, strings.Join(args, ", "))
	g.prepare()
	g.buffers()
	g.hook("define")
	g.begin()
	g.hook("begun")
	w.line("\tint _rc = P%s(%s);", name, strings.Join(own, ", "))
	w.line("\tuint64_t _end = mcchk_now();")
	g.finish()
	w.line("\tmcchk_leave();")
	w.line("\treturn _rc;")
	w.line("}")
}

// hook writes the statements that the table has for it.
func (g form) hook(name string) {
	for _, s := range statements(g.f.Hooks[name]) {
		g.line("\t%s;", s)
	}
}

// buffers says which memory the call is given.
func (g form) buffers() {
	list := statements(g.f.Hooks["buffers"])
	if len(list) == 0 {
		return
	}
	for _, of := range []struct {
		when string
		say  *strings.Replacer
	}{{"mcchk_blocks_known()", nameBuffers}, {"mcchk_beside()", giveBuffers}} {
		g.line("\tif (%s) {", of.when)
		for _, s := range list {
			g.line("\t\t%s;", of.say.Replace(s))
		}
		g.line("\t}")
	}
}

// nameBuffers and giveBuffers turn what is said of the buffers of requests into what is said
// before the call: that the blocks are to be told which they lie in, and what becomes a buffer.
var nameBuffers = strings.NewReplacer("TYPED_BUFFERS(", "NAME_PARTS(", "BUFFERS(", "NAME_PARTS(", "BUFFER(", "NAME(",
	"PENDING(", "NAME_PENDING(", "MEMORY(", "NAME(")

var giveBuffers = strings.NewReplacer("TYPED_BUFFERS(", "GIVE_TYPED(", "BUFFERS(", "GIVE_PARTS(", "BUFFER(", "GIVE(",
	"PENDING(", "GIVE_PENDING(", "MEMORY(", "GIVE_MEMORY(")

// fillBuffers gives all functions their hook "buffers", as the table says.
func fillBuffers(funcs []tableFunc) {
	byName := map[string]*tableFunc{}
	for i := range funcs {
		byName[funcs[i].Name] = &funcs[i]
	}
	for i := range funcs {
		if f := &funcs[i]; f.Hooks["buffers"] == "" {
			f.Hooks["buffers"] = buffersOf(f, byName)
		}
	}
}

func buffersOf(f *tableFunc, byName map[string]*tableFunc) string {
	var list []string
	for _, s := range statements(f.Hooks["made"] + ";" + f.Hooks["after"]) {
		if strings.Contains(s, "BUFFER(") || strings.Contains(s, "BUFFERS(") || strings.Contains(s, "PENDING(") {
			list = append(list, s)
		}
	}
	if len(list) > 0 {
		return strings.Join(list, "; ")
	}
	if g := byName[withRequest(f.Name)]; g != nil && g != f {
		return buffersOf(g, byName)
	}
	for i := range f.Args {
		if f.Args[i].Name == "buf" && len(f.Args) > i+2 && f.Args[i+2].Name == "datatype" {
			return "BUFFER(buf, count, datatype)"
		}
	}
	return ""
}

// withRequest is the name of the function that does the same and makes a request.
func withRequest(name string) string {
	rest, ok := strings.CutPrefix(name, "MPI_")
	if !ok || rest == "" {
		return ""
	}
	if file, ok := strings.CutPrefix(rest, "File_"); ok {
		return "MPI_File_i" + file
	}
	return "MPI_I" + strings.ToLower(rest[:1]) + rest[1:]
}

// statements cuts C code at semicolons outside parentheses.
func statements(code string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range code {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ';':
			if depth == 0 {
				list = append(list, strings.TrimSpace(code[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(code[start:]); last != "" {
		list = append(list, last)
	}
	return list
}

// prepare looks up what the arguments refer to, which may write definitions.
func (g form) prepare() {
	for i := range g.f.Args {
		a := &g.f.Args[i]
		if a.Room != "" {
			g.line("\tint64_t _n_%s = %s;", a.Name, conditional(inCond(a), a.Room, "0"))
		}
		if a.observed() {
			continue
		}
		if g.fortran {
			g.convertList(a)
		}
		switch a.Kind {
		case 'c', 't', 'o', 'w':
			if !a.Out {
				g.line("\tint64_t _v_%s = %s;", a.Name, conditional(a.Cond, identify(a), "0"))
			}
		case 'q':
			if a.Out {
				break
			}
			switch {
			case g.takes(a):
				g.line("\tstruct mcchk_request *_%s = mcchk_request_take(*%s);", a.Name, a.Name)
			case a.pointer():
				g.line("\tstruct mcchk_request *_%s = mcchk_request_find(*%s);", a.Name, a.Name)
			default:
				g.line("\tstruct mcchk_request *_%s = mcchk_request_find(%s);", a.Name, a.Name)
			}
		case 'Q':
			g.line("\tstruct mcchk_request **_%s = mcchk_requests_take((int)_n_%s, %s);", a.Name, a.Name, a.Name)
		case 'T':
			g.line("\tfor (int64_t _k = 0; _k < _n_%s; _k++)", a.Name)
			g.line("\t\tmcchk_type_id(%s[_k]);", a.Name)
		case 'G':
			g.line("\tint64_t _n_%s = mcchk_group_size(%s);", a.Name, a.Name)
		case 'S':
			n := "1"
			if a.Room != "" {
				n = "(int)_n_" + a.Name
			} else {
				g.line("\tint64_t _n_%s = 1;", a.Name)
			}
			if g.fortran {
				g.line("\tMPI_Fint *_own_%s, *_f_%s = mcchk_f_statuses(f_%s, %s, &_own_%s);", a.Name, a.Name, a.Name, n, a.Name)
				break
			}
			g.line("\tMPI_Status _one_%s, *_own_%s, *_%s = mcchk_statuses(%s, %s, &_one_%s, &_own_%s);", a.Name, a.Name, a.Name, a.Name, n, a.Name, a.Name)
		}
	}
}

// takes reports whether the call may complete, or give up, the one request that an
// argument points to.
func (g form) takes(a *tableArg) bool {
	return a.Kind == 'q' && !a.Out && strings.Contains(g.f.Hooks["after"]+g.f.Hooks["begun"], "(&_"+a.Name+")")
}

// inCond is the condition under which a list is read before the call. That of
// a list the call writes only holds afterwards.
func inCond(a *tableArg) string {
	if a.Out {
		return ""
	}
	return a.Cond
}

func identify(a *tableArg) string {
	value := a.Name
	if a.pointer() {
		value = "*" + value
	}
	of := map[byte]string{'c': "comm", 't': "type", 'o': "op", 'w': "win"}[a.Kind]
	return fmt.Sprintf("mcchk_%s_id(%s)", of, value)
}

func conditional(cond, then, otherwise string) string {
	if cond == "" {
		return then
	}
	return fmt.Sprintf("(%s) ? %s : %s", cond, then, otherwise)
}

// begin writes the record with the arguments known before the call, and keeps
// the places of the others.
func (g form) begin() {
	words := []string{}
	scalars := 0
	for i := range g.f.Args {
		switch a := &g.f.Args[i]; {
		case a.Kind == '-':
		case a.Kind == 'S':
			scalars++
			words = append(words, fmt.Sprintf("4 * (uint64_t)_n_%s", a.Name))
		case a.isList():
			scalars++
			words = append(words, fmt.Sprintf("(uint64_t)_n_%s", a.Name))
		default:
			scalars++
		}
	}
	words = append([]string{fmt.Sprint(scalars)}, words...)
	g.line("\tint64_t *_w = mcchk_call_begin(%d, %s, _frame);", g.id, strings.Join(words, " + "))
	for i := range g.f.Args {
		if a := &g.f.Args[i]; a.Out && a.Kind != '-' {
			g.line("\tint64_t *_at_%s = NULL;", a.Name)
		}
	}
	if scalars > 0 {
		g.line("\tif (_w) {")
		g.line("\t\tint64_t *_p = _w;")
		for i := range g.f.Args {
			if a := &g.f.Args[i]; a.Kind != '-' {
				g.put(a)
			}
		}
		g.line("\t\t(void)_p;")
		g.line("\t}")
	} else {
		g.line("\t(void)_w;")
	}
	g.line("\tmcchk_call_commit();")
}

// put writes one argument into the record that is being begun.
func (g form) put(a *tableArg) {
	if a.isList() {
		g.putList(a)
		return
	}
	if a.Out {
		g.line("\t\t_at_%s = _p++;", a.Name)
		return
	}
	var value string
	switch a.Kind {
	case 'i':
		value = number(a)
	case 'c', 't', 'o', 'w':
		value = "_v_" + a.Name
	case 'q':
		value = fmt.Sprintf("_%s ? _%s->id : 0", a.Name, a.Name)
	default:
		of := map[byte]string{'p': "address", 'r': "rank", 'g': "tag", 'a': "assertion", 'l': "lock_type"}[a.Kind]
		value = fmt.Sprintf("mcchk_%s(%s)", of, a.Name)
	}
	g.line("\t\t*_p++ = %s;", value)
}

// number is a C expression for what an argument of kind i is before the call.
func number(a *tableArg) string {
	value := a.Name
	if a.pointer() {
		value = "*" + value
	}
	switch {
	case strings.HasPrefix(a.Type, "MPI_Message"):
		return fmt.Sprintf("(int64_t)mcchk_handle(%s)", value)
	case strings.HasPrefix(a.Type, "MPI_File"):
		return fmt.Sprintf("mcchk_file_id(%s)", value)
	}
	return "(int64_t)" + value
}

func (g form) putList(a *tableArg) {
	each := func(value string) {
		g.line("\t\tfor (int64_t _k = 0; _k < _n_%s; _k++)", a.Name)
		g.line("\t\t\t*_p++ = %s;", value)
	}
	size := "_n_" + a.Name
	if a.Kind == 'S' {
		size = "4 * " + size
	}
	g.line("\t\t*_p++ = %s;", size)
	switch {
	case a.Out:
		g.line("\t\t_at_%s = _p;", a.Name)
		g.line("\t\t_p += %s;", size)
	case a.Kind == 'G':
		g.line("\t\tmcchk_group_words(%s, _p);", a.Name)
		g.line("\t\t_p += %s;", size)
	case a.Kind == 'T':
		each(fmt.Sprintf("mcchk_type_known(%s[_k])", a.Name))
	case a.Kind == 'Q':
		each(fmt.Sprintf("_%s && _%s[_k] ? _%s[_k]->id : 0", a.Name, a.Name, a.Name))
	case a.observed():
		each(fmt.Sprintf("(int64_t)(%s)", a.Value))
	default:
		each(fmt.Sprintf("(int64_t)%s[_k]", a.Name))
	}
}

// ends completes the record of a call, which has failed where that holds, and has changed and found
// nothing where idle does; "": it never says so.
func (w *cWriter) ends(failed, idle string) {
	if idle == "" {
		w.line("\tmcchk_call_end(_end, %s);", failed)
		return
	}
	w.line("\tif (!(%s) && (%s))", failed, idle)
	w.line("\t\tmcchk_poll_end(_end, 0);")
	w.line("\telse")
	w.line("\t\tmcchk_call_end(_end, %s);", failed)
}

// finish completes the record once the call has returned.
func (g form) finish() {
	g.line("\tif (_rc == MPI_SUCCESS) {")
	g.guardRequests(func() {
		g.indented(func() { g.hook("after") })
	})
	for i := range g.f.Args {
		if a := &g.f.Args[i]; a.Out && a.Kind != '-' {
			g.result(a)
		}
	}
	g.line("\t}")
	g.ends("_rc != MPI_SUCCESS", g.f.Hooks["idle"])
	g.line("\tif (_rc == MPI_SUCCESS) {")
	for i := range g.f.Args {
		if a := &g.f.Args[i]; a.Out && a.Kind == 'c' {
			g.line("\t\tmcchk_comm_define(*%s);", a.Name)
		}
	}
	g.indented(func() { g.hook("done") })
	if g.f.Hooks["failed"] != "" {
		g.line("\t} else {")
		g.indented(func() { g.hook("failed") })
	}
	g.line("\t}")
	for i := range g.f.Args {
		switch a := &g.f.Args[i]; {
		case g.takes(a):
			g.line("\tmcchk_request_leave(_%s);", a.Name)
		case a.Kind == 'Q':
			g.line("\tmcchk_requests_leave((int)_n_%s, _%s);", a.Name, a.Name)
		case a.Kind == 'S':
			g.line("\tfree(_own_%s);", a.Name)
		}
		if a := &g.f.Args[i]; g.fortran && g.converted(a) {
			g.line("\tfree(%s);", map[bool]string{true: "_" + a.Name, false: a.Name}[a.Kind == 'S'])
		}
	}
}

// guardRequests leaves the hooks of request arrays out when there was no memory
// to look the requests up.
func (g form) guardRequests(write func()) {
	for i := range g.f.Args {
		if a := &g.f.Args[i]; a.Kind == 'Q' && g.f.Hooks["after"] != "" {
			g.line("\t\tif (_%s) {", a.Name)
			write()
			g.line("\t\t}")
			return
		}
	}
	write()
}

// result works out one result, and records it when the call is.
func (g form) result(a *tableArg) {
	made := g.f.Hooks["made"]
	set := fmt.Sprintf("if (_at_%s) *_at_%s = ", a.Name, a.Name)
	switch {
	case a.observed():
		g.line("\t\tint64_t _v_%s = (int64_t)(%s);", a.Name, a.Value)
		g.line("\t\t%s_v_%s;", set, a.Name)
	case a.Kind == 'q':
		g.line("\t\tstruct mcchk_request *_made = mcchk_request_new(%s, %s);", a.Name, map[bool]string{true: "1", false: "0"}[strings.Contains(made, "PERSISTENT")])
		if g.fortran {
			g.line("\t\t*(MPI_Fint *)f_%s = PMPI_Request_c2f(*%s);", a.Name, a.Name)
		}
		if made != "" {
			g.line("\t\tif (_made) {")
			g.indented(func() { g.indented(func() { g.hook("made") }) })
			g.line("\t\t}")
		}
		g.line("\t\tint64_t _v_%s = mcchk_request_ready(_made);", a.Name)
		g.line("\t\t%s_v_%s;", set, a.Name)
	case a.Kind == 'c' || a.Kind == 'w':
		if made == "" || a.Kind == 'c' && !strings.Contains(made, a.Name) {
			made = fmt.Sprintf("mcchk_comm_made(*%s)", a.Name)
		}
		g.line("\t\tint64_t _v_%s = %s;", a.Name, made)
		g.line("\t\t%s_v_%s;", set, a.Name)
	case a.Kind == 'p':
		g.line("\t\t%smcchk_address(*(void **)%s);", set, a.Name)
	case a.Kind == 'S' && a.Room == "":
		g.line("\t\tif (_at_%s && _%s != MPI_STATUS_IGNORE%s)", a.Name, a.Name, and(a.Cond))
		g.line("\t\t\tmcchk_status_words(_%s, _at_%s);", a.Name, a.Name)
	case a.isList():
		g.resultList(a)
	case strings.HasPrefix(a.Type, "MPI_File"):
		g.line("\t\tint64_t _v_%s = %s;", a.Name, made)
		g.line("\t\t%s_v_%s;", set, a.Name)
	case a.Kind == 'i':
		g.line("\t\t%s(int64_t)*%s;", set, a.Name)
		if a.Name == "index" {
			g.line("\t\tif (_at_index) *_at_index = mcchk_rank(*index); /* MPI_UNDEFINED */")
		}
	}
}

// resultList records the part of a list that the call has written; the rest is
// MPI_UNDEFINED for numbers, zeros for statuses.
func (g form) resultList(a *tableArg) {
	length := "_n_" + a.Name
	if a.Length != "" {
		length = a.Length
	}
	if a.Kind == 'S' {
		g.line("\t\tfor (int64_t _k = 0; _at_%s && _%s != MPI_STATUSES_IGNORE%s && _k < %s; _k++)", a.Name, a.Name, and(a.Cond), length)
		g.line("\t\t\tmcchk_status_words(&_%s[_k], _at_%s + 4 * _k);", a.Name, a.Name)
		return
	}
	g.line("\t\tfor (int64_t _k = 0; _at_%s && _k < _n_%s; _k++)", a.Name, a.Name)
	g.line("\t\t\t_at_%s[_k] = _k < %s ? %s[_k] : -4;", a.Name, length, a.Name)
}

func and(cond string) string {
	if cond == "" {
		return ""
	}
	return " && (" + cond + ")"
}
