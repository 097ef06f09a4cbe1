/* Threads and OpenMP: that there were any, not what orders them.
 *
 * The program is the first to define the functions below, so the calls of
 * shared libraries come here too: pthread_create and thrd_create, and what a
 * compiler calls where an OpenMP region or task begins. A region counts
 * whatever its number of threads, for its tasks and sections are as concurrent
 * when one thread runs them. The first of each kind becomes a pseudo call
 * mcchk_Threads with the place where it was, before MPI_Init as soon as that is
 * over.
 *
 * Threads of the MPI library do not count: those that are made within a call of
 * MPI, and those that such threads make. To all of the run-time they are within
 * a call of MPI for as long as they are.
 *
 * The definitions are weak: a program with these libraries linked statically
 * keeps theirs.
 */
#include "calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { THREADS, OPENMP, KINDS };
#define FRAMES 32
#define ABOVE 8 /* frames of the run-time and of the unwinder */

/* The first of a kind: where it was, as return addresses. */
static struct first {
	int claimed, ready; /* atomic */
	int frames;
	uintptr_t pcs[FRAMES];
} firsts[KINDS];

/* ---- the record ---- */

static void record(int kind)
{
	struct link {
		const struct link *next;
		uintptr_t pc;
	} links[FRAMES]; /* as frame pointers link frames */
	const struct first *f = &firsts[kind];

	for (int i = 0; i < f->frames; i++)
		links[i] = (struct link){i + 1 < f->frames ? &links[i + 1] : NULL, f->pcs[i]};
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Threads, 1, links);
	if (w)
		w[0] = kind;
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

/* Records what has been noticed and could not be recorded at once. Outside of
 * MPI calls. */
void mcchk_threads_recorded(void *frame)
{
	for (int kind = 0; kind < KINDS; kind++) {
		if (!__atomic_load_n(&firsts[kind].ready, __ATOMIC_ACQUIRE) || mcchk_self.busy || !mcchk_enter(frame))
			continue;
		if (__atomic_exchange_n(&firsts[kind].ready, 0, __ATOMIC_ACQ_REL))
			record(kind);
		mcchk_leave();
	}
}

/* The program, or a library of it, does something of a kind where `frame` returns to. */
static __attribute__((noinline)) void noticed(int kind, void **frame)
{
	struct first *f = &firsts[kind];
	uintptr_t pcs[FRAMES + ABOVE], pc = (uintptr_t)frame[1];

	if (mcchk_self.depth || __atomic_load_n(&f->claimed, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&f->claimed, 1, __ATOMIC_SEQ_CST))
		return;
	int n = backtrace((void **)pcs, FRAMES + ABOVE), at = 0;
	while (at < n && pcs[at] != pc)
		at++;
	if (at == n) {
		pcs[0] = pc;
		at = 0;
		n = 1;
	}
	f->frames = n - at < FRAMES ? n - at : FRAMES;
	memcpy(f->pcs, pcs + at, (size_t)f->frames * sizeof *pcs);
	__atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
	mcchk_threads_recorded(MCCHK_FRAME);
}

/* What the program would have called without the run-time. A library that was
 * loaded for itself finds its own libraries only. */
static void *find(const char *name, void *caller)
{
	Dl_info from;
	void *f = dlsym(RTLD_NEXT, name);
	void *library = f || !dladdr(caller, &from) ? NULL : dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

	if (library) {
		f = dlsym(library, name);
		dlclose(library);
	}
	if (!f) {
		fprintf(stderr, "mcchk: the program calls %s, which no library has\n", name);
		abort();
	}
	return f;
}

/* ---- threads ---- */

/* How a thread of the MPI library begins, in either kind of function. */
struct start {
	void *(*run)(void *);
	int (*run_c11)(void *);
	void *argument;
};

static void begin_within_mpi(struct start *own, struct start *s)
{
	*own = *s;
	free(s);
	mcchk_self.depth = 1;
	mcchk_self.frame = UINTPTR_MAX;
}

static void *run(void *p)
{
	struct start s;
	begin_within_mpi(&s, p);
	return s.run(s.argument);
}

static int run_c11(void *p)
{
	struct start s;
	begin_within_mpi(&s, p);
	return s.run_c11(s.argument);
}

/* NULL: not of the MPI library, or no memory. */
static struct start *within_mpi(struct start s)
{
	struct start *p = mcchk_self.depth ? malloc(sizeof *p) : NULL;
	if (p)
		*p = s;
	return p;
}

static int of_openmp(void *caller)
{
	static const char *const names[] = {"libgomp", "libomp", "libiomp"};
	Dl_info from;
	const char *name = dladdr(caller, &from) ? strrchr(from.dli_fname, '/') : NULL;
	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (strncmp(name + 1, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

static void thread_made(void **frame) { noticed(of_openmp(frame[1]) ? OPENMP : THREADS, frame); }

#pragma GCC visibility push(default)

__attribute__((weak)) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	static __typeof(&pthread_create) real;
	if (!real)
		real = (__typeof(real))find("pthread_create", __builtin_return_address(0));
	struct start *s = within_mpi((struct start){.run = start, .argument = argument});
	if (!s) {
		thread_made(MCCHK_FRAME);
		return real(thread, attributes, start, argument);
	}
	int rc = real(thread, attributes, run, s);
	if (rc != 0)
		free(s);
	return rc;
}

__attribute__((weak)) int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	static __typeof(&thrd_create) real;
	if (!real)
		real = (__typeof(real))find("thrd_create", __builtin_return_address(0));
	struct start *s = within_mpi((struct start){.run_c11 = start, .argument = argument});
	if (!s) {
		thread_made(MCCHK_FRAME);
		return real(thread, start, argument);
	}
	int rc = real(thread, run_c11, s);
	if (rc != thrd_success)
		free(s);
	return rc;
}

#pragma GCC visibility pop

/* ---- OpenMP ---- */

/* What gcc calls, then what clang calls. */
#define BEGINNINGS(x)                                                                              \
	x(GOMP_parallel) x(GOMP_parallel_reductions) x(GOMP_parallel_sections)                     \
	x(GOMP_parallel_loop_static) x(GOMP_parallel_loop_dynamic) x(GOMP_parallel_loop_guided)    \
	x(GOMP_parallel_loop_runtime) x(GOMP_parallel_loop_nonmonotonic_dynamic)                   \
	x(GOMP_parallel_loop_nonmonotonic_guided) x(GOMP_parallel_loop_nonmonotonic_runtime)       \
	x(GOMP_parallel_loop_maybe_nonmonotonic_runtime) x(GOMP_parallel_start)                    \
	x(GOMP_parallel_sections_start) x(GOMP_parallel_loop_static_start)                         \
	x(GOMP_parallel_loop_dynamic_start) x(GOMP_parallel_loop_guided_start)                     \
	x(GOMP_parallel_loop_runtime_start) x(GOMP_task) x(GOMP_taskloop) x(GOMP_taskloop_ull)     \
	x(GOMP_teams_reg) x(GOMP_target) x(GOMP_target_ext) x(GOACC_parallel) x(GOACC_parallel_keyed) \
	x(__kmpc_fork_call) x(__kmpc_fork_call_if) x(__kmpc_fork_teams) x(__kmpc_serialized_parallel) \
	x(__kmpc_omp_task_alloc) x(__kmpc_omp_target_task_alloc) x(__tgt_target)                   \
	x(__tgt_target_mapper) x(__tgt_target_nowait_mapper) x(__tgt_target_teams)                 \
	x(__tgt_target_teams_mapper) x(__tgt_target_teams_nowait_mapper) x(__tgt_target_kernel)

/* One of them: what it is called, and where it goes on once that is known. */
struct beginning {
	void *real;
	char name[];
};

/* Called by the functions below. Returns where they go on. */
void *mcchk_openmp_begins(struct beginning *b, void **frame)
{
	void *real = __atomic_load_n(&b->real, __ATOMIC_RELAXED);
	if (!real) {
		real = find(b->name, frame[1]);
		__atomic_store_n(&b->real, real, __ATOMIC_RELAXED);
	}
	noticed(OPENMP, frame);
	return real;
}

#ifdef __x86_64__

/* These take any number of arguments, and leave them where they are. */
#define PASS(name)                                                                                 \
	__asm__(".pushsection .data\n"                                                             \
		"\t.balign 8\n"                                                                    \
		"1:\t.quad 0\n"                                                                    \
		"\t.asciz \"" #name "\"\n"                                                         \
		".popsection\n"                                                                    \
		".pushsection .text\n"                                                             \
		"\t.hidden mcchk_pass_" #name "\n"                                                 \
		"\t.globl mcchk_pass_" #name "\n"                                                  \
		"\t.weak " #name "\n"                                                              \
		"\t.type " #name ", @function\n"                                                   \
		"mcchk_pass_" #name ":\n"                                                          \
		#name ":\n"                                                                        \
		"\t.cfi_startproc\n"                                                               \
		"\tpushq %rbp\n"                                                                   \
		"\t.cfi_def_cfa_offset 16\n"                                                       \
		"\t.cfi_offset 6, -16\n"                                                           \
		"\tmovq %rsp, %rbp\n"                                                              \
		"\t.cfi_def_cfa_register 6\n"                                                      \
		"\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n"                         \
		"\tpushq %r8\n\tpushq %r9\n\tpushq %rax\n\tpushq %r10\n"                           \
		"\tleaq 1b(%rip), %rdi\n"                                                          \
		"\tmovq %rbp, %rsi\n"                                                              \
		"\tcall mcchk_openmp_begins\n"                                                     \
		"\tmovq %rax, %r11\n"                                                              \
		"\tpopq %r10\n\tpopq %rax\n\tpopq %r9\n\tpopq %r8\n"                               \
		"\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n"                             \
		"\tpopq %rbp\n"                                                                    \
		"\t.cfi_def_cfa 7, 8\n"                                                            \
		"\tjmp *%r11\n"                                                                    \
		"\t.cfi_endproc\n"                                                                 \
		"\t.size " #name ", . - " #name "\n"                                               \
		".popsection\n");
BEGINNINGS(PASS)

extern char mcchk_pass_GOMP_parallel, mcchk_pass___kmpc_fork_call;
#pragma GCC visibility push(default)
extern char GOMP_parallel, __kmpc_fork_call;
#pragma GCC visibility pop

/* With an OpenMP library linked statically nothing above is called, and it may
 * run regions. The assembly keeps the compiler from knowing names apart. */
static int differ(const char *a, const char *b)
{
	__asm__("" : "+r"(a), "+r"(b));
	return a != b;
}

static int openmp_within(void)
{
	return differ(&GOMP_parallel, &mcchk_pass_GOMP_parallel) || differ(&__kmpc_fork_call, &mcchk_pass___kmpc_fork_call);
}

#else

static int openmp_within(void) { return 0; }

#endif

/* The program has called MPI_Init, whose wrapper has that frame. */
void mcchk_threads_start(void *frame)
{
	if (openmp_within())
		noticed(OPENMP, frame);
	mcchk_threads_recorded(frame);
}
