/* A function that nothing is known of, and that leaves its caller now and then. Compiled
 * without instrumentation. */
#include "kernels.h"

unsigned opaque_calls;
#ifndef __cplusplus
jmp_buf escape;
#endif

#ifdef __cplusplus
extern "C"
#endif
unsigned opaque(unsigned x)
{
	if (++opaque_calls % 29 == 0) {
#ifdef __cplusplus
		throw 1;
#else
		longjmp(escape, 1);
#endif
	}
	return x * 2654435761u + 1;
}
