/* What other functions of the C library read and write, as accesses of the program: those
 * that look at strings and memory, that read and write files, that print into memory, and
 * that sort. Wrapped as copies are (memops.c). Writes of a length that shows only then are
 * recorded when the function has returned.
 */
#include "memops.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <wchar.h>

/* Records a write behind a call, whose errno stays. */
#define WROTE(p, n)                                                                                \
	do {                                                                                       \
		int saved = errno;                                                                 \
		WRITES(p, n);                                                                      \
		errno = saved;                                                                     \
	} while (0)

size_t __wrap_strlen(const char *s)
{
	size_t n = __real_strlen(s);
	READS(s, n + 1);
	return n;
}

size_t __wrap_strnlen(const char *s, size_t most)
{
	size_t n = __real_strnlen(s, most);
	READS(s, n < most ? n + 1 : n);
	return n;
}

/* How many bytes of each of two strings a comparison of at most so many reads. */
static size_t alike(const char *a, const char *b, size_t most)
{
	size_t n = 0;
	while (n < most && a[n] == b[n] && a[n] != 0)
		n++;
	return n < most ? n + 1 : n;
}

REAL(int, strcmp, const char *, const char *);
int __wrap_strcmp(const char *a, const char *b)
{
	size_t n = alike(a, b, SIZE_MAX);
	READS(a, n);
	READS(b, n);
	return __real_strcmp(a, b);
}

REAL(int, strncmp, const char *, const char *, size_t);
int __wrap_strncmp(const char *a, const char *b, size_t most)
{
	size_t n = alike(a, b, most);
	READS(a, n);
	READS(b, n);
	return __real_strncmp(a, b, most);
}

REAL(int, memcmp, const void *, const void *, size_t);
int __wrap_memcmp(const void *a, const void *b, size_t n)
{
	READS(a, n);
	READS(b, n);
	return __real_memcmp(a, b, n);
}

REAL(int, bcmp, const void *, const void *, size_t);
int __wrap_bcmp(const void *a, const void *b, size_t n)
{
	READS(a, n);
	READS(b, n);
	return __real_bcmp(a, b, n);
}

REAL(int, wmemcmp, const wchar_t *, const wchar_t *, size_t);
int __wrap_wmemcmp(const wchar_t *a, const wchar_t *b, size_t n)
{
	READS(a, n * sizeof *a);
	READS(b, n * sizeof *b);
	return __real_wmemcmp(a, b, n);
}

REAL(void *, memchr, const void *, int, size_t);
void *__wrap_memchr(const void *p, int c, size_t n)
{
	const char *found = __real_memchr(p, c, n);
	READS(p, found ? (size_t)(found - (const char *)p) + 1 : n);
	return (void *)found;
}

/* Files */

REAL(size_t, fwrite, const void *, size_t, size_t, FILE *);
size_t __wrap_fwrite(const void *p, size_t size, size_t n, FILE *file)
{
	READS(p, size * n);
	return __real_fwrite(p, size, n, file);
}

REAL(int, fputs, const char *, FILE *);
int __wrap_fputs(const char *s, FILE *file)
{
	READS(s, __real_strlen(s) + 1);
	return __real_fputs(s, file);
}

REAL(int, puts, const char *);
int __wrap_puts(const char *s)
{
	READS(s, __real_strlen(s) + 1);
	return __real_puts(s);
}

REAL(ssize_t, write, int, const void *, size_t);
ssize_t __wrap_write(int file, const void *p, size_t n)
{
	READS(p, n);
	return __real_write(file, p, n);
}

REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
ssize_t __wrap_pwrite(int file, const void *p, size_t n, off_t at)
{
	READS(p, n);
	return __real_pwrite(file, p, n, at);
}

/* What a call has read into memory, in elements of so many bytes, or as a string. */
#define RECEIVES(type, call, size)                                                                 \
	type got = call;                                                                           \
	if (got > 0)                                                                               \
		WROTE(p, (size_t)got * (size));                                                    \
	return got

#define RECEIVES_LINE(call)                                                                        \
	char *got = call;                                                                          \
	if (got)                                                                                   \
		WROTE(p, __real_strlen(p) + 1);                                                    \
	return got

REAL(size_t, fread, void *, size_t, size_t, FILE *);
size_t __wrap_fread(void *p, size_t size, size_t n, FILE *file)
{
	RECEIVES(size_t, __real_fread(p, size, n, file), size);
}

REAL(size_t, __fread_chk, void *, size_t, size_t, size_t, FILE *);
size_t __wrap___fread_chk(void *p, size_t room, size_t size, size_t n, FILE *file)
{
	RECEIVES(size_t, __real___fread_chk(p, room, size, n, file), size);
}

REAL(char *, fgets, char *, int, FILE *);
char *__wrap_fgets(char *p, int n, FILE *file) { RECEIVES_LINE(__real_fgets(p, n, file)); }

REAL(char *, __fgets_chk, char *, size_t, int, FILE *);
char *__wrap___fgets_chk(char *p, size_t room, int n, FILE *file) { RECEIVES_LINE(__real___fgets_chk(p, room, n, file)); }

REAL(ssize_t, read, int, void *, size_t);
ssize_t __wrap_read(int file, void *p, size_t n) { RECEIVES(ssize_t, __real_read(file, p, n), 1); }

REAL(ssize_t, __read_chk, int, void *, size_t, size_t);
ssize_t __wrap___read_chk(int file, void *p, size_t n, size_t room) { RECEIVES(ssize_t, __real___read_chk(file, p, n, room), 1); }

REAL(ssize_t, pread, int, void *, size_t, off_t);
ssize_t __wrap_pread(int file, void *p, size_t n, off_t at) { RECEIVES(ssize_t, __real_pread(file, p, n, at), 1); }

/* Text in memory: what is printed of strings is not seen. */

#define PRINTED(p, n, room)                                                                        \
	if ((n) >= 0 && (room) > 0)                                                                \
	WROTE(p, (size_t)(n) < (room) ? (size_t)(n) + 1 : (room))

REAL(int, vsnprintf, char *, size_t, const char *, va_list);
int __wrap_vsnprintf(char *p, size_t room, const char *format, va_list arguments)
{
	int n = __real_vsnprintf(p, room, format, arguments);
	PRINTED(p, n, room);
	return n;
}

REAL(int, __vsnprintf_chk, char *, size_t, int, size_t, const char *, va_list);
int __wrap___vsnprintf_chk(char *p, size_t room, int flag, size_t all, const char *format, va_list arguments)
{
	int n = __real___vsnprintf_chk(p, room, flag, all, format, arguments);
	PRINTED(p, n, room);
	return n;
}

REAL(int, vsprintf, char *, const char *, va_list);
int __wrap_vsprintf(char *p, const char *format, va_list arguments)
{
	int n = __real_vsprintf(p, format, arguments);
	PRINTED(p, n, SIZE_MAX);
	return n;
}

#define PRINTS(how, room, ...)                                                                     \
	va_list arguments;                                                                         \
	va_start(arguments, format);                                                               \
	int n = __real_##how(__VA_ARGS__, format, arguments);                                      \
	va_end(arguments);                                                                         \
	PRINTED(p, n, room);                                                                       \
	return n

int __wrap_snprintf(char *p, size_t room, const char *format, ...) { PRINTS(vsnprintf, room, p, room); }
int __wrap_sprintf(char *p, const char *format, ...) { PRINTS(vsprintf, SIZE_MAX, p); }

int __wrap___snprintf_chk(char *p, size_t room, int flag, size_t all, const char *format, ...)
{
	PRINTS(__vsnprintf_chk, room, p, room, flag, all);
}

REAL(int, __vsprintf_chk, char *, int, size_t, const char *, va_list);
int __wrap___vsprintf_chk(char *p, int flag, size_t all, const char *format, va_list arguments)
{
	int n = __real___vsprintf_chk(p, flag, all, format, arguments);
	PRINTED(p, n, SIZE_MAX);
	return n;
}

int __wrap___sprintf_chk(char *p, int flag, size_t all, const char *format, ...)
{
	PRINTS(__vsprintf_chk, SIZE_MAX, p, flag, all);
}

REAL(void, qsort, void *, size_t, size_t, int (*)(const void *, const void *));
void __wrap_qsort(void *p, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	READS(p, n * size);
	WRITES(p, n * size);
	__real_qsort(p, n, size, compare);
}
