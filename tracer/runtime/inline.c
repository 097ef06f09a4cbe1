/* The load/store test that clang inlines into the program's own code.
 *
 * Compiled to bitcode once (-O2 -emit-llvm -c, without -g: the inlined code
 * then counts as the line of the access it stands for), and linked into each
 * instrumented module with `llvm-link --internalize --only-needed`, so that
 * nothing of it remains once it has been inlined. The slow functions are in
 * callbacks.c and leave the caller's registers alone.
 *
 * Where memory matters, most accesses go on with what the place did before. So
 * each place has a site (struct mcchk_site in mcchk.h) that knows the address
 * expected next and where to count it; the assembler makes it, for C has no
 * variable that belongs to one inlined copy of a function.
 */
#include <stdint.h>

/* MCCHK_SHADOW, MCCHK_PARTS and MCCHK_PART of mcchk.h. */
#define SHADOW ((const uint8_t *)0x100000000000ull)
#define PARTS ((const uint8_t *)0x120000000000ull)
#define PART(addr, size, page)                                                                     \
	(((page) & 1) || (((addr) & ((size) - 1)) | (PARTS[(addr) >> 6] >> ((addr) >> 3 & 7) & ((size) > 8 ? 3 : 1))))

#define INLINE __attribute__((always_inline)) void

struct mcchk_site;

/* Where a call of a function that has maps or sets is told from others (MCCHK_ENTRY of
 * mcchk.h). A context without a frame is never 0. */
extern uint64_t mcchk_entries[4096];
#define ENTRY(caller) (&mcchk_entries[(((uintptr_t)__builtin_frame_address(0) >> 4) + (uintptr_t)(caller)) & 4095])

#ifdef __x86_64__
/* Counts an access at `addr` when the site expects it, or sets it in the map that the
 * site has; otherwise it is not `done`. The fields of the site: owner, next, stride,
 * counter; context, lo, count, map. The site itself comes last, or the assembler gives it
 * the source line that is meant for the code. */
#define TRY_SITE(addr, shift, site, done)                                                          \
	uintptr_t scratch;                                                                         \
	__asm__ volatile("movq %%fs:0, %0\n"                                                       \
			 "cmpq %0, .Lmcchk_site%=(%%rip)\n"                                        \
			 "jne .Lmcchk_touch%=\n"                                                   \
			 "cmpq %3, .Lmcchk_site%=+8(%%rip)\n"                                      \
			 "jne .Lmcchk_touch%=\n"                                                   \
			 "movq .Lmcchk_site%=+16(%%rip), %0\n"                                     \
			 "addq %3, %0\n"                                                           \
			 "movq %0, .Lmcchk_site%=+8(%%rip)\n"                                      \
			 "movq .Lmcchk_site%=+24(%%rip), %0\n"                                     \
			 "addq $1, (%0)\n"                                                         \
			 "stc\n"                                                                   \
			 "jmp .Lmcchk_done%=\n"                                                    \
			 ".Lmcchk_touch%=: leaq .Lmcchk_site%=(%%rip), %0\n"                       \
			 "movq (%6), %1\n"                                                         \
			 "subq %4, %1\n"                                                           \
			 "cmpq %1, 32(%0)\n"                                                       \
			 "jne .Lmcchk_miss%=\n"                                                    \
			 "movq %3, %1\n"                                                           \
			 "subq 40(%0), %1\n"                                                       \
			 "rorq %5, %1\n"                                                           \
			 "cmpq 48(%0), %1\n"                                                       \
			 "jae .Lmcchk_miss%=\n"                                                    \
			 "addq 56(%0), %1\n"                                                       \
			 "movb $1, (%1)\n"                                                         \
			 "stc\n"                                                                   \
			 "jmp .Lmcchk_done%=\n"                                                    \
			 ".Lmcchk_miss%=: clc\n"                                                   \
			 ".Lmcchk_done%=:\n"                                                       \
			 ".pushsection .bss.mcchk_sites,\"aw\",@nobits\n"                         \
			 ".balign 32\n"                                                            \
			 ".Lmcchk_site%=: .zero 120\n"                                             \
			 ".popsection\n"                                                           \
			 : "=&r"(site), "=&r"(scratch), "=@ccc"(done)                              \
			 : "r"(addr), "r"(__builtin_frame_address(0)), "i"(shift), "r"(ENTRY(__builtin_return_address(0))) \
			 : "memory")
#else
#define TRY_SITE(addr, shift, site, done) (site = 0, done = 0)
#endif

#define TEST(p, kind, bytes)                                                                       \
	uintptr_t addr = (uintptr_t)(p);                                                           \
	uint8_t page = SHADOW[addr >> 12];                                                         \
	if (__builtin_expect(page != 0, 0) && PART(addr, bytes, page)) {                           \
		struct mcchk_site *site;                                                           \
		int done;                                                                          \
		TRY_SITE(addr, __builtin_ctz(bytes), site, done);                                  \
		if (__builtin_expect(!done, 0))                                                    \
			mcchk_slow_##kind##bytes(addr, site);                                      \
	}

#define ACCESS(kind, bytes)                                                                        \
	extern __attribute__((preserve_most, cold)) void mcchk_slow_##kind##bytes(uintptr_t addr, struct mcchk_site *site); \
	INLINE __tsan_##kind##bytes(void *p) { TEST(p, kind, bytes) }
#define SAME(name, kind, bytes)                                                                    \
	INLINE name(void *p) { TEST(p, kind, bytes) }
#define SIZE(kind, bytes)                                                                          \
	ACCESS(kind, bytes)                                                                        \
	SAME(__tsan_unaligned_##kind##bytes, kind, bytes)                                          \
	SAME(__tsan_volatile_##kind##bytes, kind, bytes)                                           \
	SAME(__tsan_unaligned_volatile_##kind##bytes, kind, bytes)
#define SIZES(kind) SIZE(kind, 1) SIZE(kind, 2) SIZE(kind, 4) SIZE(kind, 8) SIZE(kind, 16)

SIZES(read)
SIZES(write)

#define READ_WRITE(bytes)                                                                          \
	SAME(__tsan_read_write##bytes, write, bytes)                                               \
	SAME(__tsan_unaligned_read_write##bytes, write, bytes)
READ_WRITE(1)
READ_WRITE(2)
READ_WRITE(4)
READ_WRITE(8)
READ_WRITE(16)

INLINE __tsan_vptr_update(void **p, void *value)
{
	(void)value;
	TEST(p, write, 8)
}
SAME(__tsan_vptr_read, read, 8)

/* Whether the call that begins may be taken for one that has maps or sets (activations.c):
 * MCCHK_HAS_FRAME of mcchk.h. */
extern __attribute__((preserve_most, cold)) void mcchk_slow_entry(void);
INLINE __tsan_func_entry(void *caller)
{
	if (__builtin_expect((*ENTRY(caller) ^ (uintptr_t)__builtin_frame_address(0)) << 17 == 0, 0))
		mcchk_slow_entry();
}

/* Whether a pending buffer may lie in the frame of the function that returns (memory.c). */
extern __thread uintptr_t mcchk_stack_low __attribute__((tls_model("initial-exec")));
extern __attribute__((preserve_most, cold)) void mcchk_slow_exit(uintptr_t frame);
INLINE __tsan_func_exit(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	if (__builtin_expect(mcchk_stack_low < frame, 0))
		mcchk_slow_exit(frame);
}

extern void mcchk_inlined_unit(void);
INLINE __tsan_init(void) { mcchk_inlined_unit(); }
