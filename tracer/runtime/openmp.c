/* OpenMP: the functions that a compiler calls.
 *
 * The program is the first to define them, as pthread_create. Where the OpenMP library has
 * told us of its tasks (ompt.c), this adds what it does not tell: which tasks are executed
 * at once, and where sections begin and end. Where it has not, or the construct is one
 * whose order is not followed, the program's order is not known, and a note says so.
 */
#include "openmp.h"

#include <dlfcn.h>
#include <string.h>

/* ---- beginnings of regions and tasks ---- */

/* What gcc calls, then what clang calls: first where OMPT tells the order, */
#define REGIONS(x)                                                                                 \
	x(GOMP_parallel) x(GOMP_parallel_reductions) x(GOMP_parallel_sections)                     \
	x(GOMP_parallel_loop_static) x(GOMP_parallel_loop_dynamic) x(GOMP_parallel_loop_guided)    \
	x(GOMP_parallel_loop_runtime) x(GOMP_parallel_loop_nonmonotonic_dynamic)                   \
	x(GOMP_parallel_loop_nonmonotonic_guided) x(GOMP_parallel_loop_nonmonotonic_runtime)       \
	x(GOMP_parallel_loop_maybe_nonmonotonic_runtime) x(GOMP_parallel_start)                    \
	x(GOMP_parallel_sections_start) x(GOMP_parallel_loop_static_start)                         \
	x(GOMP_parallel_loop_dynamic_start) x(GOMP_parallel_loop_guided_start)                     \
	x(GOMP_parallel_loop_runtime_start) x(GOMP_taskloop) x(GOMP_taskloop_ull)                  \
	x(__kmpc_fork_call) x(__kmpc_fork_call_if) x(__kmpc_serialized_parallel)                   \
	x(__kmpc_omp_task_alloc) x(__kmpc_omp_target_task_alloc)
/* then where it does not. */
#define OTHERS(x)                                                                                  \
	x(GOMP_teams_reg) x(GOMP_target) x(GOMP_target_ext) x(GOACC_parallel) x(GOACC_parallel_keyed) \
	x(__kmpc_fork_teams) x(__tgt_target) x(__tgt_target_mapper) x(__tgt_target_nowait_mapper)  \
	x(__tgt_target_teams) x(__tgt_target_teams_mapper) x(__tgt_target_teams_nowait_mapper)     \
	x(__tgt_target_kernel)
/* Loops whose iterations wait for one another, whose order OMPT tells, but not of which loop: */
#define DOACROSS(x)                                                                                \
	x(GOMP_loop_doacross_static_start) x(GOMP_loop_doacross_dynamic_start)                     \
	x(GOMP_loop_doacross_guided_start) x(GOMP_loop_doacross_runtime_start)                     \
	x(GOMP_loop_doacross_start) x(GOMP_loop_ull_doacross_static_start)                         \
	x(GOMP_loop_ull_doacross_dynamic_start) x(GOMP_loop_ull_doacross_guided_start)             \
	x(GOMP_loop_ull_doacross_runtime_start) x(GOMP_loop_ull_doacross_start) x(__kmpc_doacross_init)
/* and what iterations call, of which it does not tell where. */
#define ITERATIONS(x)                                                                              \
	x(GOMP_doacross_post) x(GOMP_doacross_wait) x(GOMP_doacross_ull_post)                      \
	x(GOMP_doacross_ull_wait) x(__kmpc_doacross_post) x(__kmpc_doacross_wait)

/* One of them: what it is called, of which list it is, and where it goes on once that is
 * known. */
enum { OF_OTHERS, OF_REGIONS, OF_DOACROSS, OF_ITERATIONS }; /* as below */
struct beginning {
	void *real;
	char list;
	char name[];
};

/* Has the OpenMP library tell what orders its tasks, if it can: it starts to with the first
 * of its functions that is called. Another thread that comes meanwhile waits for that. */
static void have_it_told(void)
{
	enum { NEVER, BEGUN, OVER };
	static int asked;
	static __thread int asks;

	if (mcchk_openmp_hi || __atomic_load_n(&asked, __ATOMIC_ACQUIRE) == OVER)
		return;
	int before = NEVER;
	if (__atomic_compare_exchange_n(&asked, &before, BEGUN, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		int (*start)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "omp_get_max_threads");
		asks = 1;
		if (start)
			start();
		asks = 0;
		__atomic_store_n(&asked, OVER, __ATOMIC_RELEASE);
	}
	while (!asks && __atomic_load_n(&asked, __ATOMIC_ACQUIRE) != OVER)
		sched_yield();
}

/* In a team of one thread iterations have nobody to wait for. LLVM's library is not called
 * then: its functions of gcc's names would read what it has not made. */
static void nothing(void) {}

/* Called by the functions below. Returns where they go on. */
void *mcchk_openmp_begins(struct beginning *b, void **frame)
{
	void *real = __atomic_load_n(&b->real, __ATOMIC_RELAXED);
	if (!real) {
		real = mcchk_find(b->name, frame[1]);
		__atomic_store_n(&b->real, real, __ATOMIC_RELAXED);
	}
	have_it_told();
	if (!mcchk_of_program(frame))
		return real;
	if (b->list == OF_OTHERS || !mcchk_openmp_hi)
		mcchk_noticed(MCCHK_REGIONS, frame);
	else if (b->list == OF_DOACROSS)
		mcchk_doacross();
	else if (b->list == OF_ITERATIONS && mcchk_alone())
		return (void *)nothing;
	else if (b->list == OF_ITERATIONS)
		mcchk_entry.iteration = (uintptr_t)frame[1];
	return real;
}

#ifdef __x86_64__

/* These take any number of arguments, and leave them where they are. */
#define PASS(name, list)                                                                                   \
	__asm__(".pushsection .data\n"                                                             \
		"\t.balign 8\n"                                                                    \
		"1:\t.quad 0\n"                                                                    \
		"\t.byte " #list "\n"                                                              \
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
#define OTHER(name) PASS(name, 0)
#define REGION(name) PASS(name, 1)
#define LOOP(name) PASS(name, 2)
#define ITERATION(name) PASS(name, 3)
OTHERS(OTHER)
REGIONS(REGION)
DOACROSS(LOOP)
ITERATIONS(ITERATION)

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

int mcchk_openmp_within(void)
{
	return differ(&GOMP_parallel, &mcchk_pass_GOMP_parallel) || differ(&__kmpc_fork_call, &mcchk_pass___kmpc_fork_call);
}

#else

int mcchk_openmp_within(void) { return 0; }

#endif

/* ---- tasks that are executed at once ---- */

#define REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof(&name) _real;                                                      \
		if (!_real)                                                                        \
			_real = (__typeof(_real))mcchk_find(#name, __builtin_return_address(0));   \
		_real;                                                                             \
	})
#define CALLER ((uintptr_t)__builtin_return_address(0))

#pragma GCC visibility push(default)

void GOMP_task(void (*run)(void *), void *data, void (*copy)(void *, void *), long size, long alignment, _Bool deferred,
	       unsigned flags, void **depend, int priority, void *detach);
void __kmpc_omp_task_begin_if0(void *where, int32_t thread, void *task);

__attribute__((weak)) void GOMP_task(void (*run)(void *), void *data, void (*copy)(void *, void *), long size, long alignment,
				     _Bool deferred, unsigned flags, void **depend, int priority, void *detach)
{
	have_it_told();
	if (!mcchk_openmp_hi)
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
	mcchk_entry = (struct mcchk_entry){.pc = CALLER, .included = !deferred};
	REAL(GOMP_task)(run, data, copy, size, alignment, deferred, flags, depend, priority, detach);
	mcchk_entry = (struct mcchk_entry){0};
}

__attribute__((weak)) void __kmpc_omp_task_begin_if0(void *where, int32_t thread, void *task)
{
	mcchk_entry = (struct mcchk_entry){.pc = CALLER, .included = 1};
	REAL(__kmpc_omp_task_begin_if0)(where, thread, task);
	mcchk_entry = (struct mcchk_entry){0};
}

/* ---- dependences without a task ---- */

/* Those of taskwait, and with clang of a task that is executed at once. OMPT tells of them, but
 * not in older libraries. */
#define WAITING(any, call)                                                                          \
	do {                                                                                       \
		uint32_t told = mcchk_waits_told;                                                  \
		have_it_told();                                                                    \
		mcchk_entry = (struct mcchk_entry){.pc = CALLER};                                  \
		call;                                                                              \
		if ((any) && mcchk_waits_told == told)                                                            \
			mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);                                 \
		mcchk_entry = (struct mcchk_entry){0};                                             \
	} while (0)

void GOMP_taskwait_depend(void **depend);
void __kmpc_omp_wait_deps(void *where, int32_t thread, int32_t n, void *depend, int32_t more, void *others);
void __kmpc_omp_taskwait_deps_51(void *where, int32_t thread, int32_t n, void *depend, int32_t more, void *others, int32_t nowait);

__attribute__((weak)) void GOMP_taskwait_depend(void **depend)
{
	WAITING(depend[0] || depend[1], REAL(GOMP_taskwait_depend)(depend));
}

__attribute__((weak)) void __kmpc_omp_wait_deps(void *where, int32_t thread, int32_t n, void *depend, int32_t more, void *others)
{
	WAITING(n || more, REAL(__kmpc_omp_wait_deps)(where, thread, n, depend, more, others));
}

__attribute__((weak)) void __kmpc_omp_taskwait_deps_51(void *where, int32_t thread, int32_t n, void *depend, int32_t more, void *others,
						       int32_t nowait)
{
	if (nowait && mcchk_openmp_hi) /* a task that does nothing: what waits for it comes after its dependences */
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
	WAITING(n || more, REAL(__kmpc_omp_taskwait_deps_51)(where, thread, n, depend, more, others, nowait));
}

/* ---- fences ---- */

/* clang's flush; gcc makes an instruction of it, that the sanitizer announces. */
void __kmpc_flush(void *where);

__attribute__((weak)) void __kmpc_flush(void *where)
{
	REAL(__kmpc_flush)(where);
	mcchk_fence(__ATOMIC_ACQ_REL, MCCHK_FRAME);
}

/* ---- sections ---- */

unsigned GOMP_sections_start(unsigned count);
unsigned GOMP_sections_next(void);
void GOMP_sections_end(void);
void GOMP_sections_end_nowait(void);
_Bool GOMP_sections_end_cancel(void);

__attribute__((weak)) unsigned GOMP_sections_start(unsigned count)
{
	unsigned section = REAL(GOMP_sections_start)(count);
	mcchk_section(section != 0, MCCHK_FRAME);
	return section;
}

__attribute__((weak)) unsigned GOMP_sections_next(void)
{
	unsigned section = REAL(GOMP_sections_next)();
	mcchk_section(section != 0, MCCHK_FRAME);
	return section;
}

__attribute__((weak)) void GOMP_sections_end(void)
{
	mcchk_section(0, MCCHK_FRAME);
	mcchk_entry.pc = CALLER;
	REAL(GOMP_sections_end)();
	mcchk_entry.pc = 0;
}

__attribute__((weak)) void GOMP_sections_end_nowait(void)
{
	mcchk_section(0, MCCHK_FRAME);
	REAL(GOMP_sections_end_nowait)();
}

__attribute__((weak)) _Bool GOMP_sections_end_cancel(void)
{
	mcchk_section(0, MCCHK_FRAME);
	mcchk_entry.pc = CALLER;
	_Bool cancelled = REAL(GOMP_sections_end_cancel)();
	mcchk_entry.pc = 0;
	return cancelled;
}

/* clang makes a loop of them, over which it calls nothing. Its plug-in puts two calls of
 * ours there (../plugin/clang_sections.h); without it they are told apart only where a
 * thread has one section at most. */
struct source { /* ident_t */
	int32_t reserved, flags;
};
#define OF_SECTIONS 0x400

void __kmpc_for_static_init_4(struct source *where, int32_t thread, int32_t schedule, int32_t *last, int32_t *lower, int32_t *upper,
			      int32_t *stride, int32_t step, int32_t chunk);
void __kmpc_for_static_fini(struct source *where, int32_t thread);

__attribute__((weak)) void __kmpc_for_static_init_4(struct source *where, int32_t thread, int32_t schedule, int32_t *last, int32_t *lower,
						    int32_t *upper, int32_t *stride, int32_t step, int32_t chunk)
{
	int32_t end = *upper;

	REAL(__kmpc_for_static_init_4)(where, thread, schedule, last, lower, upper, stride, step, chunk);
	if (!(where->flags & OF_SECTIONS))
		return;
	int32_t most = *upper < end ? *upper : end;
	if (*lower < most && !mcchk_outside())
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
	else
		mcchk_section(*lower == most, MCCHK_FRAME);
}

void mcchk_sections_init(struct source *where, int32_t thread, int32_t schedule, int32_t *last, int32_t *lower, int32_t *upper, int32_t *stride,
			 int32_t step, int32_t chunk)
{
	REAL(__kmpc_for_static_init_4)(where, thread, schedule, last, lower, upper, stride, step, chunk);
}

void mcchk_section_begins(void) { mcchk_section(1, MCCHK_FRAME); }

__attribute__((weak)) void __kmpc_for_static_fini(struct source *where, int32_t thread)
{
	if (where->flags & OF_SECTIONS)
		mcchk_section(0, MCCHK_FRAME);
	REAL(__kmpc_for_static_fini)(where, thread);
}

#pragma GCC visibility pop
