/* The load/store test that clang inlines into the program's own code.
 *
 * Compiled to bitcode once (-O2 -emit-llvm -c, without -g: the inlined code
 * then counts as the line of the access it stands for), and linked into each
 * instrumented module with `llvm-link --internalize --only-needed`, so that
 * nothing of it remains once it has been inlined. The slow functions are in
 * callbacks.c and leave the caller's registers alone.
 */
#include <stdint.h>

#define SHADOW ((const uint8_t *)0x100000000000ull) /* MCCHK_SHADOW of mcchk.h */
#define INLINE __attribute__((always_inline)) void

#define ACCESS(kind, bytes)                                                                        \
	extern __attribute__((preserve_most, cold)) void mcchk_slow_##kind##bytes(uintptr_t addr); \
	INLINE __tsan_##kind##bytes(void *p)                                                       \
	{                                                                                          \
		uintptr_t addr = (uintptr_t)p;                                                     \
		if (__builtin_expect(SHADOW[addr >> 12] != 0, 0))                                  \
			mcchk_slow_##kind##bytes(addr);                                            \
	}
#define SAME(name, of)                                                                             \
	INLINE name(void *p)                                                                       \
	{                                                                                          \
		uintptr_t addr = (uintptr_t)p;                                                     \
		if (__builtin_expect(SHADOW[addr >> 12] != 0, 0))                                  \
			mcchk_slow_##of(addr);                                                     \
	}
#define SIZE(kind, bytes)                                                                          \
	ACCESS(kind, bytes)                                                                        \
	SAME(__tsan_unaligned_##kind##bytes, kind##bytes)                                          \
	SAME(__tsan_volatile_##kind##bytes, kind##bytes)                                           \
	SAME(__tsan_unaligned_volatile_##kind##bytes, kind##bytes)
#define SIZES(kind) SIZE(kind, 1) SIZE(kind, 2) SIZE(kind, 4) SIZE(kind, 8) SIZE(kind, 16)

SIZES(read)
SIZES(write)

#define READ_WRITE(bytes)                                                                          \
	SAME(__tsan_read_write##bytes, write##bytes)                                               \
	SAME(__tsan_unaligned_read_write##bytes, write##bytes)
READ_WRITE(1)
READ_WRITE(2)
READ_WRITE(4)
READ_WRITE(8)
READ_WRITE(16)

INLINE __tsan_vptr_update(void **p, void *value)
{
	(void)value;
	if (__builtin_expect(SHADOW[(uintptr_t)p >> 12] != 0, 0))
		mcchk_slow_write8((uintptr_t)p);
}
SAME(__tsan_vptr_read, read8)

INLINE __tsan_func_entry(void *caller) { (void)caller; }
INLINE __tsan_func_exit(void) { }

extern void mcchk_inlined_unit(void);
INLINE __tsan_init(void) { mcchk_inlined_unit(); }
