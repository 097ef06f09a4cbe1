package tracer

import (
	"fmt"
	"slices"
	"strings"
)

// generate makes the C source of the wrappers of an interface from their functions;
// ids are the identifiers of all functions. Each wrapper writes the call's record,
// calls the library's function, and completes the record in place.
func (i *api) generate(funcs []apiFunc, ids map[string]int) []byte {
	w := &cWriter{}
	w.line("/* Generated from %s. Do not edit. */", i.table)
	w.line(`#include "%s"`, i.header)
	for k := range funcs {
		if f := &funcs[k]; !f.Custom {
			apiForm{w, i, f, ids[f.definition()]}.write()
		}
	}
	return w.text
}

// apiForm is one wrapper being written.
type apiForm struct {
	*cWriter
	api *api
	f   *apiFunc
	id  int
}

func (g apiForm) write() {
	f := g.f
	var params, args []string
	for i := range f.Args {
		if a := &f.Args[i]; a.Type != "" {
			params = append(params, a.Type+" "+a.Name)
			args = append(args, a.Name)
		}
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	parameters, call := strings.Join(params, ", "), fmt.Sprintf("real_%s(%s)", f.Name, strings.Join(args, ", "))
	// Assembler names: libraries differ in their prototypes.
	g.line("")
	weak := ""
	if g.api.missing != "" { // what the library lacks the program may have of its own
		weak = " __attribute__((weak))"
	}
	g.line("extern %s real_%s(%s) __asm__(\"%s%s\")%s;", f.Result, f.Name, parameters, g.api.real, f.Name, weak)
	if f.By != "" {
		g.line("extern %s fetching_%s(%s) __asm__(\"%s%s\")%s;", f.Fetch, f.Name, parameters, g.api.real, f.By, weak)
	}
	g.line("%s wrap_%s(%s) __asm__(\"%s%s\") __attribute__((visibility(\"default\")))%s;", f.Result, f.Name, parameters, g.api.own, f.Name, weak)
	g.line("%s wrap_%s(%s)", f.Result, f.Name, parameters)
	g.line("{")
	if f.By != "" && g.api.missing != "" {
		g.line("\tif (!fetching_%s)", f.Name)
		g.line("\t\t%s(%q);", g.api.missing, f.By)
	}
	if g.api.missing != "" {
		g.line("\tif (!real_%s)", f.Name)
		g.line("\t\t%s(%q);", g.api.missing, f.Name)
	}
	back, result := "return ", f.Result+" _rc = "
	if f.Result == "void" {
		back, result = "", ""
	}
	recorded := call
	if f.By != "" {
		result, recorded = f.Fetch+" _rc = ", strings.Replace(call, "real_"+f.Name, "fetching_"+f.Name, 1)
	}
	g.line("\tif (!mcchk_enter(MCCHK_FRAME)) {")
	g.line("\t\t%s%s;", back, call)
	if back == "" {
		g.line("\t\treturn;")
	}
	g.line("\t}")
	invoke := func() {
		if !f.Elsewhere {
			g.line("\t%s%s;", result, recorded)
			return
		}
		g.line("\t%s _rc = 0;", f.Fetch)
		g.line("\tif (pe == pshmem_my_pe())")
		g.line("\t\t%s;", call)
		g.line("\telse")
		g.line("\t\t_rc = %s;", recorded)
	}
	late := func() {
		g.hook("begun") // what it reads was there before the call began
		g.line("\tuint64_t _start = mcchk_now();")
		invoke()
		g.line("\tif (%s) {", f.When)
		g.indented(func() {
			g.begin("mcchk_call_commit_at(_start)")
			g.finish()
		})
		g.line("\t}")
	}
	early := func() {
		commit := "mcchk_call_commit()"
		if slices.ContainsFunc(f.Args, func(a apiArg) bool { return a.Name == "before" }) {
			commit = "mcchk_call_commit_at(mcchk_now())" // what it reads was there before the call began
		}
		g.begin(commit)
		g.hook("begun")
		invoke()
		g.finish()
	}
	switch {
	case f.Unless != "":
		g.line("\t%s _rc;", f.Result)
		result = "_rc = "
		g.line("\tif (%s) {", f.Unless)
		g.indented(early)
		g.line("\t} else {")
		g.indented(late)
		g.line("\t}")
	case f.When != "":
		late()
	default:
		early()
	}
	g.line("\tmcchk_leave();")
	if back != "" {
		g.line("\treturn _rc;")
	}
	g.line("}")
}

func (g apiForm) hook(name string) {
	for _, s := range statements(g.f.Hooks[name]) {
		g.line("\t%s;", s)
	}
}

// begin writes the record with what is known before the call, or when it is committed,
// and keeps the places of the rest.
func (g apiForm) begin(commit string) {
	words := []string{}
	scalars := 0
	for i := range g.f.Args {
		switch a := &g.f.Args[i]; {
		case a.Kind == '-':
		case a.Kind == 'I':
			scalars++
			g.line("\tint64_t _n_%s = %s;", a.Name, a.Count)
			words = append(words, "(uint64_t)_n_"+a.Name)
		default:
			scalars++
		}
		if a := &g.f.Args[i]; a.later() {
			g.line("\tint64_t *_at_%s = NULL;", a.Name)
		}
	}
	words = append([]string{fmt.Sprint(scalars)}, words...)
	g.line("\tint64_t *_w = mcchk_call_begin(%d, %s, MCCHK_FRAME);", g.id, strings.Join(words, " + "))
	if scalars == 0 {
		g.line("\t(void)_w;")
	} else {
		g.line("\tif (_w) {")
		for i := range g.f.Args {
			g.put(&g.f.Args[i])
		}
		g.line("\t}")
	}
	g.line("\t%s;", commit)
}

// put writes one argument into the record that is being begun.
func (g apiForm) put(a *apiArg) {
	switch {
	case a.Kind == '-':
	case a.Kind == 'I':
		g.line("\t\t*_w++ = _n_%s;", a.Name)
		if a.later() {
			g.line("\t\t_at_%s = _w;", a.Name)
			g.line("\t\t_w += _n_%s;", a.Name)
			return
		}
		g.line("\t\tfor (int64_t _k = 0; _k < _n_%s; _k++)", a.Name)
		g.line("\t\t\t*_w++ = %s;", g.expression(a, a.Name+"[_k]"))
	case a.later():
		g.line("\t\t_at_%s = _w++;", a.Name)
	default:
		g.line("\t\t*_w++ = %s;", g.expression(a, a.Name))
	}
}

// expression is a C expression for what is recorded of an argument with that value.
func (g apiForm) expression(a *apiArg, value string) string {
	if a.Value != "" {
		value = a.Value
	}
	if a.Kind == 'p' {
		return fmt.Sprintf("(int64_t)(uintptr_t)(%s)", value)
	}
	if own := g.api.kinds[a.Kind]; own != "" {
		return fmt.Sprintf(own, value)
	}
	return fmt.Sprintf("(int64_t)(%s)", value)
}

// finish completes the record once the call has returned.
func (g apiForm) finish() {
	g.line("\tuint64_t _end = mcchk_now();")
	failed := "0"
	if g.f.Status {
		failed = "_rc != 0"
	}
	for i := range g.f.Args {
		switch a := &g.f.Args[i]; {
		case a.later() && a.Kind == 'I':
			g.line("\tfor (int64_t _k = 0; _at_%s && !(%s) && _k < _n_%s; _k++)", a.Name, failed, a.Name)
			g.line("\t\t_at_%s[_k] = %s;", a.Name, g.expression(a, a.Name+"[_k]"))
		case a.later():
			g.line("\tif (_at_%s && !(%s))", a.Name, failed)
			g.line("\t\t*_at_%s = %s;", a.Name, g.expression(a, "*"+a.Name))
		}
	}
	g.ends(failed, g.f.Hooks["idle"])
	if g.f.Hooks["done"] != "" {
		g.line("\tif (!(%s)) {", failed)
		g.indented(func() { g.hook("done") })
		g.line("\t}")
	}
}
