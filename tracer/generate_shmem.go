package tracer

import (
	"fmt"
	"strings"
)

// generateShmem makes the C source of the OpenSHMEM wrappers from their functions;
// ids are the identifiers of all functions. Each wrapper writes the call's record,
// calls the function of the profiling interface, and completes the record in place.
func generateShmem(funcs []shmemFunc, ids map[string]int) []byte {
	w := &cWriter{}
	w.line("/* Generated from %s. Do not edit. */", shmemPrototypes)
	w.line(`#include "osh.h"`)
	for i := range funcs {
		if f := &funcs[i]; !f.Custom {
			shmemForm{w, f, ids[f.definition()]}.write()
		}
	}
	return []byte(w.text.String())
}

// shmemForm is one wrapper being written.
type shmemForm struct {
	*cWriter
	f  *shmemFunc
	id int
}

func (g shmemForm) write() {
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
	g.line("extern %s real_%s(%s) __asm__(\"p%s\") __attribute__((weak));", f.Result, f.Name, parameters, f.Name)
	g.line("%s wrap_%s(%s) __asm__(\"%s\") __attribute__((visibility(\"default\")));", f.Result, f.Name, parameters, f.Name)
	g.line("%s wrap_%s(%s)", f.Result, f.Name, parameters)
	g.line("{")
	g.line("\tif (!real_%s)", f.Name)
	g.line("\t\tmcchk_shmem_missing(%q);", f.Name)
	back, result := "return ", f.Result+" _rc = "
	if f.Result == "void" {
		back, result = "", ""
	}
	g.line("\tif (!mcchk_enter(MCCHK_FRAME)) {")
	g.line("\t\t%s%s;", back, call)
	if back == "" {
		g.line("\t\treturn;")
	}
	g.line("\t}")
	g.begin()
	g.hook("begun")
	g.line("\t%s%s;", result, call)
	g.line("\tuint64_t _end = mcchk_now();")
	g.finish()
	g.line("\tmcchk_leave();")
	if back != "" {
		g.line("\treturn _rc;")
	}
	g.line("}")
}

func (g shmemForm) hook(name string) {
	for _, s := range statements(g.f.Hooks[name]) {
		g.line("\t%s;", s)
	}
}

// begin writes the record with what is known before the call, and keeps the places
// of the rest.
func (g shmemForm) begin() {
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
	g.line("\tmcchk_call_commit();")
}

// put writes one argument into the record that is being begun.
func (g shmemForm) put(a *shmemArg) {
	switch {
	case a.Kind == '-':
	case a.later():
		g.line("\t\t_at_%s = _w++;", a.Name)
	case a.Kind == 'I':
		g.line("\t\t*_w++ = _n_%s;", a.Name)
		g.line("\t\tfor (int64_t _k = 0; _k < _n_%s; _k++)", a.Name)
		g.line("\t\t\t*_w++ = (int64_t)%s[_k];", a.Name)
	default:
		g.line("\t\t*_w++ = %s;", a.expression(a.Name))
	}
}

// expression is a C expression for what is recorded of an argument with that value.
func (a *shmemArg) expression(value string) string {
	if a.Value != "" {
		value = a.Value
	}
	switch a.Kind {
	case 'p':
		return fmt.Sprintf("(int64_t)(uintptr_t)(%s)", value)
	case 'v':
		return fmt.Sprintf("mcchk_bits(%s)", value)
	case 'h':
		return fmt.Sprintf("mcchk_team_id(%s)", value)
	case 'c':
		return fmt.Sprintf("mcchk_ctx_id(%s)", value)
	case 'm':
		return fmt.Sprintf("mcchk_comparison(%s)", value)
	}
	return fmt.Sprintf("(int64_t)(%s)", value)
}

// finish completes the record once the call has returned.
func (g shmemForm) finish() {
	failed := "0"
	if g.f.Status {
		failed = "_rc != 0"
	}
	for i := range g.f.Args {
		if a := &g.f.Args[i]; a.later() {
			g.line("\tif (_at_%s && !(%s))", a.Name, failed)
			g.line("\t\t*_at_%s = %s;", a.Name, a.expression("*"+a.Name))
		}
	}
	g.line("\tmcchk_call_end(_end, %s);", failed)
	if g.f.Hooks["done"] != "" {
		g.line("\tif (!(%s)) {", failed)
		g.indented(func() { g.hook("done") })
		g.line("\t}")
	}
}
