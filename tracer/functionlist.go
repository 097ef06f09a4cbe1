package tracer

import "strings"

// functionList is the functions that one run-time library records, of all models.
type functionList struct {
	definitions []string
	ids         map[string]int // by definition, from 1
	named       []string       // definitions of those that code written by hand names
}

// add adds a function; named: its number has a name of its own.
func (l *functionList) add(definition string, named bool) {
	if l.ids == nil {
		l.ids = map[string]int{}
	}
	if l.ids[definition] != 0 { // a note that several models make
		return
	}
	l.definitions = append(l.definitions, definition)
	l.ids[definition] = len(l.definitions)
	if named {
		l.named = append(l.named, definition)
	}
}

// generate makes the C source of the list (functions.c).
func (l *functionList) generate() []byte {
	w := &cWriter{}
	w.line("/* Generated from the tables of functions. Do not edit. */")
	w.line(`#include "calls.h"`)
	w.line("")
	w.line("const struct mcchk_function mcchk_functions[] = {")
	for _, d := range l.definitions {
		w.line("\t{%q},", d)
	}
	w.line("};")
	w.line("_Static_assert(%d < MCCHK_MAX_FUNCTIONS, \"functions\");", len(l.definitions))
	for _, d := range l.named {
		name, _, _ := strings.Cut(d, " ")
		w.line("extern const uint16_t mcchk_fn_%s __attribute__((visibility(\"hidden\")));", name)
		w.line("const uint16_t mcchk_fn_%s = %d;", name, l.ids[d])
	}
	return w.text
}
