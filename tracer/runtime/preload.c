/* What holds where the run-time is a library of its own, which the dynamic linker loads
 * before all others (LD_PRELOAD) into programs that were not compiled with mcchk cc. In
 * one that is linked into the program, linked.c stands in its place.
 *
 * Such programs keep no frame pointers, so stacks are unwound by the tables that
 * exceptions use. Above the call of a Python extension module, the frames of the
 * interpreter say nothing; those of the Python program take their place, each as a
 * program counter that lies in no module and has a source record.
 */
#include "wrap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

const int mcchk_preloaded = 1;

/* ---- the MPI library ---- */

#ifdef OPEN_MPI
#define LIBRARY "Open MPI"
#elif defined(MPICH)
#define LIBRARY "MPICH"
#else
#define LIBRARY ""
#endif

/* Constants and handles are those of the library that this was compiled for. */
static void check_library(void)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING + 4096] = "";
	int n = 0;

	PMPI_Get_library_version(library, &n);
	library[strcspn(library, "\n")] = 0;
	if (strstr(library, LIBRARY))
		return;
	fprintf(stderr, "mcchk: the program uses the MPI library \"%s\", but what --preload loads was built for %s: "
			"name the compiler of the program's library with --mpicc\n", library, LIBRARY);
	_exit(1);
}

__attribute__((constructor)) static void begin(void) { mcchk_ends_at_exit(); }

void mcchk_prepare(void)
{
	check_library();
	mcchk_reserve_shadow();
}

/* ---- Python ---- */

/* Functions of the interpreter, where the process has one. */
static struct {
	int (*initialized)(void);
	void *(*this_thread)(void);
	int (*ensure)(void);
	void (*release)(int);
	void *(*frame)(void);
	void *(*back)(void *);
	void *(*code)(void *);
	int (*line)(void *);
	void *(*attribute)(void *, const char *);
	const char *(*text)(void *);
	void (*drop)(void *);
	void (*forget_error)(void);
} py;

static int python; /* 0: not looked for, 1: found, -1: none */

static void find_python(void)
{
	static const struct {
		void **function;
		const char *name;
	} functions[] = {
		{(void **)&py.initialized, "Py_IsInitialized"},
		{(void **)&py.this_thread, "PyGILState_GetThisThreadState"},
		{(void **)&py.ensure, "PyGILState_Ensure"},
		{(void **)&py.release, "PyGILState_Release"},
		{(void **)&py.frame, "PyEval_GetFrame"},
		{(void **)&py.back, "PyFrame_GetBack"},
		{(void **)&py.code, "PyFrame_GetCode"},
		{(void **)&py.line, "PyFrame_GetLineNumber"},
		{(void **)&py.attribute, "PyObject_GetAttrString"},
		{(void **)&py.text, "PyUnicode_AsUTF8"},
		{(void **)&py.drop, "Py_DecRef"},
		{(void **)&py.forget_error, "PyErr_Clear"},
	};
	int found = 1;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!(*functions[i].function = dlsym(RTLD_DEFAULT, functions[i].name)))
			found = -1;
	__atomic_store_n(&python, found, __ATOMIC_RELEASE);
}

/* The lines of Python programs that were written to the trace, by what tells them apart. */
#define LINES (1u << 14)
#define FIRST_LINE 0x7fff000000000000ull /* above all addresses of programs */

static uint64_t lines[LINES];
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return (h ^ 0xff) * 0x100000001b3ull;
}

/* The program counter that stands for a line; 0 when there are too many. */
static uint64_t line_counter(const char *function, const char *file, uint32_t line)
{
	uint64_t h = hash_text(hash_text(0xcbf29ce484222325ull, function), file) ^ (uint64_t)line * 0x9E3779B97F4A7C15ull, at = 0;

	h = h ? h : 1;
	pthread_mutex_lock(&lines_lock);
	for (uint32_t k = 0; k < LINES && at == 0; k++) {
		uint64_t *slot = &lines[(h + k) % LINES];
		if (*slot == 0) {
			*slot = h;
			mcchk_write_source(FIRST_LINE + (uint64_t)(slot - lines) + 1, function, file, line);
		}
		if (*slot == h)
			at = FIRST_LINE + (uint64_t)(slot - lines) + 1;
	}
	pthread_mutex_unlock(&lines_lock);
	return at;
}

static uint64_t frame_counter(void *frame)
{
	void *code = py.code(frame), *file = py.attribute(code, "co_filename"), *name = py.attribute(code, "co_qualname");
	uint64_t at = 0;

	if (!name) { /* Python before 3.11 */
		py.forget_error();
		name = py.attribute(code, "co_name");
	}
	const char *f = file ? py.text(file) : NULL, *n = name ? py.text(name) : NULL;
	if (f && n)
		at = line_counter(n, f, (uint32_t)py.line(frame));
	else
		py.forget_error();
	if (file)
		py.drop(file);
	if (name)
		py.drop(name);
	py.drop(code);
	return at;
}

/* The frames of the Python program from which the calling thread came here. It may
 * have let others run while it calls, and waits for its turn to look at them. */
static uint32_t python_frames(uint64_t *pcs, uint32_t most)
{
	uint32_t n = 0;

	if (__atomic_load_n(&python, __ATOMIC_ACQUIRE) == 0)
		find_python();
	if (python < 0 || !py.initialized() || !py.this_thread())
		return 0;
	int state = py.ensure();
	for (void *frame = py.frame(), *held = NULL; frame && n < most;) {
		uint64_t at = frame_counter(frame);
		if (at)
			pcs[n++] = at;
		void *back = py.back(frame);
		if (held)
			py.drop(held);
		held = frame = back;
		if (n == most && held)
			py.drop(held);
	}
	py.release(state);
	return n;
}

/* ---- stacks ---- */

struct unwinding {
	uint64_t *pcs;
	uint32_t n;
	uintptr_t pc; /* where the stack begins; 0: it has begun */
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *unwinding)
{
	struct unwinding *u = unwinding;
	uintptr_t ip = _Unwind_GetIP(context);

	if (ip == u->pc)
		u->pc = 0;
	if (u->pc == 0 && ip != 0 && u->n < MCCHK_MAX_FRAMES)
		u->pcs[u->n++] = ip;
	return ip == 0 || u->n == MCCHK_MAX_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Frame pointers are not known: what is unwound need not keep them. */
void mcchk_walk(struct mcchk_thread *t, uintptr_t pc, void **frame, struct mcchk_walked *w)
{
	struct unwinding u = {.pcs = w->pcs, .pc = pc};
	uint32_t n;

	(void)t;
	(void)frame;
	w->pointers = 0;
	w->pcs[0] = pc;
	n = python_frames(w->pcs + 1, MCCHK_MAX_FRAMES - 1);
	if (n > 0) {
		w->frames = n + 1;
		return;
	}
	_Unwind_Backtrace(add_frame, &u);
	w->frames = u.n > 0 ? u.n : 1;
}
