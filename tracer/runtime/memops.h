/* What wrappers of functions of the C and the C++ library record: memops.c, libc.c and streams.c. */
#ifndef MEMOPS_H
#define MEMOPS_H

#define MCCHK_WRAPS
#include "mcchk.h"

#include <string.h>

#define CALLER ((uintptr_t)__builtin_return_address(0))
#define REAL(type, name, ...) extern type __real_##name(__VA_ARGS__) __attribute__((weak))

static inline void note(const void *p, size_t size, uint32_t flags, uintptr_t pc, void **frame)
{
	if (size == 0 || MCCHK_LIKELY(mcchk_range_is_cold((uintptr_t)p, size)))
		return;
	if (mcchk_self.coarray) { /* of the program's statement; the library keeps no frame pointers */
		frame = mcchk_self.through;
		pc = (uintptr_t)frame[1];
		frame = frame[0];
	}
	mcchk_range_access((uintptr_t)p, size, pc, frame, flags | MCCHK_LIBRARY);
}

REAL(size_t, strlen, const char *);
REAL(size_t, strnlen, const char *, size_t);

#define READS(p, n) note(p, n, 0, CALLER, MCCHK_CALLER_FRAME)
#define WRITES(p, n) note(p, n, MCCHK_STORE, CALLER, MCCHK_CALLER_FRAME)

#endif
