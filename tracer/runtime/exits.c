/* Ends of a process that run no destructors: what is only in maps so far (touches.c)
 * becomes records before. The program is linked with -Wl,--wrap=NAME for the names below,
 * as for copies (memops.c).
 *
 * All may be called by signal handlers. A thread in the middle of writing a record lets
 * it be: an analysis sees that the trace has no end.
 */
#include "mcchk.h"

#define REAL(name, ...) extern _Noreturn void __real_##name(__VA_ARGS__) __attribute__((weak))

static void last_words(void)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;

	if (!t || self->busy || self->depth || !mcchk_recording || (t->touching_count == 0 && !t->beside))
		return;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_write_touched(t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
}

#define EXIT(name)                                                                                 \
	REAL(name, int);                                                                           \
	_Noreturn void __wrap_##name(int status)                                                   \
	{                                                                                          \
		last_words();                                                                      \
		__real_##name(status);                                                             \
	}
EXIT(_exit)
EXIT(_Exit)
EXIT(quick_exit)

REAL(abort, void);
_Noreturn void __wrap_abort(void)
{
	last_words();
	__real_abort();
}

REAL(__assert_fail, const char *, const char *, unsigned, const char *);
_Noreturn void __wrap___assert_fail(const char *assertion, const char *file, unsigned line, const char *function)
{
	last_words();
	__real___assert_fail(assertion, file, line, function);
}
