/* All accesses of the kernels, as the sanitizer's calls announce them: a line each with the
 * kernel's number, the return address, the address, the size and whether it is a store.
 * Compiled without instrumentation. */
#include "arena.h"

#include <stdint.h>
#include <string.h>

void kernels(void);
void *__real_memset(void *, int, size_t);

static long kernel;
static FILE *log_file;

void begin(void)
{
	kernel++;
	sum_arena("log.sums");
	fill_arena();
}

static void access(const void *p, unsigned long size, int store, void *pc)
{
	fprintf(log_file, "%ld %lx %lx %lu %d\n", kernel, (unsigned long)pc, (unsigned long)p, size, store);
}

#define PC __builtin_return_address(0)
#define ACCESS(name, size, store)                                                                  \
	void name(void *p) { access(p, size, store, PC); }
#define SIZE(n)                                                                                    \
	ACCESS(__tsan_read##n, n, 0)                                                               \
	ACCESS(__tsan_write##n, n, 1)                                                              \
	ACCESS(__tsan_unaligned_read##n, n, 0)                                                     \
	ACCESS(__tsan_unaligned_write##n, n, 1)
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
void __tsan_read_range(void *p, unsigned long size) { access(p, size, 0, PC); }
void __tsan_write_range(void *p, unsigned long size) { access(p, size, 1, PC); }
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	access(from, n, 0, PC);
	access(to, n, 1, PC);
	return memmove(to, from, n);
}
void *__wrap_memset(void *to, int value, size_t n)
{
	access(to, n, 1, PC);
	return __real_memset(to, value, n);
}
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

int main(int argc, char **argv)
{
	if (argc != 2 || !(log_file = fopen(argv[1], "w")))
		return 2;
	make_arena();
	kernels();
	sum_arena("log.sums");
	return fclose(log_file);
}
