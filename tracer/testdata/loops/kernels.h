/* What the loops that loopgen_test.go draws are made of. The same sources are compiled
 * twice: for a logger of all accesses (logger.c), and to be traced (traced.c).
 */
#include <math.h>
#include <stddef.h>

#define ARENA ((char *)0x200000000000ull)
#define ARENA_SIZE 65536

typedef struct {
	short a, b, c, d, e, f;
} twelve;

typedef struct {
	long a, b, c;
} twenty_four;
typedef struct {
	int a, b, c, d;
} sixteen;

typedef struct __attribute__((packed)) {
	char tag;
	int value;
} packed;

typedef __int128 wide;

#ifdef __cplusplus
extern "C" {
#endif
void begin(void);          /* a kernel begins: the arena is as it was at first */
unsigned opaque(unsigned); /* may leave the kernel */
#ifdef __cplusplus
}
/* Runs what may be left by an exception, or in C by a jump. */
#define ATTEMPT(call)                                                                              \
	do {                                                                                       \
		begin();                                                                           \
		try {                                                                              \
			call;                                                                      \
		} catch (int) {                                                                    \
		}                                                                                  \
	} while (0)
#else
#include <setjmp.h>
extern jmp_buf escape;
#define ATTEMPT(call)                                                                              \
	do {                                                                                       \
		begin();                                                                           \
		if (!setjmp(escape))                                                               \
			call;                                                                      \
	} while (0)
#endif
